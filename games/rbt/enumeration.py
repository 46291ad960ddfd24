"""Enumerates the decision trees of both players of RBT, and how they hang together.

A sense changes nothing but the knowledge of the player who senses. So a history of the game is a triple: the common
sequence of moves, x's senses and o's senses; what a sense shows follows from the moves, and so does the result.
Hence the game is described by

* the *positions*: the move sequences that legal play of both can produce and that have not ended the game, and
* for every position its *live states*: the information states of the player to move, one for each way it can have
  sensed, this turn included, such that every move it made was legal by what it knew.

The positions after k moves form ply k. Positions are far fewer than histories (under 10^6, as against more than 10^10).
The two players' states at one position combine freely: every pair of a live state of x and one of o is a history.

The trees are laid out level by level. A turn makes two levels: one with the sense states, one with the move states (x
has no sense in its first turn). A state is numbered by its parent sequence and by what was seen there, so two bits of
arithmetic replace every dictionary: which observations can follow a sense is a 16-bit mask.
"""

import dataclasses

import numba
import numpy as np

from tmdp_spiel.games.rbt import rules
from tmdp_spiel.games.rbt.rules import (
    DRAW,
    FIRST_SENSE_ACTION,
    ILLEGAL,
    LOSS,
    NUM_SENSES,
    NUM_SQUARES,
    WIN,
    bit_count,
    rank,
)
from tmdp_spiel.games.rbt.structure import ENDS_DRAWN, ENDS_LOST, ENDS_WON, Enumeration, PlayerTree, Ply, describe


def enumerate_game(start=(), useful_senses=True, forced_wins=True):
    """Enumerates the game that begins after the moves `start`, whose marks both players know."""
    own, opponent = _marks_of(start)
    known = (own, opponent) if len(start) % 2 == 0 else (opponent, own)
    levels = ([], [])
    plies = []
    positions = _first_positions(own, opponent)
    while len(positions.own):
        player = (len(start) + len(plies)) % 2
        mine = levels[player]
        if len(plies) < 2:
            mine.append(_first_sense_level(known[player], known[1 - player], useful_senses))
            first = np.arange(len(positions.own) + 1)
            sense_states = np.zeros(len(positions.own), dtype=np.int32)
        else:
            before = plies[-2]
            _mark_continuing(
                before.next_position, plies[-1].next_position, before.first_live, before.live, *mine[-1].sequences
            )
            mine.append(_sense_level(mine[-1], useful_senses))
            first, sense_states = _live_sense_states(
                positions.before,
                positions.own_move,
                before.first_live,
                before.live,
                *mine[-2].sequences,
                mine[-2].first_child(),
            )
        if not plies and not start:  # x's first turn has no sense
            mine[-1] = _first_move_level()
            live = sense_states
        else:
            _mark_observations(first, sense_states, positions.opponent, *mine[-1].sequences)
            mine.append(_move_level(mine[-1], forced_wins))
            first, live = _live_move_states(
                first, sense_states, positions.opponent, *mine[-2].sequences, mine[-2].first_child()
            )
        next_position = _results_of_moves(positions.own, positions.opponent, first, live, mine[-1].legal)
        first_where, where = _transpose(first, live, len(mine[-1].legal))
        plies.append(Ply(player, len(mine) - 1, next_position, first, live, first_where, where))
        positions = _next_positions(positions, next_position)
    return Enumeration(
        tuple(_join(levels[player], player, plies) for player in (0, 1)),
        plies,
        describe(start, useful_senses, forced_wins),
    )


@dataclasses.dataclass
class _Positions:
    """The boards of one ply, and where they come from."""

    own: np.ndarray  # int32[N]; the marks of the player to move
    opponent: np.ndarray  # int32[N]
    parent: np.ndarray  # int32[N]; the position one ply earlier
    before: np.ndarray  # int32[N]; the position two plies earlier, where the player to move moved last
    own_move: np.ndarray  # int8[N]; and what it played there
    last_move: np.ndarray  # int8[N]; the opponent's reply


def _marks_of(start):
    """The marks of the player to move and of its opponent after the moves `start`."""
    mover = len(start) % 2
    own = sum(1 << square for square in start[mover::2])
    opponent = sum(1 << square for square in start[1 - mover :: 2])
    return own, opponent


