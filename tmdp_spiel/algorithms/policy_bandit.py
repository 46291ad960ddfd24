"""Shared code of LUCB-T and UCB-T, in which every policy is an arm and all arms are judged on shared data.

It contains the estimate of all policies together (R(j) and n(j) per sequence), and finds the plans that maximise it or
its upper bound. R(j) sums return - baseline over the episodes that ended on j: the estimate is unbiased for any
baseline, but an ending that was never seen counts as a return of `baseline`. An adaptive baseline follows the mean
return (section 4 of docs/theory.md).
"""

from __future__ import annotations

import collections
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.bounds import widths
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.planning import full_pass, kinetic
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP

ESTIMATORS = ("counts", "transitions")
_LEAST_EPISODES = 16  # before an adaptive baseline is set for the first time

# estimates: see `kinetic`;  state_visits, sequence_visits, work: for estimator="transitions", else empty;
# forced, stack: scratch, one entry per state
Arms = collections.namedtuple(
    "Arms",
    [
        "estimates",
        "state_visits",
        "sequence_visits",
        "work",
        "forced",
        "stack",
        "optimistic",
        "baseline",
        "seed",
    ],
)
# value: float64[1];  for an adaptive one, else empty: ended: int32[J + 1], the episodes that ended on each sequence;
# recent: float64[3], returns and number of the episodes since it was set, and the number before
Baseline = collections.namedtuple("Baseline", ["value", "ended", "recent"])
# A policy, worked out at the states it can reach: plan[s] for s in reached[: number[0]].
Policy = collections.namedtuple("Policy", ["plan", "reached", "number"])


def new_policy(tree: InfostateTree) -> Policy:
    return Policy(np.zeros(tree.num_states, PLAN_DTYPE), np.empty(tree.num_states, np.int32), np.zeros(1, np.int64))


class PolicyBandit(Learner):
    """The parameters and estimates of LUCB-T and UCB-T.

    bound:     "theory", the width of Theorem 1, or "simple", that of the paper's experiments with constant c
    union:     for "theory": "tight" or as in the "paper"; see `confidence`; or "best": tight, and upper bounds only
               hold for a best policy, which is all that they are needed for
    estimator: "counts", which Theorem 1 is about, or "transitions", products of empirical transition probabilities,
               for "simple" only
    baseline:  the return that something never seen counts as, in [0, 1]; or "adaptive": the mean return since it was
               last set, whenever the episodes have doubled. 0 for "theory", which needs it, and 1/2 for "simple"
    optimistic: treat a sequence never played as played once, instead of playing each once first
    """

    def __init__(self, tree: InfostateTree, *, bound, c, delta, union, estimator, baseline, optimistic, seed):
        super().__init__(tree, seed)
        self.bound = validation.choice("bound", bound, widths.BOUNDS)
        self.union = validation.choice("union", union, widths.UNIONS)
        self.estimator = validation.choice("estimator", estimator, ESTIMATORS)
        self.c = validation.positive("c", c)
        self.delta = validation.probability("delta", delta)
        self.optimistic = bool(optimistic)
        self.baseline = _checked_baseline(baseline, bound, estimator)
        self.adaptive = self.baseline == "adaptive"
        self._arms = _new_arms(tree, self.optimistic, self.baseline, estimator == "transitions", self.seed)
        self._recommended = new_policy(tree)

    @property
    def current_baseline(self) -> float:
        """The return as which an ending that was never seen counts now."""
        return float(self._arms.baseline.value[0])

    @property
    def plays(self) -> np.ndarray:
        """n(j) per sequence: the episodes whose policy prescribes every action on the way to j, j included."""
        return self._arms.estimates.plays.copy()

    @property
    def totals(self) -> np.ndarray:
        """R(j) per sequence: the returns, less the baseline, of the episodes that ended on j."""
        return self._arms.estimates.totals.copy()

    def recommend(self) -> np.ndarray:
        """The empirically best policy."""
        return whole_best_plan(self.tree.links, self._arms, self.episodes)

    def recommended_value(self, mdp: TreeMDP, values: typing.Any) -> float:
        if self.estimator == "transitions":
            return super().recommended_value(mdp, values)
        best_plan(self.tree.links, self._arms, -1, self.episodes, self._recommended)
        return mdp.to_utility(policy_value(self.tree.links, mdp.chances, self._recommended))

    def _whole(self, policy: Policy) -> np.ndarray:
        """A policy that was computed at the states it reaches, with the empirically best plan elsewhere."""
        plan = self.recommend()
        reached = policy.reached[: policy.number[0]]
        plan[reached] = policy.plan[reached]
        return plan


