"""Identifies an epsilon-best response on large trees, by freezing the best plan and measuring it.

BettingUCRL computes an upper bound on the value of every response. Once this bound is near the empirical value of the
best plan, that plan is frozen and played for a number of episodes that is fixed in advance. These episodes give a lower
bound on its value, and the model also learns from them. The proof is in docs/theory.md, section 12.
"""

from __future__ import annotations

import collections
import math
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms.betting_ucrl import BettingUCRL, observe
from tmdp_spiel.algorithms.empirical_model import greedy_action
from tmdp_spiel.algorithms.path_learner import plan_values, rescore_plan
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.traversal import follow_plan
from tmdp_spiel.trees.tree_mdp import TreeMDP, deterministic_value

_UPPER_SHARE = 0.9  # of delta, for the upper bound
_STAKES = 14
_LARGEST_STAKE = 0.9
_HALVINGS = 40
_LEAST_SHARE = 1.0 / 40.0  # of the episodes so far, that an answer is measured on
_NEXT = 1.02  # the episodes grow by this factor before the next look,
_NEXT_ATTEMPT = 1.25  # and by this one after a measurement that was not enough

EPISODES, NEXT_LOOK, MEASURED, LEFT, STOPPED, HAS_ANSWER = range(6)
NUMBER, TOTAL, SQUARES, LOWER = range(4)

# frozen, answer: the plan that is measured, and the one of the largest lower bound;  progress: int64[6];
# numbers: float64[4], of the measured returns, and the lower bound;  delta: the share for all lower bounds
Measured = collections.namedtuple("Measured", ["frozen", "answer", "progress", "numbers", "epsilon", "delta"])


class CertifiedUCRL(BettingUCRL):
    """PAC identification: stops with a policy that is worth at least V* - epsilon with probability at least 1 - delta.

    epsilon is on the [0, 1] scale of returns. This learner is for trees of millions of states. On small trees,
    BettingOnDifferences stops much earlier.
    """

    grows = False

    def __init__(self, tree: InfostateTree, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0):
        delta = validation.probability("delta", delta)
        super().__init__(tree, delta=_UPPER_SHARE * delta, seed=seed)
        self.epsilon, self.delta = validation.probability("epsilon", epsilon), delta
        episodes = _measuring_episodes(1, 0, self.epsilon, (1.0 - _UPPER_SHARE) * delta)
        if episodes >= 2**31:
            raise ValueError(
                f"to measure an answer to within a part of epsilon = {epsilon} takes about {episodes:.1e} episodes, "
                f"and a run has fewer than 2^31: ask for a larger epsilon"
            )
        self._measured = Measured(
            frozen=np.zeros(tree.num_states, PLAN_DTYPE),
            answer=np.zeros(tree.num_states, PLAN_DTYPE),
            progress=np.zeros(6, np.int64),
            numbers=np.zeros(4),
            epsilon=self.epsilon,
            delta=(1.0 - _UPPER_SHARE) * delta,
        )

    def plan(self) -> np.ndarray:
        measuring = self._measured.progress[LEFT] > 0
        return self._measured.frozen.copy() if measuring else super().plan()

    @property
    def width(self) -> float:
        """The certified upper bound on all responses minus the lower bound on the answer; it stops at epsilon."""
        return float(self._upper[self.tree.root] - self._measured.numbers[LOWER])

    @property
    def status(self) -> str:
        utility = self.tree.to_utility(self._upper[self.tree.root])
        return f"none wins more than {utility:+.4g}, width {self.width:.4f} of {self.epsilon:g}"

    @property
    def stopped(self) -> bool:
        return bool(self._measured.progress[STOPPED])

    def _recommend_at(self, states):
        if self._measured.progress[HAS_ANSWER]:
            return self._measured.answer[states]
        return super()._recommend_at(states)

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        """V(s) of the optimistic plan, and V of the frozen one."""
        links = self.tree.links
        frozen = deterministic_value(links, mdp.chances, self._measured.frozen)
        return plan_values(links, mdp.chances, self._plan), np.array([frozen])

    def _update(self, ended_on, value):
        length = traversal.trace_back(self.tree.links, ended_on, self._path)
        _step(self.tree.links, self._memory, self._measured, length, value)

    def _play(self, mdp, values, rng, episodes):
        self.check_same_environment(mdp)
        return _play(self.tree.links, mdp.chances, self._memory, self._measured, *values, rng, episodes)


