"""Enumerates the infostate trees of both players of RBT, and the positions that connect them.

A sense changes only the knowledge of the player who senses. So a history of the game is a triple: the common sequence
of moves, x's senses and o's senses. The moves determine what a sense shows, and the result. Instead of the histories,
of which there are more than 10^10, it is enough to visit

* the *positions*: the move sequences that legal play of both can produce and that have not ended the game, fewer than
  10^6; those after k moves form ply k; and
* at every position its *live states*: the information states of the player to move, one for each way it can have
  sensed, including this turn, such that every move it made was legal given what it knew.

The two players' states at one position combine freely: every pair of a live state of x and one of o is a history.

So the game is played ply by ply, at all positions at once. A turn adds two levels to the mover's tree, its sense states
and its move states (x has no sense in its first turn), in three steps:

1. A sense state for every earlier move after which the mover can have another turn (`_after_moves`).
2. A move state for everything that a sense can show at some position where its sense state is live (`_after_senses`).
3. The results of all moves that are legal in some live state, and with them the next positions (`_results_of_moves`).

The first two steps are alike. A pass over the positions marks what can follow each sequence, as a mask of observations:
any of 16 after a sense; after a move, which shows nothing, a single one (NOTHING) or none. Then the states of the next
level are numbered by parent sequence and observation, in that order. So the child of a sequence by an observation is
found by counting bits (`child_of`), and no dictionary is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tmdp_spiel.games.rbt import rules
from tmdp_spiel.games.rbt.levels import (
    Level,
    bit_counts,
    child_of,
    first_child_of,
    has,
    join,
    make_level,
    sequence_of,
)
from tmdp_spiel.games.rbt.rules import (
    ILLEGAL,
    NUM_OBSERVATIONS,
    NUM_SENSES,
    NUM_SQUARES,
    bit_count,
)
from tmdp_spiel.games.rbt.structure import (
    Enumeration,
    Lists,
    Ply,
    describe,
)

NOTHING = 0  # the observation after a move
_NOBODY = -1  # in place of a position or a move before the first


def enumerate_game(start: tuple[int, ...] = (), useful_senses: bool = True, forced_wins: bool = True) -> Enumeration:
    """Enumerates the game that begins after the moves `start`, whose marks both players know."""
    levels_of: tuple[list[Level], list[Level]] = ([], [])
    plies: list[Ply] = []
    positions = _first_positions(start)
    while len(positions.own):
        player = (len(start) + len(plies)) % 2
        levels = levels_of[player]
        if len(plies) < 2:
            level, live = _first_turn(start, player, positions, bool(start or plies), useful_senses)
        else:
            level, live = _after_moves(levels[-1], plies[-2], plies[-1], positions, useful_senses)
        levels.append(level)
        if level.senses:
            level, live = _after_senses(level, live, positions, forced_wins)
            levels.append(level)
        next_position = _results_of_moves(positions, level, live)
        plies.append(Ply(player, len(levels) - 1, next_position, *live, *_transpose(live, len(level.legal))))
        positions = _next_positions(positions, next_position)
    x, o = (join(levels_of[player], player, plies) for player in (0, 1))
    return Enumeration((x, o), plies, describe(start, useful_senses, forced_wins))


class _Positions(NamedTuple):
    """The boards of one ply, and where they come from."""

    own: np.ndarray  # int32[N]; the marks of the player to move
    opponent: np.ndarray  # int32[N]
    parent: np.ndarray  # int32[N]; the position one ply earlier
    last_move: np.ndarray  # int8[N]; what the opponent played there
    before: np.ndarray  # int32[N]; the position two plies earlier, where the player to move moved last
    own_move: np.ndarray  # int8[N]; what it played there


def _first_positions(start: tuple[int, ...]) -> _Positions:
    """The one position after the moves `start`."""
    mover = len(start) % 2
    nowhere, no_move = np.full(1, _NOBODY, np.int32), np.full(1, _NOBODY, np.int8)
    own, opponent = (np.array([_marks(start, player)], np.int32) for player in (mover, 1 - mover))
    return _Positions(own, opponent, nowhere, no_move, nowhere, no_move)


def _next_positions(positions: _Positions, next_position: np.ndarray) -> _Positions:
    """The boards after every move that does not end the game, in the order of `next_position`."""
    parent, square = np.nonzero(next_position >= 0)
    return _Positions(
        own=positions.opponent[parent],
        opponent=positions.own[parent] | (1 << square).astype(np.int32),
        parent=parent.astype(np.int32),
        last_move=square.astype(np.int8),
        before=positions.parent[parent],
        own_move=positions.last_move[parent],
    )


def _marks(start: tuple[int, ...], player: int) -> int:
    """The squares of a player after the moves `start`, as a mask."""
    return sum(1 << square for square in start[player::2])


def _first_turn(
    start: tuple[int, ...], player: int, positions: _Positions, senses: bool, useful_senses: bool
) -> tuple[Level, Lists]:
    """The one state in which a player begins, live at all positions."""
    own, known = _marks(start, player), _marks(start, 1 - player)
    legal = rules.legal_senses(own, known, useful_senses) if senses else rules.FULL_BOARD
    state = _empty_states(1)
    for array, content in zip(state, (own, known, legal, 0, NOTHING)):
        array[0] = content
    count = len(positions.own)
    return make_level(senses, *state), Lists(np.arange(count + 1), np.zeros(count, np.int32))


def _after_moves(
    moves: Level, before: Ply, between: Ply, positions: _Positions, useful_senses: bool
) -> tuple[Level, Lists]:
    """The sense states that follow the mover's last moves, and which of them are live at each position.

    before: the ply of those moves; between: that of the opponent's replies.
    """
    _mark_continuing(moves, before.live_states, _continuing(before.next_position, between.next_position))
    first_child = first_child_of(moves)
    level = make_level(True, *_sense_states(moves, useful_senses))
    return level, _live_sense_states(moves, first_child, before.live_states, positions)


def _after_senses(senses: Level, live: Lists, positions: _Positions, forced_wins: bool) -> tuple[Level, Lists]:
    """The move states that follow the senses, and which of them are live at each position."""
    _mark_shown(senses, live, positions.opponent)
    first_child = first_child_of(senses)
    level = make_level(False, *_move_states(senses, forced_wins))
    return level, _live_move_states(senses, first_child, live, positions.opponent)


@numba.njit(cache=True)
def _continuing(next_position: np.ndarray, position_after: np.ndarray) -> np.ndarray:
    """Per position a mask of the moves to which some reply does not end the game."""
    continuing = np.zeros(len(next_position), np.int16)
    for h in range(len(next_position)):
        for square in range(NUM_SQUARES):
            reply_from = next_position[h, square]
            if reply_from >= 0 and position_after[reply_from].max() >= 0:
                continuing[h] |= 1 << square
    return continuing


@numba.njit(cache=True)
def _mark_continuing(moves: Level, live: Lists, continuing: np.ndarray) -> None:
    """Marks the moves after which the mover can have another turn; there is no observation after them."""
    for h in range(len(continuing)):
        for i in range(live.first[h], live.first[h + 1]):
            state = live.items[i]
            for square in range(NUM_SQUARES):
                if has(moves.legal[state] & continuing[h], square):
                    moves.followers[sequence_of(moves, state, square)] = 1 << NOTHING


@numba.njit(cache=True)
def _mark_shown(senses: Level, live: Lists, opponent: np.ndarray) -> None:
    """Marks what each sense shows at each position where its state is live."""
    for h in range(len(opponent)):
        for i in range(live.first[h], live.first[h + 1]):
            state = live.items[i]
            for sense in range(NUM_SENSES):
                if has(senses.legal[state], sense):
                    senses.followers[sequence_of(senses, state, sense)] |= 1 << rules.shown(sense, opponent[h])


@numba.njit(cache=True)
def _empty_states(count: int) -> tuple:
    """Empty arrays of a level: own, known, legal, parent, observation."""
    return (
        np.empty(count, np.int16),
        np.empty(count, np.int16),
        np.empty(count, np.int16),
        np.empty(count, np.int32),
        np.empty(count, np.uint8),
    )


@numba.njit(cache=True)
def _sense_states(moves: Level, useful_senses: bool) -> tuple:
    """One sense state for every move after which the mover can have another turn."""
    states = _empty_states(moves.followers.sum())
    own, known, legal, parent, observation = states
    child = 0
    for state in range(len(moves.legal)):
        for square in range(NUM_SQUARES):
            if has(moves.legal[state], square):
                j = sequence_of(moves, state, square)
                if moves.followers[j]:
                    own[child] = moves.own[state] | (1 << square)
                    known[child] = moves.known[state]
                    legal[child] = rules.legal_senses(own[child], known[child], useful_senses)
                    parent[child] = j
                    observation[child] = NOTHING
                    child += 1
    return states


@numba.njit(cache=True)
def _move_states(senses: Level, forced_wins: bool) -> tuple:
    """One move state for everything that a sense can show."""
    states = _empty_states(bit_counts(senses.followers).sum())
    own, known, legal, parent, observation = states
    child = 0
    for state in range(len(senses.legal)):
        for sense in range(NUM_SENSES):
            if has(senses.legal[state], sense):
                j = sequence_of(senses, state, sense)
                for shown in range(NUM_OBSERVATIONS):
                    if has(senses.followers[j], shown):
                        seen = rules.marks_shown(sense, shown)
                        empty = rules.WINDOW_MASKS[sense] & ~(seen | senses.own[state])
                        own[child] = senses.own[state]
                        known[child] = senses.known[state] | seen
                        legal[child] = rules.legal_moves(own[child], known[child], empty, forced_wins)
                        parent[child] = j
                        observation[child] = shown
                        child += 1
    return states


@numba.njit(cache=True)
def _live_sense_states(moves: Level, first_child: np.ndarray, live: Lists, positions: _Positions) -> Lists:
    """At each position the sense states after the mover's last move, from all states where that move was legal.

    live: the move states at the positions two plies earlier.
    """
    first = np.zeros(len(positions.before) + 1, dtype=np.int64)
    for h in range(len(positions.before)):
        count, before = 0, positions.before[h]
        for i in range(live.first[before], live.first[before + 1]):
            count += has(moves.legal[live.items[i]], positions.own_move[h])
        first[h + 1] = first[h] + count
    items = np.empty(first[-1], dtype=np.int32)
    k = 0
    for h in range(len(positions.before)):
        before, square = positions.before[h], positions.own_move[h]
        for i in range(live.first[before], live.first[before + 1]):
            state = live.items[i]
            if has(moves.legal[state], square):
                items[k] = child_of(moves, first_child, sequence_of(moves, state, square), NOTHING)
                k += 1
    return Lists(first, items)


@numba.njit(cache=True)
def _live_move_states(senses: Level, first_child: np.ndarray, live: Lists, opponent: np.ndarray) -> Lists:
    """At each position the move states after every sense that is legal in a live sense state.

    live: the sense states at the same positions.
    """
    first = np.zeros(len(opponent) + 1, dtype=np.int64)
    for h in range(len(opponent)):
        count = 0
        for i in range(live.first[h], live.first[h + 1]):
            count += bit_count(np.int64(senses.legal[live.items[i]]))
        first[h + 1] = first[h] + count
    items = np.empty(first[-1], dtype=np.int32)
    k = 0
    for h in range(len(opponent)):
        for i in range(live.first[h], live.first[h + 1]):
            state = live.items[i]
            for sense in range(NUM_SENSES):
                if has(senses.legal[state], sense):
                    j = sequence_of(senses, state, sense)
                    items[k] = child_of(senses, first_child, j, rules.shown(sense, opponent[h]))
                    k += 1
    return Lists(first, items)


@numba.njit(cache=True)
def _results_of_moves(positions: _Positions, moves: Level, live: Lists) -> np.ndarray:
    """The result of each move that is legal in some live state, or the number of the position it leads to."""
    own, opponent = positions.own, positions.opponent
    results = np.full((len(own), NUM_SQUARES), ILLEGAL, dtype=np.int32)
    num_next = 0
    for h in range(len(own)):
        possible = 0
        for i in range(live.first[h], live.first[h + 1]):
            possible |= moves.legal[live.items[i]]
        for square in range(NUM_SQUARES):
            if has(possible, square):
                results[h, square] = rules.result_of_move(own[h], opponent[h], square)
                if results[h, square] == rules.GOES_ON:
                    results[h, square] = num_next
                    num_next += 1
    return results


@numba.njit(cache=True)
def _transpose(live: Lists, num_states: int) -> Lists:
    """The positions at which each state is live, in increasing order."""
    first = np.zeros(num_states + 1, dtype=np.int64)
    for state in live.items:
        first[state + 1] += 1
    for state in range(num_states):
        first[state + 1] += first[state]
    items = np.empty(len(live.items), dtype=np.int32)
    free = first[:-1].copy()
    for h in range(len(live.first) - 1):
        for i in range(live.first[h], live.first[h + 1]):
            items[free[live.items[i]]] = h
            free[live.items[i]] += 1
    return Lists(first, items)
