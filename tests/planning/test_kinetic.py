"""The incremental plans equal the plain ones on every episode of long runs."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.plans import BothPlanners
from tmdp_spiel.planning import kinetic
from tmdp_spiel.trees.random_tree import random_tree_mdp


@pytest.mark.parametrize("optimistic", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_every_episode_of_a_run_on_a_random_tree(seed, optimistic):
    rng = np.random.default_rng(seed)
    mdp = random_tree_mdp(rng, max_states=30 * (seed + 1), first_states=1 + seed % 3, max_children=4)
    planners = BothPlanners(mdp, optimistic, seed)
    for time in range(1500):
        lam = np.sqrt(0.2 * np.log((time + 1) / 0.05))
        lead, second = planners.compare(lam, time)
        through = second if second >= 0 and rng.random() < 0.4 else lead
        planners.play(through, np.sqrt(0.2 * np.log((time + 2) / 0.05)), time, rng)


@pytest.mark.parametrize("player", [0, 1])
def test_every_episode_of_a_run_on_leduc(player, leduc):
    planners = BothPlanners(ts.build_tree(leduc, player, ts.uniform(leduc)), False, player)
    rng = np.random.default_rng(player)
    for time in range(1500):
        lead, _ = planners.compare(np.sqrt(np.log((time + 1) / 0.05)), time)
        planners.play(lead, np.sqrt(np.log((time + 2) / 0.05)), time, rng)


def test_a_lead_expires_as_lambda_grows():
    """(loss 0, n = 100) leads (loss 0.3, n = 4) until 0.3 = lambda * (1/2 - 1/10)."""
    tree = ts.InfostateTree(
        first_sequence=[1, 3],
        first_child=[0, 1, 1, 1],
        parent=[0],
        action=[0, 0, 1],
        can_end=[False] + [True] * 2,
    )
    estimates = kinetic.new_estimates(tree, False)
    estimates.plays[1:] = 100, 4
    estimates.totals[1:] = 30, 0
    stack = np.empty(1, np.int32)
    kinetic.refresh(tree.links, estimates, 0, 0.5, False)
    assert estimates.nodes[0, kinetic.EXPIRY] == pytest.approx(0.75)
    assert kinetic.refresh_expired(tree.links, estimates, 0.74, False, stack) == 0
    assert kinetic.max_ucb_ending(tree.links, estimates, 0.74, False, 0, 0)[0] == 1
    assert kinetic.refresh_expired(tree.links, estimates, 0.76, False, stack) == 1
    assert kinetic.max_ucb_ending(tree.links, estimates, 0.76, False, 0, 0)[0] == 2
