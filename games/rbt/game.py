"""Reconnaissance Blind Tic-Tac-Toe (RBT), an OpenSpiel game.

Two players, x and o, mark the squares of a 3x3 board without seeing the other's moves:

    0 1 2
    3 4 5
    6 7 8

x makes the first move. Every later turn, of either player, is a sense and then a move. A sense shows the player one of
the four 2x2 windows of the true board; there are no other observations. A player remembers every opponent mark that it
has seen. It knows that a square is empty only until its move in the same turn. A player may move to any square that is
neither its own nor known to be the opponent's. Moving to a square that the opponent holds loses at once; three in a row
win; a full board is a draw. Utilities are 1, -1 and 0.

Parameters:
  useful_senses  a sense is legal only if its window has a square that is neither the player's nor a known opponent mark
  forced_wins    if squares just sensed empty complete a line, the lowest of them is the only legal move
  start          play from a position after some moves, such as "x4o0x8"; both players know these marks

Actions 0..8 are the moves, 9..12 the senses. The information state is the player's whole history: its moves, the
windows it sensed and what they showed, for example "x 4 tl:o..x 2".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyspiel

MARKS = "xo"
EMPTY = "."
NUM_SQUARES = 9
WINDOWS = ((0, 1, 3, 4), (1, 2, 4, 5), (3, 4, 6, 7), (4, 5, 7, 8))
WINDOW_NAMES = ("top-left", "top-right", "bottom-left", "bottom-right")
WINDOW_LETTERS = ("tl", "tr", "bl", "br")
FIRST_SENSE = NUM_SQUARES
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_MAX_MOVES, _MAX_SENSES = 5, 4

SHORT_NAME = "python_rbt"
_GAME_TYPE = pyspiel.GameType(
    short_name=SHORT_NAME,
    long_name="Reconnaissance Blind Tic-Tac-Toe",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    provides_factored_observation_string=True,
    parameter_specification={"useful_senses": True, "forced_wins": True, "start": ""},
)


class RBTGame(pyspiel.Game):
    """The game; its parameters are attributes of the same names, `start` as a tuple of squares."""

    def __init__(self, params: dict | None = None):
        params = params or {}
        self.useful_senses = bool(params.get("useful_senses", True))
        self.forced_wins = bool(params.get("forced_wins", True))
        self.start = parse_start(params.get("start", ""))
        turns = NUM_SQUARES - len(self.start)
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_SQUARES + len(WINDOWS),
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=2 * turns if self.start else 2 * turns - 1,
        )
        super().__init__(_GAME_TYPE, info, params)

    def new_initial_state(self) -> RBTState:
        return RBTState(self)

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: dict | None = None
    ) -> RBTObserver:
        return RBTObserver(iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class RBTState(pyspiel.State):
    """The true board, and what each player remembers. All attributes are immutable values."""

    def __init__(self, game: RBTGame):
        super().__init__(game)
        self._useful_senses = game.useful_senses
        self._forced_wins = game.forced_wins
        self.board = board_after(game.start)
        self.num_moves = len(game.start)
        self.sensed: int | None = None  # the window sensed in the current turn
        # per player: moves as squares, senses as pairs (window, the four squares as a string)
        self.own_history: tuple[tuple, tuple] = ((), ())
        self.known = tuple(frozenset(game.start[1 - player :: 2]) for player in (0, 1))  # opponent marks seen
        self._skips_sense = not game.start
        self._returns: list[float] | None = None

    def current_player(self) -> int:
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else self.num_moves % 2

    def is_to_sense(self) -> bool:
        return not self.is_terminal() and self.sensed is None and not self._skips_sense

    def _legal_actions(self, player: int) -> list[int]:
        if self.is_to_sense():
            return [FIRST_SENSE + window for window in range(len(WINDOWS)) if self._may_sense(player, window)]
        if self._forced_wins:
            for square in self.sensed_empty(player):
                if _has_line({*self.squares_of(player), square}):
                    return [square]
        return [
            square
            for square in range(NUM_SQUARES)
            if self.board[square] != MARKS[player] and square not in self.known[player]
        ]

    def _may_sense(self, player: int, window: int) -> bool:
        return not self._useful_senses or any(
            self.board[square] != MARKS[player] and square not in self.known[player] for square in WINDOWS[window]
        )

    def squares_of(self, player: int) -> list[int]:
        return [square for square in range(NUM_SQUARES) if self.board[square] == MARKS[player]]

    def sensed_empty(self, player: int) -> list[int]:
        """The squares, in order, that the player has just sensed empty and still knows to be empty."""
        if self.sensed is None or player != self.num_moves % 2:
            return []
        return [square for square in WINDOWS[self.sensed] if self.board[square] == EMPTY]

    def _apply_action(self, action: int) -> None:
        player = self.num_moves % 2
        if action >= FIRST_SENSE:
            self._sense(player, action - FIRST_SENSE)
        else:
            self._move(player, action)

    def _sense(self, player: int, window: int) -> None:
        shown = "".join(self.board[square] for square in WINDOWS[window])
        seen = {square for square in WINDOWS[window] if self.board[square] == MARKS[1 - player]}
        self.known = _replaced(self.known, player, self.known[player] | seen)
        self.own_history = _replaced(self.own_history, player, (*self.own_history[player], (window, shown)))
        self.sensed = window

    def _move(self, player: int, square: int) -> None:
        self.own_history = _replaced(self.own_history, player, (*self.own_history[player], square))
        self.num_moves += 1
        self.sensed = None
        self._skips_sense = False
        if self.board[square] != EMPTY:
            self._returns = _win_of(1 - player)
            return
        self.board = _replaced(self.board, square, MARKS[player])
        if _has_line(set(self.squares_of(player))):
            self._returns = _win_of(player)
        elif EMPTY not in self.board:
            self._returns = [0.0, 0.0]

    def _action_to_string(self, player: int, action: int) -> str:
        return action_name(action)

    def is_terminal(self) -> bool:
        return self._returns is not None

    def returns(self) -> list[float]:
        return list(self._returns or [0.0, 0.0])

    def view(self, player: int) -> str:
        """Nine squares as the player knows them: its marks, opponent marks seen, "." just sensed empty, else "?"."""
        empty = self.sensed_empty(player)
        return "".join(
            self.board[square]
            if self.board[square] == MARKS[player] or square in self.known[player] or square in empty
            else "?"
            for square in range(NUM_SQUARES)
        )

    def __str__(self) -> str:
        boards = [self.board, self.view(0), self.view(1)]
        rows = ["     ".join(" ".join(board[row : row + 3]) for board in boards) for row in (0, 3, 6)]
        return "\n".join([self._situation(), "board     x knows   o knows", *rows])

    def _situation(self) -> str:
        if self._returns is not None:
            result = self._returns[0]
            return "a draw" if result == 0 else f"{MARKS[0 if result > 0 else 1]} wins"
        return f"{MARKS[self.current_player()]} to {'sense' if self.is_to_sense() else 'move'}"


class RBTObserver:
    """What a player sees, as a string and as a tensor (see open_spiel/python/observation.py).

    With perfect recall, the tensor contains the player's moves, the windows it sensed, and where each showed the
    opponent; otherwise, the board as the player knows it now.
    """

    def __init__(self, iig_obs_type: pyspiel.IIGObservationType, params: dict | None):
        if params:
            raise ValueError(f"observation parameters are not supported; passed {params}")
        self._perfect_recall = iig_obs_type.perfect_recall
        self._private = iig_obs_type.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        shapes: dict[str, tuple[int, ...]] = {"player": (2,)}
        if iig_obs_type.public_info:
            shapes["clock"] = (2,)
        if self._private and self._perfect_recall:
            shapes |= {"moves": (_MAX_MOVES, NUM_SQUARES), "senses": (_MAX_SENSES, 4), "shown": (_MAX_SENSES, 4)}
        elif self._private:
            shapes["view"] = (NUM_SQUARES, 4)
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        pieces = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: piece.reshape(shape) for (name, shape), piece in zip(shapes.items(), pieces)}

    def set_from(self, state: RBTState, player: int) -> None:
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if "clock" in self.dict:
            self.dict["clock"][:] = (state.num_moves / NUM_SQUARES, state.sensed is not None)
        if "moves" in self.dict:
            history = state.own_history[player]
            for turn, square in enumerate(entry for entry in history if isinstance(entry, int)):
                self.dict["moves"][turn, square] = 1
            for turn, (window, shown) in enumerate(entry for entry in history if not isinstance(entry, int)):
                self.dict["senses"][turn, window] = 1
                self.dict["shown"][turn] = [mark == MARKS[1 - player] for mark in shown]
        if "view" in self.dict:
            for square, mark in enumerate(state.view(player)):
                self.dict["view"][square, "?.xo".index(mark)] = 1

    def string_from(self, state: RBTState, player: int) -> str:
        parts = [MARKS[player]]
        if self._private and self._perfect_recall:
            return history_string(player, state.own_history[player])
        if self._private:
            parts.append(state.view(player))
        if "clock" in self.dict:
            parts.append(f"after {state.num_moves} moves{', sensed' if state.sensed is not None else ''}")
        return " ".join(parts)


def action_name(action: int) -> str:
    """ "move 4" or "sense top-left"."""
    return f"sense {WINDOW_NAMES[action - FIRST_SENSE]}" if action >= FIRST_SENSE else f"move {action}"


def history_string(player: int, own_history: Iterable[int | tuple[int, str]]) -> str:
    """The information-state string: the player's mark, then its moves, and its senses with the window they showed."""
    entries = [
        str(entry) if isinstance(entry, int) else f"{WINDOW_LETTERS[entry[0]]}:{entry[1]}" for entry in own_history
    ]
    return " ".join([MARKS[player], *entries])


