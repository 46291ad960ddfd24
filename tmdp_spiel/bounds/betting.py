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
"""

from __future__ import annotations

import math

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
