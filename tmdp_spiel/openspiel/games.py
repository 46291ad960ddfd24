"""Games by short name, OpenSpiel game string or game object, and what some games provide by themselves."""

from __future__ import annotations

import difflib
import importlib
import typing

import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import SequenceForm
from tmdp_spiel.trees.tree_mdp import TreeMDP

GameLike: typing.TypeAlias = str | pyspiel.Game  # what load_game takes

GAME_STRINGS = {
    "kuhn": "kuhn_poker",
    "kuhn5": (
        "universal_poker(betting=limit,numPlayers=2,numRounds=1,blind=1 1,raiseSize=1 1,maxRaises=1 1,"
        "firstPlayer=1 1,numSuits=1,numRanks=5,numHoleCards=1,numBoardCards=0 0)"
    ),
    "leduc": "leduc_poker(suit_isomorphism=True)",
    "rbt": "python_rbt",
}

_TURN_BASED = "turn_based_simultaneous_game(game="
_REMARKS = {
    "leduc": (
        "leduc is leduc_poker(suit_isomorphism=True): the rules and payoffs of leduc_poker, but cards are numbered "
        "0 to 2 by rank instead of 0 to 5, and each player has 144 information states instead of 468. A bot, network "
        "or policy file made for leduc_poker plays a different policy here: give leduc_poker as the game."
    ),
}


def load_game(game: GameLike) -> pyspiel.Game:
    """The game, turn-based. Simultaneous moves are made sequential by OpenSpiel's converter.

    Args:
        game: `kuhn`, `kuhn5`, `leduc`, `rbt`, any OpenSpiel game string, or a pyspiel.Game. `leduc` is not
            `leduc_poker` but `leduc_poker(suit_isomorphism=True)`: cards are numbered by rank, without suits.

    Returns:
        The game as an OpenSpiel object.

    >>> import tmdp_spiel as ts
    >>> print(ts.load_game("kuhn"))
    kuhn_poker()
    """
    if isinstance(game, str):
        game = _load_named(game)
    elif not isinstance(game, pyspiel.Game):
        raise TypeError(f"a game is a name, an OpenSpiel game string or a pyspiel.Game, not {type(game).__name__}")
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def short_name_of(game: pyspiel.Game) -> str | None:
    """`kuhn`, `kuhn5`, `leduc` or `rbt`, if it is that game."""
    for short_name, string in GAME_STRINGS.items():
        if string.partition("(")[0] == game.get_type().short_name and str(pyspiel.load_game(string)) == str(game):
            return short_name
    return None


def game_title(game: pyspiel.Game) -> str:
    """The game's name: `leduc` for the game of that short name, otherwise OpenSpiel's name."""
    short_name = short_name_of(game)
    if short_name is not None and "(" in GAME_STRINGS[short_name]:
        return short_name
    return game_string(game).partition("(")[0]


def game_string(game: pyspiel.Game) -> str:
    """OpenSpiel's string of the game; of a simultaneous game that load_game made turn-based, its own string."""
    string = str(game)
    return string.removeprefix(_TURN_BASED).removesuffix(")") if string.startswith(_TURN_BASED) else string


def as_given(game: pyspiel.Game) -> str:
    """What load_game takes for the game, as short as it can be."""
    return game_string(game).removesuffix("()")


def game_remark(game: pyspiel.Game) -> str | None:
    """How the game differs from the one that its OpenSpiel name alone would mean; None if it does not."""
    return _REMARKS.get(short_name_of(game) or "")


def _load_named(name: str) -> pyspiel.Game:
    name = name.strip()
    short_name = name.partition("(")[0].strip()
    if short_name.startswith("python_"):
        importlib.import_module("open_spiel.python.games")  # registers them
    known = [*GAME_STRINGS, *pyspiel.registered_names()]
    if short_name not in known:
        near = difflib.get_close_matches(short_name, known, n=5, cutoff=0.5)
        hint = f"near matches: {', '.join(near)}" if near else f"short names: {', '.join(GAME_STRINGS)}"
        raise ValueError(f"no game is called {short_name!r}; {hint}, or any OpenSpiel game string")
    if short_name in GAME_STRINGS and name != short_name:
        full = GAME_STRINGS[short_name]
        raise ValueError(f"{short_name!r} takes no parameters; change those of the game string {full!r}")
    try:
        return pyspiel.load_game(GAME_STRINGS.get(name, name))
    except (pyspiel.SpielError, LookupError, ValueError) as error:
        raise ValueError(f"OpenSpiel cannot load {name!r}: {error}") from None


class Enumeration:
    """What a game may provide. None means that the game is enumerated by its histories, like other games."""

    def tree_mdp(
        self, game: pyspiel.Game, player: int, opponent: typing.Any, max_seconds: float | None = None
    ) -> TreeMDP | None:
        """The Tree MDP of a player against fixed opponents. max_seconds: the longest that querying them may take."""
        return None

    def infostate_tree(self, game: pyspiel.Game, player: int) -> InfostateTree | None:
        """The infostate tree by the rules alone."""
        return None

    def equilibrium(self, game: pyspiel.Game, iterations: int | None = None) -> policy_lib.Policy | None:
        """The best equilibrium that is included with the game, or an earlier one of the given number of iterations."""
        return None

    def solve(self, game: pyspiel.Game, iterations: int) -> policy_lib.Policy | None:
        """An approximate equilibrium by the game's own solver, after at most this many iterations."""
        return None

    def sequence_form(self, game: pyspiel.Game) -> SequenceForm | None:
        """The exact sequence form of a two-player game."""
        return None


_NONE = Enumeration()
_registered: dict[str, Enumeration] = {}


def register(short_name: str, enumeration: Enumeration) -> None:
    """Registers the enumeration for all games of this short name, whatever their parameters."""
    _registered[short_name] = enumeration


def enumeration_of(game: pyspiel.Game) -> Enumeration:
    """The enumeration of the game."""
    return _registered.get(game.get_type().short_name, _NONE)
