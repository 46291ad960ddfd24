"""Reconnaissance Blind Tic-Tac-Toe: the game, its enumeration, and its equilibrium."""

from __future__ import annotations

from tmdp_spiel.games.rbt.game import SHORT_NAME, RBTGame
from tmdp_spiel.openspiel import games
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import SequenceForm
from tmdp_spiel.trees.tree_mdp import TreeMDP


class _RBTEnumeration(games.Enumeration):
    """Imports modules on demand, so that opening the included policy does not load the solver."""

    def tree_mdp(self, game: RBTGame, player: int, opponent, max_seconds: float | None = None) -> TreeMDP | None:
        """The Tree MDP; from a late start, which is small, also against other opponents than those supported here."""
        from tmdp_spiel.games.rbt import tree

        if game.start and not tree.knows_opponent(player, opponent):
            return None
        return tree.build_tree_mdp(game, player, opponent)

    def infostate_tree(self, game: RBTGame, player: int) -> InfostateTree:
        from tmdp_spiel.games.rbt import tree

        return tree.infostate_tree(game, player)

    def equilibrium(self, game: RBTGame, iterations: int | None = None):
        """The shipped ones are of the whole game with its own rules; a late start is solved like any other game."""
        if game.start:
            return None
        from tmdp_spiel.games.rbt import policy_file

        policy = policy_file.shipped(iterations)
        if policy.facts["game"] != str(game):
            raise ValueError(
                f"the included equilibrium is of {policy.facts['game']}; solve {game} with experiments.solve_rbt"
            )
        return policy

    def sequence_form(self, game: RBTGame) -> SequenceForm:
        from tmdp_spiel.games.rbt import form

        return form.rbt_form(game)


games.register(SHORT_NAME, _RBTEnumeration())
