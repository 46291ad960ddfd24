"""Bets on the values of all policies together: an upper bound on the best response at all times, without an epsilon.

The proof is in docs/lab/theory_sharper.md, section 4. An episode is played by a mixed plan mu. With the unbiased
estimate X(pi) of V(pi) of bounds/differences, a stake lambda, a centre x and a bound b >= X(pi) - x, all set before the
episode,

    exp(lambda (V(pi) - X(pi)) - psi(lambda b) / b^2 (X(pi) - x)^2),   psi(u) = -ln(1 - u) - u,

has mean at most 1 (Fan, Grama and Liu, 2015). So with probability 1 - delta, at all times,

    V* <= max over pi of [ sum_i lambda_i X_i(pi) + psi_i (X_i(pi) - x_i)^2 + ln(1 / delta) ] / sum_i lambda_i,

and the bracket is a sum over the sequences that pi plays: one bottom-up pass. With the signs reversed, this gives a
lower bound on the value of the answers that were current when the bets were made.

How an episode would have continued in which an opponent failed is unknown, so it counts as the worst continuation for
each side. What is added to the bracket of the upper bound is convex in X, what is added to that of the lower bound is
concave: the worst is at the least or at the largest X that a continuation can have.
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


@kernel
def _expected(links, bet, state):
    """What the answer expects at a state by the baseline of the lower side."""
    expected = 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        expected += bet.answer[j] * bet.lower_baseline[j]
    return expected


@tree_pass
def answer_estimate(links, bet, path, length, value):
    """X of the answer, with the baseline of the lower side."""
    estimate, weight = 0.0, 1.0
    for k in range(length):
        played, expected = path.sequences[k], _expected(links, bet, path.states[k])
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
        above, expected = links.parent[state], _expected(links, bet, state)
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            ratio = bet.answer[j] / bet.mu[j]
            before[j] = before[above] + weight[above] * (expected - ratio * bet.lower_baseline[j])
            weight[j] = weight[above] * ratio
            if links.can_end[j]:
                least = min(least, before[j] + weight[j] * least_return[j])
    return least


@numba.njit(cache=True)
def possible_estimates(links, bet, path, length, least_return, most_return):
    """The smallest and the largest X after a path, over all continuations that the rules allow.

    Returns four numbers: for the pure policies that play the whole path, and for the answer.
    """
    number = len(links.can_end)
    inside, last = np.zeros(number, np.bool_), path.sequences[length - 1] if length > 0 else ROOT
    # Of policies: what is settled, the weight of what comes, and the range of those that have left since.
    before, weight = np.zeros(number), np.ones(number)
    left_least, left_most = np.full(number, np.inf), np.full(number, -np.inf)
    answer_before, answer_weight = np.zeros(number), np.ones(number)
    inside[last] = True
    for k in range(length):
        j, expected = path.sequences[k], _expected(links, bet, path.states[k])
        ratio = bet.answer[j] / bet.mu[j]
        answer_before[last] += answer_weight[last] * (expected - ratio * bet.lower_baseline[j])
        answer_weight[last] *= ratio
        after = weight[last] / bet.mu[j]
        before[last] += (weight[last] - after) * bet.upper_baseline[j]
        weight[last] = after
    least, most, answer_least, answer_most = np.inf, -np.inf, np.inf, -np.inf
    if links.can_end[last]:
        least, most = before[last] + weight[last] * least_return[last], before[last] + weight[last] * most_return[last]
        answer_least = answer_before[last] + answer_weight[last] * least_return[last]
        answer_most = answer_before[last] + answer_weight[last] * most_return[last]
    for state in range(len(links.parent)):
        above = links.parent[state]
        if not inside[above]:
            continue
        lowest, highest, expected = np.inf, -np.inf, _expected(links, bet, state)
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            lowest, highest = min(lowest, bet.upper_baseline[j]), max(highest, bet.upper_baseline[j])
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            inside[j] = True
            left_least[j] = min(left_least[above], before[above] + weight[above] * lowest)
            left_most[j] = max(left_most[above], before[above] + weight[above] * highest)
            weight[j] = weight[above] / bet.mu[j]
            before[j] = before[above] + (weight[above] - weight[j]) * bet.upper_baseline[j]
            ratio = bet.answer[j] / bet.mu[j]
            answer_before[j] = answer_before[above] + answer_weight[above] * (expected - ratio * bet.lower_baseline[j])
            answer_weight[j] = answer_weight[above] * ratio
            if links.can_end[j]:
                least = min(least, left_least[j], before[j] + weight[j] * least_return[j])
                most = max(most, left_most[j], before[j] + weight[j] * most_return[j])
                answer_least = min(answer_least, answer_before[j] + answer_weight[j] * least_return[j])
                answer_most = max(answer_most, answer_before[j] + answer_weight[j] * most_return[j])
    return least, most, answer_least, answer_most


@numba.njit(cache=True)
def settle_failed(links, bet, path, length, least_return, most_return, totals):
    """Settles an episode that was cut short; returns what is added to the bracket of the lower bound."""
    least, most, answer_least, answer_most = possible_estimates(links, bet, path, length, least_return, most_return)
    leave_path(links, bet, path, length, totals)
    stake, centre, square = bet.stakes[UPPER], bet.centres[UPPER], penalty(bet.stakes[UPPER], bet.reaches[UPPER])
    worst = -np.inf
    for x in (least, most):
        worst = max(worst, stake * x + square * (x - centre) ** 2)
    totals[path.sequences[length - 1] if length > 0 else ROOT] += worst
    stake, centre, square = bet.stakes[LOWER], bet.centres[LOWER], penalty(bet.stakes[LOWER], bet.reaches[LOWER])
    worst = np.inf
    for x in (answer_least, answer_most):
        worst = min(worst, stake * x - square * (x - centre) ** 2)
    return worst
