"""Bets on values where an episode was cut short, because an opponent failed in it.

How it would have continued is unknown, so it counts as the worst continuation for each side. What is added to the
bracket of the upper bound, lambda X + psi (X - x)^2, is convex in X, what is added to that of the lower bound is
concave: the worst is at the least or at the largest X that a continuation can have (docs/lab/theory_sharper.md, section
4).
"""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel.bounds.policy_values import LOWER, UPPER, leave_path, penalty
from tmdp_spiel.trees.traversal import ROOT


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


@numba.njit(cache=True)
def _expected(links, bet, state):
    """What the answer expects at a state by the baseline of the lower side."""
    expected = 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        expected += bet.answer[j] * bet.lower_baseline[j]
    return expected
