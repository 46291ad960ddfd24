"""Measures a learner: its exact regret while it plays, and the exact value gap of its recommendation.

A learner must not know true values, so they are stored here and not in the learner.
"""

from __future__ import annotations

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP


class Evaluator:
    """Plays a learner against an environment and measures it, in the game's utility units.

    best_value: V(pi*), the value of a best response.

    The learner's compiled loop updates the true values of its policy as it plays. They are stored here between two
    calls of the loop, and recomputed if the learner has learned elsewhere in the meantime.
    """

    def __init__(self, learner: Learner, mdp: TreeMDP):
        if not isinstance(mdp, TreeMDP):
            raise TypeError(f"a learner is played against a TreeMDP, as build_tree makes, not a {type(mdp).__name__}")
        check_same_tree(learner, mdp.tree)
        self.learner, self.mdp = learner, mdp
        self.best_value = float(mdp.to_utility(mdp.scaled_best_value))
        self._values = None
        self._valued_after: int | None = None  # the learner's episodes when the values were right

    def play(self, rng: np.random.Generator, episodes: int) -> tuple[int, float]:
        """Lets the learner play the given number of episodes, or fewer if it stops.

        Returns how many it played, and their regret: the sum of V(pi*) - V(pi^t), in exact expectation. The episodes
        are the same as with plan(), mdp.sample(plan, rng) and learn() one by one.
        """
        values = self._current_values()
        self._valued_after = None
        played, total = self.learner.play(self.mdp, values, rng, episodes)
        self._valued_after = self.learner.episodes
        return played, self.mdp.tree.to_utility_difference(played * self.mdp.scaled_best_value - total)

    def recommended_value(self) -> float:
        """The exact value of learner.recommend()."""
        return self.learner.recommended_value(self.mdp, self._current_values())

    def value_gap(self) -> float:
        """V(pi*) - V(learner.recommend()), exactly."""
        return max(self.best_value - self.recommended_value(), 0.0)

    @property
    def values(self):
        """The stored true values; an evaluator that continues with them computes bit-identical sums."""
        return self._current_values()

    def set_values(self, values) -> None:
        """Restores values that were saved when the learner was in its current state."""
        self._values, self._valued_after = values, self.learner.episodes

    def _current_values(self):
        if self._valued_after != self.learner.episodes:
            self._values = self.learner.init_values(self.mdp)
            self._valued_after = self.learner.episodes
        return self._values


def check_same_tree(learner: Learner, other: InfostateTree) -> None:
    """Raises an error if the learner was made for another tree."""
    if not isinstance(learner, Learner):
        what = f"the class {learner.__name__}" if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise TypeError(f"what plays must be a learner, such as UCBT(mdp.tree), not {what}")
    if not learner.tree.has_the_states_of(other):
        raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {other!r}")
