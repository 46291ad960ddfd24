"""Oshi-zumo in sequence form: simultaneous bids that are revealed after every round.

After each round both players know all bids, so their information states are the same public histories; only the order
in which the two trees number them differs. Everything is written from the player's point of view: its coins, the
other's coins, and the field oriented such that its pushes go up. Then both trees have the same arrays, and `mirror`
maps a state of one player to the state of the other at the same history. What can follow depends only on the
*position*: coins and field. A sequence (s, a) collects, over the other's bids b that end the game there,

    sum over b of payoff(position of s, a, b) * reach of the other's sequence (mirror(s), b).
"""

from __future__ import annotations

import collections
from typing import Any

import numba
import numpy as np

from tmdp_spiel.games.public_action.exact_game import ExactGame
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import ROOT

MAX_COINS = 40  # the tables over positions stay below 200 MB
LOST, DRAWN, WON, CONTINUES = 0, 1, 2, 3

# What follows each position. Bids are counted from the lowest one that is legal.
# num_bids[p, 0 or 1]: of the own player, of the other; lowest[p]: the lowest own bid; next_position[p, i, j]: after own
# bid i and the other's bid j, -1 if the game ends; child[p, i, j]: the place of that successor behind own bid i;
# first_ending[p] .. first_ending[p + 1]: the endings, with the own bid, the other's bid, and LOST, DRAWN or WON.
Positions = collections.namedtuple(
    "Positions",
    [
        "num_bids", "lowest", "next_position", "child", "mirror",
        "first_ending", "ending_own", "ending_other", "ending_result",
    ],
)  # fmt: skip


