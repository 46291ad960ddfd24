"""A plan of a tree as an OpenSpiel bot."""

from __future__ import annotations

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.infostates import InfostateLocator, sequence_of
from tmdp_spiel.trees.infostate_tree import InfostateTree


class PlanBot(pyspiel.Bot):
    """Plays a plan; at states that are not in the tree, a uniformly random legal action."""

    def __init__(self, game: pyspiel.Game, tree: InfostateTree, plan: np.ndarray, rng: np.random.Generator):
        super().__init__()
        self._tree, self._plan, self._rng = tree, np.asarray(plan), rng
        self._locator = InfostateLocator(tree, game)
        self._sequence: int | None = tree.root  # the last own one; None once the plan has been left

    def step(self, state):
        tree, number = self._tree, None
        if self._sequence is not None:
            number = self._locator.state_after(self._sequence, state)
        index = None if number is None else self._index(number)
        if number is None or index is None:
            self._sequence = None
            return int(self._rng.choice(state.legal_actions()))
        action = int(tree.legal_actions(number)[index])
        self._sequence = sequence_of(tree, number, action)
        return action

    def _index(self, number: int) -> int | None:
        """The action index at a state; None if the plan was made before the state was added to the tree."""
        first, end = int(self._tree.first_sequence[number]), int(self._tree.first_sequence[number + 1])
        if np.issubdtype(self._plan.dtype, np.integer):
            return int(self._plan[number]) if number < len(self._plan) else None
        if end > len(self._plan):
            return None
        return int(self._rng.choice(end - first, p=self._plan[first:end] / self._plan[first:end].sum()))

    def restart(self):
        self._sequence = self._tree.root

    def restart_at(self, state):
        self.restart()

    def inform_action(self, state, player_id, action):
        pass
