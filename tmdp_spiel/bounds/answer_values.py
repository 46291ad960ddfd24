"""Bets on the values of all policies against opponents that were queried at each of their states.

The proof is in docs/lab/theory_sharper.md, section 9. The opponents are functions of their information states. State I
is queried n_I times, and sigma is the frequency of each answer. With the chances of the rules this defines a game. For
each end z of this game let

    X(z) = return + what the moves of chance on the way lost of B,

as in bounds/history_values, for any B that is fixed beforehand. With D_I, what the probability of I would be if all own
moves had probability 1, theta_I = lambda D_I / n_I, theta(z) the largest of them on the way to z, and

    f(X) = x - ln(1 + theta(z) (x - X)) / theta(z),

exp(lambda (V(pi) - sum over z of P(z) f(X(z)))) has mean at most 1 for every policy pi, P(z) being the probability of z
under sigma and pi. The sum is one over the own sequences that pi plays.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.trees.history_tree import CHANCE, END, OTHER, OWN, HistoryTree
from tmdp_spiel.trees.traversal import ROOT

# The order in which states of the others come: a state of level k comes after states of smaller levels only.
# sequence: int32[N], the last own sequence before a history, the root if there is none;  state: int32[N], of the
# others' histories their state;  order: int32[N], the histories by the level of the last state of the others before
# them, level k at first[k + 1] .. first[k + 2], at first[0] those without one;  others: int32[O], histories at which
# another player acts, by the level of their state, level k at others_first[k] .. others_first[k + 1]
AskingOrder = collections.namedtuple("AskingOrder", ["sequence", "state", "order", "first", "others", "others_first"])

_RISK = 0.8  # the most that theta (X - x) may be; a part of a state that is asked too seldom counts as not asked


def asking_order(rules: HistoryTree) -> AskingOrder:
    """The order of the others' states; ValueError if there is none, as where a player forgets."""
    histories = rules.histories
    number, states = len(rules), len(histories.first_answer) - 1
    state = np.full(number, -1, np.int32)
    acts = histories.kind == OTHER
    state[acts] = np.searchsorted(histories.first_answer, histories.slot[acts], side="right") - 1
    levels = np.zeros(max(states, 1), np.int64)
    before = np.full(number, -1, np.int64)
    for _ in range(states + 1):
        if not _raise_levels(histories, state, levels, before):
            break
    else:
        raise ValueError("the states of the other players cannot be put into an order in time")
    keys, other = before + 1, np.flatnonzero(acts)
    most = int(levels[state[other]].max(initial=-1)) + 1
    order = np.argsort(keys, kind="stable")
    others = other[np.argsort(levels[state[other]], kind="stable")]
    return AskingOrder(
        sequence=_last_sequences(histories),
        state=state,
        order=order.astype(np.int32),
        first=np.searchsorted(keys[order], np.arange(most + 2)).astype(np.int32),
        others=others.astype(np.int32),
        others_first=np.searchsorted(levels[state[others]], np.arange(most + 1)).astype(np.int32),
    )


def every_history_apart(rules: HistoryTree) -> HistoryTree:
    """The same, but every history at which another player acts is a separate state, whatever that player can see."""
    histories, slot, move, first = rules.histories, rules.histories.slot.copy(), rules.histories.move.copy(), [0]
    for h in np.flatnonzero(histories.kind == OTHER):
        moves = histories.child[histories.first_move[h] : histories.first_move[h + 1]]
        slot[h], move[moves] = first[-1], first[-1] + np.arange(len(moves))
        first.append(first[-1] + len(moves))
    return HistoryTree(rules.tree, histories._replace(slot=slot, move=move, first_answer=np.array(first, np.int32)))


@numba.njit(cache=True)
def _raise_levels(histories, state, levels, before):
    """One pass top-down; whether a level changed."""
    changed = False
    for h in range(len(state)):
        level = before[h]
        if histories.kind[h] == OTHER:
            if levels[state[h]] <= level:
                levels[state[h]] = level + 1
                changed = True
            level = levels[state[h]]
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            before[histories.child[at]] = level
    return changed


