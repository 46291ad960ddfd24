"""Incremental plans beside those of plain passes."""

import numpy as np
import pytest

from tmdp_spiel.planning import full_pass, kinetic
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE


class BothPlanners:
    """The same counts, planned for by a plain pass and incrementally."""

    def __init__(self, mdp, optimistic, seed, estimates=None):
        self.mdp, self.tree, self.links = mdp, mdp.tree, mdp.tree.links
        self.optimistic, self.seed = optimistic, seed
        states = self.tree.num_states
        self.estimates = kinetic.new_estimates(self.tree, optimistic) if estimates is None else estimates
        self.deviations = kinetic.new_deviations(self.tree)
        self.work = full_pass.new_workspace(states, self.tree.sequence_end)
        self.forced = np.full(states, -1, PLAN_DTYPE)
        self.plan, self.reached = np.zeros(states, PLAN_DTYPE), np.empty(states, np.int32)
        self.stack = np.empty(states, np.int32)

    def compare(self, lam, time):
        """All answers of both; returns the two sequences to force, of the largest bound and of the second plan."""
        links, estimates = self.links, self.estimates
        plays = estimates.plays
        kinetic.refresh_expired(links, estimates, lam, self.optimistic, self.stack)
        plain_value = full_pass.counts_losses(links, plays, estimates.totals, self.work)
        assert kinetic.root_value(links, estimates) == pytest.approx(plain_value, abs=1e-12)
        full_pass.whole_best_plan(links, self.work, self.seed, time)
        np.testing.assert_array_equal(kinetic.whole_best_plan(links, estimates, self.seed, time), self.work.plan)
        arguments = (lam, self.optimistic, self.seed, time)
        _, plain_loss, plain_wide = full_pass.max_ucb_ending(links, self.work, plays, -1, *arguments)
        lead, loss, wide = kinetic.max_ucb_ending(links, estimates, *arguments)
        self.same(plain_loss, plain_wide, loss, wide, lam)
        number = kinetic.best_plan(links, estimates, self.forced, self.seed, time, self.plan, self.reached)
        ending, _, plain_loss, plain_wide = full_pass.runner_up(links, self.work, plays, -1, *arguments)
        second, deviation, loss, wide = kinetic.runner_up(
            links, estimates, self.deviations, self.plan, self.reached, number, *arguments
        )
        assert (ending < 0) == (second < 0)
        if second >= 0:
            self.same(plain_loss, plain_wide, loss, wide, lam)
        return lead, deviation if deviation >= 0 else second

    @staticmethod
    def same(plain_loss, plain_wide, loss, wide, lam):
        assert np.isinf(plain_wide) == np.isinf(wide)
        if np.isinf(wide):
            assert loss == pytest.approx(plain_loss, abs=1e-11)
        else:
            assert lam * wide - loss == pytest.approx(lam * plain_wide - plain_loss, abs=1e-11)

    def play(self, through, lam, time, rng):
        """One episode of the best policy through a sequence."""
        traversal.force_path(self.links, through, self.forced)
        number = kinetic.best_plan(self.links, self.estimates, self.forced, self.seed, time, self.plan, self.reached)
        traversal.release_path(self.links, through, self.forced)
        ended_on, value = self.mdp.sample(self.plan, rng)
        states = self.reached[:number]
        self.estimates.plays[self.tree.first_sequence[states] + self.plan[states]] += 1
        self.estimates.totals[ended_on] += value - 0.5
        for state in states[::-1]:
            kinetic.refresh(self.links, self.estimates, state, lam, self.optimistic)