def _checked_baseline(baseline: typing.Any, bound: str, estimator: str) -> float | str:
    """The baseline, or its default; an error where the bound or the estimator does not allow it."""
    if baseline is None:
        baseline = 0.0 if bound == "theory" else 0.5
    adaptive = isinstance(baseline, str) and baseline == "adaptive"
    if not adaptive and not (validation.is_number(baseline) and 0.0 <= baseline <= 1.0):
        raise ValueError(f"baseline must be 'adaptive' or lie in [0, 1], the scale of returns, not {baseline!r}")
    if bound == "theory" and baseline != 0.0:
        raise ValueError("the width of Theorem 1 (bound='theory') needs baseline=0; with bound='simple' it is free")
    if bound == "theory" and estimator == "transitions":
        raise ValueError(
            "Theorem 1 (bound='theory') is not proven for estimator='transitions'; use estimator='counts', or "
            "bound='simple', which carries no guarantee"
        )
    if adaptive and estimator == "transitions":
        raise ValueError("estimator='transitions' does not depend on the baseline where it has data: give it a number")
    return baseline if adaptive else float(baseline)


def _new_arms(tree: InfostateTree, optimistic: bool, baseline: float | str, transitions: bool, seed: int) -> Arms:
    """Arms that were never played."""
    states, sequences = (tree.num_states, tree.sequence_end) if transitions else (0, 0)
    adaptive = baseline == "adaptive"
    return Arms(
        estimates=kinetic.new_estimates(tree, optimistic),
        state_visits=np.zeros(states, np.int32),
        sequence_visits=np.zeros(sequences, np.int32),
        work=full_pass.new_workspace(states, sequences),
        forced=np.full(tree.num_states, -1, PLAN_DTYPE),
        stack=np.empty(tree.num_states, np.int32),
        optimistic=optimistic,
        baseline=Baseline(
            value=np.array([0.5 if adaptive else baseline]),
            ended=np.zeros(tree.sequence_end if adaptive else 0, np.int32),
            recent=np.zeros(3),
        ),
        seed=seed,
    )


@kernel
def uses_transitions(arms):
    return len(arms.state_visits) > 0


@kernel
def estimate_best(links, arms, lam, episodes):
    """Updates the estimates; returns V-hat of the empirically best policy."""
    offset = arms.baseline.value[0] + (arms.estimates.totals[traversal.ROOT] / episodes if episodes > 0 else 0.0)
    if uses_transitions(arms):
        return offset + full_pass.transitions_losses(
            links, episodes, arms.state_visits, arms.sequence_visits, arms.estimates.totals, arms.work
        )
    kinetic.refresh_expired(links, arms.estimates, lam, arms.optimistic, arms.stack)
    return offset + kinetic.root_value(links, arms.estimates)


@kernel
def max_ucb_ending(links, arms, lam, time):
    """The ending to force for a policy of the largest upper bound: (sequence, loss, width)."""
    if uses_transitions(arms):
        return full_pass.max_ucb_ending(
            links, arms.work, arms.estimates.plays, -1, lam, arms.optimistic, arms.seed, time
        )
    return kinetic.max_ucb_ending(links, arms.estimates, lam, arms.optimistic, arms.seed, time)


@kernel
def best_plan(links, arms, through, time, policy):
    """The empirically best policy, or the best of those that play the sequence `through` if it is not -1."""
    if through >= 0:
        traversal.force_path(links, through, arms.forced)
    if uses_transitions(arms):
        policy.number[0] = full_pass.best_plan(
            links, arms.work, arms.forced, arms.seed, time, policy.plan, policy.reached
        )
    else:
        policy.number[0] = kinetic.best_plan(
            links, arms.estimates, arms.forced, arms.seed, time, policy.plan, policy.reached
        )
    if through >= 0:
        traversal.release_path(links, through, arms.forced)


