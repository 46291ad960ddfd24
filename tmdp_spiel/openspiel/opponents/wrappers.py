"""Functions of a state and agents as policies and bots, and policies as bots."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Mapping

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib, rl_agent, rl_agent_policy

from tmdp_spiel.openspiel.games import game_title
from tmdp_spiel.openspiel.opponents.adapters.networks import (
    described_shapes,
    evaluating,
    is_torch_module,
    tensor_shapes,
)
from tmdp_spiel.openspiel.opponents.bots import bot_name
from tmdp_spiel.openspiel.opponents.fixed import is_table, state_key
from tmdp_spiel.openspiel.opponents.seeding import POLICIES, derived_seed


def as_probabilities(answer, state: pyspiel.State, player: int) -> dict[int, float]:
    """A policy's answer: {action: probability}, [(action, probability)], or one number per distinct action."""
    try:
        if isinstance(answer, Mapping):
            return {int(action): float(probability) for action, probability in answer.items()}
        answer = list(answer)
        if answer and isinstance(answer[0], (tuple, list)):
            return {int(action): float(probability) for action, probability in answer}
        legal = state.legal_actions(player)
        if len(answer) == len(legal) and max(legal) >= len(legal):
            return dict(zip(legal, map(float, answer)))
        return {
            action: float(probability) for action, probability in enumerate(answer) if probability or action in legal
        }
    except (TypeError, ValueError):
        raise TypeError(
            f"the opponent of player {player} returned {answer!r}; a policy returns {{action: probability}}, a list of "
            "(action, probability), or one probability per action of the game; a bot returns an action"
        ) from None


class CallablePolicy(policy_lib.Policy):
    """A function of a state as an OpenSpiel policy."""

    def __init__(self, game: pyspiel.Game, function: Callable, player: int, name: str):
        super().__init__(game, [player])
        self._function, self.__name__ = function, name

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        return as_probabilities(self._function(state), state, player)


class SteppingFunction:
    """A function from a state to an action as a bot, with the function's name."""

    def __init__(self, function: Callable):
        self.step = function
        self.__name__ = bot_name(function)


class PolicyPlayer:
    """A bot that plays a policy, which is queried once per information state if it is a table, and else every time."""

    def __init__(self, game: pyspiel.Game, policy, player: int, seed: int):
        self._kind, self._policy, self._player = game.get_type(), policy, player
        self.__name__ = bot_name(policy)
        self._rng = np.random.default_rng(derived_seed(seed, POLICIES, player))
        self._keeps = is_table(policy)
        self._choices: dict[str, tuple[list[int], np.ndarray]] = {}

    def step(self, state):
        key = state_key(state, self._player, self._kind)
        if key not in self._choices or not self._keeps:
            arguments = (state, self._player) if isinstance(self._policy, policy_lib.Policy) else (state,)
            given = dict(self._policy.action_probabilities(*arguments))
            weights = np.array(list(given.values()), float)
            self._choices[key] = list(given), np.cumsum(weights / weights.sum())
        actions, sums = self._choices[key]
        return int(actions[min(int(np.searchsorted(sums, self._rng.random(), side="right")), len(actions) - 1)])


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
        raise ValueError(f"the agent {bot_name(agent)} takes inputs of size {size}, but {described_shapes(game)}")
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
