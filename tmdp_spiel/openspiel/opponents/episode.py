"""The one generator of episodes through a game of OpenSpiel, and records of episodes."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import typing
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.games import game_string

DEFAULT_MAX_MOVES = 100_000
_CHANCE, _TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


class EpisodeTooLongError(RuntimeError):
    """An episode had more moves than max_moves; it is not counted."""


class Categorical:
    """A distribution over actions, from which one uniform number draws an action."""

    __slots__ = ("actions", "cumulative")

    def __init__(self, distribution: typing.Any):
        possible = [(action, probability) for action, probability in distribution if probability > 0]
        self.actions = [action for action, _ in possible]
        # The last action takes the rest, whatever the rounding.
        self.cumulative = list(itertools.accumulate(probability for _, probability in possible[:-1]))

    def action(self, uniform_number: float) -> int:
        return self.actions[bisect.bisect_right(self.cumulative, uniform_number)]


def draw_outcome(distribution: typing.Any, uniform_number: float) -> int:
    """Categorical(distribution).action(uniform_number); faster where one action is drawn.

    >>> draw_outcome([(3, 0.5), (4, 0.0), (7, 0.5)], 0.5)
    7
    """
    total, possible = 0.0, -1
    for action, probability in distribution:
        if probability > 0:
            total, possible = total + probability, action
            if uniform_number < total:
                break
    return possible


class Episode:
    """Plays a state to its end. Iterating yields the player who is to act, and then plays the attribute `action`.

    >>> import random
    >>> rng = random.Random(0)
    >>> episode = Episode(pyspiel.load_game("kuhn_poker").new_initial_state(), rng.random)
    >>> for player in episode:
    ...     episode.action = rng.choice(episode.state.legal_actions())
    >>> episode.state.is_terminal()
    True

    Args:
        state: where it begins; turn-based. It is modified, not copied.
        draw: returns uniform random numbers, for chance.
        inform: inform(state, player, action) is called before every move, including those of chance.
        max_moves: the most moves; after these an EpisodeTooLongError is raised.
    """

    __slots__ = ("_draw", "_inform", "_max_moves", "action", "state")

    def __init__(
        self,
        state: pyspiel.State,
        draw: Callable[[], float],
        inform: Callable[[pyspiel.State, int, int], None] | None = None,
        max_moves: int = DEFAULT_MAX_MOVES,
    ):
        self.state, self.action = state, -1
        self._draw, self._inform, self._max_moves = draw, inform, max_moves

    def __iter__(self) -> Iterator[int]:
        state, draw, inform = self.state, self._draw, self._inform
        for _ in range(self._max_moves):
            player = state.current_player()
            if player == _TERMINAL:
                return
            if player == _CHANCE:
                action = draw_outcome(state.chance_outcomes(), draw())
            else:
                yield player
                action = self.action
            if inform is not None:
                inform(state, player, action)
            state.apply_action(action)
        if not state.is_terminal():
            raise EpisodeTooLongError(
                f"an episode of {game_string(state.get_game())} did not end within {self._max_moves:,} moves and is "
                "not counted; raise max_moves to allow more"
            )


def play_episode(
    game: pyspiel.Game,
    everyone: typing.Any,
    draw: Callable[[], float],
    watch: Callable[[pyspiel.State, int, int], None] | None = None,
) -> pyspiel.State:
    """The end of an episode between all players.

    Args:
        game: the game, turn-based.
        everyone: LiveOpponents that play as every player.
        draw: returns uniform random numbers, for chance and for policies.
        watch: watch(state, player, action) is called at every decision, before the move.
    """
    state = game.new_initial_state()
    everyone.restart(state)
    episode = Episode(state, draw, everyone.inform)
    for player in episode:
        episode.action = everyone.move(state, draw())
        if watch is not None:
            watch(state, player, episode.action)
    return state


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
