"""Phantom games with only some of the sequences of each player, whose endings are listed.

If the players have few sequences, few games can be played. They are visited one by one, with the states of both players
side by side.
"""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel.games.phantom.enumeration import PlayerStates
from tmdp_spiel.games.phantom.rules import DRAW, PAYOFFS, WIN_0, Rules
from tmdp_spiel.trees.sequence_form import Restriction, SequenceForm
from tmdp_spiel.trees.traversal import ROOT

MOST_ENDINGS = 60_000_000  # nine bytes each


class RestrictedPhantom(SequenceForm):
    """A phantom game by the list of its endings: the last sequences of both players, and who won."""

    def __init__(self, trees, endings: tuple[np.ndarray, np.ndarray, np.ndarray]):
        super().__init__(trees, PAYOFFS)
        self._endings = endings

    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        first, second, kind = self._endings
        _collect(*((first, second) if player == 0 else (second, first)), kind, reach, payoff, out)


def restricted_phantom(
    rules: Rules, states: tuple[PlayerStates, PlayerStates], restrictions: tuple[Restriction, Restriction]
) -> RestrictedPhantom | None:
    """The game with these sequences alone; None if more than MOST_ENDINGS games can be played."""
    trees = tuple(found.tree for found in restrictions)
    walked = [
        (tree.first_sequence, tree.first_child, tree.action, own.own[found.states], rules.wins[tree.player])
        for tree, own, found in zip(trees, states, restrictions)
    ]
    nothing = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint8)
    number = _walk(*walked, rules.abrupt, rules.num_cells, MOST_ENDINGS, *nothing)
    if number > MOST_ENDINGS:
        return None
    endings = np.empty(number, np.int32), np.empty(number, np.int32), np.empty(number, np.uint8)
    _walk(*walked, rules.abrupt, rules.num_cells, MOST_ENDINGS, *endings)
    return RestrictedPhantom(trees, endings)


@numba.njit(cache=True)
def _collect(own, other, kind, reach, payoff, out):
    out.fill(0.0)
    for e in range(len(own)):
        out[own[e]] += payoff[kind[e]] * reach[other[e]]


@numba.njit(cache=True)
def _put(frame, mover, state_0, state_1, last_0, last_1, stones_0, stones_1, j):
    frame[0], frame[1], frame[2], frame[3] = mover, state_0, state_1, last_0
    frame[4], frame[5], frame[6], frame[7] = last_1, stones_0, stones_1, j


@numba.njit(cache=True)
def _read(frame):
    return frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7]


@numba.njit(cache=True)
def _child(first_child, own, j, stones):
    """The state after sequence j with these own stones; -1 if the player has no turn any more."""
    for state in range(first_child[j], first_child[j + 1]):
        if own[state] == stones:
            return state
    return -1


@numba.njit(cache=True)
def _walk(player_0, player_1, abrupt, cells, most, first, second, kind):
    """Visits all games, depth first. Writes their ends if there is space; returns their number, or most + 1."""
    firsts_0, children_0, actions_0, own_0, wins_0 = player_0
    firsts_1, children_1, actions_1, own_1, wins_1 = player_1
    full = (1 << cells) - 1
    # Per depth: the mover, the states, last sequences and stones of both players, and the next sequence to try.
    frames = np.zeros((2 * cells + 2, 8), np.int64)
    _put(frames[0], 0, 0, 0, ROOT, ROOT, 0, 0, firsts_0[0])
    depth, number = 0, 0
    while depth >= 0:
        mover, state_0, state_1, last_0, last_1, stones_0, stones_1, j = _read(frames[depth])
        end = firsts_0[state_0 + 1] if mover == 0 else firsts_1[state_1 + 1]
        if j == end:
            depth -= 1
            continue
        frames[depth, 7] += 1
        cell = actions_0[j] if mover == 0 else actions_1[j]
        bump = ((stones_1 if mover == 0 else stones_0) >> cell) & 1
        if mover == 0:
            last_0 = j
            if not bump:
                stones_0 |= 1 << cell
            won = not bump and wins_0[stones_0]
        else:
            last_1 = j
            if not bump:
                stones_1 |= 1 << cell
            won = not bump and wins_1[stones_1]
        if won or (not bump and stones_0 | stones_1 == full):
            if number < len(first):
                first[number], second[number] = last_0, last_1
                kind[number] = WIN_0 + mover if won else DRAW
            number += 1
            if number > most:
                return number
            continue
        if mover == 0:
            state_0 = _child(children_0, own_0, j, stones_0)
        else:
            state_1 = _child(children_1, own_1, j, stones_1)
        follows = mover if bump and not abrupt else 1 - mover
        depth += 1
        at = firsts_0[state_0] if follows == 0 else firsts_1[state_1]
        _put(frames[depth], follows, state_0, state_1, last_0, last_1, stones_0, stones_1, at)
    return number
