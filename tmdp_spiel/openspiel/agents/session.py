"""A learner that plays episodes step by step: one plan per episode, from whose end it learns."""

from __future__ import annotations

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE
from tmdp_spiel.trees.traversal import draw_sequence

_OWN_STREAM = 1  # apart from the environment's generator, which a run seeds with the learner's seed alone


class EpisodeSession:
    """Plays the learner's plan, or its recommendation when it is evaluated or has stopped, and records the path.

    An episode begins with the first decision, or with its end if there is none. The learner does not learn from an
    episode that includes an evaluation step or that does not end.
    """

    def __init__(self, learner: Learner):
        self.learner = learner
        self.rng = np.random.default_rng([learner.seed, _OWN_STREAM])
        self.abandon()

    def abandon(self) -> None:
        """Discards the current episode."""
        self._plan: np.ndarray | None = None
        self._learns = False
        self.last = self.learner.tree.root  # the own sequence that the episode has come to

    @property
    def under_way(self) -> bool:
        """Whether a decision has been made since the end of the last episode."""
        return self._plan is not None

    def starts_with(self, state: int) -> bool:
        """Whether the state is the first decision of an episode."""
        return self.learner.tree.parent[state] == self.learner.tree.root

    def act(self, state: int, evaluate: bool = False) -> tuple[int, np.ndarray]:
        """The action index to play at a state of the tree, and the probability of each of the state's actions."""
        tree = self.learner.tree
        if self.starts_with(state):
            self._begin(evaluate)
        elif tree.parent[state] != self.last:
            raise ValueError(
                f"state {state} cannot follow what player {tree.player} did in this episode; are these the states of "
                f"the game that its tree was made from?"
            )
        elif evaluate and self._learns:
            self._plan, self._learns = self.learner.recommend(), False
        assert self._plan is not None
        first, end = tree.first_sequence[state], tree.first_sequence[state + 1]
        if self._plan.dtype == PLAN_DTYPE:
            self.last = int(first + self._plan[state])
            probabilities = np.zeros(end - first)
            probabilities[self.last - first] = 1.0
        else:
            self.last = int(draw_sequence(tree.links, self._plan, state, self.rng.random()))
            probabilities = self._plan[first:end].copy()
        return int(self.last - first), probabilities

    def end(self, utility: float, evaluate: bool = False) -> None:
        """Ends the episode with this utility, in the game's units, and learns from it."""
        if not self.under_way:
            self._begin(evaluate)
        if self._learns and not evaluate:
            self.learner.learn(self.last, self.learner.tree.to_return(utility))
        self.abandon()

    def _begin(self, evaluate: bool) -> None:
        self._learns = not evaluate and not self.learner.stopped
        self._plan = self.learner.plan() if self._learns else self.learner.recommend()
        self.last = self.learner.tree.root
