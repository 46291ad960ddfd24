"""OPF (Farina and Sandholm, AAAI 2021, Model-Free Online Learning in Unknown Sequential Decision Making Problems).

Counterfactual regret minimisation on unbiased estimates of the utility, from episodes of a sequence-form mixture of the
regret-matching policy y and a fixed exploring policy h.
"""

from __future__ import annotations

import collections
import typing
from collections.abc import Callable

import numba
import numpy as np

from tmdp_spiel.algorithms.baselines.regret_matching import (
    RegretMatcher,
    mark_stale,
    matched,
    matched_values,
    positive_sum,
    rescore_matched,
)
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.lazy_tree import LazyTree
from tmdp_spiel.trees.traversal import ROOT, children, follow_chance, next_child, trace_back
from tmdp_spiel.trees.tree_mdp import TreeMDP
from tmdp_spiel.trees.utility_scale import to_utility

# regrets, endings, average: one entry per sequence;  endings: the sequences at or below it that can end an episode
OPFMemory = collections.namedtuple("OPFMemory", ["regrets", "endings", "average", "k", "path"])


class OPF(RegretMatcher):
    """k: the weight of exploration in episode t is min(1, k t^(-1/4)). recommends: see RegretMatcher.

    The exploring policy takes each action in proportion to the number of sequences below it that can end an episode; it
    is uniform on a lazy tree, where that is not known.
    """

    def __init__(self, tree: InfostateTree, *, k: float = 5.0, recommends: str = "average", seed: int = 0):
        super().__init__(tree, recommends=recommends, seed=seed)
        self.k = validation.positive("k", k)
        grows = isinstance(tree, LazyTree)
        endings = np.ones(tree.capacity.sequences, np.int32) if grows else _endings_below(tree.links)
        self._memory = OPFMemory(self._regrets, endings, self._average, self.k, self._path)

    def plan(self) -> np.ndarray:
        """The behaviour that is equivalent to the mixture of h and y."""
        return _mixed_plan(self.tree.links, self._memory, _weight(self.k, self.episodes))

    def exploration(self) -> np.ndarray:
        """The exploring policy h."""
        return _mixed_plan(self.tree.links, self._memory, 1.0)

    def action_selector(self, draw: Callable[[], float]) -> Callable[[int], int]:
        links, memory, tree = self.tree.links, self._memory, self.tree
        h_weight, y_weight = 0.0, 0.0

        def choose(state: int) -> int:
            nonlocal h_weight, y_weight
            if links.parent[state] == tree.root:
                weight = _weight(self.k, self.episodes)
                h_weight, y_weight = weight, 1.0 - weight
            drawn, h_weight, y_weight = _draw(links, memory, state, h_weight, y_weight, draw())
            return int(drawn) - int(links.first_sequence[state])

        return choose

    def _update(self, ended_on, value):
        length = trace_back(self.tree.links, ended_on, self._path)
        utility = self.tree.to_utility(value)
        _observe(self.tree.links, self._memory, _weight(self.k, self.episodes), length, utility)

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        exploring = matched_values(self.tree.links, mdp.chances, self._memory.endings, 0.0)  # h matches the endings
        return self._init_values(mdp, 0.0, float(exploring[-1]))

    def _play(self, mdp, values, rng, episodes):
        scale = self.tree.utility_scale
        return _play(self.tree.links, mdp.chances, self._memory, scale, values, self.episodes, rng, episodes)


@numba.njit(cache=True)
def _endings_below(links):
    endings = np.empty(len(links.can_end), np.int32)
    for j in range(len(endings) - 1, -1, -1):
        endings[j] = links.can_end[j]
        child, end = children(links, j)
        while child != end:
            for below in range(links.first_sequence[child], links.first_sequence[child + 1]):
                endings[j] += endings[below]
            child = next_child(links, child)
    return endings


@kernel
def _weight(k, episodes):
    """eps_t = min(1, k t^(-1/4)), for the episode t after the given number."""
    return min(1.0, k / np.sqrt(np.sqrt(episodes + 1.0)))


@kernel
def _normalisers(links, memory, state):
    """What makes h and y distributions at a state: the endings below it, and its positive regrets."""
    endings = 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        endings += memory.endings[j]
    return endings, positive_sum(links, memory.regrets, state)


