"""The common part of the exact games of this package: a sequence form whose states can be passed to an agent."""

from __future__ import annotations

import abc

import numpy as np

from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import SequenceForm


class ExactGame(SequenceForm):
    """A sequence form that also makes OpenSpiel's tensors of information states, in batches.

    tensor_kind:      "information_state_tensor", or "observation_tensor" if OpenSpiel has no other
    leading_one_hots: the number of entries at the beginning of a tensor that identify the player
    symmetric:        whether the trees of both players have the same arrays, including endings
    """

    symmetric = True

    tensor_kind = "information_state_tensor"
    leading_one_hots = 4  # of the turn-based conversion: whose turn it is, and who observes

    def __init__(self, trees: tuple[InfostateTree, InfostateTree], payoffs):
        super().__init__(trees, payoffs)
        for player, tree in enumerate(trees):
            if player == 0 or not self.symmetric:
                number = self._count_terminals(player)
            tree.num_terminals = tree.num_merged_terminals = number

    def _count_terminals(self, player: int) -> int:
        """Pairs of a player's last sequence and a possible return after it: where a gradient of ones is positive."""
        ones = np.ones(self.trees[1 - player].sequence_end)
        out = np.empty(self.trees[player].sequence_end)
        kinds = np.eye(self.payoffs.shape[1])  # each pays something else
        return sum(int(np.count_nonzero(self.gradient(player, ones, kind, out) > 0)) for kind in kinds)

    @property
    @abc.abstractmethod
    def tensor_width(self) -> int:
        """The length of a tensor."""

    @abc.abstractmethod
    def tensors(self, player: int, states: np.ndarray) -> np.ndarray:
        """float32[len(states), tensor_width]: OpenSpiel's tensors at these information states."""

    @abc.abstractmethod
    def history(self, player: int, state: int) -> list[int]:
        """The actions of one history, chance included, that leads to an information state."""
