"""OpenSpiel's agents, trained elsewhere, as policies."""

from __future__ import annotations

import contextlib
import inspect
import math

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib, rl_agent, rl_agent_policy

from tmdp_spiel.openspiel.load_game import game_title
from tmdp_spiel.openspiel.opponents.adapters.networks import evaluating, is_torch_module, tensor_shapes, told_shapes
from tmdp_spiel.openspiel.opponents.bots import bot_name


def is_agent(source) -> bool:
    """Whether its step() takes time steps: an rl_agent, or OpenSpiel's PPO, which is not a subclass of it."""
    if isinstance(source, rl_agent.AbstractAgent):
        return True
    try:
        return {"time_step", "is_evaluation"} <= set(inspect.signature(source.step).parameters)
    except (AttributeError, TypeError, ValueError):
        return False


def agent_title(agent) -> str:
    """What is evaluated, in words: the agent, or its average policy."""
    return f"the average policy of {bot_name(agent)}" if _average_mode(agent) is not None else bot_name(agent)


def _average_mode(agent):
    """The mode of NFSP in which it plays its average policy; None if the agent has no such mode."""
    if not hasattr(agent, "temp_mode_as"):
        return None
    return getattr(type(getattr(agent, "mode", None)), "AVERAGE_POLICY", None)


class EvaluatedAgent:
    """An agent as RLAgentPolicy needs it: queried with one time step at a time, NFSP in its average-policy mode."""

    def __init__(self, agent):
        self.agent, self._average = agent, _average_mode(agent)
        self._in_batches = hasattr(agent, "num_envs")  # OpenSpiel's PPO

    def step(self, time_step, is_evaluation):
        with contextlib.ExitStack() as stack:
            if self._average is not None:
                stack.enter_context(self.agent.temp_mode_as(self._average))
            if is_torch_module(self.agent):
                stack.enter_context(evaluating(self.agent))
            if self._in_batches:
                return self.agent.step([time_step], is_evaluation=is_evaluation)[0]
            return self.agent.step(time_step, is_evaluation=is_evaluation)


def agent_policy(game: pyspiel.Game, agent, player: int) -> policy_lib.Policy:
    """An OpenSpiel agent as the policy that it plays in evaluation mode (OpenSpiel's RLAgentPolicy).

    The size of its input tells whether it was trained on observations or on information states.
    """
    sizes = {tensor: math.prod(shape) for tensor, shape in tensor_shapes(game).items()}
    size = _input_size(agent)
    if not sizes:
        raise ValueError(f"{game_title(game)} provides no tensors, which the agent {bot_name(agent)} needs")
    if size is not None and size not in sizes.values():
        raise ValueError(f"the agent {bot_name(agent)} takes inputs of size {size}, but {told_shapes(game)}")
    use_observation = "information_state" not in sizes or size not in (None, sizes["information_state"])
    policy = rl_agent_policy.RLAgentPolicy(game, EvaluatedAgent(agent), player, use_observation)
    policy.__name__ = bot_name(agent)
    return policy


def _input_size(agent) -> int | None:
    """The number of inputs of an agent, if it has an attribute with this number."""
    for each in (agent, getattr(agent, "_rl_agent", None)):
        for name in ("_info_state_size", "info_state_size", "input_shape"):
            size = getattr(each, name, None)
            if isinstance(size, (tuple, list)):
                size = math.prod(size)
            if isinstance(size, (int, np.integer)):
                return int(size)
    return None