def _first_positions(own, opponent):
    none = np.full(1, -1, dtype=np.int32)
    return _Positions(
        np.array([own], np.int32),
        np.array([opponent], np.int32),
        none,
        none,
        none.astype(np.int8),
        none.astype(np.int8),
    )


def _next_positions(positions, next_position):
    """The boards after every move that does not end the game, in the order of `next_position`."""
    parent, square = np.nonzero(next_position >= 0)
    return _Positions(
        own=positions.opponent[parent],
        opponent=positions.own[parent] | (1 << square).astype(np.int32),
        parent=parent.astype(np.int32),
        before=positions.parent[parent],
        own_move=positions.last_move[parent],
        last_move=square.astype(np.int8),
    )


@dataclasses.dataclass
class _Level:
    """The states of one level of one tree, with indices of their own; joined into a PlayerTree at the end."""

    senses: bool
    own: np.ndarray  # int16[S]
    known: np.ndarray  # int16[S]; opponent's marks seen so far
    legal: np.ndarray  # int16[S]; mask of the legal senses or moves
    parent: np.ndarray  # int32[S]; sequence of the level above
    observation: np.ndarray  # uint8[S]
    first_sequence: np.ndarray = None  # int32[S + 1]
    followers: np.ndarray = (
        None  # uint16[J]; mask of the observations that can follow a sense; 1 if play can go on after a move
    )

    def __post_init__(self):
        self.first_sequence = _starts(_bit_counts(self.legal)).astype(np.int32)
        self.followers = np.zeros(self.first_sequence[-1], dtype=np.uint16)

    @property
    def sequences(self):
        return self.first_sequence, self.legal, self.followers

    def first_child(self):
        return _starts(_bit_counts(self.followers)).astype(np.int32)


def _first_sense_level(own, known, useful_senses):
    legal = rules.legal_senses(own, known, useful_senses)
    return _Level(
        True,
        np.array([own], np.int16),
        np.array([known], np.int16),
        np.array([legal], np.int16),
        np.zeros(1, np.int32),
        np.zeros(1, np.uint8),
    )


def _first_move_level():
    return _Level(
        False,
        np.zeros(1, np.int16),
        np.zeros(1, np.int16),
        np.array([rules.FULL_BOARD], np.int16),
        np.zeros(1, np.int32),
        np.zeros(1, np.uint8),
    )


def _sense_level(moves, useful_senses):
    return _Level(True, *_sense_states(moves.own, moves.known, *moves.sequences, useful_senses))


def _move_level(senses, forced_wins):
    return _Level(False, *_move_states(senses.own, senses.known, *senses.sequences, senses.first_child(), forced_wins))


def _starts(counts):
    """Where each of several consecutive runs begins: the running sum with a 0 in front."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


@numba.njit(cache=True)
def _bit_counts(masks):
    counts = np.empty(len(masks), dtype=np.uint8)
    for i, mask in enumerate(masks):
        counts[i] = bit_count(np.int64(mask))
    return counts


@numba.njit(cache=True)
def _mark_continuing(next_position, position_after, first_live, live, first_sequence, legal, followers):
    """Marks the moves after which the mover can have another turn: some reply of the opponent goes on."""
    for h in range(len(next_position)):
        goes_on = 0
        for square in range(NUM_SQUARES):
            reply_from = next_position[h, square]
            if reply_from >= 0 and position_after[reply_from].max() >= 0:
                goes_on |= 1 << square
        for i in range(first_live[h], first_live[h + 1]):
            state = live[i]
            j = first_sequence[state]
            for square in range(NUM_SQUARES):
                if (legal[state] >> square) & 1:
                    if (goes_on >> square) & 1:
                        followers[j] = 1
                    j += 1


@numba.njit(cache=True)
def _sense_states(own, known, first_sequence, legal, followers, useful_senses):
    """One sense state for every move after which play can go on."""
    num_states = followers.sum()
    out = (
        np.empty(num_states, np.int16),
        np.empty(num_states, np.int16),
        np.empty(num_states, np.int16),
        np.empty(num_states, np.int32),
        np.zeros(num_states, np.uint8),
    )
    c = 0
    for state in range(len(own)):
        j = first_sequence[state]
        for square in range(NUM_SQUARES):
            if (legal[state] >> square) & 1:
                if followers[j]:
                    out[0][c] = own[state] | (1 << square)
                    out[1][c] = known[state]
                    out[2][c] = rules.legal_senses(own[state] | (1 << square), known[state], useful_senses)
                    out[3][c] = j
                    c += 1
                j += 1
    return out


@numba.njit(cache=True)
def _live_sense_states(before, own_move, first_live, live, first_sequence, legal, followers, first_child):
    """The sense states at each position: those after the mover's last move, wherever that move was legal."""
    first = np.zeros(len(before) + 1, dtype=np.int64)
    for h in range(len(before)):
        count = 0
        for i in range(first_live[before[h]], first_live[before[h] + 1]):
            count += (legal[live[i]] >> own_move[h]) & 1
        first[h + 1] = first[h] + count
    states = np.empty(first[-1], dtype=np.int32)
    k = 0
    for h in range(len(before)):
        for i in range(first_live[before[h]], first_live[before[h] + 1]):
            mask = np.int64(legal[live[i]])
            if (mask >> own_move[h]) & 1:
                states[k] = first_child[first_sequence[live[i]] + rank(mask, own_move[h])]
                k += 1
    return first, states


