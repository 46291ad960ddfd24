"""The states of a phantom game in OpenSpiel's form: strings, tensors, and a history that leads to each.

A string has the player's view, then in dark hex the number of moves of both players, then the player's tries. In the
classical version this number is not known to the player (it is not in the tensor, and obstype is reveal-nothing). Here
it is written "?", and strings with any number denote the same state.
"""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel.games.phantom.enumeration import TRY_BITS, PlayerStates, bumps_fit
from tmdp_spiel.games.phantom.rules import POPCOUNT, Rules

MARKS = "xo"
EMPTY, UNKNOWN = ".", "?"
_HEX_CELL_STATES = 9  # OpenSpiel's hex tells nine kinds of stones apart; a player's view has three of them
_HEX_EMPTY, _HEX_OF_PLAYER = 4, (5, 3)


class PhantomNames:
    """Maps the states of one player to information-state strings and back."""

    def __init__(self, rules: Rules, player: int, states: PlayerStates):
        self._rules, self._player, self._states = rules, player, states

    def __len__(self) -> int:
        return self._states.num_states

    def tries(self, state: int) -> list[int]:
        """The cells that the player has tried, in order."""
        packed = int(self._states.tries[state])
        number = int(POPCOUNT[self._states.own[state]] + POPCOUNT[self._states.bumps[state]])
        return [packed >> (TRY_BITS * t) & (1 << TRY_BITS) - 1 for t in range(number)]

    def string(self, state: int) -> str:
        rules, tries = self._rules, self.tries(state)
        view = [EMPTY] * rules.num_cells
        for cell in tries:
            view[cell] = MARKS[self._player if self._states.own[state] >> cell & 1 else 1 - self._player]
        lines = ["".join(view[row * rules.columns : (row + 1) * rules.columns]) for row in range(rules.rows)]
        if rules.hexagonal:
            lines.append(str(2 * len(tries) + self._player) if rules.abrupt else UNKNOWN)
        return "\n".join(lines) + "\n" + "".join(f"{self._player},{cell} " for cell in tries)

    def index(self, string: str) -> int:
        lines = string.split("\n")
        view = "".join(lines[: self._rules.rows])
        state = None if len(view) != self._rules.num_cells else self._follow(view, lines[-1].split())
        if state is None or self._without_number(string) != self._without_number(self.string(state)):
            raise KeyError(f"no legal play of {self._rules.game_string} leads to the information state {string!r}")
        return state

    def _without_number(self, string: str) -> str:
        """The string without the number of moves, if the player does not know it."""
        lines = string.split("\n")
        if self._rules.hexagonal and not self._rules.abrupt and len(lines) == self._rules.rows + 2:
            number = lines.pop(self._rules.rows)
            if not (number == UNKNOWN or number.isdecimal()):
                return string
        return "\n".join(lines)

    def _follow(self, view: str, tries: list[str]) -> int | None:
        """The state after these tries, each with its result in the view."""
        states, state = self._states, 0
        for entry in tries:
            player, _, digits = entry.partition(",")
            if player != str(self._player) or not digits.isdecimal() or int(digits) >= len(view):
                return None
            cell = int(digits)
            children = [
                child
                for j in range(states.first_sequence[state], states.first_sequence[state + 1])
                if states.action[j] == cell
                for child in range(states.first_child[j], states.first_child[j + 1])
                if view[cell] == MARKS[self._player if states.own[child] >> cell & 1 else 1 - self._player]
            ]
            if not children:
                return None
            state = children[0]
        return state if state < states.num_states else None

    def history(self, state: int) -> list[int]:
        """The moves of one history that leads to a state, in which the other places its stones first and then bumps."""
        rules, player, tries = self._rules, self._player, self.tries(state)
        own, bumps = int(self._states.own[state]), int(self._states.bumps[state])
        theirs = self._their_moves(own, bumps, tries)
        moves, tried = [], 0
        for number in range(len(tries) + len(theirs) + 1):
            if number % 2 != player:
                moves += theirs[:1]
                theirs = theirs[1:]
                continue
            while tried < len(tries):
                cell = tries[tried]
                moves.append(cell)
                tried += 1
                if rules.abrupt or own >> cell & 1:
                    break
        return moves

    def _their_moves(self, own: int, bumps: int, tries: list[int]) -> list[int]:
        """Possible moves of the other: first the cells that are bumped into first."""
        rules, player = self._rules, self._player
        results = sum(1 << t for t, cell in enumerate(tries) if own >> cell & 1)
        made = len(tries) + player if rules.abrupt else int(POPCOUNT[own]) + player
        for number in range(int(POPCOUNT[bumps]), made + 1) if rules.abrupt else [made]:
            if not rules.can_go_on[player, own, bumps, number]:
                continue
            if rules.abrupt and not bumps_fit(player, len(tries), results, number):
                continue
            for mask in range(1 << rules.num_cells):
                fits = mask & own == 0 and bumps & ~mask == 0 and POPCOUNT[mask] == number
                if fits and not rules.wins[1 - player, mask]:
                    unseen = [cell for cell in range(rules.num_cells) if mask & ~bumps & 1 << cell]
                    stones = [cell for cell in tries if bumps >> cell & 1] + unseen
                    return stones + [cell for cell in tries if own >> cell & 1][: made - number]
        raise AssertionError("the state does not exist")


def tensor_width(rules: Rules) -> int:
    """The length of OpenSpiel's information-state tensor."""
    return rules.num_cells * ((_HEX_CELL_STATES if rules.hexagonal else 3) + rules.num_cells)


def tensors(rules: Rules, player: int, states: PlayerStates, numbers: np.ndarray) -> np.ndarray:
    """float32[len(numbers), tensor_width]: OpenSpiel's information-state tensors of these states."""
    out = np.zeros((len(numbers), tensor_width(rules)), np.float32)
    _fill_tensors(
        rules.num_cells, rules.hexagonal, player, states.tries, states.own, states.bumps, np.asarray(numbers), out
    )
    return out


@numba.njit(cache=True, parallel=True)
def _fill_tensors(cells, hexagonal, player, tries, own, bumps, numbers, out):
    kinds = _HEX_CELL_STATES if hexagonal else 3
    for i in numba.prange(len(numbers)):
        s = numbers[i]
        mine, seen = np.int64(own[s]), np.int64(bumps[s])
        for cell in range(cells):
            holder = player if mine >> cell & 1 else 1 - player if seen >> cell & 1 else -1
            if hexagonal:
                kind = _HEX_EMPTY if holder < 0 else _HEX_OF_PLAYER[holder]
                out[i, cell * kinds + kind] = 1.0
            else:
                out[i, (0 if holder < 0 else 2 - holder) * cells + cell] = 1.0
        for t in range(POPCOUNT[mine] + POPCOUNT[seen]):
            tried = np.int64((tries[s] >> np.uint64(TRY_BITS * t)) & np.uint64(15))
            out[i, cells * kinds + t * cells + tried] = 1.0
