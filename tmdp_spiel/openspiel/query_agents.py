"""Queries agents at every information state of a sequence form, in batches of tensors or state by state."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pyspiel
from open_spiel.python import rl_agent_policy
from tqdm import auto as tqdm

from tmdp_spiel.openspiel.build import GameTooLargeError
from tmdp_spiel.openspiel.games import load_game
from tmdp_spiel.openspiel.histories import one_history_per_infostate
from tmdp_spiel.openspiel.opponents import wrappers
from tmdp_spiel.openspiel.opponents.adapters.networks import (
    OUTPUTS,
    Network,
    NetworkPolicy,
    as_array,
    as_network,
    is_network,
    is_torch_module,
    torch_network,
)
from tmdp_spiel.openspiel.opponents.fixed import COARSE_TOLERANCE, FixedOpponents, answers_as
from tmdp_spiel.trees.infostate_tree import PROBABILITY_TOLERANCE, InfostateTree
from tmdp_spiel.trees.sequence_form import SequenceForm

_TIMED_STATES = 200  # asked first, to say how long asking all of them will take
_WORTH_SAYING = 60.0  # seconds


def game_of(form: SequenceForm) -> pyspiel.Game:
    string = form.trees[0].game_string
    if string is None:
        raise ValueError("this sequence form does not know its game")
    return load_game(string)


# The networks of OpenSpiel's agents in PyTorch, and what their evaluation steps make of the outputs.
_NETWORKS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "open_spiel.python.pytorch.dqn.DQN": (lambda agent: agent._q_network, "values"),
    "open_spiel.python.pytorch.nfsp.NFSP": (lambda agent: agent._avg_network, "logits"),
    "open_spiel.python.pytorch.policy_gradient.PolicyGradient": (lambda agent: agent.policy_logits_network, "logits"),
    "open_spiel.python.pytorch.ppo.PPO": (lambda agent: _actor(agent.network), "logits"),
}


def _actor(network):
    """The actor of OpenSpiel's PPOAgent; networks of other kinds may look at their inputs in other ways."""
    return network.actor if type(network).__qualname__ == "PPOAgent" else None


def network_of(form: SequenceForm, player: int, agent, outputs: str) -> Network | None:
    """The network of an agent; None if it has to be queried with states."""
    observes = getattr(form, "tensor_kind", None) == "observation_tensor"
    if answers_as(agent, NetworkPolicy):
        return dataclasses.replace(agent.network, function=agent.batch) if agent.observes == observes else None
    if answers_as(agent, rl_agent_policy.JointRLAgentPolicy, rl_agent_policy.RLAgentPolicy):
        if agent._use_observation != observes or player not in agent._agents:
            return None
        agent = agent._agents[player]
    if isinstance(agent, wrappers.EvaluatedAgent):
        agent = agent.agent
    known = _NETWORKS.get(f"{type(agent).__module__}.{type(agent).__qualname__}")
    if known is not None:
        module = known[0](agent)
        return None if module is None else torch_network(module, known[1])
    if is_torch_module(agent) and not wrappers.is_agent(agent):
        return torch_network(agent, outputs)
    return as_network(agent) if is_network(agent) else None


def _described_tensors(form) -> str:
    return (
        f"These are OpenSpiel's {form.tensor_kind.replace('_', ' ')}s; nashbench's observations begin with a one-hot "
        "of the player, two entries more than the game's own tensors"
    )


def check_width(form, size: int) -> None:
    width = form.tensor_width
    if size == width:
        return
    leading = getattr(form, "leading_one_hots", 0)
    kind = form.tensor_kind.replace("_", " ")
    message = f"the network takes inputs of size {size}; OpenSpiel's {kind} of {form.trees[0].game_string} has {width}"
    if size in (width + 2, width - leading + 2):
        message += (
            f". {size} fits nashbench's observations, which begin with a one-hot of the player: wrap the network in a "
            "function that makes its encoding from ours"
        )
    elif leading and size == width - leading:
        message += f". {size} fits the simultaneous game; the turn-based one begins with {leading} more entries"
    raise ValueError(message)


