"""Games of public actions or hidden bids in exact sequence form: liar's dice, goofspiel, oshi-zumo."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable

import pyspiel

from tmdp_spiel.games.public_action import goofspiel, liars_dice, oshi_zumo
from tmdp_spiel.games.public_action.exact_game import ExactGame
from tmdp_spiel.openspiel import games
from tmdp_spiel.openspiel.exact_games import ExactEnumeration, check_memory
from tmdp_spiel.openspiel.games import game_string, load_game

MAX_SEQUENCES = 60_000_000  # of both players; CFR+ then stays below 4 GB


def exact_game(game: str | pyspiel.Game) -> ExactGame | None:
    """The sequence form of a game, built once and cached for the next call; None if the game has none here.

    It supports liars_dice for two players; goofspiel for two players with imp_info=True and returns_type=win_loss; and
    oshi_zumo with min_bid >= 1; each up to MAX_SEQUENCES sequences of both players together.

    Args:
        game: anything that load_game takes.
    """
    game = load_game(game)
    return _exact_game(str(game)) if game_string(game).partition("(")[0] in _BUILDERS else None


@functools.lru_cache(maxsize=1)
def _exact_game(string: str) -> ExactGame | None:
    rules = pyspiel.load_game(game_string(pyspiel.load_game(string)))  # of a turn-based conversion: the game itself
    return _BUILDERS[rules.get_type().short_name](string, **rules.get_parameters())


def _liars_dice(string: str, *, players: int, numdice: int, dice_sides: int, bidding_rule: str) -> ExactGame | None:
    bids = 2 * numdice * dice_sides
    fits = numdice >= 1 and 2 <= dice_sides <= 9 and bids <= liars_dice.MAX_BIDS  # ten sides: strings are ambiguous
    if players != 2 or not fits or liars_dice.count_sequences(numdice, dice_sides) > MAX_SEQUENCES:
        return None
    check_memory(string, liars_dice.count_sequences(numdice, dice_sides))
    return liars_dice.LiarsDice(string, numdice, dice_sides, bidding_rule)


def _goofspiel(
    string: str,
    *,
    players: int,
    imp_info: bool,
    num_cards: int,
    num_turns: int,
    points_order: str,
    returns_type: str,
    egocentric: bool,
) -> ExactGame | None:
    fits = 2 <= num_cards <= goofspiel.MAX_CARDS[points_order] and num_turns in (-1, num_cards)
    if players != 2 or not imp_info or returns_type != "win_loss" or not fits:
        return None
    check_memory(string, goofspiel.count_sequences(num_cards, points_order))
    return goofspiel.Goofspiel(string, num_cards, points_order, egocentric)


def _oshi_zumo(string: str, *, coins: int, min_bid: int, size: int, horizon: int, alesia: bool) -> ExactGame | None:
    if min_bid < 1 or coins < 1 or size < 0 or horizon < coins:  # someone pays every round: at most `coins` rounds
        return None
    if coins > oshi_zumo.MAX_COINS or 2 * oshi_zumo.count_states(coins, min_bid, size)[1] > MAX_SEQUENCES:
        return None
    check_memory(string, 2 * oshi_zumo.count_states(coins, min_bid, size)[1])
    return oshi_zumo.OshiZumo(string, coins, min_bid, size, alesia)


_BUILDERS: dict[str, Callable[..., ExactGame | None]] = {
    "liars_dice": _liars_dice,
    "goofspiel": _goofspiel,
    "oshi_zumo": _oshi_zumo,
}

# The turn-based conversion of any simultaneous game has one short name; games without a form here are left alone.
for _name in ("liars_dice", "turn_based_simultaneous_game"):
    games.register(_name, ExactEnumeration(exact_game, pathlib.Path(__file__).parent / "data"))
