import numpy as np

import tmdp_spiel as ts
from reference import brute_force
from reference.empirical_model import Episodes, play


def test_bounds_are_those_of_a_whole_pass_over_the_model_of_the_last_doubling(mdp_of):
    rng = np.random.default_rng(0)
    for mdp in [mdp_of("kuhn", 0), mdp_of("leduc", 1)] + [brute_force.random_mdp(rng) for _ in range(10)]:
        learner, reference = ts.MVP(mdp.tree, c1=0.1, c3=0.05, delta=0.1, seed=2), Episodes(mdp.tree)
        play(learner, mdp, rng, 300, reference)
        iota = np.log(mdp.tree.num_sequences / 0.1)

        def bounds(j, state_upper, state_lower):
            n = 2 ** int(np.log2(len(reference.after[j])))
            followed = reference.followed_by(j, state_upper, n)
            return min(1, followed.mean() + 0.1 * np.sqrt(followed.var() * iota / n) + 0.05 * iota / n), 0

        upper, _ = reference.bottom_up(bounds, with_root=False)
        np.testing.assert_allclose(learner.upper[1:], upper[1:], atol=1e-10)


def test_the_plan_changes_only_when_a_count_has_doubled(mdp_of):
    mdp, rng = mdp_of("leduc", 0), np.random.default_rng(0)
    learner = ts.MVP(mdp.tree)
    unchanged = 0
    for _ in range(1500):
        plan, visits = learner.plan(), learner.visits
        learner.learn(*mdp.sample(plan, rng))
        now = learner.visits[1:][learner.visits[1:] != visits[1:]]
        if not np.any(now & (now - 1) == 0):
            unchanged += 1
            np.testing.assert_array_equal(learner.plan(), plan)
    assert unchanged > 100
