# Copyright 2026 DeepMind Technologies Limited
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Reconnaissance Blind Tic-Tac-Toe (RBT), implemented in Python.

Two players, x and o, mark the squares of a 3x3 board without seeing each
other's moves:

    0 1 2
    3 4 5
    6 7 8

x makes the first move. Every later turn, of either player, is a sense followed
by a move. A sense shows the player one of the four 2x2 windows of the true
board; nothing else is ever observed. A player remembers every opponent mark it
has seen, and knows that a square is empty only until its own move of the same
turn. A player may move on any square that is neither its own nor known to be
the opponent's. Moving on a square that the opponent holds loses at once. Three
in a row win, and a full board is a draw.

The game is a small relative of Reconnaissance Blind Chess (`rbc`).

Parameters:
  useful_senses: a sense is legal only if its window has a square that is
    neither the player's own nor a known opponent mark.
  forced_wins: if a square just sensed empty completes a line, the lowest such
    square is the only legal move.

Actions 0 to 8 are the moves, and 9 to 12 the senses (top-left, top-right,
bottom-left, bottom-right).
"""

import numpy as np

import pyspiel

_NUM_PLAYERS = 2
_NUM_SQUARES = 9
_WINDOWS = ((0, 1, 3, 4), (1, 2, 4, 5), (3, 4, 6, 7), (4, 5, 7, 8))
_WINDOW_NAMES = ("top-left", "top-right", "bottom-left", "bottom-right")
_WINDOW_LETTERS = ("tl", "tr", "bl", "br")
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8),
          (0, 4, 8), (2, 4, 6))
_MARKS = "xo"
_EMPTY = "."
_UNKNOWN = "?"
_MAX_MOVES = 5  # Of one player.
_MAX_SENSES = 4  # Of one player.

_GAME_TYPE = pyspiel.GameType(
    short_name="python_reconnaissance_ttt",
    long_name="Python Reconnaissance Blind Tic-Tac-Toe",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=_NUM_PLAYERS,
    min_num_players=_NUM_PLAYERS,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    provides_factored_observation_string=True,
    parameter_specification={
        "useful_senses": True,
        "forced_wins": True,
    })
_GAME_INFO = pyspiel.GameInfo(
    num_distinct_actions=_NUM_SQUARES + len(_WINDOWS),
    max_chance_outcomes=0,
    num_players=_NUM_PLAYERS,
    min_utility=-1.0,
    max_utility=1.0,
    utility_sum=0.0,
    max_game_length=2 * _NUM_SQUARES - 1)  # The first turn has no sense.


class ReconnaissanceTTTGame(pyspiel.Game):
  """A Python version of Reconnaissance Blind Tic-Tac-Toe."""

  def __init__(self, params=None):
    params = params or dict()
    self.useful_senses = bool(params.get("useful_senses", True))
    self.forced_wins = bool(params.get("forced_wins", True))
    super().__init__(_GAME_TYPE, _GAME_INFO, params)

  def new_initial_state(self):
    """Returns a state corresponding to the start of a game."""
    return ReconnaissanceTTTState(self)

  def make_py_observer(self, iig_obs_type=None, params=None):
    """Returns an object used for observing game state."""
    return ReconnaissanceTTTObserver(
        iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False),
        params)


class ReconnaissanceTTTState(pyspiel.State):
  """The true board, and for each player what it remembers."""

  def __init__(self, game):
    """Constructor; should only be called by Game.new_initial_state."""
    super().__init__(game)
    self._useful_senses = game.useful_senses
    self._forced_wins = game.forced_wins
    self.board = [_EMPTY] * _NUM_SQUARES
    self.num_moves = 0
    self.sensed = None  # The window sensed in the current turn.
    # For each player: the squares of its moves; its senses, as pairs of a
    # window and the four squares that it showed; both in order; and the
    # opponent's marks that it has seen.
    self.moves = ([], [])
    self.senses = ([], [])
    self.known = (set(), set())
    self._returns = None

  # OpenSpiel (PySpiel) API functions are below. This is the standard set that
  # should be implemented by every sequential-move game.

  def current_player(self):
    """Returns id of the next player to move, or TERMINAL if game is over."""
    if self._returns is not None:
      return pyspiel.PlayerId.TERMINAL
    return self.num_moves % 2

  def _legal_actions(self, player):
    """Returns a list of legal actions, sorted in ascending order."""
    if self._is_to_sense():
      return [
          _NUM_SQUARES + window for window in range(len(_WINDOWS))
          if self._may_sense(player, window)
      ]
    if self._forced_wins:
      own = set(self.moves[player])
      for square in self._sensed_empty(player):
        if _has_line(own | {square}):
          return [square]
    return [s for s in range(_NUM_SQUARES) if self._may_move(player, s)]

  def _apply_action(self, action):
    """Applies the specified action to the state."""
    player = self.num_moves % 2
    opponent = 1 - player
    if action >= _NUM_SQUARES:
      self.sensed = action - _NUM_SQUARES
      window = _WINDOWS[self.sensed]
      shown = "".join(self.board[square] for square in window)
      self.senses[player].append((self.sensed, shown))
      self.known[player].update(
          square for square in window if self.board[square] == _MARKS[opponent])
      return
    self.moves[player].append(action)
    self.num_moves += 1
    self.sensed = None
    if self.board[action] != _EMPTY:
      self._returns = _win_of(opponent)
      return
    self.board[action] = _MARKS[player]
    if _has_line(set(self.moves[player])):
      self._returns = _win_of(player)
    elif _EMPTY not in self.board:
      self._returns = [0.0, 0.0]

  def _action_to_string(self, player, action):
    """Action -> string."""
    if action >= _NUM_SQUARES:
      return f"sense {_WINDOW_NAMES[action - _NUM_SQUARES]}"
    return f"move {action}"

  def is_terminal(self):
    """Returns True if the game is over."""
    return self._returns is not None

  def returns(self):
    """Total reward for each player over the course of the game so far."""
    return [0.0, 0.0] if self._returns is None else list(self._returns)

  def __str__(self):
    """String for debug purposes. No particular semantics are required."""
    boards = ["".join(self.board), self.view(0), self.view(1)]
    rows = ["     ".join(" ".join(board[row:row + 3]) for board in boards)
            for row in (0, 3, 6)]
    return "\n".join([self._situation(), "board     x knows   o knows"] + rows)

  # Helper functions.

  def view(self, player):
    """Returns the nine squares as the player knows them; "?" is unknown."""
    empty = self._sensed_empty(player)
    return "".join(
        mark if mark == _MARKS[player] or square in self.known[player] or
        square in empty else _UNKNOWN
        for square, mark in enumerate(self.board))

  def own_history(self, player):
    """Returns the player's moves and senses as strings, in order."""
    moves = [str(square) for square in self.moves[player]]
    senses = [f"{_WINDOW_LETTERS[window]}:{shown}"
              for window, shown in self.senses[player]]
    entries = []
    if player == 0 and moves:  # x begins with a move.
      entries.append(moves.pop(0))
    for turn, sense in enumerate(senses):
      entries.append(sense)
      entries += moves[turn:turn + 1]
    return entries

  def _is_to_sense(self):
    return self.num_moves > 0 and self.sensed is None

  def _may_move(self, player, square):
    return (self.board[square] != _MARKS[player] and
            square not in self.known[player])

  def _may_sense(self, player, window):
    return not self._useful_senses or any(
        self._may_move(player, square) for square in _WINDOWS[window])

  def _sensed_empty(self, player):
    """Returns the squares that the player has sensed empty in this turn."""
    if self.sensed is None or player != self.num_moves % 2:
      return []
    return [s for s in _WINDOWS[self.sensed] if self.board[s] == _EMPTY]

  def _situation(self):
    if self._returns is None:
      does = "sense" if self._is_to_sense() else "move"
      return f"{_MARKS[self.current_player()]} to {does}"
    if self._returns[0] == 0:
      return "a draw"
    return f"{_MARKS[0 if self._returns[0] > 0 else 1]} wins"


