"""The levels of a tree of RBT while it is enumerated, and how they are joined into one tree.

The states of a level have numbers of their own. A sequence records as a mask which observations can follow it, so the
child of a sequence by an observation is found by counting bits (`child_of`), without a dictionary.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tmdp_spiel.core.jit import kernel
from tmdp_spiel.games.rbt.rules import DRAW, FIRST_SENSE_ACTION, LOSS, NUM_SQUARES, WIN, bit_count, rank
from tmdp_spiel.games.rbt.structure import ENDS_DRAWN, ENDS_LOST, ENDS_WON, Lists, PlayerTree, Ply


class Level(NamedTuple):
    """The states of one level of one tree, with numbers of their own; joined into a PlayerTree at the end."""

    senses: bool  # the states are sense states, else move states
    own: np.ndarray  # int16[S]; own marks
    known: np.ndarray  # int16[S]; opponent's marks seen so far
    legal: np.ndarray  # int16[S]; mask of the legal senses or moves
    parent: np.ndarray  # int32[S]; sequence of the level above
    observation: np.ndarray  # uint8[S]; what was shown after it
    first_sequence: np.ndarray  # int32[S + 1]
    followers: np.ndarray  # uint16[J]; mask of the observations after which the player has another state


def make_level(
    senses: bool, own: np.ndarray, known: np.ndarray, legal: np.ndarray, parent: np.ndarray, observation: np.ndarray
) -> Level:
    """A level of these states, whose sequences nothing follows as yet."""
    first_sequence = starts(bit_counts(legal)).astype(np.int32)
    followers = np.zeros(first_sequence[-1], np.uint16)
    return Level(senses, own, known, legal, parent, observation, first_sequence, followers)


def first_child_of(level: Level) -> np.ndarray:
    """int32[J + 1]: the children of each sequence in the next level, once `followers` are marked."""
    return starts(bit_counts(level.followers)).astype(np.int32)


def starts(counts: np.ndarray | list[int]) -> np.ndarray:
    """Where each of several consecutive runs begins: the running sum with a 0 in front."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


@numba.njit(cache=True)
def bit_counts(masks: np.ndarray) -> np.ndarray:
    counts = np.empty(len(masks), dtype=np.uint8)
    for i, mask in enumerate(masks):
        counts[i] = bit_count(np.int64(mask))
    return counts


@kernel
def has(mask: int, bit: int) -> bool:
    return (mask >> bit) & 1 == 1


@kernel
def sequence_of(level: Level, state: int, action: int) -> int:
    """The sequence of a legal action: the actions of a state are numbered from the lowest bit of its mask."""
    return level.first_sequence[state] + rank(np.int64(level.legal[state]), action)


@kernel
def child_of(level: Level, first_child: np.ndarray, sequence: int, observation: int) -> int:
    """The state of the next level that follows a sequence and what was shown then."""
    return first_child[sequence] + rank(np.int64(level.followers[sequence]), observation)


def join(levels: list[Level], player: int, plies: list[Ply]) -> PlayerTree:
    """Joins the levels of a tree: their numbers are shifted by the states and sequences of the levels above."""
    level_start = starts([len(level.parent) for level in levels])
    sequence_start = 1 + starts([len(level.followers) for level in levels])  # after the root
    num_states, sequences = level_start[-1], sequence_start[-1]
    first_sequence = [level.first_sequence[:-1] + sequence_start[d] for d, level in enumerate(levels)]
    first_child = [first_child_of(level)[:-1] + level_start[d + 1] for d, level in enumerate(levels)]
    parent = [level.parent + sequence_start[d - 1] for d, level in enumerate(levels) if d > 0]
    return PlayerTree(
        first_sequence=_concatenate([*first_sequence, [sequences]], np.int32),
        first_child=_concatenate([[0], *first_child, [num_states]], np.int32),
        parent=_concatenate([[0], *parent], np.int32),
        action=_concatenate([[0], *(_actions(level) for level in levels)], np.int8),
        endings=_concatenate([[_endings_without_turn(player, plies[0])], *_endings(levels, player, plies)], np.uint8),
        level_start=level_start,
        observation=_concatenate([level.observation for level in levels], np.uint8),
    )


def _concatenate(parts: list, dtype: type) -> np.ndarray:
    return np.concatenate(parts).astype(dtype)


@numba.njit(cache=True)
def _actions(level: Level) -> np.ndarray:
    """The OpenSpiel action of every sequence of a level."""
    first_action = FIRST_SENSE_ACTION if level.senses else 0
    actions = np.empty(len(level.followers), dtype=np.int8)
    j = 0
    for mask in level.legal:
        for bit in range(NUM_SQUARES):
            if has(mask, bit):
                actions[j] = first_action + bit
                j += 1
    return actions


def _endings_without_turn(player: int, first: Ply) -> int:
    """How a game can end before the player's first turn."""
    if first.player == player:
        return 0
    return int(np.bitwise_or.reduce([_ending_by_reply(int(result)) for result in first.next_position[0]]))


def _endings(levels: list[Level], player: int, plies: list[Ply]) -> list[np.ndarray]:
    """For every level how an episode can end right after each sequence; after a sense it cannot."""
    endings = [np.zeros(len(level.followers), np.uint8) for level in levels]
    for k, ply in enumerate(plies):
        if ply.player == player:
            replies = plies[k + 1].next_position if k + 1 < len(plies) else np.empty((0, NUM_SQUARES), np.int32)
            of_moves = _endings_of_moves(ply.next_position, replies)
            _mark_endings(levels[ply.level], ply.positions, of_moves, endings[ply.level])
    return endings


@kernel
def _ending(result: int) -> int:
    """How a result ends the game for the player it is the result of, as bits; 0 if it does not."""
    if result == LOSS:
        return ENDS_LOST
    if result == DRAW:
        return ENDS_DRAWN
    if result == WIN:
        return ENDS_WON
    return 0


@kernel
def _ending_by_reply(result: int) -> int:
    """The same for the player who is replied to."""
    if result == LOSS:
        return ENDS_WON
    if result == DRAW:
        return ENDS_DRAWN
    if result == WIN:
        return ENDS_LOST
    return 0


@numba.njit(cache=True)
def _endings_of_moves(next_position: np.ndarray, replies: np.ndarray) -> np.ndarray:
    """How play can end right after each move at each position: by the move itself, or by the opponent's reply."""
    endings = np.zeros(next_position.shape, dtype=np.uint8)
    for h in range(len(next_position)):
        for square in range(NUM_SQUARES):
            result = next_position[h, square]
            if result >= 0:
                for reply in replies[result]:
                    endings[h, square] |= _ending_by_reply(reply)
            else:
                endings[h, square] = _ending(result)
    return endings


@numba.njit(cache=True)
def _mark_endings(moves: Level, positions: Lists, endings_of_moves: np.ndarray, endings: np.ndarray) -> None:
    """endings(s, a) = the union over the positions h where s is live of the endings of a at h."""
    for state in range(len(moves.legal)):
        for i in range(positions.first[state], positions.first[state + 1]):
            j = moves.first_sequence[state]
            for square in range(NUM_SQUARES):
                if has(moves.legal[state], square):
                    endings[j] |= endings_of_moves[positions.items[i], square]
                    j += 1
