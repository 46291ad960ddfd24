import numpy as np
import pytest

import tmdp_spiel as ts
from reference.enumeration import counterfactual_regrets, expected_update


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("episodes", [0, 7, 100])
@pytest.mark.parametrize("k", [0.5, 1.0])
def test_the_estimator_is_unbiased(player, episodes, k, mdp_of):
    mdp = mdp_of("kuhn", player)
    learner = ts.OPF(mdp.tree, k=k, seed=episodes)
    if episodes:
        ts.run(learner, mdp, episodes, progress=False)
    regrets = expected_update(learner, mdp, lambda each: each.regrets)
    np.testing.assert_allclose(regrets, counterfactual_regrets(mdp, learner.current()), atol=1e-9)
    average = expected_update(learner, mdp, lambda each: each._average.copy())
    np.testing.assert_allclose(average[1:], mdp.sequence_reach(learner.current())[1:], atol=1e-9)


@pytest.mark.parametrize("episodes", [0, 50, 3000])
def test_plays_the_sequence_form_mixture(episodes, mdp_of):
    mdp = mdp_of("leduc", 0)
    learner = ts.OPF(mdp.tree, k=0.9, seed=1)
    if episodes:
        ts.run(learner, mdp, episodes, progress=False)
    weight = min(1.0, 0.9 * (episodes + 1) ** -0.25)
    mixture = weight * mdp.own_reach(learner.exploration()) + (1 - weight) * mdp.own_reach(learner.current())
    np.testing.assert_allclose(mdp.own_reach(learner.plan()), mixture, atol=1e-12)


def test_explores_in_proportion_to_the_endings_below(mdp_of):
    tree = mdp_of("leduc", 1).tree
    plan = ts.OPF(tree).exploration()

    def endings(j):
        below = range(tree.first_sequence[tree.first_child[j]], tree.first_sequence[tree.first_child[j + 1]])
        return int(tree.can_end[j]) + sum(endings(each) for each in below)

    for state in range(tree.num_states):
        number = np.array([endings(j) for j in range(tree.first_sequence[state], tree.first_sequence[state + 1])])
        own = plan[tree.first_sequence[state] : tree.first_sequence[state + 1]]
        np.testing.assert_allclose(own, number / number.sum())
