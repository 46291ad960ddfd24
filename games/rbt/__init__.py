"""Reconnaissance Blind Tic-Tac-Toe: the game, its enumeration, and its equilibrium."""

from tmdp_spiel.games.rbt import game as _game
from tmdp_spiel.spiel import enumerations


class _Enumeration(enumerations.Enumeration):
    """Everything is imported when it is asked for, so that to open the shipped policy loads no solver."""

    def tree_mdp(self, game, player, opponent):
        from tmdp_spiel.games.rbt import tree

        if game.start and not tree.knows_opponent(player, opponent):
            return None
        return tree.build_tree_mdp(game, player, opponent)

    def decision_tree(self, game, player):
        from tmdp_spiel.games.rbt import tree

        return tree.decision_tree(game, player)

    def equilibrium(self, game):
        if game.start:
            return None
        from tmdp_spiel.games.rbt import cfr_plus

        policy = cfr_plus.shipped_policy()
        if policy.facts["game"] != str(game):
            raise ValueError(
                f"the equilibrium that ships is of {policy.facts['game']}; solve {game} with experiments.solve_rbt"
            )
        return policy


enumerations.register(_game.SHORT_NAME, _Enumeration())
