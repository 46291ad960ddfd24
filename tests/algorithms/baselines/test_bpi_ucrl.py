import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.empirical_model import Episodes, best_values, play
from tmdp_spiel.trees.random_tree import random_tree_mdp


def test_bounds_are_those_of_a_whole_pass(mdp_of):
    rng = np.random.default_rng(0)
    for mdp in [mdp_of("kuhn", 0), mdp_of("leduc", 1)] + [brute_force.random_mdp(rng) for _ in range(10)]:
        learner, reference = ts.BPIUCRL(mdp.tree, delta=0.1, seed=2), Episodes(mdp.tree)
        for _ in range(3):
            play(learner, mdp, rng, 60, reference)

            def bounds(j, state_upper, state_lower):
                n = len(reference.after[j])
                width = min(1, np.sqrt(0.5 * (np.log(1 / 0.1) + np.log(np.e * (1 + n))) / n))
                upper = min(1, reference.followed_by(j, state_upper).mean() + width)
                return upper, max(0, reference.followed_by(j, state_lower).mean() - width)

            upper, lower = reference.bottom_up(bounds)
            np.testing.assert_allclose(learner.upper, upper, atol=1e-12)
            np.testing.assert_allclose(learner.lower, lower, atol=1e-12)
            for plan, bound in ((learner.plan(), upper), (learner.recommend(), lower)):
                for state in range(mdp.tree.num_states):
                    own = bound[mdp.tree.first_sequence[state] : mdp.tree.first_sequence[state + 1]]
                    assert own[plan[state]] == pytest.approx(own.max(), abs=1e-12)


@pytest.mark.slow
def test_intervals_contain_the_true_values():
    mdp = random_tree_mdp(np.random.default_rng(4), max_states=10, first_states=2)
    truth, runs, delta = best_values(mdp), 150, 0.1
    failed = np.zeros(len(truth))
    for seed in range(runs):
        learner, ever = ts.BPIUCRL(mdp.tree, epsilon=0.001, delta=delta, seed=seed), np.zeros(len(truth), bool)
        rng = np.random.default_rng(seed)
        for episodes in (1, 3, 10, 30, 100, 300, 1000, 3000, 10000):
            ts.run(learner, mdp, episodes, rng=rng, progress=False)
            ever |= (learner.upper < truth - 1e-12) | (learner.lower > truth + 1e-12)
        failed += ever
        assert learner.upper[0] - learner.lower[0] < 0.3
    assert np.all(failed / runs <= delta)


@pytest.mark.parametrize("player", [0, 1])
def test_stops_at_an_epsilon_best_response(player, mdp_of):
    mdp = mdp_of("kuhn", player)
    learner = ts.BPIUCRL(mdp.tree, epsilon=0.05, delta=0.05, seed=player)
    result = ts.run_until_stopped(learner, mdp, progress=False)
    assert result.stopped and learner.upper[0] - learner.lower[0] <= 0.05
    assert result.gap <= 0.05 * mdp.tree.utility_range
