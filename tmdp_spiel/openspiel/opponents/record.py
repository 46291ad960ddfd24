"""Episodes recorded while they are played, up to a limit, so that a report needs no further play.

For each episode this is the player's last sequence in the tree, which determines all of the player's states in it, and
the utility; for the first episodes it is also the whole history.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyspiel

MOST_EPISODES = 100_000
_MOST_HISTORIES, _MOST_MOVES = 2_000, 200_000


@dataclasses.dataclass
class Record:
    """Episodes of one player, in the order in which they were played.

    ended_on:  int64[N]    the player's last sequence in the tree
    utilities: float64[N]  what the player won
    moves, lengths:        the histories of the first len(lengths) episodes, concatenated
    share:                 the share of the allowed error for tests on these episodes, if they were chosen among others
    """

    ended_on: np.ndarray
    utilities: np.ndarray
    moves: np.ndarray
    lengths: np.ndarray
    share: float = 1.0

    def histories(self) -> list[list[int]]:
        """The whole histories of the first episodes."""
        return (
            [part.tolist() for part in np.split(self.moves, np.cumsum(self.lengths)[:-1])] if len(self.lengths) else []
        )


class Recorder:
    """Records episodes as they end, up to a limit."""

    def __init__(self, game: pyspiel.Game):
        # In a game that samples its chance events itself, the same moves may lead to different states.
        self._replays = game.get_type().chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
        self._ended_on: list[int] = []
        self._utilities: list[float] = []
        self._moves: list[int] = []
        self._lengths: list[int] = []

    @property
    def wants_history(self) -> bool:
        """Whether the whole history of the next episode is recorded."""
        first_ones = len(self._lengths) == len(self._ended_on) < _MOST_HISTORIES
        return self._replays and first_ones and len(self._moves) < _MOST_MOVES

    def add(self, ended_on: int, utility: float, history: list[int] | None = None) -> None:
        """Records one episode; history: its moves, including those of chance."""
        if len(self._ended_on) >= MOST_EPISODES:
            return
        if history is not None and self.wants_history:
            self._moves += history
            self._lengths.append(len(history))
        self._ended_on.append(ended_on)
        self._utilities.append(utility)

    def record(self, share: float = 1.0) -> Record:
        """The recorded episodes."""
        return Record(
            np.array(self._ended_on, np.int64),
            np.array(self._utilities, np.float64),
            np.array(self._moves, np.int64),
            np.array(self._lengths, np.int64),
            share,
        )