@numba.njit(cache=True)
def _last_sequences(histories):
    sequences = np.full(len(histories.kind), ROOT, np.int32)
    for h in range(len(sequences)):
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            sequences[child] = histories.move[child] if histories.kind[h] == OWN else sequences[h]
    return sequences


@numba.njit(cache=True)
def _most_after(histories, base, sign):
    """The most that sign times X can gain from each history on."""
    most = np.empty(len(base))
    for h in range(len(base) - 1, -1, -1):
        kind = histories.kind[h]
        if kind == END:
            most[h] = sign * histories.value[h]
            continue
        most[h] = -np.inf
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            gain = sign * (base[h] - base[child]) if kind == CHANCE else 0.0
            most[h] = max(most[h], most[child] + gain)
    return most


@numba.njit(cache=True)
def largest_reach(histories, base):
    """How far X can be from B of the beginning, up and down."""
    return _most_after(histories, base, 1.0)[0] - base[0], _most_after(histories, base, -1.0)[0] + base[0]


@numba.njit(cache=True)
def parents_of(histories):
    """The history before each one; -1 for the first."""
    parents = np.full(len(histories.kind), -1, np.int32)
    for h in range(len(parents)):
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            parents[histories.child[at]] = h
    return parents


@numba.njit(cache=True)
def settle_answers(histories, order, asked, shares, base, plan, stake, sign, totals):
    """Adds lambda P(z) f(X(z)) to the last own sequence of every end z; with sign = -1 likewise of -X.

    asked: of each state of the others, how often it was.  shares: of each answer.  plan: own probabilities; 1
    everywhere for the bounds of all policies.  x is B of the beginning.  Of states that were asked too seldom, a part
    counts as the most that can follow.
    """
    number, most, parents = len(base), _most_after(histories, base, sign), parents_of(histories)
    centre, levels = sign * base[0], len(order.others_first) - 1
    weight, gained, theta = np.zeros(number), np.zeros(number), np.zeros(number)
    probability, room = np.zeros(len(asked)), np.zeros(len(asked))
    thetas, part = np.zeros(len(asked)), np.ones(len(asked))
    weight[0] = 1.0
    for level in range(levels + 1):
        for each in range(order.first[level], order.first[level + 1]):
            h = order.order[each]
            if h > 0:
                above = parents[h]
                kind = histories.kind[above]
                weight[h], gained[h], theta[h] = weight[above], gained[above], theta[above]
                if kind == CHANCE:
                    weight[h] *= histories.chance[h]
                    gained[h] += sign * (base[above] - base[h])
                elif kind == OWN:
                    weight[h] *= plan[histories.move[h]]
                else:
                    weight[h] *= shares[histories.move[h]]
                    theta[h] = max(theta[h], thetas[order.state[above]])
            if histories.kind[h] == END and weight[h] > 0.0:
                totals[order.sequence[h]] += stake * weight[h] * _cost(gained[h] + most[h], theta[h], centre)
        if level == levels:
            break
        first, last = order.others_first[level], order.others_first[level + 1]
        for each in range(first, last):
            h = order.others[each]
            probability[order.state[h]] += weight[h]
            if weight[h] > 0.0:
                room[order.state[h]] = max(room[order.state[h]], gained[h] + most[h] - centre)
        for each in range(first, last):
            h = order.others[each]
            state = order.state[h]
            needed = stake * probability[state] * room[state]
            if needed > _RISK * asked[state] or asked[state] == 0:
                part[state] = _RISK * asked[state] / needed if asked[state] > 0 else 0.0
                if weight[h] > 0.0:
                    left = (1.0 - part[state]) * weight[h]
                    totals[order.sequence[h]] += stake * left * _cost(gained[h] + most[h], theta[h], centre)
                    weight[h] *= part[state]
            if asked[state] > 0:
                thetas[state] = stake * part[state] * probability[state] / asked[state]


@numba.njit(cache=True)
def _cost(x, theta, centre):
    """f(X): X and what it costs that X is not x."""
    return x if theta <= 0.0 else centre - math.log1p(theta * (centre - x)) / theta