@numba.njit(cache=True)
def _mark_observations(first, sense_states, opponent, first_sequence, legal, followers):
    """Marks what each sense can show at some position."""
    for h in range(len(opponent)):
        for i in range(first[h], first[h + 1]):
            state = sense_states[i]
            j = first_sequence[state]
            for sense in range(NUM_SENSES):
                if (legal[state] >> sense) & 1:
                    followers[j] |= 1 << rules.shown(sense, opponent[h])
                    j += 1


@numba.njit(cache=True)
def _move_states(own, known, first_sequence, legal, followers, first_child, forced_wins):
    """One move state for everything a sense can show."""
    num_states = first_child[-1]
    out = (
        np.empty(num_states, np.int16),
        np.empty(num_states, np.int16),
        np.empty(num_states, np.int16),
        np.empty(num_states, np.int32),
        np.empty(num_states, np.uint8),
    )
    c = 0
    for state in range(len(own)):
        j = first_sequence[state]
        for sense in range(NUM_SENSES):
            if (legal[state] >> sense) & 1:
                for observation in range(16):
                    if (followers[j] >> observation) & 1:
                        seen = rules.marks_shown(sense, observation)
                        empty = rules.WINDOW_MASKS[sense] & ~(seen | own[state])
                        out[0][c] = own[state]
                        out[1][c] = known[state] | seen
                        out[2][c] = rules.legal_moves(own[state], known[state] | seen, empty, forced_wins)
                        out[3][c] = j
                        out[4][c] = observation
                        c += 1
                j += 1
    return out


@numba.njit(cache=True)
def _live_move_states(first, sense_states, opponent, first_sequence, legal, followers, first_child):
    """The move states at each position: one for every sense state there and every sense legal in it."""
    first_live = np.zeros(len(opponent) + 1, dtype=np.int64)
    for h in range(len(opponent)):
        count = 0
        for i in range(first[h], first[h + 1]):
            count += bit_count(np.int64(legal[sense_states[i]]))
        first_live[h + 1] = first_live[h] + count
    live = np.empty(first_live[-1], dtype=np.int32)
    k = 0
    for h in range(len(opponent)):
        for i in range(first[h], first[h + 1]):
            state = sense_states[i]
            j = first_sequence[state]
            for sense in range(NUM_SENSES):
                if (legal[state] >> sense) & 1:
                    live[k] = first_child[j] + rank(np.int64(followers[j]), rules.shown(sense, opponent[h]))
                    k += 1
                    j += 1
    return first_live, live


@numba.njit(cache=True)
def _results_of_moves(own, opponent, first_live, live, legal):
    """The result of each move that is legal in some live state, or the number of the position it leads to."""
    results = np.full((len(own), NUM_SQUARES), ILLEGAL, dtype=np.int32)
    num_next = 0
    for h in range(len(own)):
        possible = 0
        for i in range(first_live[h], first_live[h + 1]):
            possible |= legal[live[i]]
        for square in range(NUM_SQUARES):
            if (possible >> square) & 1:
                results[h, square] = rules.result_of_move(own[h], opponent[h], square)
                if results[h, square] == 0:
                    results[h, square] = num_next
                    num_next += 1
    return results