def query_in_batches(
    form: SequenceForm, player: int, function: Callable, outputs: str, with_mask: bool, batch_size: int, progress: bool
) -> np.ndarray:
    if not hasattr(form, "tensors"):
        raise TypeError(
            f"{type(form).__name__} provides no tensors, which a function of batches needs; give an OpenSpiel policy"
        )
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")
    tree, num_actions = form.trees[player], game_of(form).num_distinct_actions()
    table = np.ones(tree.sequence_end)
    largest = 0.0
    bar = tqdm.tqdm(total=tree.num_states, desc=f"asking player {player}", unit=" states", delay=1, leave=False,
                    disable=None if progress else True)  # fmt: skip
    with bar:
        for start in range(0, tree.num_states, batch_size):
            states = np.arange(start, min(start + batch_size, tree.num_states))
            tensors = form.tensors(player, states)
            inputs = [tensors]
            if with_mask:
                inputs.append(np.zeros((len(states), num_actions), np.bool_))
                _fill_masks(tree.first_sequence, tree.action, start, inputs[1])
            try:
                answer = function(*inputs)
            except Exception as error:
                shapes = " and ".join(str(each.shape) for each in inputs)
                raise ValueError(
                    f"the agent fails on a batch of tensors of shape {shapes}: {error!r}. {_described_tensors(form)}"
                ) from error
            rows = _as_rows(answer, len(states), num_actions)
            tolerances = PROBABILITY_TOLERANCE, COARSE_TOLERANCE
            off = _read_rows(rows, tree.first_sequence, tree.action, start, OUTPUTS.index(outputs), *tolerances, table)
            if off < 0:
                _refuse_row(tree, rows, start, int(-off) - 1, outputs)
            largest = max(largest, off)
            bar.update(len(states))
    _warn_of_sums(player, largest)
    return table


def _as_rows(answer, num_rows: int, num_actions: int) -> np.ndarray:
    rows = as_array(answer)
    if rows.shape != (num_rows, num_actions):
        raise ValueError(
            f"the agent returned an array of shape {rows.shape} for {num_rows} states; it must return one number for "
            f"each of the {num_actions} actions, an array of shape {(num_rows, num_actions)}"
        )
    return rows


def _refuse_row(tree: InfostateTree, rows: np.ndarray, start: int, at: int, outputs: str) -> None:
    state, row = start + at, rows[at]
    legal = tree.legal_actions(state).tolist()
    where = f"at state {tree.state_string(state)!r} of player {tree.player}"
    if np.isnan(row[legal]).any():
        raise ValueError(f"the agent returned NaN {where}: {row.tolist()}")
    if outputs != "probabilities":
        raise ValueError(f"the agent's {outputs} of the legal actions {legal} are not finite {where}: {row.tolist()}")
    illegal = [
        action for action in range(len(row)) if action not in legal and not abs(row[action]) <= PROBABILITY_TOLERANCE
    ]
    if illegal:
        raise ValueError(f"the agent gives probability to illegal action(s) {illegal} {where}; legal are {legal}")
    raise ValueError(
        f"the agent's probabilities {where} are not a distribution, sum {row[legal].sum()}: {row.tolist()}; if they "
        "are logits, say outputs='logits'"
    )


def _warn_of_sums(player: int, largest: float) -> None:
    if largest > PROBABILITY_TOLERANCE:
        warnings.warn(
            f"probabilities of player {player} sum to one only up to {largest:.2g}; they are divided by their sum",
            stacklevel=4,
        )


@numba.njit(cache=True)
def _fill_masks(first_sequence, action, start, masks):
    for i in range(len(masks)):
        for j in range(first_sequence[start + i], first_sequence[start + i + 1]):
            masks[i, action[j]] = True


