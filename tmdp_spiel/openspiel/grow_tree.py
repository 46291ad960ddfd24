"""Trees that add states as they are played, for games that cannot be enumerated."""

from __future__ import annotations

import math

import pyspiel

from tmdp_spiel.openspiel.build import check_readable
from tmdp_spiel.openspiel.load_game import GameLike, game_string, load_game
from tmdp_spiel.openspiel.opponents.fixed import check_player
from tmdp_spiel.trees.lazy_tree import DEFAULT_MAX_STATES, LazyTree


def grow_tree(
    game: GameLike,
    player: int,
    *,
    max_states: int = DEFAULT_MAX_STATES,
    new_states: int = 1,
    min_utility: float | None = None,
    max_utility: float | None = None,
) -> LazyTree:
    """An infostate tree of `player` with nothing in it yet: LiveGame adds the states that episodes meet.

    Any game that OpenSpiel plays will do: too large to enumerate, with strings that forget, with observation strings
    alone, or with chance events that the game draws itself. A state is its own history and its string.

    Args:
        game: anything that load_game takes.
        player: the player that learns, from 0.
        max_states: the most states to keep. Once there, the tree says so and grows no more; episodes that leave it are
            played on at random, and certificates stay right.
        new_states: how many states an episode may add.
        min_utility: the least that an episode can bring; as the game declares it if not given.
        max_utility: the most that an episode can bring; as the game declares it if not given.

    Returns:
        A LazyTree without states.

    >>> import tmdp_spiel as ts
    >>> ts.grow_tree("connect_four", player=0).num_states
    0
    """
    game = load_game(game)
    player = check_player(game, player)
    check_readable(game)
    low, high = utility_range(game, min_utility, max_utility)
    return LazyTree(
        player=player,
        min_utility=low,
        max_utility=high,
        max_states=max_states,
        new_states=new_states,
        game_string=str(game),
    )


def utility_range(
    game: pyspiel.Game, min_utility: float | None = None, max_utility: float | None = None
) -> tuple[float, float]:
    """The least and the most that an episode can bring, as the game declares it where it is not given."""
    low = game.min_utility() if min_utility is None else float(min_utility)
    high = game.max_utility() if max_utility is None else float(max_utility)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"{game_string(game)} declares utilities from {low} to {high}, which says nothing about an episode; give "
            "min_utility and max_utility"
        )
    return low, high
