"""The common rules of phantom tic-tac-toe and dark hex: players place stones without seeing the other's stones.

A *try* of a cell that the other holds is a *bump*: the player learns that the cell is taken. In the classical versions
it tries again, so a turn ends with a stone; in the abrupt versions a bump ends the turn. A player sees only its own
tries and their results.

Cells are numbered row by row; a set of cells is a bit mask.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pyspiel

MAX_CELLS = 9
POPCOUNT = np.array([mask.bit_count() for mask in range(1 << MAX_CELLS)], np.int64)
WIN_0, WIN_1, DRAW = 0, 1, 2  # the kinds of endings
PAYOFFS = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])

_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
_HEX_NEIGHBOURS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))


@dataclasses.dataclass(frozen=True)
class Rules:
    """One of the games. `hexagonal`: dark hex; otherwise tic-tac-toe. `abrupt`: a bump ends the turn."""

    game_string: str
    rows: int
    columns: int
    hexagonal: bool
    abrupt: bool

    @property
    def num_cells(self) -> int:
        return self.rows * self.columns

    @functools.cached_property
    def wins(self) -> np.ndarray:
        """bool[2, 2^cells]: whether these stones of a player win."""
        masks = range(1 << self.num_cells)
        wins = self._connects if self.hexagonal else self._has_line
        return np.array([[wins(player, mask) for mask in masks] for player in (0, 1)])

    def _has_line(self, player: int, mask: int) -> bool:
        return any(mask & line == line for line in _LINES)

    def _connects(self, player: int, mask: int) -> bool:
        """Player 0 connects the first with the last row, player 1 the first with the last column."""

        def position(cell: int) -> int:
            return cell // self.columns if player == 0 else cell % self.columns

        last = (self.rows if player == 0 else self.columns) - 1
        stones = {cell for cell in range(self.num_cells) if mask >> cell & 1}
        waiting = [cell for cell in stones if position(cell) == 0]
        reached = set(waiting)
        while waiting:
            row, column = divmod(waiting.pop(), self.columns)
            for down, right in _HEX_NEIGHBOURS:
                cell = (row + down) * self.columns + column + right
                if 0 <= column + right < self.columns and cell in stones and cell not in reached:
                    reached.add(cell)
                    waiting.append(cell)
        return any(position(cell) == last for cell in reached)

    @functools.cached_property
    def can_go_on(self) -> np.ndarray:
        """bool[2, 2^cells, 2^cells, cells + 1]: player, the player's stones, bumps, number of the other's stones.

        Whether the game may not be over: the player's stones do not win, and there is a position of the other's stones
        that includes the bumps, does not win and leaves a cell empty.
        """
        return np.stack([self._can_go_on(player) for player in (0, 1)])

    def _can_go_on(self, player: int) -> np.ndarray:
        size, cells = 1 << self.num_cells, self.num_cells
        possible = np.zeros((size, size, cells + 1), np.bool_)
        masks = np.arange(size)
        for theirs in masks[~self.wins[1 - player]]:
            number = int(POPCOUNT[theirs])
            mine = masks[(masks & theirs == 0) & ~self.wins[player] & (POPCOUNT[masks] + number < cells)]
            seen = masks[masks & ~theirs == 0]
            possible[mine[:, None], seen[None, :], number] = True
        return possible

    def endings(self) -> list[tuple[int, int, int]]:
        """(stones of player 0, stones of player 1, kind) of all positions at which a game can end, by the stones."""
        found = []
        for first in range(1 << self.num_cells):
            for second in range(1 << self.num_cells):
                if first & second:
                    continue
                won = self.wins[0, first], self.wins[1, second]
                if any(won) and not all(won):
                    found.append((first, second, WIN_0 if won[0] else WIN_1))
                elif not any(won) and first | second == (1 << self.num_cells) - 1:
                    found.append((first, second, DRAW))
        return found


def rules_of(game: pyspiel.Game) -> Rules | None:
    """The rules of an OpenSpiel game; None if it is not one of these games, or its size is not supported."""
    name = game.get_type().short_name
    if name not in ("phantom_ttt", "dark_hex"):
        return None
    parameters = game.get_parameters()
    if parameters["obstype"] != "reveal-nothing" or game.num_distinct_actions() > MAX_CELLS:
        return None
    view = game.new_initial_state().information_state_string(0).split("\n")
    rows = sum(line.startswith(".") for line in view)
    if rows < 2 or len(view[0]) < 2:
        return None  # the first stone wins
    abrupt = parameters["gameversion"] in ("abrupt", "adh")
    return Rules(str(game), rows, len(view[0]), name == "dark_hex", abrupt)
