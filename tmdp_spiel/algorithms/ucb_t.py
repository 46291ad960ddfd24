"""UCB-T (Algorithm 2 of the paper): play a policy with the highest upper confidence bound."""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel import confidence
from tmdp_spiel.algorithms import policy_arms
from tmdp_spiel.kernels import kernel
from tmdp_spiel.tree_mdp import sample_deterministic


class UCBT(policy_arms.PolicyArms):
    """Regret minimisation with every policy an arm. See PolicyArms for the parameters.

    With bound="theory" the mistake probabilities are delta_U(t), and c and delta are not used.
    """

    def __init__(
        self,
        tree,
        *,
        bound: str = "simple",
        c: float = 1.0,
        delta: float = 0.05,
        union: str = "tight",
        estimator: str = "counts",
        baseline: float | None = None,
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
        if bound == "theory":
            self._schedule = confidence.ucb_t_schedule(tree, union)
        else:
            self._schedule = confidence.simple_schedule(c, delta)
        self._policy = policy_arms.new_policy(tree)

    def plan(self) -> np.ndarray:
        """A policy of the largest upper confidence bound; one through a sequence never played, while there is one."""
        if self._policy.number[0] == 0:
            _choose(self.tree.links, self._arms, self._schedule, self.episodes, self._policy)
        return self._whole(self._policy)

    def _update(self, ended_on, value):
        _take_in(
            self.tree.links, self._arms, self._schedule, self.episodes, self._policy, ended_on, value, self._root_total
        )

    def _play(self, mdp, rng, episodes):
        return _play(
            self.tree.links,
            mdp.chances,
            self._arms,
            self._schedule,
            self.episodes,
            self._policy,
            self._root_total,
            rng,
            episodes,
        )


@kernel
def _choose(links, arms, schedule, episodes, policy):
    """Lines 3 to 6: pi^t = argmax over pi of ucb^t(pi, delta_U(t)), unplayed sequences first."""
    lam = confidence.growth(schedule, episodes + 1)
    policy_arms.estimate_best(links, arms, lam, episodes)
    ending, _, _ = policy_arms.max_ucb_ending(links, arms, lam, episodes)
    policy_arms.best_plan(links, arms, ending, episodes, policy)


@kernel
def _take_in(links, arms, schedule, episodes, policy, ended_on, value, root_total):
    """Line 9: the counts, by the policy played and its outcome."""
    lam = confidence.growth(schedule, episodes + 2)
    policy_arms.take_in(links, arms, policy, ended_on, value, root_total, lam)
    policy.number[0] = 0


@numba.njit(cache=True)
def _play(links, chances, arms, schedule, episodes, policy, root_total, rng, number):
    total = 0.0
    for episode in range(episodes, episodes + number):
        if policy.number[0] == 0:
            _choose(links, arms, schedule, episode, policy)
        total += policy_arms.policy_value(links, chances, policy)
        ended_on, outcome = sample_deterministic(links, chances, policy.plan, rng.random())
        _take_in(links, arms, schedule, episode, policy, ended_on, chances.outcome_return[outcome], root_total)
    return number, total
