"""The estimates of LUCB-T and UCB-T, from the episodes alone."""

import numpy as np

from reference import brute_force


class Observer:
    """Counts kept from what a learner plays and sees, without looking inside it."""

    def __init__(self, tree, baseline, adaptive=False):
        self.adaptive = adaptive
        self.tree, self.baseline, self.policies = tree, baseline, brute_force.policies(tree)
        self.episodes, self.returns = 0, []
        self.plays = np.zeros(tree.sequence_end, np.int64)
        self.ended, self.returned = np.zeros(tree.sequence_end), np.zeros(tree.sequence_end)
        self.state_visits = np.zeros(tree.num_states, np.int64)
        self.sequence_visits = np.zeros(tree.sequence_end, np.int64)

    def see(self, policy, ended_on, value):
        self.episodes += 1
        self.plays[list(policy)] += 1
        self.returns.append(value)
        self.ended[ended_on] += 1
        self.returned[ended_on] += value
        if self.adaptive and self.episodes in (16, 32, 64, 128, 256):
            self.baseline = np.mean(self.returns[0 if self.episodes == 16 else self.episodes // 2 :])
        while ended_on != self.tree.root:
            state = int(np.searchsorted(self.tree.first_sequence, ended_on, side="right")) - 1
            self.state_visits[state] += 1
            self.sequence_visits[ended_on] += 1
            ended_on = self.tree.parent[state]

    @property
    def totals(self):
        return self.returned - self.baseline * self.ended

    def estimate(self, policy, estimator):
        if estimator == "counts":
            return brute_force.counts_estimate(self.tree, policy, self.plays, self.totals)
        return brute_force.transitions_estimate(
            self.tree, policy, self.episodes, self.state_visits, self.sequence_visits, self.totals
        )

    def bound(self, policy, lam, estimator="counts", optimistic=False):
        least = min(self.plays[j] for j in brute_force.endings(self.tree, policy))
        return brute_force.upper_bound(self.estimate(policy, estimator), least, lam, optimistic)
