"""UCB-T (Algorithm 2 of the paper): play a policy with the highest upper confidence bound."""

from __future__ import annotations

import collections
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms import policy_bandit
from tmdp_spiel.algorithms.path_learner import reached_value
from tmdp_spiel.bounds import widths
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.planning import kinetic
from tmdp_spiel.planning.lower_bound import largest_lower_bound
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import sample_deterministic
from tmdp_spiel.trees.tree_mdp import TreeMDP

RECOMMENDED = ("lower bound", "estimate")

UCBTMemory = collections.namedtuple("UCBTMemory", ["arms", "schedule", "policy"])


class UCBT(policy_bandit.PolicyBandit):
    """Regret minimisation in which every policy is an arm. See PolicyBandit for the parameters.

    With bound="theory" the mistake probabilities are delta_U(t), and c and delta are not used.

    recommended: the policy with the largest "lower bound", or with the largest "estimate". On a large tree, the latter
    may be a policy whose endings were played once and were lucky. This affects neither the policies played nor the
    regret.
    """

    def __init__(
        self,
        tree: InfostateTree,
        *,
        bound: str = "simple",
        c: float = 1.0,
        delta: float = 0.05,
        union: str = "tight",
        estimator: str = "counts",
        baseline: float | str | None = None,
        optimistic: bool = False,
        recommended: str = "lower bound",
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
        if bound == "theory":
            schedule = widths.ucb_t_schedule(tree, union)
        else:
            schedule = widths.simple_schedule(c, delta)
        self._memory = UCBTMemory(self._arms, schedule, policy_bandit.new_policy(tree))
        self.recommended = validation.choice("recommended", recommended, RECOMMENDED)

    def plan(self) -> np.ndarray:
        """A policy of the largest upper confidence bound; one through a sequence never played, while there is one."""
        _choose(self.tree.links, self._memory, self.episodes)
        return self._whole(self._memory.policy)

    def recommend(self) -> np.ndarray:
        """The policy of the largest lower confidence bound, elsewhere the empirically best; or that alone."""
        plan, cautious = super().recommend(), self._cautious()
        return plan if cautious is None else np.where(cautious >= 0, cautious, plan)

    def recommended_value(self, mdp: TreeMDP, values: typing.Any) -> float:
        cautious = self._cautious()
        if cautious is None:
            return super().recommended_value(mdp, values)
        return mdp.to_utility(reached_value(self.tree.links, mdp.chances, cautious.__getitem__))

    def _cautious(self) -> np.ndarray | None:
        """The policy of the largest lower bound where it leads, -1 elsewhere; None if there is none, or not asked for.

        The estimate by transitions is not a sum over played sequences, so that has none either.
        """
        if self.recommended == "estimate" or self.estimator == "transitions":
            return None
        links, estimates = self.tree.links, self._arms.estimates
        lam = widths.growth(self._memory.schedule, self.episodes + 1)
        best = kinetic.root_value(links, estimates)
        bound, plan = largest_lower_bound(links, estimates.plays, estimates.totals, best, lam)
        return plan if np.isfinite(bound) else None

    def _update(self, ended_on, value):
        _observe(self.tree.links, self._memory, self.episodes, ended_on, value)

    def _play(self, mdp, values, rng, episodes):
        return _play(self.tree.links, mdp.chances, self._memory, self.episodes, rng, episodes)


@kernel
def _choose(links, memory, episodes):
    """Lines 3 to 6: pi^t = argmax over pi of ucb^t(pi, delta_U(t)), unplayed sequences first; unless chosen already."""
    arms, policy = memory.arms, memory.policy
    if policy.number[0] > 0:
        return
    lam = widths.growth(memory.schedule, episodes + 1)
    policy_bandit.estimate_best(links, arms, lam, episodes)
    ending, _, _ = policy_bandit.max_ucb_ending(links, arms, lam, episodes)
    policy_bandit.best_plan(links, arms, ending, episodes, policy)


@kernel
def _observe(links, memory, episodes, ended_on, value):
    """Line 9: the counts, by the policy played and its outcome."""
    lam = widths.growth(memory.schedule, episodes + 2)
    policy_bandit.observe(links, memory.arms, memory.policy, ended_on, value, lam)
    memory.policy.number[0] = 0


@numba.njit(cache=True)
def _play(links, chances, memory, episodes, rng, number):
    total = 0.0
    for episode in range(episodes, episodes + number):
        _choose(links, memory, episode)
        total += policy_bandit.policy_value(links, chances, memory.policy)
        ended_on, outcome = sample_deterministic(links, chances, memory.policy.plan, rng.random())
        _observe(links, memory, episode, ended_on, chances.outcome_return[outcome])
    return number, total
