"""The passes over an enumerated RBT, from which every solver and every T-MDP of it is built.

A plan is one probability per sequence of a player, 1 for the root. Its *reach* has one number r(j) per sequence j: the
product of the plan's probabilities on the path to j and at j. With senses factored out, one player's plan affects the
other only through a table per ply,

    w(h, a) = sum over the live states s of position h of r(s, a),

the probability that a player moves a at h, given that everybody else's moves lead there. The other player's sequence
j = (s, a) then ends with expected value

    e(j) = sum over the positions h where s is live of g(h, a).

If a ends the game, g(h, a) is the result of a at h, times the weight with which the opponent reaches h. Otherwise, it
is the sum of the results of the opponent's replies that end the game, each with its weight. Every loop below over
states or positions writes only to that state or position, so the results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tmdp_spiel.games.rbt.rules import DRAW, LOSS, NUM_SQUARES, WIN
from tmdp_spiel.games.rbt.structure import Enumeration, Links, Lists
from tmdp_spiel.trees.traversal import ROOT


class Utilities(NamedTuple):
    """The utilities of a player."""

    lost: float
    drawn: float
    won: float


UTILITIES = Utilities(-1.0, 0.0, 1.0)

# The table of a player's moves at each of its plies, NO_MOVES at the opponent's.
MoveWeights = list[np.ndarray]
NO_MOVES = np.empty((0, NUM_SQUARES))


def move_weights(enumerated: Enumeration, player: int, reach: np.ndarray) -> MoveWeights:
    """w(h, a) for every ply of `player`, from its reach."""
    links = enumerated.trees[player].links
    return [
        weights_of_moves(ply.live_states, links, links.level_start[ply.level], reach)
        if ply.player == player
        else NO_MOVES
        for ply in enumerated.plies
    ]


def ending_values(
    enumerated: Enumeration, player: int, opponent_weights: MoveWeights, utilities: Utilities, out: np.ndarray
) -> None:
    """e(j) of every sequence of `player`, written to `out`; for the root, of games that end before its first turn.

    The utilities (1, 0, 0), (0, 1, 0) and (0, 0, 1) give the probabilities of the three endings.
    """
    links = enumerated.trees[player].links
    out.fill(0.0)
    for k, ply in enumerate(enumerated.plies):
        if ply.player == player:
            weight = weight_of_positions(enumerated, k, opponent_weights)
            gains = _gains(ply.next_position, weight, *_replies(enumerated, k, opponent_weights), utilities)
            _ending_values(ply.positions, gains, links, links.level_start[ply.level], out)
    out[ROOT] = _value_without_turn(enumerated, player, opponent_weights, utilities)


def _value_without_turn(
    enumerated: Enumeration, player: int, opponent_weights: MoveWeights, utilities: Utilities
) -> float:
    first, weights = enumerated.plies[0], opponent_weights[0]
    if first.player == player:
        return 0.0
    of_result = {WIN: utilities.lost, DRAW: utilities.drawn, LOSS: utilities.won}
    return sum(
        weights[0, square] * of_result.get(int(result), 0.0) for square, result in enumerate(first.next_position[0])
    )


def best_response_value(
    enumerated: Enumeration,
    player: int,
    opponent_reach: np.ndarray,
    endings: np.ndarray | None = None,
    values: np.ndarray | None = None,
) -> float:
    """The most that `player` can win against a plan of the opponent, given by its reach.

    endings, values: work space, one number per sequence and per state of the player.
    """
    tree = enumerated.trees[player]
    endings = np.empty(tree.sequence_end) if endings is None else endings
    values = np.empty(tree.num_states) if values is None else values
    weights = move_weights(enumerated, 1 - player, opponent_reach)
    ending_values(enumerated, player, weights, UTILITIES, endings)
    best_values(tree.links, endings, values)
    return float(values[0] + endings[ROOT])


def num_histories(enumerated: Enumeration) -> int:
    """The number of histories, including terminal ones: pairs of states of x and o at a position.

    With every r(j) = 1 the weight w(h, a) of a move counts the live states in which it is legal.
    """
    counts = [
        move_weights(enumerated, player, np.ones(tree.sequence_end)) for player, tree in enumerate(enumerated.trees)
    ]
    total = 0
    knowledge = [np.ones(1), np.ones(1)]  # per player: the number of its last sequences at each position of the ply
    for k, ply in enumerate(enumerated.plies):
        mine, theirs = knowledge[ply.player], knowledge[1 - ply.player]
        moves = counts[ply.player][k]
        live = np.diff(ply.first_live)
        to_sense = 0 if ply.level == 0 else mine  # x's first turn begins with the move
        total += (theirs * (to_sense + live)).sum() + (
            theirs[:, None] * np.where(ply.next_position < -1, moves, 0)
        ).sum()
        goes_on = ply.next_position >= 0
        knowledge[ply.player] = moves[goes_on]
        knowledge[1 - ply.player] = np.broadcast_to(theirs[:, None], moves.shape)[goes_on]
    return int(total)


def weight_of_positions(enumerated: Enumeration, k: int, opponent_weights: MoveWeights) -> np.ndarray:
    """The probability, by the opponent's moves alone, of each position of ply k, where the player is to move."""
    num_positions = enumerated.plies[k].num_positions
    if k == 0:
        return np.ones(num_positions)
    return _weight_of_positions(enumerated.plies[k - 1].next_position, opponent_weights[k - 1], num_positions)


