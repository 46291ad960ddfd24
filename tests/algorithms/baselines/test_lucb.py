import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from tmdp_spiel.algorithms.baselines.lucb import reduced_policies


@pytest.mark.parametrize(
    "name, player, number", [("kuhn", 0, 27), ("kuhn", 1, 64), ("kuhn5", 0, 243), ("kuhn5", 1, 1024)]
)
def test_one_arm_per_reduced_policy(name, player, number, mdp_of):
    tree = mdp_of(name, player).tree
    arms = {brute_force.policy_of(tree, plan) for plan in reduced_policies(tree)}
    assert len(arms) == number
    assert arms == set(brute_force.policies(tree))


def test_every_round_pulls_the_best_mean_and_the_best_rival(mdp_of):
    mdp = mdp_of("kuhn", 0)
    learner = ts.LUCB(mdp.tree, epsilon=0.1, delta=0.1, seed=1)
    arms = brute_force.policies(mdp.tree)
    sums, pulls = dict.fromkeys(arms, 0.0), dict.fromkeys(arms, 0)
    rng = np.random.default_rng(1)

    def step():
        arm = brute_force.policy_of(mdp.tree, learner.plan())
        _, value = episode = mdp.sample(learner.plan(), rng)
        learner.learn(*episode)
        sums[arm] += value
        pulls[arm] += 1
        return arm

    assert {step() for _ in arms} == set(arms)
    for t in range(len(arms) + 1, 400):
        means = {arm: sums[arm] / pulls[arm] for arm in arms}
        bounds = {arm: means[arm] + np.sqrt(np.log(1.25 * 27 * t**4 / 0.1) / (2 * pulls[arm])) for arm in arms}
        assert not learner.stopped
        best = step()
        assert means[best] == max(means.values())
        rival = step()
        assert bounds[rival] == pytest.approx(max(bounds[arm] for arm in arms if arm != best))


def test_too_many_policies_are_refused(mdp_of):
    with pytest.raises(ValueError, match="one arm per policy"):
        ts.LUCB(mdp_of("leduc", 0).tree)
