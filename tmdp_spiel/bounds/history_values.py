"""Bets on the values of all policies, as in bounds/policy_values, with estimates that use the whole history.

The proof is in docs/lab/theory_sharper.md, section 8. Once an episode has ended, its history is known, and so are the
probabilities with which chance drew. Let B be any function of histories that is set before the episode, B(h) =
E[B(next) | h] where chance draws next. Then the estimate X(pi) of bounds/differences has the same mean if the baseline
of an own move is B of the history after it, and if at every draw B(h) - B(next) is added, times the weight there: so
only the moves of the other players make the estimates vary.
"""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel.bounds.policy_values import LOWER, UPPER, penalty
from tmdp_spiel.core.jit import tree_pass
from tmdp_spiel.trees.history_tree import CHANCE, END, OWN
from tmdp_spiel.trees.traversal import ROOT


@tree_pass
def settle(links, histories, bet, base, raised, nodes, length, totals):
    """Settles the bets of an episode on both sides; returns what is added to the bracket of the lower bound.

    nodes: its histories, the first `length`.  base: B;  raised: B after own moves as the upper side has it;
    totals: of bounds/policy_values, which the upper side adds to
    """
    stake, centre = bet.stakes[UPPER], bet.centres[UPPER]
    weight_of_square = penalty(stake, bet.reaches[UPPER])
    upper, weight, lower, answered, last = 0.0, 1.0, 0.0, 1.0, np.int64(ROOT)
    for k in range(length - 1):
        node, after = nodes[k], nodes[k + 1]
        kind = histories.kind[node]
        if kind == CHANCE:
            upper += weight * (base[node] - base[after])
            lower += answered * (base[node] - base[after])
        elif kind == OWN:
            played, expected = histories.move[after], 0.0
            for at in range(histories.first_move[node], histories.first_move[node + 1]):
                child = histories.child[at]
                j = histories.move[child]
                expected += bet.answer[j] * base[child]
                if j != played:
                    x = upper + weight * raised[child]
                    totals[j] += stake * x + weight_of_square * (x - centre) ** 2
            heavier = weight / bet.mu[played]
            upper += (weight - heavier) * raised[after]
            weight = heavier
            ratio = bet.answer[played] / bet.mu[played]
            lower += answered * (expected - ratio * base[after])
            answered *= ratio
            last = played
    value = histories.value[nodes[length - 1]]
    x = upper + weight * value
    totals[last] += stake * x + weight_of_square * (x - centre) ** 2
    x = lower + answered * value
    stake = bet.stakes[LOWER]
    return stake * x - penalty(stake, bet.reaches[LOWER]) * (x - bet.centres[LOWER]) ** 2


@numba.njit(cache=True)
def largest_estimate(histories, mu, base, raised):
    """The largest X for any pure policy and any episode that the rules allow, bottom-up."""
    most = np.empty(len(histories.kind))
    for h in range(len(most) - 1, -1, -1):
        most[h] = largest_after(histories, mu, base, raised, most, h)
    return most[0]


@tree_pass
def largest_after(histories, mu, base, raised, most, h):
    """What X can be at most from a history on, whose weight is 1 there; most: of the histories after it."""
    kind = histories.kind[h]
    if kind == END:
        return histories.value[h]
    largest = -np.inf
    for at in range(histories.first_move[h], histories.first_move[h + 1]):
        child = histories.child[at]
        if kind == OWN:
            gain = max(most[child] - raised[child], 0.0) / mu[histories.move[child]]
            largest = max(largest, raised[child] + gain)
        elif kind == CHANCE:
            largest = max(largest, most[child] + base[h] - base[child])
        else:
            largest = max(largest, most[child])
    return largest


@numba.njit(cache=True)
def least_estimate(histories, mu, answer, base):
    """The smallest X of the answer in any episode that the rules allow, bottom-up."""
    least = np.empty(len(histories.kind))
    for h in range(len(least) - 1, -1, -1):
        kind = histories.kind[h]
        if kind == END:
            least[h] = histories.value[h]
            continue
        lowest, expected = np.inf, 0.0
        if kind == OWN:
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                expected += answer[histories.move[child]] * base[child]
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            if kind == OWN:
                ratio = answer[histories.move[child]] / mu[histories.move[child]]
                lowest = min(lowest, expected + ratio * (least[child] - base[child]))
            elif kind == CHANCE:
                lowest = min(lowest, least[child] + base[h] - base[child])
            else:
                lowest = min(lowest, least[child])
        least[h] = lowest
    return least[0]


@numba.njit(cache=True)
def answer_estimate(histories, mu, answer, base, nodes):
    """X of the answer, for an episode that was played by mu; as the lower side of settle() has it."""
    x, weight = 0.0, 1.0
    for k in range(len(nodes) - 1):
        node, after = nodes[k], nodes[k + 1]
        kind = histories.kind[node]
        if kind == CHANCE:
            x += weight * (base[node] - base[after])
        elif kind == OWN:
            expected = 0.0
            for at in range(histories.first_move[node], histories.first_move[node + 1]):
                child = histories.child[at]
                expected += answer[histories.move[child]] * base[child]
            ratio = answer[histories.move[after]] / mu[histories.move[after]]
            x += weight * (expected - ratio * base[after])
            weight *= ratio
    return x + weight * histories.value[nodes[-1]]
