"""The equilibrium of oshi-zumo by backward induction.

After each round both players know the coins and the field, and nothing else matters for the rest of the game. So a
position is a matrix game: its rows are the own bids, its columns the other's, and an entry is the value of the position
that follows (Buro, "Solving the Oshi-Zumo Game", 2004). Every round somebody pays, so positions are solved in the order
of the coins that are left. The game is symmetric: what is optimal for the own player holds for both.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from tmdp_spiel.games.public_action.oshi_zumo import OshiZumo, Positions


def optimal_bids(game: OshiZumo) -> tuple[float, np.ndarray]:
    """The value of the game for player 0, and a policy table that is optimal for either player."""
    positions = game.positions
    values, bids = np.zeros(len(positions.lowest)), np.zeros((len(positions.lowest), game.coins + 1))
    reached = np.unique(game.position_of)
    left = [sum(game.coins_and_field(int(position))[:2]) for position in reached]
    for position in reached[np.argsort(left, kind="stable")]:
        own, _ = positions.num_bids[position]
        matrix = _matrix(positions, int(position), values)
        values[position], bids[position, :own] = solve_matrix_game(matrix)
    first, state_of = game.trees[0].first_sequence, np.arange(len(game.position_of))
    state = np.repeat(state_of, np.diff(first))
    table = bids[game.position_of[state], np.arange(1, len(state) + 1) - first[state]]
    return float(values[game.position_of[0]]), np.append(1.0, table)


def _matrix(positions: Positions, position: int, values: np.ndarray) -> np.ndarray:
    """What each pair of bids is worth to the own player."""
    own, other = positions.num_bids[position]
    after = positions.next_position[position, :own, :other]
    matrix = np.where(after >= 0, values[after], 0.0)
    endings = slice(positions.first_ending[position], positions.first_ending[position + 1])
    # LOST, DRAWN and WON are 0, 1 and 2.
    matrix[positions.ending_own[endings], positions.ending_other[endings]] = positions.ending_result[endings] - 1.0
    return matrix


def solve_matrix_game(matrix: np.ndarray) -> tuple[float, np.ndarray]:
    """The value of a matrix game for the rows, and the mixture of rows that guarantees it."""
    rows, columns = matrix.shape
    worst = matrix.min(axis=1)
    best = int(worst.argmax())
    if worst[best] >= matrix.max(axis=0).min():  # a saddle point
        return float(worst[best]), np.eye(rows)[best]
    found = optimize.linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.column_stack([-matrix.T, np.ones(columns)]),
        b_ub=np.zeros(columns),
        A_eq=[np.append(np.ones(rows), 0.0)],
        b_eq=[1.0],
        bounds=[(0.0, None)] * rows + [(None, None)],
    )
    mixture = np.maximum(found.x[:-1], 0.0)
    mixture /= mixture.sum()
    return float((mixture @ matrix).min()), mixture
