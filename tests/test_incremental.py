"""The incremental plans equal the plain ones on every episode of long runs."""

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel import incremental, planning
from tmdp_spiel.decision_tree import PLAN_DTYPE


class Twins:
    """The same counts, planned for by a plain pass and incrementally."""

    def __init__(self, mdp, optimistic, seed, estimates=None):
        self.mdp, self.tree, self.links = mdp, mdp.tree, mdp.tree.links
        self.optimistic, self.seed = optimistic, seed
        states = self.tree.num_states
        self.estimates = incremental.new_estimates(self.tree, optimistic) if estimates is None else estimates
        self.deviations = incremental.new_deviations(self.tree)
        self.work = planning.new_workspace(states, self.tree.num_sequences)
        self.forced = np.full(states, -1, PLAN_DTYPE)
        self.plan, self.reached = np.zeros(states, PLAN_DTYPE), np.empty(states, np.int32)
        self.stack = np.empty(states, np.int32)

    def compare(self, lam, time):
        """All answers of both; returns the two sequences to force, of the largest bound and of the second plan."""
        links, estimates = self.links, self.estimates
        plays = estimates.plays
        incremental.refresh_expired(links, estimates, lam, self.optimistic, self.stack)
        plain_value = planning.counts_losses(links, plays, estimates.totals, self.work)
        assert incremental.root_value(links, estimates) == pytest.approx(plain_value, abs=1e-12)
        planning.whole_best_plan(links, self.work, self.seed, time)
        np.testing.assert_array_equal(
            incremental.whole_best_plan(links, estimates, self.seed, time), self.work.plan
        )
        arguments = (lam, self.optimistic, self.seed, time)
        _, plain_loss, plain_wide = planning.max_ucb_ending(links, self.work, plays, -1, *arguments)
        lead, loss, wide = incremental.max_ucb_ending(links, estimates, *arguments)
        self.same(plain_loss, plain_wide, loss, wide, lam)
        number = incremental.best_plan(
            links, estimates, self.forced, self.seed, time, self.plan, self.reached
        )
        ending, _, plain_loss, plain_wide = planning.second_ending(links, self.work, plays, -1, *arguments)
        second, loss, wide = incremental.second_sequence(
            links, estimates, self.deviations, self.plan, self.reached, number, *arguments
        )
        assert (ending < 0) == (second < 0)
        if second >= 0:
            self.same(plain_loss, plain_wide, loss, wide, lam)
        return lead, second

    @staticmethod
    def same(plain_loss, plain_wide, loss, wide, lam):
        assert np.isinf(plain_wide) == np.isinf(wide)
        if np.isinf(wide):
            assert loss == pytest.approx(plain_loss, abs=1e-11)
        else:
            assert lam * wide - loss == pytest.approx(lam * plain_wide - plain_loss, abs=1e-11)

    def play(self, through, lam, time, rng):
        """One episode of the best policy through a sequence."""
        planning.force_path(self.links, through, self.forced)
        number = incremental.best_plan(
            self.links, self.estimates, self.forced, self.seed, time, self.plan, self.reached
        )
        planning.release_path(self.links, through, self.forced)
        ended_on, value = self.mdp.sample(self.plan, rng)
        states = self.reached[:number]
        self.estimates.plays[self.tree.first_sequence[states] + self.plan[states]] += 1
        if ended_on < self.tree.num_sequences:
            self.estimates.totals[ended_on] += value - 0.5
        for state in states[::-1]:
            incremental.refresh(self.links, self.estimates, state, lam, self.optimistic)


@pytest.mark.parametrize("optimistic", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_every_episode_of_a_run_on_a_random_tree(seed, optimistic):
    rng = np.random.default_rng(seed)
    mdp = ts.random_tree_mdp(rng, max_states=30 * (seed + 1), first_states=1 + seed % 3, max_children=4)
    twins = Twins(mdp, optimistic, seed)
    for time in range(1500):
        lam = np.sqrt(0.2 * np.log((time + 1) / 0.05))
        lead, second = twins.compare(lam, time)
        through = second if second >= 0 and rng.random() < 0.4 else lead
        twins.play(through, np.sqrt(0.2 * np.log((time + 2) / 0.05)), time, rng)


@pytest.mark.parametrize("player", [0, 1])
def test_every_episode_of_a_run_on_leduc(player, leduc):
    twins = Twins(ts.build_tree(leduc, player, ts.uniform(leduc)), False, player)
    rng = np.random.default_rng(player)
    for time in range(1500):
        lead, _ = twins.compare(np.sqrt(np.log((time + 1) / 0.05)), time)
        twins.play(lead, np.sqrt(np.log((time + 2) / 0.05)), time, rng)


def test_a_lead_expires_as_lambda_grows():
    """(loss 0, n = 100) leads (loss 0.3, n = 4) until 0.3 = lambda * (1/2 - 1/10)."""
    tree = ts.DecisionTree(
        first_sequence=[0, 2], first_child=[1, 1, 1], parent=[2], action=np.arange(2, dtype=np.int16), can_end=[True] * 2
    )
    estimates = incremental.new_estimates(tree, False)
    estimates.plays[:] = 100, 4
    estimates.totals[:] = 30, 0
    stack = np.empty(1, np.int32)
    incremental.refresh(tree.links, estimates, 0, 0.5, False)
    assert estimates.nodes[0, incremental.EXPIRY] == pytest.approx(0.75)
    assert incremental.refresh_expired(tree.links, estimates, 0.74, False, stack) == 0
    assert incremental.max_ucb_ending(tree.links, estimates, 0.74, False, 0, 0)[0] == 0
    assert incremental.refresh_expired(tree.links, estimates, 0.76, False, stack) == 1
    assert incremental.max_ucb_ending(tree.links, estimates, 0.76, False, 0, 0)[0] == 1
