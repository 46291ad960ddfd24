"""The one generator of episodes through a game of OpenSpiel."""

from __future__ import annotations

import bisect
import itertools
import typing
from collections.abc import Callable, Iterator

import pyspiel

from tmdp_spiel.openspiel.load_game import game_string

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