def _replies(enumerated: Enumeration, k: int, opponent_weights: MoveWeights) -> tuple[np.ndarray, np.ndarray]:
    """The results and the weights of the opponent's moves in the ply after k."""
    if k + 1 < len(enumerated.plies):
        return enumerated.plies[k + 1].next_position, opponent_weights[k + 1]
    return NO_MOVES.astype(np.int32), NO_MOVES


@numba.njit(cache=True, parallel=True)
def weights_of_moves(live: Lists, links: Links, level_start: int, reach: np.ndarray) -> np.ndarray:
    """w(h, a) = sum over the live states s of h of r(s, a)."""
    weights = np.zeros((len(live.first) - 1, NUM_SQUARES))
    for h in numba.prange(len(live.first) - 1):
        for i in range(live.first[h], live.first[h + 1]):
            state = level_start + live.items[i]
            for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
                weights[h, links.action[j]] += reach[j]
    return weights


@numba.njit(cache=True)
def _weight_of_positions(position_before: np.ndarray, weights_before: np.ndarray, num_positions: int) -> np.ndarray:
    """The weight of the one move that leads to each position."""
    weight = np.empty(num_positions)
    for h in range(len(position_before)):
        for square in range(NUM_SQUARES):
            if position_before[h, square] >= 0:
                weight[position_before[h, square]] = weights_before[h, square]
    return weight


@numba.njit(cache=True)
def _gains(
    next_position: np.ndarray, weight: np.ndarray, replies: np.ndarray, reply_weights: np.ndarray, utilities: Utilities
) -> np.ndarray:
    """g(h, a): the value of games that end right after move a at position h, by this move or by the reply to it."""
    gains = np.zeros(next_position.shape)
    for h in range(len(next_position)):
        for square in range(NUM_SQUARES):
            result = next_position[h, square]
            if result >= 0:
                for reply in range(NUM_SQUARES):
                    if replies[result, reply] == LOSS:
                        gains[h, square] += utilities.won * reply_weights[result, reply]
                    elif replies[result, reply] == DRAW:
                        gains[h, square] += utilities.drawn * reply_weights[result, reply]
                    elif replies[result, reply] == WIN:
                        gains[h, square] += utilities.lost * reply_weights[result, reply]
            elif result == LOSS:
                gains[h, square] = utilities.lost * weight[h]
            elif result == DRAW:
                gains[h, square] = utilities.drawn * weight[h]
            elif result == WIN:
                gains[h, square] = utilities.won * weight[h]
    return gains


@numba.njit(cache=True, parallel=True)
def _ending_values(positions: Lists, gains: np.ndarray, links: Links, level_start: int, out: np.ndarray) -> None:
    """e(s, a) = sum over the positions h where s is live of g(h, a)."""
    for i in numba.prange(len(positions.first) - 1):
        for j in range(links.first_sequence[level_start + i], links.first_sequence[level_start + i + 1]):
            total = 0.0
            for k in range(positions.first[i], positions.first[i + 1]):
                total += gains[positions.items[k], links.action[j]]
            out[j] = total


@numba.njit(cache=True, parallel=True)
def position_sums(positions: Lists, weight: np.ndarray, out: np.ndarray) -> None:
    """For each move state the sum of the weights of the positions where it is live: the probability to reach it."""
    for i in numba.prange(len(positions.first) - 1):
        total = 0.0
        for k in range(positions.first[i], positions.first[i + 1]):
            total += weight[positions.items[k]]
        out[i] = total


@numba.njit(cache=True, parallel=True)
def best_values(links: Links, endings: np.ndarray, values: np.ndarray) -> None:
    """Bottom-up v(s) = max over a of e(s, a) + sum over the children c of v(c), written to `values`."""
    for level in range(len(links.level_start) - 2, -1, -1):
        for s in numba.prange(links.level_start[level], links.level_start[level + 1]):
            best = -np.inf
            for j in range(links.first_sequence[s], links.first_sequence[s + 1]):
                value = endings[j]
                for c in range(links.first_child[j], links.first_child[j + 1]):
                    value += values[c]
                best = max(best, value)
            values[s] = best


@numba.njit(cache=True, parallel=True)
def own_reach(links: Links, plan: np.ndarray, reach: np.ndarray) -> None:
    """Top-down r(s, a) = r(parent of s) sigma(s, a) for a plan sigma."""
    reach[ROOT] = 1.0
    for level in range(len(links.level_start) - 1):
        for s in numba.prange(links.level_start[level], links.level_start[level + 1]):
            reach_of_state = reach[links.parent[s]]
            for j in range(links.first_sequence[s], links.first_sequence[s + 1]):
                reach[j] = reach_of_state * plan[j]
