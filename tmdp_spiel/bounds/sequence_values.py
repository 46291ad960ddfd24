"""A sharper form of the bound by sequences of BettingUCRL: delta is shared out so that every *policy* gets its fill.

Proven in docs/lab/theory_sharper.md, section 5. The bound of Theorem 8 is wrong only if one of the sequences that a
best policy plays is bounded too low, and a policy plays one action a state. So it is enough that the shares of delta
add up to at most delta over the sequences of any one pure policy: what is handed to a state is handed to each of its
actions in full, and split only over the states that can follow. And a share is spent on the mean of the capitals of
all stakes, which is a martingale itself, not on the largest of them."""

from __future__ import annotations

import math

import numba
import numpy as np

from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import sequences_of

_STAKES = 14  # f = 0.9, 0.45, ..., as BettingUCRL has them
_LARGEST_STAKE = 0.9
_OWN_SHARE = 0.5  # of what a sequence is handed, that its own bound keeps; the rest is for what can follow
_HALVINGS = 40


def upper_values(tree: InfostateTree, visits, returns, squares, delta: float, *, foreseen: float = 1.0) -> np.ndarray:
    """Upper bounds on the best values after every sequence.

    Args:
        tree: enumerated; it need not be known with what chances.
        visits: of every sequence.
        returns: sums of the returns of the episodes that ended on each.
        squares: sums of their squares.
        delta: with probability 1 - delta, after all episodes at once and however they were chosen, the first entry, the
            root's, is above the value of every policy; the others hold for the sequences of a best policy.
        foreseen: if above 1, an estimate instead, for that many times the episodes, if they go as those so far.
    """
    validation.probability("delta", delta)
    needed = (policy_shares(tree.links) + math.log(1 / delta)) / validation.positive("foreseen", foreseen)
    upper = np.ones(tree.sequence_end)
    counts = np.ascontiguousarray(visits, np.int64)
    _bound_all(tree.links, counts, np.asarray(returns), np.asarray(squares), needed, upper)
    return upper


@numba.njit(cache=True)
def policy_shares(links):
    """ln(1 / share) of every sequence: over the sequences of a pure policy the shares add up to 1.

    A sequence keeps the part _OWN_SHARE of what it is handed, or all of it if nothing can follow, and splits the rest
    equally among the states that can follow it; each action of a state is handed all that the state was handed.
    """
    handed, kept = np.zeros(len(links.parent)), np.zeros(len(links.can_end))
    for state in range(-1, len(handed)):
        whole = handed[state] if state >= 0 else 0.0
        first, end = sequences_of(links, state)
        for j in range(first, end):
            number = links.first_child[j + 1] - links.first_child[j]
            kept[j] = whole
            if number > 0:
                kept[j] -= math.log(_OWN_SHARE)
            for child in range(links.first_child[j], links.first_child[j + 1]):
                handed[child] = whole + math.log(number) - math.log(1.0 - _OWN_SHARE)
    return kept


@kernel
def _log_capital(first, end, numbers, values, ones, zeros, rest, stake, mean):
    """ln K(mean) of one stake: states that followed, and ends that count as `ones` returns of 1, `zeros` of `rest`."""
    capital, scale = 0.0, stake / (1.0 - mean)
    for child in range(first, end):
        if numbers[child] > 0:
            capital += numbers[child] * math.log1p(scale * (mean - values[child]))
    if ones > 0.0:
        capital += ones * math.log1p(-stake)
    if zeros > 0.0:
        capital += zeros * math.log1p(scale * (mean - rest))
    return capital


@kernel
def _refutes(first, end, numbers, values, ones, zeros, rest, needed, mean):
    """Whether the mean of the capitals of all stakes is at least exp(needed)."""
    total = 0.0
    for at in range(_STAKES):
        stake = _LARGEST_STAKE / 2.0**at
        capital = _log_capital(first, end, numbers, values, ones, zeros, rest, stake, mean) - needed
        if capital >= math.log(_STAKES):
            return True
        if capital > -40.0:
            total += math.exp(capital)
    return total >= _STAKES


@tree_pass
def _bound(first, end, numbers, values, ended, total, squares, needed):
    """The least mean that is refuted, by halving; 1 if there is none."""
    ones, zeros, rest = 0.0, 0.0, 0.0
    if ended > 0:
        average = min(total / ended, 1.0)
        variance = max(squares / ended - average * average, 0.0)
        rest, share = average, 0.0
        if variance > 0.0 and average < 1.0:
            share = variance / (variance + (1.0 - average) ** 2)
            rest = max(average - variance / (1.0 - average), 0.0)
        ones, zeros = ended * share, ended * (1.0 - share)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _refutes(first, end, numbers, values, ones, zeros, rest, needed, middle):
            high = middle
        else:
            low = middle
    return high


@numba.njit(cache=True)
def _bound_all(links, visits, returns, squares, needed, upper):
    """From the leaves up; a state's bound is the largest of its sequences'."""
    states = len(links.parent)
    numbers, values = np.zeros(states, np.int64), np.ones(states)
    for state in range(states - 1, -2, -1):
        first, end = sequences_of(links, state)
        best, number = 0.0, 0
        for j in range(first, end):
            start, stop = links.first_child[j], links.first_child[j + 1]
            if visits[j] > 0:
                ended = visits[j]
                for child in range(start, stop):
                    ended -= numbers[child]
                upper[j] = _bound(start, stop, numbers, values, ended, returns[j], squares[j], needed[j])
            best = max(best, upper[j])
            number += visits[j]
        if state >= 0:
            numbers[state], values[state] = number, best
