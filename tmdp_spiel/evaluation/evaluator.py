"""Plays learners against a Tree MDP, and measures them: exact regret, exact value gap, returns of fresh episodes.

A learner must not know true values, so they are stored here and not in the learner.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
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


class KnownOpponent:
    """An opponent whose policy is known: episodes are drawn from the Tree MDP, compiled."""

    least_piece, failures, first_error, on_error = 1, 0, None, "raise"
    deadline = last_episode = math.inf  # looked at by live games; episodes take no time here

    def __init__(self, mdp: TreeMDP, seed: int = 0):
        if mdp.queries is not None:
            raise ValueError(
                f"this tree describes the average of {mdp.queries} answers per state, not the bot that gave them, so a "
                "certificate would not hold for the bot; play the bot live"
            )
        self.mdp, self.tree = mdp, mdp.tree
        self.generator = np.random.default_rng(seed)
        self._evaluator: Evaluator | None = None

    def play(self, learner: Learner, number: int) -> int:
        """Lets the learner play and learn; returns how many episodes it played."""
        if self._evaluator is None or self._evaluator.learner is not learner:
            self._evaluator = Evaluator(learner, self.mdp)
        return self._evaluator.play(self.generator, number)[0]

    def close(self) -> None:
        """Does nothing."""

    def measure(self, plan: np.ndarray, number: int) -> np.ndarray:
        """Returns in [0, 1] of fresh episodes of a plan, deterministic or mixed."""
        plan = self.tree.check_plan(plan)
        returns_of = _returns if plan.dtype == PLAN_DTYPE else _mixed_returns
        return returns_of(self.tree.links, self.mdp.chances, plan, self.generator, number)


def check_same_tree(learner: Learner, other: InfostateTree) -> None:
    """Raises an error if the learner was made for another tree."""
    if not isinstance(learner, Learner):
        what = f"the class {learner.__name__}" if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise TypeError(f"what plays must be a learner, such as UCBT(mdp.tree), not {what}")
    if not learner.tree.has_the_states_of(other):
        raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {other!r}")


@numba.njit(cache=True)
def _returns(links, chances, plan, rng, number):
    returns = np.empty(number)
    for episode in range(number):
        _, outcome = traversal.sample_deterministic(links, chances, plan, rng.random())
        returns[episode] = chances.outcome_return[outcome]
    return returns


@numba.njit(cache=True)
def _mixed_returns(links, chances, probabilities, rng, number):
    returns = np.empty(number)
    for episode in range(number):
        _, outcome = traversal.sample_mixed(links, chances, probabilities, rng)
        returns[episode] = chances.outcome_return[outcome]
    return returns
