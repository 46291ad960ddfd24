"""Bets on the values of all policies together: an upper bound on the best response at all times, without an epsilon.

The proof is in docs/lab/theory_sharper.md, section 4. An episode is played by a mixed plan mu. With the unbiased
estimate X(pi) of V(pi) of bounds/differences, a stake lambda, a centre x and a bound b >= X(pi) - x, all set before the
episode,

    exp(lambda (V(pi) - X(pi)) - psi(lambda b) / b^2 (X(pi) - x)^2),   psi(u) = -ln(1 - u) - u,

has mean at most 1 (Fan, Grama and Liu, 2015). So with probability 1 - delta, at all times,

    V* <= max over pi of [ sum_i lambda_i X_i(pi) + psi_i (X_i(pi) - x_i)^2 + ln(1 / delta) ] / sum_i lambda_i,

and the bracket is a sum over the sequences that pi plays: one bottom-up pass. With the signs reversed, this gives a
lower bound on the value of the answers that were current when the bets were made.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees.traversal import ROOT

# What is set before an episode. mu, answer: float64[J + 1], plans;  upper_baseline, lower_baseline: float64[J + 1], Q
# of the two sides;  stakes, centres, reaches: float64[2], lambda, x and b of the upper and the lower side
ValueBet = collections.namedtuple(
    "ValueBet", ["mu", "answer", "upper_baseline", "lower_baseline", "stakes", "centres", "reaches"]
)
UPPER, LOWER = 0, 1


@kernel
def penalty(stake, reach):
    """psi(lambda b) / b^2, by its series where the difference would cancel."""
    u = stake * reach
    if u < 1e-3:
        return stake * stake * (0.5 + u / 3.0 + 0.25 * u * u)
    return (-math.log1p(-u) - u) / (reach * reach)


@tree_pass
def leave_path(links, bet, path, length, totals):
    """Adds lambda X + psi (X - x)^2 to every sequence at which a policy leaves the path.

    Returns, for policies that play all of it, what of X is settled and the weight of the return.
    """
    stake, centre = bet.stakes[UPPER], bet.centres[UPPER]
    weight_of_square = penalty(stake, bet.reaches[UPPER])
    estimate, weight = 0.0, 1.0
    for k in range(length):
        state, played = path.states[k], path.sequences[k]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if j != played:
                x = estimate + weight * bet.upper_baseline[j]
                totals[j] += stake * x + weight_of_square * (x - centre) ** 2
        after = weight / bet.mu[played]
        estimate += (weight - after) * bet.upper_baseline[played]
        weight = after
    return estimate, weight


@tree_pass
def settle_upper(links, bet, path, length, value, totals):
    """Adds lambda X + psi (X - x)^2 to the sequence at which a policy leaves the path, or to the last one."""
    estimate, weight = leave_path(links, bet, path, length, totals)
    stake, x = bet.stakes[UPPER], estimate + weight * value
    last = path.sequences[length - 1] if length > 0 else ROOT
    totals[last] += stake * x + penalty(stake, bet.reaches[UPPER]) * (x - bet.centres[UPPER]) ** 2


@tree_pass
def answer_estimate(links, bet, path, length, value):
    """X of the answer, with the baseline of the lower side."""
    estimate, weight = 0.0, 1.0
    for k in range(length):
        state, played = path.states[k], path.sequences[k]
        expected = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            expected += bet.answer[j] * bet.lower_baseline[j]
        ratio = bet.answer[played] / bet.mu[played]
        estimate += weight * (expected - ratio * bet.lower_baseline[played])
        weight *= ratio
    return estimate + weight * value


@tree_pass
def settle_lower(links, bet, path, length, value):
    """What is added to sum lambda X - psi (X - x)^2 of the answers."""
    stake, x = bet.stakes[LOWER], answer_estimate(links, bet, path, length, value)
    return stake * x - penalty(stake, bet.reaches[LOWER]) * (x - bet.centres[LOWER]) ** 2


@numba.njit(cache=True)
def largest_total(links, totals):
    """The largest over all pure policies of the summed totals of the sequences they play; the root's is paid by all."""
    below = np.empty(len(links.parent))
    for state in range(len(below) - 1, -1, -1):
        most = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total = totals[j]
            for child in range(links.first_child[j], links.first_child[j + 1]):
                total += below[child]
            most = max(most, total)
        below[state] = most
    total = totals[ROOT]
    for state in range(links.first_child[ROOT + 1]):
        total += below[state]
    return total


@numba.njit(cache=True)
def largest_estimate(links, bet, most_return):
    """The largest X for any pure policy and any episode that the rules allow, top-down.

    A policy either leaves the path, which needs no return, or plays all of it, which the return only raises.
    """
    number = len(links.can_end)
    before, weight, left = np.zeros(number), np.ones(number), np.full(number, -np.inf)
    largest = most_return[ROOT] if links.can_end[ROOT] else -np.inf
    for state in range(len(links.parent)):
        above = links.parent[state]
        first, second = -np.inf, -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if bet.upper_baseline[j] > first:
                first, second = bet.upper_baseline[j], first
            elif bet.upper_baseline[j] > second:
                second = bet.upper_baseline[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            other = second if bet.upper_baseline[j] == first else first
            left[j] = max(left[above], before[above] + weight[above] * other)
            weight[j] = weight[above] / bet.mu[j]
            before[j] = before[above] + (weight[above] - weight[j]) * bet.upper_baseline[j]
            if links.can_end[j]:
                largest = max(largest, left[j], before[j] + weight[j] * most_return[j])
    return largest


@numba.njit(cache=True)
def least_estimate(links, bet, least_return):
    """The smallest X of the answer in any episode that the rules allow, top-down."""
    before, weight = np.zeros(len(links.can_end)), np.ones(len(links.can_end))
    least = least_return[ROOT] if links.can_end[ROOT] else np.inf
    for state in range(len(links.parent)):
        above, expected = links.parent[state], 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            expected += bet.answer[j] * bet.lower_baseline[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            ratio = bet.answer[j] / bet.mu[j]
            before[j] = before[above] + weight[above] * (expected - ratio * bet.lower_baseline[j])
            weight[j] = weight[above] * ratio
            if links.can_end[j]:
                least = min(least, before[j] + weight[j] * least_return[j])
    return least
