import math

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from tmdp_spiel.algorithms import certified_ucrl as module
from tmdp_spiel.evaluation.evaluator import Evaluator


def written_out_lower_bound(returns, log_needed):
    """The largest refuted mean on a fine grid, with the capital of the returns themselves instead of their sums."""
    means = np.linspace(1e-6, max(returns.mean(), 2e-6), 4001)
    growth = (returns - means[:, None]) / means[:, None]
    capital = np.max([np.log1p(0.9 / 2**g * growth).sum(axis=1) for g in range(14)], axis=0)
    refuted = np.flatnonzero(capital >= log_needed)
    return means[refuted[-1]] if len(refuted) else 0.0


@pytest.mark.parametrize("chance", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("number", [50, 1000])
def test_the_lower_bound_is_that_of_the_capital_written_out(chance, number):
    """Of zeros and ones the sums tell all; of other returns they may only lose."""
    rng = np.random.default_rng(number)
    coins = (rng.random(number) < chance).astype(float)
    spread = np.clip(rng.normal(chance, 0.1, number), 0, 1)
    for returns, loses in ((coins, 2e-3), (spread, 0.1)):
        exact = written_out_lower_bound(returns, 6.0)
        bound = module.lower_bound(float(number), returns.sum(), (returns**2).sum(), 6.0)
        assert exact - loses <= bound <= exact + 1e-3


def test_the_lower_bound_is_wrong_no_more_often_than_promised():
    rng, delta, runs, wrong = np.random.default_rng(0), 0.3, 2000, 0
    for _ in range(runs):
        returns = rng.integers(0, 2, 200).astype(float)
        wrong += module.lower_bound(200.0, returns.sum(), (returns**2).sum(), math.log(14 / delta)) > 0.5
    assert wrong / runs <= delta


@pytest.mark.parametrize("name, player", [("kuhn", 0), ("kuhn", 1), ("leduc", 1)])
def test_stops_with_an_answer_that_is_good_enough(name, player, mdp_of):
    mdp = mdp_of(name, player)
    learner = ts.CertifiedUCRL(mdp.tree, epsilon=0.05, delta=0.05, seed=1)
    result = ts.run_until_stopped(learner, mdp, max_episodes=500_000, progress=False)
    assert result.stopped and learner.width <= 0.05
    assert result.gap <= 0.05 * mdp.tree.utility_range


def test_stops_at_the_same_episode_however_it_is_cut_into_pieces(mdp_of):
    mdp, stops = mdp_of("kuhn", 0), set()
    for piece in (997, 20_000, 10**6):
        learner, rng = ts.CertifiedUCRL(mdp.tree, epsilon=0.1, seed=3), np.random.default_rng(3)
        evaluator = Evaluator(learner, mdp)
        while not learner.stopped:
            evaluator.play(rng, piece)
        stops.add((learner.episodes, tuple(learner.recommend())))
    assert len(stops) == 1


def test_stepping_goes_through_measuring_as_the_compiled_loop_does():
    mdp = brute_force.random_mdp(np.random.default_rng(3))
    by_hand, compiled = (ts.CertifiedUCRL(mdp.tree, epsilon=0.5, delta=0.5, seed=2) for _ in range(2))
    rng, value = np.random.default_rng(2), 0.0
    while not by_hand.stopped:
        plan = by_hand.plan()
        value += mdp.value(plan)
        by_hand.learn(*mdp.sample(plan, rng))
    evaluator = Evaluator(compiled, mdp)
    played, regret = evaluator.play(np.random.default_rng(2), 10**6)
    assert played == by_hand.episodes
    assert played * mdp.best_response()[0] - regret == pytest.approx(value, abs=1e-6)
    np.testing.assert_array_equal(by_hand.recommend(), compiled.recommend())


@pytest.mark.parametrize(
    "settings, message",
    [
        (dict(epsilon=0.0), "epsilon must lie"),
        (dict(delta=1.5), "delta must lie"),
        (dict(epsilon=1e-6), "about .* episodes"),
    ],
)
def test_wrong_or_hopeless_settings_are_refused(settings, message, mdp_of):
    with pytest.raises(ValueError, match=message):
        ts.CertifiedUCRL(mdp_of("kuhn", 0).tree, **settings)


def test_another_opponent_is_refused(mdp_of):
    mdp, game = mdp_of("kuhn", 0), ts.load_game("kuhn")
    learner = ts.CertifiedUCRL(mdp.tree)
    ts.run(learner, mdp, 50, progress=False)
    with pytest.raises(ValueError, match="another opponent"):
        ts.run_until_stopped(learner, ts.build_tree(game, 0, ts.uniform(game)), progress=False)


def test_the_certified_learner_is_chosen_by_the_size_of_the_tree(mdp_of, monkeypatch):
    tree = mdp_of("kuhn", 0).tree
    learner = ts.certified_learner(tree, epsilon=0.1, delta=0.2, seed=4)
    assert isinstance(learner, ts.BettingOnDifferences)
    assert (learner.hyper_parameters, learner.seed) == (dict(epsilon=0.1, delta=0.2), 4)
    monkeypatch.setattr("tmdp_spiel.algorithms.certified_learner._LARGE", 10)
    assert isinstance(ts.certified_learner(tree, epsilon=0.1, delta=0.2, seed=4), ts.CertifiedUCRL)
    with pytest.raises(TypeError, match="made from an InfostateTree"):
        ts.certified_learner(mdp_of("kuhn", 0))