def parse_history_string(string: str) -> tuple[int, tuple[int | tuple[int, str], ...]]:
    """The (player, own_history) of an information-state string."""
    match = re.fullmatch(r"([xo])((?: [0-8]| (?:tl|tr|bl|br):[.xo]{4})*)", string)
    if not match:
        raise ValueError(f"{string!r} is not an information state of RBT; one looks like 'x 4 tl:o..x 2'")
    history = tuple(
        int(entry) if len(entry) == 1 else (WINDOW_LETTERS.index(entry[:2]), entry[3:]) for entry in match[2].split()
    )
    return MARKS.index(match[1]), history


def action_and_observation(player: int, entry: int | tuple[int, str]) -> tuple[int, int]:
    """The action of an entry of a player's history, and where a sense showed the opponent, as a mask; 0 for a move."""
    if isinstance(entry, int):
        return entry, 0
    window, shown = entry
    return FIRST_SENSE + window, sum(1 << b for b, mark in enumerate(shown) if mark == MARKS[1 - player])


def parse_start(text: str) -> tuple[int, ...]:
    """The squares of a start such as "x4o0x8"; x and o take turns on different squares, and neither has won."""
    if not re.fullmatch(r"(x[0-8]o[0-8])*(x[0-8])?", text):
        raise ValueError(f"start must alternate x and o, each with a square 0-8, such as 'x4o0x8', not {text!r}")
    squares = tuple(int(square) for square in text[1::2])
    if len(set(squares)) < len(squares):
        raise ValueError(f"start {text!r} marks a square twice")
    if _has_line(set(squares[0::2])) or _has_line(set(squares[1::2])) or len(squares) == NUM_SQUARES:
        raise ValueError(f"start {text!r} is a finished game; leave out its last moves")
    return squares


def board_after(squares: Iterable[int]) -> tuple[str, ...]:
    """The board, nine characters in a tuple, after x and o in turn have marked the squares."""
    board = [EMPTY] * NUM_SQUARES
    for turn, square in enumerate(squares):
        board[square] = MARKS[turn % 2]
    return tuple(board)


def _has_line(squares: set[int]) -> bool:
    return any(squares.issuperset(line) for line in _LINES)


def _win_of(player: int) -> list[float]:
    return [1.0, -1.0] if player == 0 else [-1.0, 1.0]


def _replaced(values: tuple, index: int, value) -> tuple:
    return (*values[:index], value, *values[index + 1 :])


pyspiel.register_game(_GAME_TYPE, RBTGame)
