"""Coverage of the certified bounds by simulation, and their edges."""

import numpy as np
import pyspiel
import pytest

import tmdp_spiel as ts
from tmdp_spiel import certificate

DISTRIBUTIONS = {
    "rare": lambda rng, size: (rng.random(size) < 0.05).astype(float),
    "even": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "narrow": lambda rng, size: rng.uniform(0.45, 0.55, size),
    "skewed": lambda rng, size: rng.beta(0.3, 3.0, size),
}
MEANS = {"rare": 0.05, "even": 0.5, "narrow": 0.5, "skewed": 0.3 / 3.3}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("size", [30, 1000])
def test_intervals_miss_no_more_often_than_promised(name, size):
    rng = np.random.default_rng(1)
    delta, runs = 0.2, 300
    below = above = 0
    for _ in range(runs):
        low, high = certificate.interval(DISTRIBUTIONS[name](rng, size), delta)
        below += low > MEANS[name]
        above += high < MEANS[name]
    slack = 3 * np.sqrt(delta / 2 / runs)
    assert below / runs <= delta / 2 + slack and above / runs <= delta / 2 + slack


def test_the_bound_holds_at_all_times_together():
    rng = np.random.default_rng(2)
    misses = 0
    for _ in range(200):
        returns = rng.integers(0, 2, 200).astype(float)
        misses += any(certificate.lower_bound(returns[:n], 0.1, planned=200) > 0.5 for n in range(5, 201, 15))
    assert misses / 200 <= 0.1 + 3 * np.sqrt(0.1 / 200)


def test_intervals_are_about_as_narrow_as_the_variance_allows():
    returns = DISTRIBUTIONS["narrow"](np.random.default_rng(3), 10_000)
    low, high = certificate.interval(returns, 0.05)
    normal = 2 * 1.96 * returns.std() / np.sqrt(len(returns))
    assert low < 0.5 < high
    assert high - low < 2 * normal


def test_edges():
    assert certificate.lower_bound([0.0] * 10, 0.05) == 0.0
    low, high = certificate.interval([1.0] * 1000, 0.05)
    assert 0.99 < low < 1 and high == 1.0
    low, high = certificate.interval([0.3], 0.05)
    assert low <= 0.3 <= high
    with pytest.raises(ValueError, match="at least one number in"):
        certificate.lower_bound([], 0.05)
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        certificate.lower_bound([0.5, 1.5], 0.05)
    with pytest.raises(ValueError, match="delta must lie"):
        certificate.lower_bound([0.5], 1.0)


def test_upper_bounds_of_draws_hold_at_all_times():
    rng = np.random.default_rng(4)
    runs, delta, mean = 2000, 0.1, 0.05
    totals, ever_wrong = np.zeros(runs), np.zeros(runs, bool)
    for number in range(1, 301):
        totals += (rng.random(runs) < 0.1) * 0.5
        ever_wrong |= certificate.upper_bounds(totals, np.full(runs, number), delta) < mean
    assert ever_wrong.mean() <= delta + 3 * np.sqrt(delta / runs)


def test_upper_bounds_of_what_was_never_drawn_and_of_many_draws():
    bounds = certificate.upper_bounds(np.array([0.0, 0.0, 50.0, 100.0]), np.array([0, 100, 100, 100]), 0.05)
    assert bounds[0] == 1.0
    assert 0.0 < bounds[1] < 0.08
    assert 0.5 < bounds[2] < 0.7
    assert bounds[3] == 1.0
    assert certificate.upper_bounds(np.array([5e5]), np.array([10**6]), 0.05)[0] == pytest.approx(0.5, abs=0.003)


@pytest.mark.parametrize("algorithm", [ts.UCBT, ts.LUCBT])
def test_the_learners_upper_bound_covers_the_best_response(mdp_of, algorithm):
    mdp = mdp_of("kuhn", 0)
    best, wrong = mdp.scaled_best_value, 0
    for seed in range(20):
        learner = algorithm(mdp.tree, bound="simple", baseline=0.0, seed=seed)
        assert learner.upper_bound(0.1) == 1.0
        bounds = []
        for _ in range(8):
            learner.play(mdp, np.random.default_rng([seed, learner.episodes]), 250)
            bounds.append(learner.upper_bound(0.1))
        wrong += min(bounds) < best
        assert bounds[-1] < bounds[0]
    assert wrong <= 4


def test_the_learners_upper_bound_counts_episodes_without_decisions():
    game = pyspiel.load_efg_game(
        """EFG 2 R "stop or go" { "A" "B" } ""
        p "" 1 1 "" { "stop" "go" } 0
        t "" 1 "" { -1 1 }
        p "" 2 1 "" { "left" "right" } 0
        t "" 2 "" { 0 0 }
        t "" 3 "" { 1 -1 }
        """
    )
    mdp = ts.build_tree(game, 1, ts.uniform(game))
    learner = ts.UCBT(mdp.tree, baseline=0.0)
    learner.play(mdp, np.random.default_rng(0), 20_000)
    assert mdp.scaled_best_value == pytest.approx(0.75)
    assert learner.estimate() == pytest.approx(0.75, abs=0.02)
    assert 0.75 <= learner.upper_bound(0.05) <= 0.8


def test_the_learners_upper_bound_needs_the_returns_themselves(mdp_of):
    with pytest.raises(ValueError, match="baseline=0"):
        ts.UCBT(mdp_of("kuhn", 0).tree).upper_bound(0.05)