@numba.njit(cache=True)
def _read_rows(rows, first_sequence, action, start, outputs, tolerance, coarse, table):
    """Writes the distributions of a batch. Returns how far a sum is from one, or -1 - i if row i is wrong."""
    largest = 0.0
    for i in range(len(rows)):
        first, end = first_sequence[start + i], first_sequence[start + i + 1]
        if outputs == 1:
            total, j = 0.0, first
            for a in range(rows.shape[1]):
                if j < end and action[j] == a:
                    if not rows[i, a] >= 0:
                        return -1.0 - i
                    total += rows[i, a]
                    j += 1
                elif not abs(rows[i, a]) <= tolerance:
                    return -1.0 - i
            if not abs(total - 1) <= coarse:
                return -1.0 - i
            largest = max(largest, abs(total - 1))
            for j in range(first, end):
                table[j] = rows[i, action[j]] / total
            continue
        highest, best = -np.inf, first
        for j in range(first, end):
            value = rows[i, action[j]]
            if np.isnan(value) or value == np.inf:
                return -1.0 - i
            if value > highest:
                highest, best = value, j
        if highest == -np.inf:
            return -1.0 - i
        if outputs == 2:
            table[first:end] = 0.0
            table[best] = 1.0
            continue
        total = 0.0
        for j in range(first, end):
            table[j] = np.exp(rows[i, action[j]] - highest)
            total += table[j]
        for j in range(first, end):
            table[j] /= total
    return largest


def query_states(form: SequenceForm, player: int, policy, max_seconds: float | None, progress: bool) -> np.ndarray:
    tree, game = form.trees[player], game_of(form)
    reader = FixedOpponents(game, 1 - player, {player: policy})
    if hasattr(form, "history"):
        state_of = lambda number: _play(game, form.history(player, number))  # noqa: E731
    else:
        state_of = one_history_per_infostate(tree, game).__getitem__
    table = np.ones(tree.sequence_end)

    def ask(number: int) -> None:
        first, end = tree.first_sequence[number : number + 2]
        table[first:end] = [probability for _, probability in reader.read(state_of(number))]

    began = time.perf_counter()
    timed = np.unique(np.linspace(0, tree.num_states - 1, _TIMED_STATES).astype(np.int64))
    for number in timed.tolist():
        ask(number)
    seconds = (time.perf_counter() - began) / len(timed) * tree.num_states
    if max_seconds is not None and seconds > max_seconds:
        raise GameTooLargeError(
            f"asking the policy of player {player} at {tree.num_states:,} information states, one at a time, would "
            f"take about {_duration(seconds)}; {max_seconds:g} s are allowed",
            "max_seconds",
        )
    if seconds > _WORTH_SAYING:
        warnings.warn(
            f"the policy of player {player} is asked at {tree.num_states:,} information states one at a time, which "
            f"will take about {_duration(seconds)}; a function of a batch of tensors is faster",
            stacklevel=3,
        )
    for number in tqdm.trange(tree.num_states, desc=f"asking player {player}", unit=" states", delay=1, leave=False,
                              disable=None if progress else True):  # fmt: skip
        ask(number)
    return table


def query_histories(form: SequenceForm, player: int, policy) -> np.ndarray | None:
    """The table of a policy, queried at all histories that it can reach; None if it varies within a state of the form.

    Uniform at states that it cannot reach.
    """
    tree, game = form.trees[player], game_of(form)
    reader = FixedOpponents(game, 1 - player, {player: policy})
    table, asked = form.uniform_policy(player), np.zeros(tree.num_states, np.bool_)
    seen, waiting = set(), [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        key = state.information_state_string(0), state.information_state_string(1)
        if state.is_terminal() or key in seen:
            continue
        seen.add(key)
        actions = state.legal_actions()
        if state.current_player() == player:
            answer = reader.read(state)
            row = np.array([probability for _, probability in answer])
            number = tree.state_index(key[player])
            own = slice(*tree.first_sequence[number : number + 2])
            if asked[number] and np.abs(table[own] - row).max() > PROBABILITY_TOLERANCE:
                return None
            table[own], asked[number] = row, True
            actions = [action for action, probability in answer if probability > 0]
        waiting.extend(state.child(action) for action in actions)
    return table


def _play(game: pyspiel.Game, history) -> pyspiel.State:
    state = game.new_initial_state()
    for action in history:
        state.apply_action(action)
    return state


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes" if seconds < 7200 else (
        f"{seconds / 3600:.1f} hours"
    )  # fmt: skip