class OshiZumo(ExactGame):
    """The sequence form of oshi_zumo with min_bid >= 1. Kinds of endings: player 1 wins, draw, player 0 wins."""

    tensor_kind = "observation_tensor"

    def __init__(self, game_string: str, coins: int, min_bid: int, size: int = 3, alesia: bool = False):
        self.coins, self.min_bid, self.size, self.alesia = coins, min_bid, size, alesia
        self.positions = _positions(coins, min_bid, size, alesia)
        self._start = self.position(coins, coins, size + 1)
        states, sequences = count_states(coins, min_bid, size)
        arrays: dict[str, Any] = dict(
            first_sequence=np.empty(states + 1, np.int32),
            first_child=np.zeros(sequences + 2, np.int32),
            parent=np.zeros(states, np.int32),
            action=np.zeros(sequences + 1, np.int16),
            can_end=np.zeros(sequences + 1, np.bool_),
        )
        self.position_of = np.empty(states, np.int16)
        self.mirror = np.empty(states, np.int32)
        _build(self.positions, self._start, *arrays.values(), self.position_of)
        _fill_mirror(self.positions, arrays["first_sequence"], arrays["first_child"], self.position_of, self.mirror)
        first, second = (
            InfostateTree(
                **arrays,
                player=player,
                min_utility=-1.0,
                max_utility=1.0,
                names=OshiZumoNames(self, player),
                game_string=game_string,
            )
            for player in (0, 1)
        )
        super().__init__((first, second), [[-1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])

    def position(self, own: int, other: int, field: int) -> int:
        """The number of a position: the player's coins, the other's coins, the field as seen by the player."""
        return (own * (self.coins + 1) + other) * (2 * self.size + 3) + field

    def coins_and_field(self, position: int) -> tuple[int, int, int]:
        """The inverse of `position`."""
        coins, field = divmod(position, 2 * self.size + 3)
        return *divmod(coins, self.coins + 1), field

    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        of_result = np.ascontiguousarray(payoff if player == 0 else payoff[::-1])
        out[ROOT] = 0.0
        _endings(
            self.positions, self.trees[player].first_sequence, self.position_of, self.mirror, of_result, reach, out
        )

    def exact_equilibrium(self) -> list[np.ndarray]:
        from tmdp_spiel.games.public_action.bidding_equilibrium import optimal_bids  # which loads scipy

        _, table = optimal_bids(self)
        return [table, table]

    def history(self, player: int, state: int) -> list[int]:
        bids = self.shown_bids(player, state)
        if player == 1:  # who is asked after player 0 has bid
            bids.append(int(self.positions.lowest[self.positions.mirror[self.position_of[state]]]))
        return bids

    def shown_bids(self, player: int, state: int) -> list[int]:
        """The bids of players 0 and 1, in turn, before a state of `player`."""
        tree = self.trees[player]
        bids: list[int] = []
        while (j := int(tree.parent[state])) != ROOT:
            above = tree.state_of(j)
            position = self.position_of[above]
            row = self.positions.child[position, j - tree.first_sequence[above]]
            lowest = self.positions.lowest[self.positions.mirror[position]]
            pair = [int(tree.action[j]), int(lowest + np.flatnonzero(row == state - tree.first_child[j])[0])]
            bids = (pair if player == 0 else pair[::-1]) + bids
            state = above
        return bids

    @property
    def tensor_width(self) -> int:
        return 4 + 2 * (self.coins + 1) + 2 * self.size + 3

    def tensors(self, player: int, states: np.ndarray) -> np.ndarray:
        """OpenSpiel has no information-state tensor of oshi_zumo; these are its observation tensors."""
        tensors = np.zeros((len(states), self.tensor_width), np.float32)
        _fill_tensors(player, self.coins, self.size, self.position_of, states, tensors)
        return tensors


class OshiZumoNames:
    """OpenSpiel's information-state strings of the turn-based game, such as "Current player: 1\\n2, 2, 3, 4"."""

    def __init__(self, game: OshiZumo, player: int):
        self._game, self._player = game, player

    def string(self, state: int) -> str:
        bids = self._game.shown_bids(self._player, state)
        return f"Current player: {self._player}\n{', '.join(map(str, bids))}"

    def _lowest_of_other(self, position: int) -> int:
        positions = self._game.positions
        return int(positions.lowest[positions.mirror[position]])

    def index(self, string: str) -> int:
        try:
            first, history = string.split("\n")
            bids = [int(bid) for bid in history.split(", ")] if history else []
            state = self._follow(bids) if first == f"Current player: {self._player}" else None
        except ValueError:
            state = None
        if state is None or self.string(state) != string:
            raise KeyError(f"no legal play leads player {self._player} to the information state {string!r}")
        return state

    def _follow(self, bids: list[int]) -> int | None:
        tree, positions = self._game.trees[self._player], self._game.positions
        state = 0
        for pair in zip(bids[::2], bids[1::2], strict=True):
            own, other = pair if self._player == 0 else pair[::-1]
            position = self._game.position_of[state]
            i, j = own - positions.lowest[position], other - self._lowest_of_other(position)
            if not (0 <= i < positions.num_bids[position, 0] and 0 <= j < positions.num_bids[position, 1]):
                return None
            if positions.next_position[position, i, j] < 0:
                return None
            state = int(tree.first_child[tree.first_sequence[state] + i] + positions.child[position, i, j])
        return state

    def __len__(self) -> int:
        return len(self._game.mirror)


def _legal_bids(coins: int, min_bid: int) -> range:
    """A player with less than the minimum bids all remaining coins."""
    return range(min(min_bid, coins), coins + 1)


def _result(own: int, other: int, field: int, size: int, alesia: bool) -> int:
    """How a position ends, from the player's point of view; CONTINUES if it does not."""
    if field in (0, 2 * size + 2):
        return WON if field else LOST
    if own or other:
        return CONTINUES
    if alesia or field == size + 1:
        return DRAWN
    return WON if field > size + 1 else LOST


def count_states(coins: int, min_bid: int, size: int) -> tuple[int, int]:
    """The number of states and sequences of one player."""
    known: dict[tuple[int, int, int], tuple[int, int]] = {}
    for own in range(coins + 1):
        for other in range(coins + 1):
            for field in range(2 * size + 3):
                states = sequences = 0
                if _result(own, other, field, size, False) == CONTINUES:
                    states, sequences = 1, len(_legal_bids(own, min_bid))
                    for a in _legal_bids(own, min_bid):
                        for b in _legal_bids(other, min_bid):
                            below = known[own - a, other - b, field + (a > b) - (a < b)]
                            states, sequences = states + below[0], sequences + below[1]
                known[own, other, field] = states, sequences
    return known[coins, coins, size + 1]


def _positions(coins: int, min_bid: int, size: int, alesia: bool) -> Positions:
    fields = 2 * size + 3
    number = (coins + 1) ** 2 * fields
    num_bids, lowest = np.zeros((number, 2), np.int64), np.zeros(number, np.int64)
    next_position = np.full((number, coins + 1, coins + 1), -1, np.int32)
    child = np.full((number, coins + 1, coins + 1), -1, np.int16)
    mirror = np.zeros(number, np.int32)
    first_ending, endings = [0], []
    for p in range(number):
        both, field = divmod(p, fields)
        own, other = divmod(both, coins + 1)
        mirror[p] = (other * (coins + 1) + own) * fields + fields - 1 - field
        if _result(own, other, field, size, alesia) == CONTINUES:
            own_bids, other_bids = _legal_bids(own, min_bid), _legal_bids(other, min_bid)
            num_bids[p], lowest[p] = (len(own_bids), len(other_bids)), own_bids[0]
            for i, a in enumerate(own_bids):
                found = 0
                for j, b in enumerate(other_bids):
                    after = own - a, other - b, field + (a > b) - (a < b)
                    result = _result(*after, size, alesia)
                    if result == CONTINUES:
                        next_position[p, i, j] = (after[0] * (coins + 1) + after[1]) * fields + after[2]
                        child[p, i, j] = found
                        found += 1
                    else:
                        endings.append((i, j, result))
        first_ending.append(len(endings))
    columns = np.array(endings, np.int64).reshape(-1, 3).T.copy()
    return Positions(num_bids, lowest, next_position, child, mirror, np.array(first_ending), *columns)


@numba.njit(cache=True)
def _build(positions, start, first_sequence, first_child, parent, action, can_end, position_of):
    """Level order: a bid of the player is followed by the states after the other's bids, from the lowest."""
    position_of[0] = start
    found, j = 1, ROOT + 1
    for s in range(len(parent)):
        first_sequence[s] = j
        p = position_of[s]
        for i in range(positions.num_bids[p, 0]):
            action[j] = positions.lowest[p] + i
            first_child[j] = found
            for b in range(positions.num_bids[p, 1]):
                after = positions.next_position[p, i, b]
                if after >= 0:
                    parent[found], position_of[found] = j, after
                    found += 1
                else:
                    can_end[j] = True
            j += 1
    first_sequence[len(parent)] = j
    first_child[j] = found


@numba.njit(cache=True)
def _fill_mirror(positions, first_sequence, first_child, position_of, mirror):
    """The successor of s after bids (i, j) is, for the other player, the successor of mirror(s) after (j, i)."""
    mirror[0] = 0
    for s in range(len(mirror)):
        p = position_of[s]
        other, seen = mirror[s], positions.mirror[p]
        for i in range(positions.num_bids[p, 0]):
            for j in range(positions.num_bids[p, 1]):
                if positions.next_position[p, i, j] >= 0:
                    child = first_child[first_sequence[s] + i] + positions.child[p, i, j]
                    mirror[child] = first_child[first_sequence[other] + j] + positions.child[seen, j, i]


@numba.njit(cache=True, parallel=True)
def _endings(positions, first_sequence, position_of, mirror, of_result, reach, out):
    for s in numba.prange(len(mirror)):
        first = first_sequence[s]
        out[first : first_sequence[s + 1]] = 0.0
        p = position_of[s]
        other = first_sequence[mirror[s]]
        for e in range(positions.first_ending[p], positions.first_ending[p + 1]):
            pays = of_result[positions.ending_result[e]] * reach[other + positions.ending_other[e]]
            out[first + positions.ending_own[e]] += pays


@numba.njit(cache=True)
def _fill_tensors(player, coins, size, position_of, states, tensors):
    fields = 2 * size + 3
    for i in range(len(states)):
        p = position_of[states[i]]
        both, field = p // fields, p % fields
        own, other = both // (coins + 1), both % (coins + 1)
        if player == 1:
            own, other, field = other, own, fields - 1 - field
        tensors[i, player] = 1
        tensors[i, 2 + player] = 1
        tensors[i, 4 + own] = 1
        tensors[i, 5 + coins + other] = 1
        tensors[i, 6 + 2 * coins + field] = 1