@kernel
def second_plan(links, arms, deviations, first, lam, time, policy):
    """The policy of the largest upper bound among those that differ from `first`, the empirically best one, in what
    they reach: (whether there is one, its loss, its width)."""
    if uses_transitions(arms):
        full_pass.whole_best_plan(links, arms.work, arms.seed, time)
        ending, deviation, loss, wide = full_pass.runner_up(
            links, arms.work, arms.estimates.plays, -1, lam, arms.optimistic, arms.seed, time
        )
    else:
        ending, deviation, loss, wide = kinetic.runner_up(
            links,
            arms.estimates,
            deviations,
            first.plan,
            first.reached,
            first.number[0],
            lam,
            arms.optimistic,
            arms.seed,
            time,
        )
    if ending >= 0:
        best_plan(links, arms, deviation if deviation >= 0 else ending, time, policy)
    return ending >= 0, loss, wide


@numba.njit(cache=True)
def whole_best_plan(links, arms, episodes):
    """The empirically best plan after that many episodes at every state, reached or not."""
    if uses_transitions(arms):
        full_pass.transitions_losses(
            links, episodes, arms.state_visits, arms.sequence_visits, arms.estimates.totals, arms.work
        )
        full_pass.whole_best_plan(links, arms.work, arms.seed, episodes)
        return arms.work.plan.copy()
    return kinetic.whole_best_plan(links, arms.estimates, arms.seed, episodes)


@kernel
def least_plays(links, arms, policy):
    """n(pi): the plays of the policy's least-played ending."""
    least = np.int64(np.iinfo(np.int64).max)
    for at in range(policy.number[0]):
        j = links.first_sequence[policy.reached[at]] + policy.plan[policy.reached[at]]
        if links.can_end[j]:
            least = min(least, np.int64(arms.estimates.plays[j]))
    return least


@kernel
def policy_value(links, chances, policy):
    """V(pi) on the [0, 1] scale, exactly."""
    total = chances.ending_value[traversal.ROOT]
    for at in range(policy.number[0]):
        total += chances.ending_value[links.first_sequence[policy.reached[at]] + policy.plan[policy.reached[at]]]
    return total


@kernel
def observe(links, arms, policy, ended_on, value, lam):
    """An episode of the policy: n(j) + 1 for every j it can reach, R + return - baseline where it ended."""
    estimates = arms.estimates
    gain = value - arms.baseline.value[0]
    estimates.totals[ended_on] += gain
    for at in range(policy.number[0]):
        state = policy.reached[at]
        estimates.plays[links.first_sequence[state] + policy.plan[state]] += 1
    if uses_transitions(arms):
        sequence = np.int64(ended_on)
        while sequence != traversal.ROOT:
            state = traversal.state_of(links, sequence)
            arms.sequence_visits[sequence] += 1
            arms.state_visits[state] += 1
            sequence = np.int64(links.parent[state])
    elif len(arms.baseline.ended) > 0 and follow_returns(links, arms, ended_on, value):
        kinetic.refresh_all(links, estimates, lam, arms.optimistic)
    else:
        for at in range(policy.number[0] - 1, -1, -1):
            kinetic.refresh(links, estimates, policy.reached[at], lam, arms.optimistic)


@kernel
def follow_returns(links, arms, ended_on, value):
    """Updates an adaptive baseline on an episode; returns whether it was reset, because the episodes have doubled."""
    baseline = arms.baseline
    baseline.ended[ended_on] += 1
    returns, number, before = baseline.recent[0] + value, baseline.recent[1] + 1.0, baseline.recent[2]
    baseline.recent[0], baseline.recent[1] = returns, number
    if number < max(before, _LEAST_EPISODES):
        return False
    rebase(links, arms, returns / number)
    baseline.recent[0], baseline.recent[1], baseline.recent[2] = 0.0, 0.0, before + number
    return True


@tree_pass
def rebase(links, arms, value):
    """R(j) of every sequence, for another baseline."""
    ended, shift = arms.baseline.ended, arms.baseline.value[0] - value
    arms.baseline.value[0] = value
    for j in range(len(links.can_end)):
        if ended[j] > 0:
            arms.estimates.totals[j] += shift * ended[j]
