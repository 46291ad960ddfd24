"""The largest lower bound against all policies, listed."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from tmdp_spiel.planning.lower_bound import largest_lower_bound


def written_out(tree, plays, totals, lam):
    """The largest bound over all policies and all powers of two up to the plays of the least-played ending."""
    found = -np.inf
    for policy in brute_force.policies(tree):
        least = min(plays[j] for j in brute_force.endings(tree, policy))
        m = 1
        while m <= least:
            found = max(found, brute_force.counts_estimate(tree, policy, plays, totals) - lam / np.sqrt(m))
            m *= 2
    return found


@pytest.mark.parametrize("seed", range(8))
def test_against_all_policies(seed):
    rng = np.random.default_rng(seed)
    mdp = brute_force.random_mdp(rng)
    tree, learner = mdp.tree, ts.UCBT(mdp.tree, seed=seed)
    for _ in range(60):
        plays, totals = learner.plays, learner.totals
        best = max(brute_force.counts_estimate(tree, each, plays, totals) for each in brute_force.policies(tree))
        for lam in (0.05, 1.0, 4.0):
            bound, plan = largest_lower_bound(tree.links, plays, totals, best, lam)
            assert bound == pytest.approx(written_out(tree, plays, totals, lam), abs=1e-12)
            if np.isfinite(bound):
                policy = brute_force.policy_of(tree, plan)
                least = min(plays[j] for j in brute_force.endings(tree, policy))
                assert brute_force.counts_estimate(tree, policy, plays, totals) - lam / np.sqrt(least) >= bound - 1e-12
        learner.learn(*mdp.sample(learner.plan(), rng))


def test_ucb_t_recommends_it_and_measures_what_it_recommends(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner = ts.UCBT(mdp.tree, seed=0)
    trace = ts.run(learner, mdp, 3_000, measure_at=[3_000], progress=False)
    assert trace.value_gap[-1] == pytest.approx(mdp.best_response()[0] - mdp.value(learner.recommend()), abs=1e-9)
    lam = np.sqrt(np.log(3_001 / 0.05))
    best = ts.UCBT(mdp.tree, seed=0, recommended="estimate")
    ts.run(best, mdp, 3_000, progress=False)
    np.testing.assert_array_equal(best.plays, learner.plays)
    plays, totals = learner.plays, learner.totals

    def estimate_and_width(plan):
        endings = brute_force.endings(mdp.tree, brute_force.policy_of(mdp.tree, plan))
        return sum(totals[j] / plays[j] for j in endings), lam / np.sqrt(min(plays[j] for j in endings))

    estimate, width = estimate_and_width(learner.recommend())
    best_estimate, best_width = estimate_and_width(best.recommend())
    assert estimate - width >= best_estimate - np.sqrt(2) * best_width


def test_a_wrong_choice_is_named(mdp_of):
    with pytest.raises(ValueError, match="recommended must be one of"):
        ts.UCBT(mdp_of("kuhn", 0).tree, recommended="luck")
