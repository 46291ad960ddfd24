"""RBT in sequence form: the trees of x and o, and the gradient with the senses factored out."""

from __future__ import annotations

import numpy as np

from tmdp_spiel.games.rbt import passes
from tmdp_spiel.games.rbt.game import RBTGame
from tmdp_spiel.games.rbt.policy import ArrayPolicy, SupportPolicy
from tmdp_spiel.games.rbt.restricted import restricted_enumeration
from tmdp_spiel.games.rbt.structure import Enumeration
from tmdp_spiel.games.rbt.tree import enumeration, infostate_tree
from tmdp_spiel.openspiel.opponents.fixed import answers_as
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import SequenceForm, restrict_tree

_PAYOFFS = ((1.0, 0.0, -1.0), (-1.0, 0.0, 1.0))  # of x and of o, where x wins, nobody wins, o wins


class RBTForm(SequenceForm):
    """The sequence form of RBT."""

    def __init__(self, trees: tuple[InfostateTree, InfostateTree], enumerated: Enumeration):
        super().__init__(trees, _PAYOFFS)
        self.enumerated = enumerated

    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        x_wins, drawn, o_wins = (float(value) for value in payoff)
        utilities = passes.Utilities(o_wins, drawn, x_wins) if player == 0 else passes.Utilities(x_wins, drawn, o_wins)
        weights = passes.move_weights(self.enumerated, 1 - player, reach)
        passes.ending_values(self.enumerated, player, weights, utilities, out)

    def restricted(self, kept) -> tuple[SequenceForm, tuple[np.ndarray, np.ndarray]]:
        first, second = (restrict_tree(tree, mask) for tree, mask in zip(self.trees, kept))
        enumerated = restricted_enumeration(self.enumerated, (first, second))
        return RBTForm((first.tree, second.tree), enumerated), (first.sequences, second.sequences)

    def table_of(self, player: int, agent) -> np.ndarray | None:
        if not answers_as(agent, ArrayPolicy, SupportPolicy):
            return None
        return self.check_policy(player, agent.plan(player, self.enumerated.trees[player]))


def rbt_form(game: RBTGame) -> RBTForm:
    """The sequence form of RBT; its trees are memory-mapped from the cache directory."""
    return RBTForm((infostate_tree(game, 0), infostate_tree(game, 1)), enumeration(game))
