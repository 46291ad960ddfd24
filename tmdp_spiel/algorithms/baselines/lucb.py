"""LUCB (Kalyanakrishnan, Tewari, Auer and Stone, ICML 2012) with one arm per policy, sharing no data between them."""

from __future__ import annotations

import collections
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.core import hash_rng, validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.traversal import sample_deterministic
from tmdp_spiel.trees.tree_mdp import TreeMDP, deterministic_value

# The progress of a round, in an array so that compiled code can advance it.
ROUND, PLANNED, PLAYED, STOPPED, BEST, RIVAL = range(6)

# Per arm: the sum of its returns, how often it was pulled, its mean, and 1 / sqrt(pulls).
Record = collections.namedtuple("Record", ["sums", "pulls", "means", "widths"])


class LUCB(Learner):
    """PAC identification. epsilon, delta: as for LUCBT. For trees of at most max_policies reduced policies."""

    def __init__(
        self,
        tree: InfostateTree,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        max_policies: int = 100_000,
        seed: int = 0,
    ):
        super().__init__(tree, seed)
        self.epsilon = validation.probability("epsilon", epsilon)
        self.delta = validation.probability("delta", delta)
        if tree.num_policies > max_policies:
            raise ValueError(
                f"LUCB has one arm per policy and this tree has {tree.num_policies:.3g}, more than max_policies = "
                f"{max_policies:,}; LUCBT shares data between policies and needs no enumeration"
            )
        self._arms = reduced_policies(tree)
        number = len(self._arms)
        self._record = Record(np.zeros(number), np.zeros(number, np.int64), np.full(number, -np.inf), np.empty(number))
        self._progress = np.zeros(6, np.int64)

    @property
    def pulls(self) -> np.ndarray:
        """How often each reduced policy was played."""
        return self._record.pulls.copy()

    def plan(self) -> np.ndarray:
        """The round's policies in turn: the best mean, and the best upper bound among the others."""
        self._prepare()
        return self._arms[self._progress[RIVAL if self._progress[PLAYED] else BEST]].copy()

    def recommend(self) -> np.ndarray:
        """The policy with the best mean."""
        return self._arms[int(np.argmax(self._record.means))].copy()

    @property
    def stopped(self) -> bool:
        self._prepare()
        return bool(self._progress[STOPPED])

    def _prepare(self):
        _prepare(self._record, self.epsilon, self.delta, self.seed, self._progress)

    def _update(self, ended_on, value):
        _observe(self._record, value, self._progress)

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        """V of every arm."""
        return np.array([deterministic_value(mdp.tree.links, mdp.chances, arm) for arm in self._arms])

    def _play(self, mdp, values, rng, episodes):
        return _play(
            self.tree.links,
            mdp.chances,
            self._arms,
            values,
            self._record,
            self.epsilon,
            self.delta,
            self.seed,
            self._progress,
            rng,
            episodes,
        )


def reduced_policies(tree: InfostateTree) -> np.ndarray:
    """All reduced policies, one per row; action 0 at states that a policy does not reach."""

    def below(state: int) -> list[dict[int, int]]:
        policies = []
        for action, j in enumerate(range(tree.first_sequence[state], tree.first_sequence[state + 1])):
            combined = [{state: action}]
            for child in range(tree.first_child[j], tree.first_child[j + 1]):
                combined = [{**one, **other} for one in combined for other in below(child)]
            policies.extend(combined)
        return policies

    combined: list[dict[int, int]] = [{}]
    for state in range(tree.first_child[tree.root + 1]):
        combined = [{**one, **other} for one in combined for other in below(state)]
    plans = np.zeros((len(combined), tree.num_states), PLAN_DTYPE)
    for row, policy in zip(plans, combined):
        row[list(policy)] = list(policy.values())
    return plans


@kernel
def _prepare(record, epsilon, delta, seed, progress):
    """The arms of the next round, or the decision to stop.

    beta(u, t) = sqrt(ln(1.25 N t^4 / delta) / (2u)) with t the round; each arm is pulled once first, one a round.
    """
    if progress[PLANNED] > 0 or progress[STOPPED]:
        return
    arms, means, widths = len(record.sums), record.means, record.widths
    progress[ROUND] += 1
    if progress[ROUND] <= arms:
        progress[BEST], progress[PLANNED] = progress[ROUND] - 1, 1
        return
    best = hash_rng.argmax(means, 0, arms, seed, progress[ROUND], 0)
    lam = np.sqrt(0.5 * (np.log(1.25 * arms / delta) + 4.0 * np.log(progress[ROUND])))
    rival, upper = -1, -np.inf
    for arm in range(arms):
        if means[arm] + lam * widths[arm] > upper and arm != best:
            rival, upper = arm, means[arm] + lam * widths[arm]
    progress[BEST], progress[RIVAL] = best, rival
    if rival < 0 or upper - (means[best] - lam * widths[best]) < epsilon:
        progress[STOPPED] = 1
    else:
        progress[PLANNED] = 2


@kernel
def _observe(record, value, progress):
    arm = progress[RIVAL] if progress[PLAYED] else progress[BEST]
    record.sums[arm] += value
    record.pulls[arm] += 1
    record.means[arm] = record.sums[arm] / record.pulls[arm]
    record.widths[arm] = 1.0 / np.sqrt(record.pulls[arm])
    progress[PLAYED] += 1
    if progress[PLAYED] == progress[PLANNED]:
        progress[PLAYED] = progress[PLANNED] = 0


@numba.njit(cache=True)
def _play(links, chances, arms, values, record, epsilon, delta, seed, progress, rng, number):
    total = 0.0
    for played in range(number):
        _prepare(record, epsilon, delta, seed, progress)
        if progress[STOPPED]:
            return played, total
        arm = progress[RIVAL] if progress[PLAYED] else progress[BEST]
        total += values[arm]
        _, outcome = sample_deterministic(links, chances, arms[arm], rng.random())
        _observe(record, chances.outcome_return[outcome], progress)
    return number, total
