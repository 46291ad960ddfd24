"""LUCB-T (Algorithm 1 of the paper): an epsilon-best response with probability 1 - delta."""

from __future__ import annotations

import abc
import collections
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms import policy_bandit
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.bounds import widths
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.planning import kinetic
from tmdp_spiel.planning.full_pass import width
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import sample_deterministic

# The progress of a batch, in an array so that compiled code can advance it.
BATCH, PLANNED, PLAYED, STOPPED = range(4)

# schedule, lower_schedule: of upper and of lower bounds;  width: float64[1], of what the last batch was judged by
LUCBTMemory = collections.namedtuple(
    "LUCBTMemory",
    ["arms", "schedule", "lower_schedule", "epsilon", "deviations", "first", "second", "progress", "width"],
)


class BatchLearner(Learner):
    """Plays in batches: the empirically best policy, and then the other one with the largest upper bound.

    _memory has the two policies, `first` and `second`, the `progress` of the batch and the `width` of the last one.
    """

    _memory: typing.Any

    @abc.abstractmethod
    def _prepare_batch(self) -> None:
        """Computes the policies of the next batch, or decides to stop, unless this was already done."""

    @abc.abstractmethod
    def _whole(self, policy: policy_bandit.Policy) -> np.ndarray:
        """A policy that was computed at the states it reaches, as a plan."""

    def plan(self) -> np.ndarray:
        """The batch's policies in turn."""
        self._prepare_batch()
        return self._whole(self._memory.second if self._memory.progress[PLAYED] else self._memory.first)

    @property
    def stopped(self) -> bool:
        self._prepare_batch()
        return bool(self._memory.progress[STOPPED])

    @property
    def width(self) -> float:
        """The rival's upper bound minus the best policy's lower bound at the last batch; the learner stops at epsilon.

        It is infinite while some sequence has never been played.
        """
        return float(self._memory.width[0])


class LUCBT(policy_bandit.PolicyBandit, BatchLearner):
    """PAC identification in which every policy is an arm. See PolicyBandit for the parameters.

    epsilon, delta: the recommended policy is within epsilon of a best response, on the [0, 1] scale of returns, with
    probability at least 1 - delta, if bound="theory". With bound="simple" stopping carries no guarantee.
    """

    def __init__(
        self,
        tree: InfostateTree,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        bound: str = "theory",
        c: float = 1.0,
        union: str = "tight",
        estimator: str = "counts",
        baseline: float | str | None = None,
        optimistic: bool = False,
        seed: int = 0,
    ):
        super().__init__(
            tree,
            bound=bound,
            c=c,
            delta=delta,
            union=union,
            estimator=estimator,
            baseline=baseline,
            optimistic=optimistic,
            seed=seed,
        )
        self.epsilon = validation.probability("epsilon", epsilon)
        if bound == "theory":
            schedule = widths.lucb_t_schedule(tree, delta, union, upper=True)
            lower_schedule = widths.lucb_t_schedule(tree, delta, union)
        else:
            schedule = lower_schedule = widths.simple_schedule(c, delta)
        self._memory = LUCBTMemory(
            arms=self._arms,
            schedule=schedule,
            lower_schedule=lower_schedule,
            epsilon=self.epsilon,
            deviations=kinetic.new_deviations(tree),
            first=policy_bandit.new_policy(tree),
            second=policy_bandit.new_policy(tree),
            progress=np.zeros(4, np.int64),
            width=np.full(1, np.inf),
        )

    def _prepare_batch(self):
        _prepare(self.tree.links, self._memory, self.episodes)

    def _update(self, ended_on, value):
        _observe(self.tree.links, self._memory, ended_on, value)

    def _play(self, mdp, values, rng, episodes):
        return _play(self.tree.links, mdp.chances, self._memory, self.episodes, rng, episodes)


@kernel
def next_policy(progress):
    """Moves on to the next policy of the batch, or to the next batch."""
    progress[PLAYED] += 1
    if progress[PLAYED] == progress[PLANNED]:
        progress[PLAYED] = progress[PLANNED] = 0


@kernel
def _prepare(links, memory, episodes):
    """Lines 3 to 11: the policies of the next batch, or the decision to stop."""
    arms, first, progress = memory.arms, memory.first, memory.progress
    if progress[PLANNED] > 0 or progress[STOPPED]:
        return
    progress[BATCH] += 1
    lam = widths.growth(memory.schedule, progress[BATCH])
    estimate = policy_bandit.estimate_best(links, arms, lam, episodes)
    ending, _, wide = policy_bandit.max_ucb_ending(links, arms, lam, episodes)
    if wide == np.inf:
        policy_bandit.best_plan(links, arms, ending, episodes, first)
        progress[PLANNED] = 1
        return
    policy_bandit.best_plan(links, arms, -1, episodes, first)
    another, loss, wide = policy_bandit.second_plan(links, arms, memory.deviations, first, lam, episodes, memory.second)
    lower_lam = widths.growth(memory.lower_schedule, progress[BATCH])
    lower = min(estimate, 1.0) - lower_lam * width(policy_bandit.least_plays(links, arms, first), arms.optimistic)
    upper = estimate - loss + lam * wide
    memory.width[0] = upper - lower
    if not another or lower >= upper - memory.epsilon:
        progress[STOPPED] = 1
    else:
        progress[PLANNED] = 2


@kernel
def _observe(links, memory, ended_on, value):
    """Line 13: the counts, by the policy played and its outcome."""
    lam = widths.growth(memory.schedule, memory.progress[BATCH] + 1)
    policy = memory.second if memory.progress[PLAYED] else memory.first
    policy_bandit.observe(links, memory.arms, policy, ended_on, value, lam)
    next_policy(memory.progress)


@numba.njit(cache=True)
def _play(links, chances, memory, episodes, rng, number):
    total = 0.0
    for played in range(number):
        _prepare(links, memory, episodes + played)
        if memory.progress[STOPPED]:
            return played, total
        policy = memory.second if memory.progress[PLAYED] else memory.first
        total += policy_bandit.policy_value(links, chances, policy)
        ended_on, outcome = sample_deterministic(links, chances, policy.plan, rng.random())
        _observe(links, memory, ended_on, chances.outcome_return[outcome])
    return number, total
