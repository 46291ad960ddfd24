"""An interval at all times from every episode."""

import pickle

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.algorithms.betting_on_values import BettingOnValues


def played(mdp: ts.TreeMDP, episodes: int, seed: int = 0, **settings) -> BettingOnValues:
    learner = BettingOnValues(mdp.tree, seed=seed, **settings)
    learner.play(mdp, learner.init_values(mdp), np.random.default_rng(seed), episodes)
    return learner


def test_the_interval_closes_around_the_best_response(mdp_of):
    for player in range(2):
        mdp = mdp_of("leduc", player)
        best, widths = mdp.scaled_best_value, []
        for episodes in (300, 3_000, 30_000):
            learner = played(mdp, episodes)
            assert learner.lower_bound() <= mdp.scaled_value(learner.recommend()) <= best <= learner.upper_bound()
            widths.append(learner.upper_bound() - learner.lower_bound())
        assert widths[0] > 2 * widths[1] > 4 * widths[2]
        assert widths[2] * mdp.tree.utility_range < 1.2


def test_episodes_one_by_one_are_those_of_a_compiled_run(mdp_of):
    mdp = mdp_of("kuhn", 1)
    compiled, rng = played(mdp, 400), np.random.default_rng(0)
    learner = BettingOnValues(mdp.tree, seed=0)
    for episode in range(400):
        learner.learn(*mdp.sample(learner.plan(), rng))
        if episode == 200:
            learner = pickle.loads(pickle.dumps(learner))
    assert learner.upper_bound() == compiled.upper_bound()
    assert learner.lower_bound() == compiled.lower_bound()
    np.testing.assert_array_equal(learner.recommend(), compiled.recommend())


def test_a_plan_for_the_deadline_is_narrower_there(mdp_of):
    mdp = mdp_of("leduc", 0)
    widths = [
        np.mean(
            [one.upper_bound() - one.lower_bound() for one in (played(mdp, 20_000, s, planned=p) for s in range(3))]
        )
        for p in (20_000, 200)
    ]
    assert widths[0] < widths[1]


def test_nothing_is_said_before_anything_is_known(mdp_of):
    learner = BettingOnValues(mdp_of("kuhn", 0).tree, seed=0)
    assert (learner.lower_bound(), learner.upper_bound()) == (0.0, 1.0)
    assert "0.000 to 1.000" in learner.status


def test_bounds_at_another_delta_are_wider_for_a_smaller_one(mdp_of):
    learner = played(mdp_of("kuhn", 0), 3_000)
    assert learner.upper_bound(0.001) > learner.upper_bound() > learner.upper_bound(0.5)
    assert learner.lower_bound(0.001) < learner.lower_bound() < learner.lower_bound(0.5)


def test_returns_outside_of_the_rules_are_refused(mdp_of):
    mdp = mdp_of("kuhn", 0)
    learner = BettingOnValues(mdp.tree, seed=0)
    ended_on = int(np.flatnonzero(mdp.tree.can_end)[0])
    least, most = mdp.tree.return_range
    wrong = 1.0 if most[ended_on] < 1 else 0.0
    if not least[ended_on] <= wrong <= most[ended_on]:
        with pytest.raises(ValueError, match="by the rules"):
            learner.learn(ended_on, wrong)
