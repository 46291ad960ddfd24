"""Trees that grow as episodes are played, for games that cannot be enumerated."""

from __future__ import annotations

import math

import pyspiel

from tmdp_spiel.openspiel.build import check_readable
from tmdp_spiel.openspiel.games import GameLike, game_string, load_game
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
    """An empty infostate tree of `player`: LiveGame adds the states that episodes visit.

    It works for every OpenSpiel game, even if the game is too large to enumerate, has strings that forget, has only
    observation strings, or samples its chance events itself. A state is the player's history and the state's string.

    Args:
        game: anything that load_game takes.
        player: the player that learns, from 0.
        max_states: the most states to store. When this number is reached, the tree logs a message and stops growing;
            episodes that leave it are continued at random, and certificates stay valid.
        new_states: how many states an episode may add.
        min_utility: the smallest utility of an episode; as the game declares it if not given.
        max_utility: the largest utility of an episode; as the game declares it if not given.

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
    """The smallest and largest utility of an episode, as given or else as the game declares them."""
    low = game.min_utility() if min_utility is None else float(min_utility)
    high = game.max_utility() if max_utility is None else float(max_utility)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"{game_string(game)} declares utilities from {low} to {high}, which is no bound for an episode; give "
            "min_utility and max_utility"
        )
    return low, high


def check_utility(game: pyspiel.Game, player: int, utility: float, low: float, high: float) -> None:
    """Raises an error for the utility of an episode outside of the range that is assumed."""
    if not low <= utility <= high:
        raise ValueError(
            f"an episode of {game_string(game)} brings player {player} {utility}, outside the utilities {low} .. "
            f"{high}; give the right min_utility and max_utility"
        )
