"""Outcome-sampling MCCFR (Lanctot, Waugh, Zinkevich and Bowling, NIPS 2009) against fixed opponents.

The opponents and chance are sampled from their true distribution, so their probabilities cancel in the importance
weights: only the player's own sampling probabilities are needed, and those are known.
"""

from __future__ import annotations

import collections
import typing
from collections.abc import Callable

import numba
import numpy as np

from tmdp_spiel.algorithms.baselines.regret_matching import (
    RegretMatcher,
    explored,
    mark_stale,
    matched,
    matched_plan,
    positive_sum,
    rescore_matched,
)
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import ROOT, follow_chance, trace_back
from tmdp_spiel.trees.tree_mdp import TreeMDP
from tmdp_spiel.trees.utility_scale import to_utility

# regrets, average: one entry per sequence;
# sampled, reached: scratch, one entry per own decision of an episode, the products of mu and of sigma before it
OutcomeSamplingMemory = collections.namedtuple(
    "OutcomeSamplingMemory", ["regrets", "average", "epsilon", "path", "sampled", "reached"]
)


class OutcomeSamplingMCCFR(RegretMatcher):
    """epsilon: how much of the sampling policy is uniform. recommends: see RegretMatcher.

    Plays mu = (1 - epsilon) sigma + epsilon / |A|, sigma the regret-matching policy.
    """

    def __init__(self, tree: InfostateTree, *, epsilon: float = 0.1, recommends: str = "average", seed: int = 0):
        super().__init__(tree, recommends=recommends, seed=seed)
        self.epsilon = validation.probability("epsilon", epsilon)
        self._memory = OutcomeSamplingMemory(
            regrets=self._regrets,
            average=self._average,
            epsilon=self.epsilon,
            path=self._path,
            sampled=np.empty(tree.capacity.decisions),
            reached=np.empty(tree.capacity.decisions),
        )

    def plan(self) -> np.ndarray:
        return matched_plan(self.tree.links, self._regrets, self.epsilon)

    def action_selector(self, draw: Callable[[], float]) -> Callable[[int], int]:
        links, regrets, epsilon, first = self.tree.links, self._regrets, self.epsilon, self.tree.first_sequence
        return lambda state: int(_draw(links, regrets, epsilon, state, draw())) - int(first[state])

    def _update(self, ended_on, value):
        length = trace_back(self.tree.links, ended_on, self._path)
        _observe(self.tree.links, self._memory, length, self.tree.to_utility(value))

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        return self._init_values(mdp, self.epsilon)

    def _play(self, mdp, values, rng, episodes):
        return _play(self.tree.links, mdp.chances, self._memory, self.tree.utility_scale, values, rng, episodes)


@kernel
def _draw(links, regrets, epsilon, state, uniform):
    """A sequence of the state, drawn from mu."""
    total = positive_sum(links, regrets, state)
    number = links.first_sequence[state + 1] - links.first_sequence[state]
    last = links.first_sequence[state]
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        probability = explored(matched(regrets[j], total, number), epsilon, number)
        if uniform < probability:
            return j
        uniform -= probability
        last = j
    return last


@kernel
def _observe(links, memory, length, utility):
    """The sampled counterfactual regrets of the visited states, and their share of the average policy.

    On the way back, with v-hat(a) = (value below) / mu(a) for the sampled action, 0 for the others, and
    v = sum over a of sigma(a) v-hat(a):  R(s, b) += (v-hat(b) - v) / sampled(s);
    average(s, b) += sigma(s, b) reached(s) / sampled(s).
    """
    regrets, average, epsilon, path = memory.regrets, memory.average, memory.epsilon, memory.path
    sampled, reached = 1.0, 1.0
    for at in range(length):
        state, j = path.states[at], path.sequences[at]
        memory.sampled[at], memory.reached[at] = sampled, reached
        number = links.first_sequence[state + 1] - links.first_sequence[state]
        sigma = matched(regrets[j], positive_sum(links, regrets, state), number)
        sampled *= explored(sigma, epsilon, number)
        reached *= sigma
    below = utility
    for at in range(length - 1, -1, -1):
        state, played = path.states[at], path.sequences[at]
        total = positive_sum(links, regrets, state)
        number = links.first_sequence[state + 1] - links.first_sequence[state]
        sigma = matched(regrets[played], total, number)
        estimate = below / explored(sigma, epsilon, number)
        below = sigma * estimate
        share = memory.reached[at] / memory.sampled[at]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            average[j] += share * matched(regrets[j], total, number)
            regrets[j] -= below / memory.sampled[at]
        regrets[played] += estimate / memory.sampled[at]


@numba.njit(cache=True)
def _play(links, chances, memory, scale, values, rng, number):
    path, total = memory.path, 0.0
    for _ in range(number):
        total += values.played[len(values.played) - 1]
        j, rest, length = np.int64(ROOT), rng.random(), 0
        while True:
            state, outcome, rest = follow_chance(links, chances, j, rest)
            if outcome >= 0:
                break
            j = np.int64(_draw(links, memory.regrets, memory.epsilon, state, rng.random()))
            path.states[length], path.sequences[length] = state, j
            length += 1
        _observe(links, memory, length, to_utility(scale, chances.outcome_return[outcome]))
        mark_stale(path, length, values.stale)
        rescore_matched(links, chances, memory.regrets, memory.epsilon, path, length, values.played)
    return number, total