@numba.njit(cache=True)
def _transpose(first_live, live, num_states):
    """The positions at which each state is live, in increasing order."""
    first_where = np.zeros(num_states + 1, dtype=np.int64)
    for state in live:
        first_where[state + 1] += 1
    for state in range(num_states):
        first_where[state + 1] += first_where[state]
    where = np.empty(len(live), dtype=np.int32)
    free = first_where[:-1].copy()
    for h in range(len(first_live) - 1):
        for i in range(first_live[h], first_live[h + 1]):
            where[free[live[i]]] = h
            free[live[i]] += 1
    return first_where, where


def _join(levels, player, plies):
    """One tree out of its levels."""
    level_start = _starts([len(level.parent) for level in levels])
    sequence_start = _starts([len(level.followers) for level in levels])
    num_sequences = int(sequence_start[-1])
    endings = np.zeros(num_sequences, dtype=np.uint8)
    for ply, after in zip(plies, [*plies[1:], None]):
        if ply.player == player:
            level = levels[ply.level]
            part = endings[sequence_start[ply.level] : sequence_start[ply.level + 1]]
            _mark_endings(
                _endings_of_moves(ply.next_position, after.next_position if after else ply.next_position),
                ply.first_where,
                ply.where,
                level.first_sequence,
                level.legal,
                part,
            )
    parents = [level.parent + sequence_start[d - 1] for d, level in enumerate(levels) if d > 0]
    first_children = [level.first_child()[:-1] + level_start[d + 1] for d, level in enumerate(levels)]
    return PlayerTree(
        first_sequence=_concatenate(
            [level.first_sequence[:-1] + sequence_start[d] for d, level in enumerate(levels)] + [[num_sequences]],
            np.int32,
        ),
        first_child=_concatenate(first_children + [[level_start[-1]]], np.int32),
        parent=_concatenate([[num_sequences]] + parents, np.int32),
        action=_concatenate([_actions(level.senses, level.legal, len(level.followers)) for level in levels], np.int8),
        endings=endings,
        level_start=level_start,
        observation=_concatenate([level.observation for level in levels], np.uint8),
    )


def _concatenate(parts, dtype):
    return np.concatenate(parts).astype(dtype)


@numba.njit(cache=True)
def _actions(senses, legal, num_sequences):
    """The OpenSpiel action of every sequence of a level."""
    actions = np.empty(num_sequences, dtype=np.int8)
    j = 0
    for mask in legal:
        for bit in range(NUM_SQUARES):
            if (mask >> bit) & 1:
                actions[j] = bit + FIRST_SENSE_ACTION if senses else bit
                j += 1
    return actions


@numba.njit(cache=True)
def _endings_of_moves(next_position, position_after):
    """How play can end right after each move at each position: by the move itself, or by the opponent's reply."""
    endings = np.zeros(next_position.shape, dtype=np.uint8)
    for h in range(len(next_position)):
        for square in range(NUM_SQUARES):
            result = next_position[h, square]
            if result >= 0:
                for reply in position_after[result]:
                    if reply == LOSS:
                        endings[h, square] |= ENDS_WON
                    elif reply == WIN:
                        endings[h, square] |= ENDS_LOST
                    elif reply == DRAW:
                        endings[h, square] |= ENDS_DRAWN
            elif result == LOSS:
                endings[h, square] = ENDS_LOST
            elif result == WIN:
                endings[h, square] = ENDS_WON
            elif result == DRAW:
                endings[h, square] = ENDS_DRAWN
    return endings


@numba.njit(cache=True)
def _mark_endings(endings_of_moves, first_where, where, first_sequence, legal, endings):
    """endings(s, a) = the union over the positions h where s is live of the endings of a at h."""
    for state in range(len(legal)):
        for i in range(first_where[state], first_where[state + 1]):
            j = first_sequence[state]
            for square in range(NUM_SQUARES):
                if (legal[state] >> square) & 1:
                    endings[j] |= endings_of_moves[where[i], square]
                    j += 1