class ReconnaissanceTTTObserver:
  """Observer, conforming to the PyObserver interface (see observation.py).

  With perfect recall, the observation has the player's own moves, the windows
  that it sensed, and where each of them showed the opponent. Without, it has
  the board as the player knows it now.
  """

  def __init__(self, iig_obs_type, params):
    """Initializes an empty observation tensor."""
    if params:
      raise ValueError(f"Observation parameters not supported; passed {params}")

    # Determine which observation pieces we want to include.
    pieces = [("player", (2,))]
    if iig_obs_type.public_info:
      pieces.append(("clock", (2,)))
    if iig_obs_type.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      if iig_obs_type.perfect_recall:
        pieces.append(("moves", (_MAX_MOVES, _NUM_SQUARES)))
        pieces.append(("senses", (_MAX_SENSES, len(_WINDOWS))))
        pieces.append(("shown", (_MAX_SENSES, 4)))
      else:
        pieces.append(("view", (_NUM_SQUARES, 4)))

    # Build the single flat tensor.
    total_size = sum(int(np.prod(shape)) for _, shape in pieces)
    self.tensor = np.zeros(total_size, np.float32)

    # Build the named & reshaped views of the bits of the flat tensor.
    self.dict = {}
    index = 0
    for name, shape in pieces:
      size = int(np.prod(shape))
      self.dict[name] = self.tensor[index:index + size].reshape(shape)
      index += size

  def set_from(self, state, player):
    """Updates `tensor` and `dict` to reflect `state` from PoV of `player`."""
    self.tensor.fill(0)
    self.dict["player"][player] = 1
    if "clock" in self.dict:
      self.dict["clock"][0] = state.num_moves / _NUM_SQUARES
      self.dict["clock"][1] = state.sensed is not None
    if "moves" in self.dict:
      for turn, square in enumerate(state.moves[player]):
        self.dict["moves"][turn, square] = 1
      for turn, (window, shown) in enumerate(state.senses[player]):
        self.dict["senses"][turn, window] = 1
        self.dict["shown"][turn] = [m == _MARKS[1 - player] for m in shown]
    if "view" in self.dict:
      for square, mark in enumerate(state.view(player)):
        self.dict["view"][square, "?.xo".index(mark)] = 1

  def string_from(self, state, player):
    """Observation of `state` from the PoV of `player`, as a string."""
    pieces = [_MARKS[player]]
    if "moves" in self.dict:
      pieces += state.own_history(player)
    elif "view" in self.dict:
      pieces.append(state.view(player))
    if "clock" in self.dict and "moves" not in self.dict:
      sensed = ", sensed" if state.sensed is not None else ""
      pieces.append(f"after {state.num_moves} moves{sensed}")
    return " ".join(pieces)


# Helper functions for game details.


def _has_line(squares):
  """Checks if a set of squares has three in a row."""
  return any(squares.issuperset(line) for line in _LINES)


def _win_of(player):
  """Returns the returns of a game that the player wins."""
  return [1.0, -1.0] if player == 0 else [-1.0, 1.0]


# Register the game with the OpenSpiel library

pyspiel.register_game(_GAME_TYPE, ReconnaissanceTTTGame)
