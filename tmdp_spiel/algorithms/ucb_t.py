"""UCB-T (Algorithm 2 of the paper): play a policy with the highest upper confidence bound."""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.algorithms import policy_arms
from tmdp_spiel.bounds import widths
from tmdp_spiel.trees.kernels import kernel
from tmdp_spiel.trees.walk import sample_deterministic

Memory = collections.namedtuple("Memory", ["arms", "schedule", "policy"])


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
        if bound == "theory":
            schedule = widths.ucb_t_schedule(tree, union)
        else:
            schedule = widths.simple_schedule(c, delta)
        self._memory = Memory(self._arms, schedule, policy_arms.new_policy(tree))

    def plan(self) -> np.ndarray:
        """A policy of the largest upper confidence bound; one through a sequence never played, while there is one."""
        _choose(self.tree.links, self._memory, self.episodes)
        return self._whole(self._memory.policy)

    def _update(self, ended_on, value):
        _take_in(self.tree.links, self._memory, self.episodes, ended_on, value)

    def _play(self, mdp, values, rng, episodes):
        return _play(self.tree.links, mdp.chances, self._memory, self.episodes, rng, episodes)


@kernel
def _choose(links, memory, episodes):
    """Lines 3 to 6: pi^t = argmax over pi of ucb^t(pi, delta_U(t)), unplayed sequences first; unless chosen already."""
    arms, policy = memory.arms, memory.policy
    if policy.number[0] > 0:
        return
    lam = widths.growth(memory.schedule, episodes + 1)
    policy_arms.estimate_best(links, arms, lam, episodes)
    ending, _, _ = policy_arms.max_ucb_ending(links, arms, lam, episodes)
    policy_arms.best_plan(links, arms, ending, episodes, policy)


@kernel
def _take_in(links, memory, episodes, ended_on, value):
    """Line 9: the counts, by the policy played and its outcome."""
    lam = widths.growth(memory.schedule, episodes + 2)
    policy_arms.take_in(links, memory.arms, memory.policy, ended_on, value, lam)
    memory.policy.number[0] = 0


@numba.njit(cache=True)
def _play(links, chances, memory, episodes, rng, number):
    total = 0.0
    for episode in range(episodes, episodes + number):
        _choose(links, memory, episode)
        total += policy_arms.policy_value(links, chances, memory.policy)
        ended_on, outcome = sample_deterministic(links, chances, memory.policy.plan, rng.random())
        _take_in(links, memory, episode, ended_on, chances.outcome_return[outcome])
    return number, total
