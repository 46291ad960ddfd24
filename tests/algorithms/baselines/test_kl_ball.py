"""The maximiser over Kullback-Leibler balls against scipy: by the convex dual, and as a constrained problem."""

import numpy as np
import pytest
from scipy import optimize

from reference.kl_dual import dual
from tmdp_spiel.algorithms.baselines.kl_ball import largest_mean, smallest_mean


def largest(weights, values, radius):
    return largest_mean(np.array(weights, float), np.array(values, float), np.empty(len(values)), len(values), radius)


def smallest(weights, values, radius):
    return smallest_mean(np.array(weights, float), np.array(values, float), np.empty(len(values)), len(values), radius)


def random_input(rng):
    number = rng.integers(1, 9)
    counts = rng.multinomial(int(10 ** rng.uniform(0, 6)), rng.dirichlet(np.full(number, 10 ** rng.uniform(-1, 1))))
    values = rng.random(number)
    shape = rng.integers(5)
    if shape == 0:
        values = np.round(3 * values) / 3
    elif shape == 1:
        values[:] = values[0]
    elif shape == 2:
        values[rng.integers(number)], values[rng.integers(number)] = 1.0, 0.0
    return counts / counts.sum(), values, 10 ** rng.uniform(-6, 1.5)


@pytest.mark.slow
def test_agrees_with_the_dual_on_thousands_of_inputs():
    rng = np.random.default_rng(0)
    zeros = 0
    for _ in range(3000):
        weights, values, radius = random_input(rng)
        zeros += np.any(weights == 0)
        assert largest(weights, values, radius) == pytest.approx(dual(weights, values, radius), abs=1e-9)
        assert smallest(weights, values, radius) == pytest.approx(1 - dual(weights, 1 - values, radius), abs=1e-9)
    assert zeros > 500


@pytest.mark.slow
def test_agrees_with_a_constrained_solver():
    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(50):
        weights, values, radius = random_input(rng)
        seen, radius = weights > 0, max(radius, 1e-3)
        ball = {
            "type": "ineq",
            "fun": lambda q: radius - weights[seen] @ np.log(weights[seen] / np.maximum(q[seen], 1e-300)),
        }
        simplex = {"type": "eq", "fun": lambda q: q.sum() - 1}
        start = 0.999 * weights + 0.001 / len(weights)
        found = optimize.minimize(
            lambda q: -q @ values,
            start,
            jac=lambda q: -values,
            bounds=[(1e-12, 1)] * len(weights),
            constraints=[ball, simplex],
            method="SLSQP",
            options=dict(ftol=1e-12, maxiter=1000),
        )
        if found.success:
            compared += 1
            assert largest(weights, values, radius) == pytest.approx(-found.fun, abs=1e-4)
    assert compared > 30


def test_special_cases():
    assert largest([1.0], [0.3], 5.0) == 0.3
    assert largest([0.2, 0.8], [0.6, 0.6], 0.5) == pytest.approx(0.6, abs=1e-12)
    assert largest([0.2, 0.8], [0.0, 1.0], 0.0) == pytest.approx(0.8)
    # All mass on a loss: a win gets 1 - exp(-radius).
    assert largest([1.0, 0.0], [0.0, 1.0], 0.7) == pytest.approx(1 - np.exp(-0.7), abs=1e-12)
    # The zero-weight value is not the largest: it is of no use.
    without = largest([0.5, 0.5], [0.0, 1.0], 0.1)
    assert largest([0.5, 0.5, 0.0], [0.0, 1.0, 0.5], 0.1) == pytest.approx(without, abs=1e-12)
    assert largest([0.5, 0.5], [0.0, 1.0], 1e6) == pytest.approx(1.0, abs=1e-9)
    # Two outcomes: kl(p, q) = radius.
    q = largest([0.7, 0.3], [0.0, 1.0], 0.05)
    assert 0.7 * np.log(0.7 / (1 - q)) + 0.3 * np.log(0.3 / q) == pytest.approx(0.05, abs=1e-9) and q > 0.3
