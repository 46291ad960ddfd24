import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.empirical_model import best_values


def chain():
    """A state whose sequence 2 leads to a second state; sequences 1, 3 and 4 end the episode."""
    return ts.InfostateTree(
        first_sequence=[1, 3, 5],
        first_child=[0, 1, 1, 2, 2, 2],
        parent=[0, 2],
        action=[0, 0, 1, 0, 1],
        can_end=[0, 1, 0, 1, 1],
    )


def step(learner, path_end, value):
    """Teaches an episode that ends on this sequence, whatever the plan was."""
    learner._plan[:] = [0, 0] if path_end == 1 else [1, path_end - 3]
    learner.learn(path_end, value)


def test_targets_worked_by_hand():
    learner = ts.AMB(chain(), c=0.1, delta=0.05)
    bonus = 0.1 * np.sqrt(np.log(4 / 0.05))
    upper, lower = learner._estimates.upper, learner._estimates.lower
    step(learner, 3, 0.6)
    # The rate of a first visit is 1. The second state is undecided, with bounds 1 and 0 before the episode.
    assert upper[2] == pytest.approx(1 + bonus) and lower[2] == pytest.approx(-bonus)
    assert upper[3] == pytest.approx(0.6 + bonus) and lower[3] == pytest.approx(0.6 - bonus)
    step(learner, 3, 0.5)
    # The rate of the second visit is (H + 1) / (H + 2) = 3/4. The second state's upper bound is that of sequence 4, 1.
    assert upper[2] == pytest.approx((1 + bonus) / 4 + 3 / 4 * (1 + bonus / np.sqrt(2)))
    assert lower[2] == pytest.approx(-bonus / 4 + 3 / 4 * (0.6 - bonus - bonus / np.sqrt(2)))
    assert upper[3] == pytest.approx((0.6 + bonus) / 4 + 3 / 4 * (0.5 + bonus / np.sqrt(2)))


def test_decided_states_are_skipped():
    learner = ts.AMB(chain(), c=0.01, delta=0.05)
    step(learner, 3, 1.0)
    step(learner, 4, 0.0)
    assert learner.active.tolist() == [True, True, True, True, False]
    before = learner._estimates.lower[2]
    step(learner, 3, 0.7)
    bonus = 0.01 * np.sqrt(np.log(4 / 0.05) / 3)
    # Third visit of sequence 2: rate 3/5, and the target is the return itself.
    assert learner._estimates.lower[2] == pytest.approx(2 / 5 * before + 3 / 5 * (0.7 - bonus))
    assert learner._estimates.visits[3] == 1


def test_the_best_action_survives_and_the_others_go():
    rng = np.random.default_rng(0)
    for seed in range(10):
        mdp = brute_force.random_mdp(rng)
        learner = ts.AMB(mdp.tree, c=1.0, seed=seed)
        trace = ts.run(learner, mdp, 200_000, progress=False)
        truth, tree = best_values(mdp), mdp.tree
        for state in range(tree.num_states):
            own = slice(tree.first_sequence[state], tree.first_sequence[state + 1])
            assert learner.active[own][np.argmax(truth[own])]
        assert trace.value_gap[-1] < 0.02


def test_plays_the_widest_interval(mdp_of):
    mdp, rng = mdp_of("kuhn", 0), np.random.default_rng(0)
    learner = ts.AMB(mdp.tree, c=0.3)
    for _ in range(300):
        learner.learn(*mdp.sample(learner.plan(), rng))
    estimates = learner._estimates
    wide = np.minimum(estimates.upper, 1) - np.maximum(estimates.lower, 0)
    wide = np.where(estimates.active, wide, -1)[1:].reshape(-1, 2)
    np.testing.assert_array_equal(wide[np.arange(len(wide)), learner.plan()], wide.max(axis=1))
