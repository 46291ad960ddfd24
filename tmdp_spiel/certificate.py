"""Certified bounds on the means of returns in [0, 1], by betting.

Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (JRSS B, 2024), section 4. Someone
who doubts that the mean mu is as low as m bets before each return, with a stake lambda_i >= 0 set by the past:

    K_n(m) = product over i <= n of 1 + lambda_i(m) (X_i - m),   0 <= lambda_i(m) <= c / m with c < 1.

The factors are positive, and at m = mu each has mean 1 given the past, so K_n(mu) is a non-negative martingale that
starts at 1. By Ville's inequality it ever reaches 1 / delta with probability at most delta. With the stakes below every
factor falls as m grows, so the m with K_n(m) >= 1 / delta are those up to some point: that point is below mu with
probability at least 1 - delta, at all n together.

The stakes are the paper's predictable plug-in ones, lambda_i = min(sqrt(2 ln(1/delta) / (N var_i)), c / m), where N is
the number of returns planned and var_i an estimate of their variance from the returns before the i-th. They only affect
how tight the bound is: about sqrt(2 var ln(1/delta) / N) below the mean.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from tmdp_spiel.confidence import check_probability

_CAUTION = 0.75  # c
_HALVINGS = 50


def lower_bound(returns, delta: float, *, planned: int | None = None) -> float:
    """A number below the mean of the distribution of the returns, with probability at least 1 - delta.

    planned: how many returns there were meant to be, if their collection was cut short.
    """
    check_probability("delta", delta)
    returns = np.asarray(returns, np.float64)
    if returns.ndim != 1 or len(returns) == 0 or not (returns.min() >= 0 and returns.max() <= 1):
        raise ValueError("the returns must be a list of at least one number in [0, 1]")
    stakes = np.sqrt(2 * math.log(1 / delta) / ((planned or len(returns)) * _variances_so_far(returns)))
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


@numba.njit(cache=True)
def upper_bounds(totals, numbers, delta):
    """For each of several kinds of draws in [0, 1], known by their total and number: a bound above their mean.

    Each is wrong at any time, ever, with probability at most delta, also if what was drawn before decides which kind is
    drawn next. A bet on mean q instead of m multiplies the capital by X q / m + (1 - X) (1 - q) / (1 - m), which by
    concavity is at least (q / m)^X ((1 - q) / (1 - m))^(1 - X). Mixed over q ~ Beta(1/2, 1/2), with R the total of n
    draws,

        K_n(m) >= B(R + 1/2, n - R + 1/2) / (B(1/2, 1/2) m^R (1 - m)^(n - R)),

    which grows with m above R / n. The bound is where it reaches 1 / delta, so about where n kl(R / n, m) is
    ln(1 / delta) + ln(n) / 2; it is 1 for what was never drawn.
    """
    bounds = np.ones(len(totals))
    for i in range(len(totals)):
        number, total = numbers[i], min(totals[i], numbers[i])
        if number == 0:
            continue
        rest = number - total
        mixed = math.lgamma(total + 0.5) + math.lgamma(rest + 0.5) - math.lgamma(number + 1.0) - math.log(math.pi)
        low, high = total / number, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if middle == low or middle == high:
                break
            capital = mixed - rest * math.log1p(-middle)
            if total > 0:
                capital -= total * math.log(middle)
            if capital >= -math.log(delta):
                high = middle
            else:
                low = middle
        bounds[i] = high
    return bounds
