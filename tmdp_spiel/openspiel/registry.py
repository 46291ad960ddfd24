"""The registry of games that have their own enumeration or an equilibrium."""

from __future__ import annotations

import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import SequenceForm
from tmdp_spiel.trees.tree_mdp import TreeMDP


class Enumeration:
    """What a game may provide. None means that the game is enumerated by its histories, like other games."""

    def tree_mdp(self, game: pyspiel.Game, player: int, opponent, max_seconds: float | None = None) -> TreeMDP | None:
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
