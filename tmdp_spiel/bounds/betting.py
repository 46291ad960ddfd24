"""Certified bounds on the means of returns in [0, 1], by betting.

Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (JRSS B, 2024), section 4. A gambler
bets before each return that the mean mu is above m, with a stake lambda_i >= 0 that depends only on the past:

    K_n(m) = product over i <= n of 1 + lambda_i(m) (X_i - m),   0 <= lambda_i(m) <= c / m with c < 1.

The factors are positive, and at m = mu each has mean 1 given the past, so K_n(mu) is a non-negative martingale that
starts at 1. By Ville's inequality it ever reaches 1 / delta with probability at most delta. With the stakes below every
factor falls as m grows, so the m with K_n(m) >= 1 / delta are those up to some point: that point is below mu with
probability at least 1 - delta, at all n together.

The stakes are the paper's predictable plug-in ones, lambda_i = min(sqrt(2 ln(1/delta) / (N var_i)), c / m), where N is
the number of returns planned and var_i an estimate of their variance from the returns before the i-th. They only affect
how tight the bound is: about sqrt(2 var ln(1/delta) / N) below the mean.

`lower_mean` and `upper_mean` do the same for numbers that are bounded on one side only, X_i >= least, with stakes of at
most c / (m - least). They need no bound on the other side: a single huge X only increases the capital. The first
numbers only estimate the variance and are not bet on, so that no prior variance has to be outgrown where the spread is
tiny beside the range; how many they are follows from the planned number alone.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from tmdp_spiel.core import validation

_CAUTION = 0.75  # c
_HALVINGS = 50


def lower_bound(returns, delta: float, *, planned: int | None = None) -> float:
    """A number below the mean of the distribution of the returns, with probability at least 1 - delta.

    planned: how many returns were planned, if fewer were collected.
    """
    validation.probability("delta", delta)
    returns = np.asarray(returns, np.float64)
    if returns.ndim != 1 or len(returns) == 0 or not (returns.min() >= 0 and returns.max() <= 1):
        raise ValueError("the returns must be a list of at least one number in [0, 1]")
    stakes = np.sqrt(2 * math.log(1 / delta) / ((planned or len(returns)) * _variances_so_far(returns)))
    return largest_refuted(returns, stakes, delta)


def largest_refuted(returns: np.ndarray, stakes: np.ndarray, delta: float) -> float:
    """The largest mean m with K_n(m) >= 1 / delta, by halving; 0 if there is none. stakes: before they are capped."""
    low, high = 0.0, float(returns.mean())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle == 0.0:
            break
        bets = np.minimum(stakes, _CAUTION / middle)
        if np.log1p(bets * (returns - middle)).sum() >= math.log(1 / delta):
            low = middle
        else:
            high = middle
    return low


def interval(returns, delta: float, *, planned: int | None = None) -> tuple[float, float]:
    """An interval that contains the mean of the distribution of the returns, with probability at least 1 - delta."""
    returns = np.asarray(returns, np.float64)
    low = lower_bound(returns, delta / 2, planned=planned)
    return low, 1.0 - lower_bound(1.0 - returns, delta / 2, planned=planned)


def _variances_so_far(returns: np.ndarray) -> np.ndarray:
    """Before each return, an estimate of the variance from the earlier ones that starts at 1/4."""
    seen = np.arange(1, len(returns) + 1)
    means = (0.5 + np.cumsum(returns)) / (seen + 1)
    variances = (0.25 + np.cumsum((returns - means) ** 2)) / (seen + 1)
    return np.concatenate([[0.25], variances[:-1]])


_MEAN_HALVINGS = 60
_PILOT_SHARE = 0.02  # of the numbers, that are not bet on
_LEAST_PILOT, _MOST_PILOT = 16, 1_000
_ROUNDING = 1e-12  # of the largest number, what sums may be off by


def lower_mean(values, *, least: float, delta: float, planned: int | None = None) -> float:
    """A number below the mean of the values' distribution with probability at least 1 - delta.

    Args:
        values: independent draws of one distribution, or any numbers with this mean given those before them.
        least: a lower bound on all values, known before they were drawn.
        delta: the probability with which the bound may be wrong.
        planned: how many values were planned, if fewer were collected. Without it, their number must have been fixed
            before they were drawn.

    Returns:
        The bound; `least` if nothing better is certain.
    """
    validation.probability("delta", delta)
    values = np.ascontiguousarray(values, np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.all(np.isfinite(values)):
        raise ValueError("the values must be a list of at least one finite number")
    if not values.min() >= least - 1e-9 * max(1.0, abs(least)):
        raise ValueError(f"a value of {values.min()} is below {least}, which was given as the smallest possible value")
    above = np.maximum(values - least, 0.0)
    number = len(above) if planned is None else validation.whole_number("planned", planned)
    if number < len(above):
        raise ValueError(f"there are {len(above)} values, and {number} were planned; plan at least as many")
    bound = least + _lower_above_zero(above, _stakes(above, number, delta), math.log(1.0 / delta))
    return bound - _ROUNDING * (abs(least) + float(above.max()))


def upper_mean(values, *, most: float, delta: float, planned: int | None = None) -> float:
    """A number above the mean of the values' distribution with probability at least 1 - delta; see lower_mean."""
    return -lower_mean(-np.asarray(values, np.float64), least=-most, delta=delta, planned=planned)


def _stakes(above: np.ndarray, number: int, delta: float) -> np.ndarray:
    """The stake of each value, from those before it and the planned number alone; 0 for the pilot."""
    seen = np.arange(1, len(above) + 1)
    totals, shift = np.cumsum(above - above[0]), above[0]
    squares = np.cumsum((above - shift) ** 2)
    variances = np.maximum(squares / seen - (totals / seen) ** 2, 0.0)
    # Only keeps the quotient finite; the stakes are capped anyway.
    scale = 1e-12 * (1.0 + np.maximum.accumulate(above) ** 2)
    stakes = np.zeros(len(above))
    stakes[1:] = np.sqrt(2.0 * math.log(1.0 / delta) / (number * (variances[:-1] + scale[:-1])))
    stakes[: min(max(_LEAST_PILOT, min(int(_PILOT_SHARE * number), _MOST_PILOT)), number // 2)] = 0.0
    return stakes


@numba.njit(cache=True)
def _log_capital(above, stakes, mean):
    total = 0.0
    for i in range(len(above)):
        if stakes[i] > 0.0:
            total += math.log1p(min(stakes[i], _CAUTION / mean) * (above[i] - mean))
    return total


@numba.njit(cache=True)
def _lower_above_zero(above, stakes, needed):
    """The largest mean that the capital refutes, by halving: every factor falls as the mean grows."""
    low, high = 0.0, above.mean()
    for _ in range(_MEAN_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if _log_capital(above, stakes, middle) >= needed:
            low = middle
        else:
            high = middle
    return low
