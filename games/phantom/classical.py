"""The gradient of the classical versions, factored over the cells.

Every turn ends with a stone, so the n-th stone of a player is placed in round n, and player 0 moves first in a round. A
game ends with a stone, and the last sequence of either player is one that placed a stone. A player's history with the
stones A is described by the round t(c) of each stone and the round of the bump on each other cell, if any. For final
stones (A0, A1), a pair of the players' histories is compatible iff every cell is:

    c in A0:  player 1 did not try c, or bumped in a round f1(c) >= t0(c)
    c in A1:  player 0 did not try c, or bumped in a round f0(c) >  t1(c)
    other c:  nobody tried c

With a bump stored as v = f1 or v = f0 - 1, and v = 0 for none, both conditions are: v = 0 or v >= t. So the 0/1 matrix
between the histories (t0, v0) and (t1, v1) is K(t0, v1) K(v0, t1), a product over cells, and multiplying by it is

    Z(t0, t1)  = sum over v1 of K(t0, v1) x(t1, v1)      suffix sums along the axes of a small cube, for each t1
    g(t0, v0)  = sum over t1 of K(v0, t1) Z(t0, t1)      prefix sums along the axes of a small cube, for each t0

A *class* is the set of a player's histories with n stones. It is one array over (stones, order of the stones, bumps),
so that a pair (A0, A1) reads and writes slices of it. Histories that differ only in the order of bumps within a round
share an entry.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.games.phantom.enumeration import TRY_BITS, PlayerStates
from tmdp_spiel.games.phantom.rules import DRAW, POPCOUNT, WIN_0, Rules
from tmdp_spiel.trees.traversal import ROOT

# The classes of one player, by the number of stones: where the class begins (-1: no game ends so), the number of
# values of a bump, and the number of codes of bumps. rank is the place of a mask among those of the same size.
Classes = collections.namedtuple("Classes", ["first", "base", "num_codes", "rank", "size"])

# For each target, stones of a player: what the other may hold at the end, other[first[i] .. first[i + 1]], and how
# such games end.
Pairs = collections.namedtuple("Pairs", ["target", "first", "other", "kind"])

MAX_STONES = 5
_MAX_ORDERS = math.factorial(MAX_STONES)
_FACTORIAL = np.array([math.factorial(n) for n in range(MAX_STONES + 1)])


def _orders() -> np.ndarray:
    """int64[stones + 1, orders, stones]: the round of each stone, cells in increasing order, by the rank of the order.

    The rank is that of `order_rank`.
    """
    table = np.zeros((MAX_STONES + 1, _MAX_ORDERS, MAX_STONES), np.int64)
    for n in range(MAX_STONES + 1):
        for rank in range(math.factorial(n)):
            left, rest = list(range(1, n + 1)), rank
            for i in range(n):
                place, rest = divmod(rest, math.factorial(n - 1 - i))
                table[n, rank, i] = left.pop(place)
    return table


ORDERS = _orders()


class ClassicalGradient:
    """Gradients of a classical version, by classes of the player's histories."""

    def __init__(self, rules: Rules, states: tuple[PlayerStates, PlayerStates]):
        endings = [ending for ending in rules.endings() if _by_turns(*ending)]
        self._classes = tuple(_classes(rules, player, endings) for player in (0, 1))
        self._pairs = tuple(final_pairs(player, endings) for player in (0, 1))
        self.codes = tuple(self._code(rules, player, states[player]) for player in (0, 1))
        self._cells = rules.num_cells

    def _code(self, rules: Rules, player: int, states: PlayerStates) -> np.ndarray:
        codes = np.empty(states.sequence_end, np.int32)
        classes = self._classes[player]
        _codes(
            classes,
            player,
            rules.num_cells,
            states.first_sequence,
            states.action,
            states.tries,
            states.own,
            states.bumps,
            codes,
        )
        codes[ROOT] = classes.first[0]
        return codes

    def __call__(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        mine, theirs = self._classes[player], self._classes[1 - player]
        x, g = np.zeros(theirs.size), np.zeros(mine.size)
        _scatter(self.codes[1 - player], reach, x)
        _multiply(mine, theirs, self._pairs[player], payoff, self._cells, x, g)
        _gather(self.codes[player], g, out)


def _by_turns(first: int, second: int, kind: int) -> bool:
    """Whether these can be the final stones of a game in turns: the winner, or who fills the board, moved last."""
    ahead = POPCOUNT[first] - POPCOUNT[second]
    return ahead in (0, 1) if kind == DRAW else ahead == (1 if kind == WIN_0 else 0)


def _classes(rules: Rules, player: int, endings: list[tuple[int, int, int]]) -> Classes:
    cells = rules.num_cells
    first = np.full(MAX_STONES + 1, -1)
    base, num_codes = np.ones_like(first), np.ones_like(first)
    rank = np.zeros(1 << cells, np.int64)
    for n in range(MAX_STONES + 1):
        masks = np.flatnonzero(POPCOUNT[: 1 << cells] == n)
        rank[masks] = np.arange(len(masks))
    size = 0
    for n in sorted({int(POPCOUNT[ending[player]]) for ending in endings}):
        first[n] = size
        base[n] = n + player  # bumps are found in rounds 2 .. n by player 0, in rounds 1 .. n by player 1
        num_codes[n] = base[n] ** (cells - n)
        size += math.comb(cells, n) * math.factorial(n) * num_codes[n]
    return Classes(first, base, num_codes, rank, int(size))


def final_pairs(player: int, endings: list[tuple[int, int, int]]) -> Pairs:
    """The pairs of final stones, by the stones of `player`."""
    by_target: dict[int, list[tuple[int, int]]] = {}
    for ending in endings:
        by_target.setdefault(ending[player], []).append((ending[1 - player], ending[2]))
    targets = sorted(by_target, key=lambda mask: (POPCOUNT[mask], mask))
    targets = (
        targets[::2] + targets[1::2]
    )  # so that two cores that take half of them each have about the same amount of work
    first = np.cumsum([0] + [len(by_target[target]) for target in targets])
    others = [pair for target in targets for pair in by_target[target]]
    return Pairs(
        np.array(targets), first, np.array([other for other, _ in others]), np.array([kind for _, kind in others])
    )


@numba.njit(cache=True)
def order_rank(times, n):
    """The rank of an order: for each cell, the number of later cells with an earlier time, as mixed digits."""
    rank = 0
    for i in range(n):
        earlier = 0
        for k in range(i + 1, n):
            earlier += times[k] < times[i]
        rank = rank * (n - i) + earlier
    return rank


@numba.njit(cache=True, parallel=True)
def _codes(classes, player, cells, first_sequence, action, tries, own, bumps, codes):
    """For each sequence, the entry of the player's history if it places a stone; -1 if no game ends so."""
    for s in numba.prange(len(tries)):
        mine, seen = np.int64(own[s]), np.int64(bumps[s])
        n = POPCOUNT[mine] + 1
        for j in range(first_sequence[s], first_sequence[s + 1]):
            codes[j] = -1
        if n <= MAX_STONES and classes.first[n] >= 0:
            times, round_ = np.zeros(cells, np.int64), 1
            for t in range(n - 1 + POPCOUNT[seen]):
                tried = np.int64((tries[s] >> np.uint64(TRY_BITS * t)) & np.uint64(15))
                times[tried] = round_
                round_ += int(mine >> tried & 1)
            stones = np.empty(n, np.int64)
            for j in range(first_sequence[s], first_sequence[s + 1]):
                new = np.int64(action[j])
                mask = mine | 1 << new
                i, code = 0, 0
                for cell in range(cells - 1, -1, -1):
                    if not mask >> cell & 1:
                        value = times[cell] - (1 - player) if seen >> cell & 1 else 0
                        code = code * classes.base[n] + value
                for cell in range(cells):
                    if mask >> cell & 1:
                        stones[i] = n if cell == new else times[cell]
                        i += 1
                order = classes.rank[mask] * _FACTORIAL[n] + order_rank(stones, n)
                codes[j] = classes.first[n] + order * classes.num_codes[n] + code


@numba.njit(cache=True)
def _scatter(codes, reach, x):
    for j in range(len(codes)):
        if codes[j] >= 0:
            x[codes[j]] += reach[j]


@numba.njit(cache=True, parallel=True)
def _gather(codes, g, out):
    for j in numba.prange(len(codes)):
        out[j] = g[codes[j]] if codes[j] >= 0 else 0.0


@numba.njit(cache=True)
def _cube_offsets(stones, other, base, cells, offsets):
    """offsets[d]: where the bumps d, base-`base` digits over the cells of `other`, lie among codes beside `stones`."""
    size, stride = 1, 1
    offsets[0] = 0
    for cell in range(cells):
        if other >> cell & 1:
            for digit in range(1, base):
                for d in range(size):
                    offsets[digit * size + d] = offsets[d] + digit * stride
            size *= base
        if not stones >> cell & 1:
            stride *= base
    return size


@numba.njit(cache=True)
def _suffix_sums(cube, size, base):
    """Along each axis, entry k becomes entry 0 (no bump) plus the entries v > k (bumps after a stone t = k + 1)."""
    stride = 1
    while stride < size:
        for high in range(0, size, stride * base):
            for low in range(high, high + stride):
                none, later = cube[low], 0.0
                for v in range(base - 1, 0, -1):
                    bumped = cube[low + v * stride]
                    cube[low + v * stride] = none + later
                    later += bumped
                cube[low] = none + later
        stride *= base


@numba.njit(cache=True)
def _prefix_sums(cube, size, base):
    """Along each axis, entry v becomes the sum of the stones 1 .. v, and entry 0 (no bump) that of all stones.

    Before, entry 0 has the stones that are later than any bump.
    """
    stride = 1
    while stride < size:
        for high in range(0, size, stride * base):
            for low in range(high, high + stride):
                earlier = 0.0
                for v in range(1, base):
                    earlier += cube[low + v * stride]
                    cube[low + v * stride] = earlier
                cube[low] += earlier
        stride *= base


@numba.njit(cache=True, parallel=True)
def _multiply(mine, theirs, pairs, payoff, cells, x, g):
    """g = (sum over pairs of final stones of payoff * K ⊗ K) x."""
    for i in numba.prange(len(pairs.target)):
        target = pairs.target[i]
        n = POPCOUNT[target]
        base, orders = mine.base[n], _FACTORIAL[n]
        cube, offsets = np.empty(8192), np.empty(8192, np.int64)
        z = np.empty((orders, _MAX_ORDERS))
        at = np.empty(_MAX_ORDERS, np.int64)
        for e in range(pairs.first[i], pairs.first[i + 1]):
            other, weight = pairs.other[e], payoff[pairs.kind[e]]
            if weight == 0:
                continue
            m = POPCOUNT[other]
            their_base, their_orders = theirs.base[m], _FACTORIAL[m]

            size = _cube_offsets(other, target, their_base, cells, offsets)
            for order in range(orders):
                at[order], stride = 0, 1
                for c in range(n):
                    at[order] += min(ORDERS[n, order, c] - 1, their_base - 1) * stride
                    stride *= their_base
            any_reached = False
            for their_order in range(their_orders):
                start = theirs.first[m] + (theirs.rank[other] * their_orders + their_order) * theirs.num_codes[m]
                reached = False
                for d in range(size):
                    cube[d] = x[start + offsets[d]]
                    reached |= cube[d] != 0
                if reached:
                    any_reached = True
                    _suffix_sums(cube, size, their_base)
                    for order in range(orders):
                        z[order, their_order] = cube[at[order]]
                else:
                    for order in range(orders):
                        z[order, their_order] = 0.0
            if not any_reached:
                continue

            size = _cube_offsets(target, other, base, cells, offsets)
            for their_order in range(their_orders):
                at[their_order], stride = 0, 1
                for c in range(m):
                    time = ORDERS[m, their_order, c]
                    at[their_order] += (time if time < base else 0) * stride
                    stride *= base
            for order in range(orders):
                for d in range(size):
                    cube[d] = 0.0
                for their_order in range(their_orders):
                    cube[at[their_order]] += z[order, their_order]
                _prefix_sums(cube, size, base)
                start = mine.first[n] + (mine.rank[target] * orders + order) * mine.num_codes[n]
                for d in range(size):
                    g[start + offsets[d]] += weight * cube[d]
