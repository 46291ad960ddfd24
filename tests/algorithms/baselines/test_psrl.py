import numpy as np
import pytest
from scipy import stats

import tmdp_spiel as ts
from tmdp_spiel.algorithms.baselines.psrl import _gamma, _mean_return, _sequence_value
from tmdp_spiel.core import hash_rng
from tmdp_spiel.evaluation.evaluator import Evaluator


@pytest.mark.parametrize("shape", [0.3, 0.9, 1.0, 1.5, 4.0, 300.0])
def test_gamma_draws(shape):
    draws = [_gamma(shape, 1, time, 7 * hash_rng.DRAWS) for time in range(5000)]
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 1e-3


def bandit(actions=2):
    return ts.InfostateTree(
        first_sequence=[1, actions + 1],
        first_child=[0] + [1] * (actions + 1),
        parent=[0],
        action=[0, *range(actions)],
        can_end=[False] + [True] * actions,
    )


def taught(tree, returns):
    """A learner that has seen these (sequence, return) pairs."""
    learner = ts.PSRL(tree, seed=3)
    for sequence, value in returns:
        learner._update(sequence, value)
    return learner


def test_wins_and_losses_have_a_beta_posterior():
    learner = taught(bandit(), [(1, 1.0)] * 3 + [(1, 0.0)] * 2)
    draws = [_mean_return(learner._model, 1, 5, 1.0, 3, time, 0) for time in range(5000)]
    assert stats.kstest(draws, stats.beta(4, 3).cdf).pvalue > 1e-3


def test_other_returns_have_the_moments_of_the_dirichlet_process():
    returns = [0.4, 0.5, 0.5, 0.6, 0.9]
    learner = taught(bandit(), [(1, value) for value in returns])
    draws = [_mean_return(learner._model, 1, 5, 1.0, 3, time, 0) for time in range(20000)]
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=200_000)
    exact = weights @ np.array([0.0, 1.0, *returns])
    assert np.mean(draws) == pytest.approx(exact.mean(), abs=0.005)
    assert np.std(draws) == pytest.approx(exact.std(), abs=0.005)


def test_plays_an_action_with_the_probability_that_it_is_best():
    learner = taught(bandit(), [(1, 1.0)] * 6 + [(1, 0.0)] * 4 + [(2, 1.0)] * 2 + [(2, 0.0)] * 2)
    first = 0
    for episode in range(4000):
        learner.episodes = episode
        first += learner.plan()[0] == 0
    rng = np.random.default_rng(0)
    chance = np.mean(rng.beta(7, 5, 400_000) > rng.beta(3, 3, 400_000))
    assert first / 4000 == pytest.approx(chance, abs=0.03)


def test_what_follows_a_sequence_has_a_dirichlet_posterior():
    """Sequence 1 leads to a state that wins or one that loses: its value in a draw is the weight of the first."""
    tree = ts.InfostateTree(
        first_sequence=[1, 2, 3, 4],
        first_child=[0, 1, 3, 3, 3],
        parent=[0, 1, 1],
        action=[0, 0, 0, 0],
        can_end=[0, 0, 1, 1],
    )
    learner = taught(tree, [(2, 1.0)] * 30_000 + [(3, 0.0)] * 20_000)
    values = []
    for episode in range(500):
        learner.episodes = episode
        learner.plan()
        values.append(learner._memory.values[0])
    assert np.mean(values) == pytest.approx(0.6, abs=0.001)
    assert np.std(values) == pytest.approx(np.sqrt(0.24 / 50_000), rel=0.15)


def test_an_unvisited_state_is_one_draw_from_the_prior():
    """Sequence 2 leads to a state never visited: in a lazy draw it is worth Beta(2, 2), whatever lies below."""
    tree = ts.InfostateTree(
        first_sequence=[1, 3, 7],
        first_child=[0, 1, 1, 2, 2, 2, 2, 2],
        parent=[0, 2],
        action=[0, 0, 1, 0, 1, 2, 3],
        can_end=[0, 1, 0, 1, 1, 1, 1],
    )
    learner = ts.PSRL(tree, prior=2.0, lazy=True, seed=3)
    learner._update(1, 1.0)
    draws = [_sequence_value(tree.links, learner._memory, learner._memory.values, 2, time) for time in range(5000)]
    assert stats.kstest(draws, stats.beta(2, 2).cdf).pvalue > 1e-3


def test_lazy_draws_are_renewed_where_an_episode_went_and_everywhere_after_a_tenth_more(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner, rng = ts.PSRL(mdp.tree, lazy=True, seed=1), np.random.default_rng(1)
    Evaluator(learner, mdp).play(rng, 3000)
    redraws = 0
    for _ in range(400):
        before, last = learner._memory.values.copy(), learner._memory.redrawn[0]
        ended_on, value = mdp.sample(learner.plan(), rng)
        learner.learn(ended_on, value)
        changed = learner._memory.values != before
        path = np.zeros_like(changed)
        while ended_on != mdp.tree.root:
            state = np.searchsorted(mdp.tree.first_sequence, ended_on, side="right") - 1
            path[state], ended_on = True, mdp.tree.parent[state]
        if learner._memory.redrawn[0] != last:
            assert learner.episodes - 1 < 1.1 * last <= learner.episodes
            visited = np.add.reduceat(learner._model.visits, mdp.tree.first_sequence[:-1]) > 0
            np.testing.assert_array_equal(changed, visited)
            redraws += 1
        else:
            np.testing.assert_array_equal(changed, path)
    assert redraws == 2


def test_recommends_the_best_of_the_posterior_means():
    learner = taught(bandit(3), [(1, 0.5), (2, 0.9), (2, 0.9), (3, 1.0)])
    # (0.5 + 1) / 3, (1.8 + 1) / 4, (1 + 1) / 3.
    assert learner.recommend().tolist() == [1]
