"""Shared code of learners that use regret matching at every state, with regrets estimated from one path per episode.

sigma(s, a) = [R(s, a)]+ / sum over b of [R(s, b)]+, uniform if no regret is positive (Hart and Mas-Colell, 2000).
"""

from __future__ import annotations

import collections
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms.path_learner import PathLearner, sequence_value
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP

RECOMMENDS = ("average", "current")

# What is measured of a regret matcher. played, recommended: float64[S + 1], V(s) of the policy that it plays and of the
# one it recommends, V last;  stale: bool[S], where `recommended` is out of date;  exploring: V of what it mixes in
Values = collections.namedtuple("Values", ["played", "recommended", "stale", "exploring"])


class RegretMatcher(PathLearner):
    """Regrets and an average policy per sequence. Returns are taken in the game's utility units, as in the literature.

    The recommended policy is mixed everywhere, so its value is also stored per state. States that episodes visit are
    marked as stale, and are re-evaluated when the value is needed.

    recommends: "average", the average policy, which is the one that converges, or "current", the policy of the current
    regrets.
    """

    def __init__(self, tree: InfostateTree, *, recommends, seed):
        super().__init__(tree, seed)
        self.recommends = validation.choice("recommends", recommends, RECOMMENDS)
        self._regrets = np.zeros(tree.capacity.sequences)
        self._average = np.zeros(tree.capacity.sequences)

    @property
    def regrets(self) -> np.ndarray:
        """R(s, a), the summed estimates of counterfactual regret."""
        return self._regrets[: self.tree.sequence_end].copy()

    def current(self) -> np.ndarray:
        """The policy of the current regrets."""
        return matched_plan(self.tree.links, self._regrets, 0.0)

    def average(self) -> np.ndarray:
        """The average policy, weighted at each state by the own probability of reaching it; uniform where unvisited."""
        return matched_plan(self.tree.links, self._average, 0.0)

    def recommend(self) -> np.ndarray:
        return self.average() if self.recommends == "average" else self.current()

    def _init_values(self, mdp, exploration: float, exploring: float = 0.0) -> Values:
        """Values of the matched policy with that much exploration; of the recommended one when it is asked for."""
        states = self.tree.num_states
        played = matched_values(self.tree.links, mdp.chances, self._regrets, exploration)
        return Values(played, np.empty(states + 1), np.ones(states, np.bool_), exploring)

    def recommended_value(self, mdp: TreeMDP, values: typing.Any) -> float:
        weights = self._average if self.recommends == "average" else self._regrets
        rescore_stale(self.tree.links, mdp.chances, weights, values.stale, values.recommended)
        return mdp.to_utility(values.recommended[-1])


@kernel
def positive_sum(links, regrets, state):
    total = 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        if regrets[j] > 0.0:
            total += regrets[j]
    return total


@kernel
def matched(regret, total, number):
    """sigma of one sequence, given the sum of positive regrets of its state and the number of its actions."""
    if total > 0.0:
        return regret / total if regret > 0.0 else 0.0
    return 1.0 / number


@kernel
def explored(sigma, exploration, number):
    """mu = (1 - exploration) sigma + exploration / number."""
    return (1.0 - exploration) * sigma + exploration / number


@kernel
def state_value(links, chances, regrets, exploration, values, state):
    """V(s) = sum over a of mu(s, a) Q(s, a)."""
    total = positive_sum(links, regrets, state)
    number = links.first_sequence[state + 1] - links.first_sequence[state]
    value = 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        probability = explored(matched(regrets[j], total, number), exploration, number)
        if probability > 0.0:
            value += probability * sequence_value(links, chances, values, j)
    return value


@kernel
def rescore_matched(links, chances, regrets, exploration, path, length, values):
    """Updates V(s) of the matched policy, with the given exploration, after changes on the path."""
    if length == 0:
        return
    before = values[path.states[0]]
    for at in range(length - 1, -1, -1):
        values[path.states[at]] = state_value(links, chances, regrets, exploration, values, path.states[at])
    values[len(values) - 1] += values[path.states[0]] - before


@numba.njit(cache=True)
def matched_values(links, chances, regrets, exploration):
    """V(s) of the matched policy at every state, bottom-up, and V last."""
    states = len(links.parent)
    values = np.empty(states + 1)
    for state in range(states - 1, -1, -1):
        values[state] = state_value(links, chances, regrets, exploration, values, state)
    values[states] = sequence_value(links, chances, values, traversal.ROOT)
    return values


@kernel
def mark_stale(path, length, stale):
    for at in range(length):
        stale[path.states[at]] = True


@kernel
def _list_stale(links, stale, sequence, order, number):
    """As traversal.list_children, for those child states that are stale."""
    child, end = traversal.children(links, sequence)
    while child != end:
        if stale[child]:
            order[number] = child
            number += 1
        child = traversal.next_child(links, child)
    return number


@numba.njit(cache=True)
def rescore_stale(links, chances, regrets, stale, values):
    """Updates V(s) of the matched policy at the stale states. The states above a stale one are stale."""
    order = np.empty(len(stale), np.int32)
    number, at = _list_stale(links, stale, traversal.ROOT, order, 0), 0
    while at < number:
        state = order[at]
        at += 1
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            number = _list_stale(links, stale, j, order, number)
    for at in range(number - 1, -1, -1):
        stale[order[at]] = False
        values[order[at]] = state_value(links, chances, regrets, 0.0, values, order[at])
    values[len(values) - 1] = sequence_value(links, chances, values, traversal.ROOT)


@numba.njit(cache=True)
def matched_plan(links, regrets, exploration):
    """mu at every sequence."""
    probabilities = np.ones(len(links.can_end))
    for state in range(len(links.parent)):
        total = positive_sum(links, regrets, state)
        number = links.first_sequence[state + 1] - links.first_sequence[state]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            probabilities[j] = explored(matched(regrets[j], total, number), exploration, number)
    return probabilities
