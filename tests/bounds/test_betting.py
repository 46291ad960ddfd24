"""Coverage of the certified bounds by simulation, and their edges."""

import numpy as np
import pytest

from tmdp_spiel.bounds import betting

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
        low, high = betting.interval(DISTRIBUTIONS[name](rng, size), delta)
        below += low > MEANS[name]
        above += high < MEANS[name]
    slack = 3 * np.sqrt(delta / 2 / runs)
    assert below / runs <= delta / 2 + slack and above / runs <= delta / 2 + slack


def test_the_bound_holds_at_all_times_together():
    rng = np.random.default_rng(2)
    misses = 0
    for _ in range(200):
        returns = rng.integers(0, 2, 200).astype(float)
        misses += any(betting.lower_bound(returns[:n], 0.1, planned=200) > 0.5 for n in range(5, 201, 15))
    assert misses / 200 <= 0.1 + 3 * np.sqrt(0.1 / 200)


def test_intervals_are_about_as_narrow_as_the_variance_allows():
    returns = DISTRIBUTIONS["narrow"](np.random.default_rng(3), 10_000)
    low, high = betting.interval(returns, 0.05)
    normal = 2 * 1.96 * returns.std() / np.sqrt(len(returns))
    assert low < 0.5 < high
    assert high - low < 2 * normal


def test_edges():
    assert betting.lower_bound([0.0] * 10, 0.05) == 0.0
    low, high = betting.interval([1.0] * 1000, 0.05)
    assert 0.99 < low < 1 and high == 1.0
    low, high = betting.interval([0.3], 0.05)
    assert low <= 0.3 <= high
    with pytest.raises(ValueError, match="at least one number in"):
        betting.lower_bound([], 0.05)
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        betting.lower_bound([0.5, 1.5], 0.05)
    with pytest.raises(ValueError, match="delta must lie"):
        betting.lower_bound([0.5], 1.0)
