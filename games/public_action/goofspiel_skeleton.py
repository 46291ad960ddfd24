"""The part of goofspiel that does not depend on the point cards: bids, results, and which histories are compatible."""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

WON, TIED, LOST = 0, 1, 2

# The skeleton at one level: own bids and results, int8[K, level]; the cards still in hand; and, for the i-th card in
# hand of state k, the states first_child[k * cards in hand + i] .. of the next level, one for each possible result.
SkeletonLevel = collections.namedtuple("SkeletonLevel", ["bids", "results", "hand", "first_child"])

# Which last skeleton states fit: those of state k are other[first[k]] .. other[first[k + 1]]. last[e, 2 i + j]: the
# results of the last two rounds, 3 * last but one + last, if own card i and the other's card j are bid last but one.
Pairs = collections.namedtuple("Pairs", ["first", "other", "last"])


def build_skeleton(num_cards: int) -> list[SkeletonLevel]:
    """A player's bids and results, level by level. A result is possible if the other still has a card that gives it."""
    bids, results = np.zeros((1, 0), np.int8), np.zeros((1, 0), np.int8)
    hand = np.array([2**num_cards - 1], np.int64)
    spent = np.zeros((1, 2**num_cards), np.bool_)  # which sets of cards the other can have spent
    spent[0, 0] = True
    levels = []
    for _ in range(num_cards - 1):
        after = _extend(num_cards, hand, spent)
        levels.append(SkeletonLevel(bids, results, hand, after[-1]))
        parent, bid, result, hand, spent, _ = after
        bids = np.column_stack([bids[parent], bid]).astype(np.int8)
        results = np.column_stack([results[parent], result]).astype(np.int8)
    return levels


@numba.njit(cache=True)
def _extend(num_cards, hand, spent):
    """The next level: parent, bid, result, hand and the other's possible spent sets of every state; first_child."""
    cards_in_hand = 0
    for card in range(num_cards):
        cards_in_hand += (hand[0] >> card) & 1
    room = 3 * len(hand) * cards_in_hand
    parent, bid, result = np.empty(room, np.int64), np.empty(room, np.int8), np.empty(room, np.int8)
    next_hand, next_spent = np.empty(room, np.int64), np.zeros((room, spent.shape[1]), np.bool_)
    first_child = np.zeros(len(hand) * cards_in_hand + 1, np.int64)
    found, j = 0, 0
    for k in range(len(hand)):
        for card in range(num_cards):
            if not (hand[k] >> card) & 1:
                continue
            for outcome in range(3):
                lowest = (0, card, card + 1)[outcome]
                end = (card, card + 1, num_cards)[outcome]
                possible = False
                for cards in range(spent.shape[1]):
                    if spent[k, cards]:
                        for theirs in range(lowest, end):
                            if not (cards >> theirs) & 1:
                                next_spent[found, cards | (1 << theirs)] = True
                                possible = True
                if possible:
                    parent[found], bid[found], result[found] = k, card, outcome
                    next_hand[found] = hand[k] ^ (1 << card)
                    found += 1
            j += 1
            first_child[j] = found
    return parent[:found], bid[:found], result[:found], next_hand[:found], next_spent[:found], first_child


def fitting_pairs(num_cards: int, last: SkeletonLevel) -> Pairs:
    powers = num_cards ** np.arange(num_cards - 2), 3 ** np.arange(num_cards - 2)
    code = (last.bids.astype(np.int64) @ powers[0]) * 3 ** (num_cards - 2) + last.results.astype(np.int64) @ powers[1]
    state_of_code = np.full(num_cards ** (num_cards - 2) * 3 ** (num_cards - 2), -1, np.int32)
    state_of_code[code] = np.arange(len(code))
    _, one_per_bids = np.unique(last.bids, axis=0, return_index=True)
    first = np.zeros(len(code) + 1, np.int64)
    size = math.factorial(num_cards) ** 2 // 4
    other, results = np.empty(size, np.int32), np.empty((size, 4), np.int8)
    _fill_pairs(num_cards, last.bids, last.results, last.hand, one_per_bids, state_of_code, first, other, results)
    return Pairs(first, other, results)


@numba.njit(cache=True)
def _fill_pairs(num_cards, bids, results, hand, one_per_bids, state_of_code, first, other, last):
    rounds = num_cards - 2
    e = 0
    for k in range(len(hand)):
        for theirs in one_per_bids:
            fits, code, power = True, 0, 1
            for t in range(rounds):
                mine, his = bids[k, t], bids[theirs, t]
                outcome = compare(mine, his)
                if outcome != results[k, t]:
                    fits = False
                    break
                code += (2 - outcome) * power
                power *= 3
            if not fits:
                continue
            bid_code, power = 0, 1
            for t in range(rounds):
                bid_code += bids[theirs, t] * power
                power *= num_cards
            other[e] = state_of_code[bid_code * 3**rounds + code]
            my_cards, his_cards = _two_cards(hand[k]), _two_cards(hand[theirs])
            for i in range(2):
                for j in range(2):
                    before = compare(my_cards[i], his_cards[j])
                    last[e, 2 * i + j] = 3 * before + compare(my_cards[1 - i], his_cards[1 - j])
            e += 1
        first[k + 1] = e


@numba.njit(cache=True)
def compare(mine, his):
    return 0 if mine > his else (1 if mine == his else 2)


@numba.njit(cache=True)
def _two_cards(hand):
    low = 0
    while not (hand >> low) & 1:
        low += 1
    high = low + 1
    while not (hand >> high) & 1:
        high += 1
    return low, high