@kernel
def _log_needed(attempt, delta):
    """ln(stakes / share of delta) of the attempt-th measurement: the shares delta / (k (k + 1)) add up to delta."""
    return math.log(_STAKES * attempt * (attempt + 1.0) / delta)


@kernel
def _measuring_episodes(attempt, episodes, epsilon, delta):
    """For how many episodes an answer is measured: enough to know a coin's mean to within a quarter of epsilon."""
    return max(_LEAST_SHARE * episodes, 8.0 * _log_needed(attempt, delta) / epsilon**2)


@tree_pass
def lower_bound(number, total, squares, log_needed):
    """The largest mean found to be refuted from below, from the number, sum and sum of squares of returns in [0, 1].

    Someone who doubts that the mean is as low as m has, with stake f, the capital prod of 1 + f (x - m) / m. Of all
    returns with this mean r and variance v it is least if a part v / (v + r^2) is 0 and the rest r + v / r.
    """
    average = total / number
    if average <= 0.0:
        return 0.0
    variance = max(squares / number - average * average, 0.0)
    zeros, rest = variance / (variance + average * average), average + variance / average
    below, above = 0.0, min(average, 1.0)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2.0
        stake, refuted = _LARGEST_STAKE, False
        for _ in range(_STAKES):
            capital = zeros * np.log1p(-stake) + (1.0 - zeros) * np.log1p(stake * (rest - middle) / middle)
            if number * capital >= log_needed:
                refuted = True
                break
            stake /= 2.0
        if refuted:
            below = middle
        else:
            above = middle
    return below


@tree_pass
def _freeze(links, memory, frozen):
    """Sets frozen to the empirically best plan."""
    for state in range(len(links.parent)):
        frozen[state] = greedy_action(links, memory.model, memory.means, state, memory.seed)


@tree_pass
def _step(links, memory, measured, length, value):
    """Updates on an episode; returns whether another plan was frozen after it."""
    progress, numbers = measured.progress, measured.numbers
    if progress[STOPPED]:
        return False
    observe(links, memory, length, value)
    root = traversal.ROOT
    progress[EPISODES] += 1
    froze = False
    if progress[LEFT] > 0:
        numbers[NUMBER] += 1.0
        numbers[TOTAL] += value
        numbers[SQUARES] += value * value
        progress[LEFT] -= 1
        if progress[LEFT] == 0:
            needed = _log_needed(progress[MEASURED], measured.delta)
            lower = lower_bound(numbers[NUMBER], numbers[TOTAL], numbers[SQUARES], needed)
            if lower > numbers[LOWER] or not progress[HAS_ANSWER]:
                numbers[LOWER], progress[HAS_ANSWER] = max(lower, numbers[LOWER]), 1
                for state in range(len(measured.frozen)):
                    measured.answer[state] = measured.frozen[state]
            progress[NEXT_LOOK] = int(_NEXT_ATTEMPT * progress[EPISODES])
    elif progress[EPISODES] >= progress[NEXT_LOOK]:
        attempt = progress[MEASURED] + 1
        length = math.ceil(_measuring_episodes(attempt, progress[EPISODES], measured.epsilon, measured.delta))
        spare = math.sqrt(0.5 * _log_needed(attempt, measured.delta) / length)
        if memory.upper[root] - memory.means[root] <= measured.epsilon - spare:
            _freeze(links, memory, measured.frozen)
            progress[MEASURED], progress[LEFT] = attempt, length
            numbers[NUMBER], numbers[TOTAL], numbers[SQUARES] = 0.0, 0.0, 0.0
            froze = True
        else:
            progress[NEXT_LOOK] = int(_NEXT * progress[EPISODES]) + 1
    if progress[HAS_ANSWER] and memory.upper[root] - numbers[LOWER] <= measured.epsilon:
        progress[STOPPED] = 1
    return froze


@numba.njit(cache=True)
def _play(links, chances, memory, measured, values, frozen_value, rng, number):
    total = 0.0
    for played in range(number):
        if measured.progress[STOPPED]:
            return played, total
        measuring = measured.progress[LEFT] > 0
        total += frozen_value[0] if measuring else values[len(values) - 1]
        plan = measured.frozen if measuring else memory.plan
        length, outcome = follow_plan(links, chances, plan, rng.random(), memory.path)
        froze = _step(links, memory, measured, length, chances.outcome_return[outcome])
        rescore_plan(links, chances, memory.plan, memory.path, length, values)
        if froze:
            frozen_value[0] = deterministic_value(links, chances, measured.frozen)
    return number, total