@kernel
def _both(links, memory, state, sequence, endings, positive):
    """(h, y) of one sequence of the state."""
    number = links.first_sequence[state + 1] - links.first_sequence[state]
    return memory.endings[sequence] / endings, matched(memory.regrets[sequence], positive, number)


@kernel
def _draw(links, memory, state, h_weight, y_weight, uniform):
    """A sequence of the state drawn from the mixture, and the weights of h and of y after it.

    A weight is the policy's share in the mixture times its probability of the own sequence so far.
    """
    endings, positive = _normalisers(links, memory, state)
    last = links.first_sequence[state]
    last_h, last_y = 0.0, 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        h, y = _both(links, memory, state, j, endings, positive)
        last, last_h, last_y = j, h_weight * h, y_weight * y
        probability = (last_h + last_y) / (h_weight + y_weight)
        if uniform < probability:
            break
        uniform -= probability
    return last, last_h, last_y


@kernel
def _observe(links, memory, weight, length, utility):
    """Regrets on the unbiased estimate of the utility: u / q on the played sequence, q its probability, 0 elsewhere.

    With tail(s) the product of y after s:  R(s, a) += u tail (1 - y(a)) / q for the played a, and
    R(s, b) -= u tail y(a) / q for the others;  average(s, b) += y(s, b) (reach of s by y) / (its reach by the mixture).
    """
    path = memory.path
    h_reach, y_reach = 1.0, 1.0
    for at in range(length):
        state, played = path.states[at], path.sequences[at]
        endings, positive = _normalisers(links, memory, state)
        share = y_reach / (weight * h_reach + (1.0 - weight) * y_reach)
        number = links.first_sequence[state + 1] - links.first_sequence[state]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            memory.average[j] += share * matched(memory.regrets[j], positive, number)
        h, y = _both(links, memory, state, played, endings, positive)
        h_reach *= h
        y_reach *= y
    estimate = utility / (weight * h_reach + (1.0 - weight) * y_reach)
    for at in range(length - 1, -1, -1):
        state, played = path.states[at], path.sequences[at]
        endings, positive = _normalisers(links, memory, state)
        _, y = _both(links, memory, state, played, endings, positive)
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            memory.regrets[j] -= estimate * y
        memory.regrets[played] += estimate
        estimate *= y


@numba.njit(cache=True)
def _mixed_plan(links, memory, weight):
    """p(s, a) = (weight h-reach(s, a) + (1 - weight) y-reach(s, a)) / (the same of s)."""
    sequences = len(links.can_end)
    probabilities, h_weight, y_weight = np.ones(sequences), np.zeros(sequences), np.zeros(sequences)
    h_weight[ROOT], y_weight[ROOT] = weight, 1.0 - weight
    for state in range(len(links.parent)):
        h_above, y_above = h_weight[links.parent[state]], y_weight[links.parent[state]]
        endings, positive = _normalisers(links, memory, state)
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            h, y = _both(links, memory, state, j, endings, positive)
            h_weight[j], y_weight[j] = h_above * h, y_above * y
            probabilities[j] = (h_weight[j] + y_weight[j]) / (h_above + y_above)
    return probabilities


@numba.njit(cache=True)
def _play(links, chances, memory, scale, values, episodes, rng, number):
    path, total = memory.path, 0.0
    for episode in range(episodes, episodes + number):
        weight = _weight(memory.k, episode)
        total += weight * values.exploring + (1.0 - weight) * values.played[len(values.played) - 1]
        h_weight, y_weight = weight, 1.0 - weight
        j, rest, length = np.int64(ROOT), rng.random(), 0
        while True:
            state, outcome, rest = follow_chance(links, chances, j, rest)
            if outcome >= 0:
                break
            drawn, h_weight, y_weight = _draw(links, memory, state, h_weight, y_weight, rng.random())
            j = np.int64(drawn)
            path.states[length], path.sequences[length] = state, j
            length += 1
        _observe(links, memory, weight, length, to_utility(scale, chances.outcome_return[outcome]))
        mark_stale(path, length, values.stale)
        rescore_matched(links, chances, memory.regrets, 0.0, path, length, values.played)
    return number, total
