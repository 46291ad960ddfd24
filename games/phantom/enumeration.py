"""The information states of one player of a phantom game, level by level.

A state is the list of the player's tries and their results. Level d has the states after d tries. A state exists if the
game may not be over: there is a number m of the other's stones that fits the turns so far, and cells for these stones
that include all bumps, do not win, and leave a cell empty (`Rules.can_go_on`). In the classical versions m is known. In
the abrupt versions the other has made u tries, m of them stones. If any order of them is possible, then so is the order
with its stones first and its u - m bumps last, because this gives the most stones of both players for the bumps.
"""

from __future__ import annotations

import dataclasses

import numba
import numpy as np

from tmdp_spiel.games.phantom.rules import POPCOUNT, Rules

TRY_BITS = 4  # of the packed tries


@dataclasses.dataclass
class PlayerStates:
    """The states of one player in level order, as arrays.

    tries: uint64[S]  the cells tried, TRY_BITS each, the first in the lowest bits
    own, bumps: uint16[S]  the cells of the player's stones, and those found taken
    The other arrays are those of an InfostateTree; the children of a sequence are the state after a stone, then the
    state after a bump, as far as they exist.
    """

    first_sequence: np.ndarray
    first_child: np.ndarray
    parent: np.ndarray
    action: np.ndarray
    tries: np.ndarray
    own: np.ndarray
    bumps: np.ndarray

    @property
    def num_states(self) -> int:
        return len(self.parent)

    @property
    def sequence_end(self) -> int:
        return len(self.action)


def enumerate_states(rules: Rules, player: int) -> PlayerStates:
    """All information states of a player that legal play of both can reach."""
    can_go_on, cells = rules.can_go_on[player], rules.num_cells
    tries, own, bumps = np.zeros(1, np.uint64), np.zeros(1, np.uint16), np.zeros(1, np.uint16)
    if not _exists(can_go_on, player, rules.abrupt, np.uint64(0), 0, 0):
        tries, own, bumps = tries[:0], own[:0], bumps[:0]
    levels, counts, actions = [], [], []
    while len(tries):
        levels.append((tries, own, bumps))
        num_actions = (cells - POPCOUNT[own] - POPCOUNT[bumps]).astype(np.int32)
        first = np.zeros(len(tries) + 1, np.int64)
        np.cumsum(num_actions, out=first[1:])
        action, children = np.empty(first[-1], np.int16), np.empty(first[-1], np.int8)
        _count_children(can_go_on, player, rules.abrupt, cells, tries, own, bumps, first, action, children)
        first_child = np.zeros(len(children) + 1, np.int64)
        np.cumsum(children, out=first_child[1:])
        size = int(first_child[-1])
        after = np.empty(size, np.uint64), np.empty(size, np.uint16), np.empty(size, np.uint16)
        _fill_children(can_go_on, player, rules.abrupt, tries, own, bumps, first, action, first_child, *after)
        counts.append((num_actions, children))
        actions.append(action)
        tries, own, bumps = after
    return _level_order(levels, counts, actions)


def _level_order(levels: list, counts: list, actions: list) -> PlayerStates:
    tries, own, bumps = (np.concatenate([level[i] for level in levels] or [np.empty(0)]) for i in range(3))
    num_actions, children = (np.concatenate([level[i] for level in counts]) for i in range(2))
    first_sequence = np.ones(len(tries) + 1, np.int32)
    first_sequence[1:] += np.cumsum(num_actions, dtype=np.int32)
    children = np.append(np.int8(1), children)  # of the root: state 0
    first_child = np.zeros(len(children) + 1, np.int32)
    np.cumsum(children, out=first_child[1:])
    parent = np.repeat(np.arange(len(children), dtype=np.int32), children)
    action = np.concatenate([np.zeros(1, np.int16), *actions])
    return PlayerStates(first_sequence, first_child, parent, action, tries, own, bumps)


@numba.njit(cache=True)
def _exists(can_go_on, player, abrupt, tries, own, bumps):
    """Whether the game may not be over, with the player to move."""
    stones, found = POPCOUNT[own], POPCOUNT[bumps]
    if not abrupt:
        return can_go_on[own, bumps, stones + player]
    made = stones + found
    results = 0  # bit t: try t + 1 was a stone
    for t in range(made):
        if own >> np.int64((tries >> np.uint64(TRY_BITS * t)) & np.uint64(15)) & 1:
            results |= 1 << t
    for theirs in range(found, made + player + 1):
        if can_go_on[own, bumps, theirs] and bumps_fit(player, made, results, theirs):
            return True
    return False


@numba.njit(cache=True)
def bumps_fit(player, made, results, theirs):
    """Whether the other can have made its tries in the order: `theirs` stones, then bumps.

    Its try u comes after u (player 0) or u - 1 (player 1) tries of the player. The player can bump into its stones in
    try t if they were among its first t - 1 (player 0) or t tries.
    """
    bumps = 0
    for t in range(1, made + 1):
        if not results >> (t - 1) & 1:
            bumps += 1
            if bumps > min(theirs, t - 1 + player):
                return False
    for bump in range(1, made + player - theirs + 1):
        before = theirs + bump - player
        if POPCOUNT[results & ((1 << before) - 1)] < bump:
            return False
    return True


@numba.njit(cache=True)
def _after(tries, made, cell):
    return tries | (np.uint64(cell) << np.uint64(TRY_BITS * made))


@numba.njit(cache=True)
def _child_exists(can_go_on, player, abrupt, tries, own, bumps, cell, stone):
    made = POPCOUNT[own] + POPCOUNT[bumps]
    bit = 1 << cell
    after = _after(tries, made, cell)
    if stone:
        return _exists(can_go_on, player, abrupt, after, own | bit, bumps)
    return _exists(can_go_on, player, abrupt, after, own, bumps | bit)


@numba.njit(cache=True, parallel=True)
def _count_children(can_go_on, player, abrupt, cells, tries, own, bumps, first, action, children):
    for s in numba.prange(len(tries)):
        mine, seen = np.int64(own[s]), np.int64(bumps[s])
        j = first[s]
        for cell in range(cells):
            if not (mine | seen) >> cell & 1:
                action[j] = cell
                children[j] = 0
                for stone in (True, False):
                    if _child_exists(can_go_on, player, abrupt, tries[s], mine, seen, cell, stone):
                        children[j] += 1
                j += 1


@numba.njit(cache=True, parallel=True)
def _fill_children(
    can_go_on, player, abrupt, tries, own, bumps, first, action, first_child, tries_after, own_after, bumps_after
):
    for s in numba.prange(len(tries)):
        mine, seen = np.int64(own[s]), np.int64(bumps[s])
        made = POPCOUNT[mine] + POPCOUNT[seen]
        for j in range(first[s], first[s + 1]):
            c, bit = first_child[j], 1 << np.int64(action[j])
            for stone in (True, False):
                if _child_exists(can_go_on, player, abrupt, tries[s], mine, seen, np.int64(action[j]), stone):
                    tries_after[c] = _after(tries[s], made, np.int64(action[j]))
                    own_after[c] = mine | bit if stone else mine
                    bumps_after[c] = seen if stone else seen | bit
                    c += 1
