"""What every learner can do, and what it may know: a DecisionTree and the episodes it played."""

from __future__ import annotations

import abc
import math

import numpy as np

from tmdp_spiel.planning.plain import state_of
from tmdp_spiel.trees.decision_tree import PLAN_DTYPE, DecisionTree
from tmdp_spiel.trees.tree_mdp import TreeMDP


class Learner(abc.ABC):
    """Learns a best response in episodes.

        while not learner.stopped:
            ended_on, value = ...  # play learner.plan() for one episode
            learner.learn(ended_on, value)

    plan() does not change until learn() is called. A learner can be pickled at any time and goes on identically.
    """

    def __init__(self, tree: DecisionTree, seed: int):
        if not isinstance(tree, DecisionTree):
            raise TypeError(f"a learner is made from a DecisionTree (mdp.tree), not from a {type(tree).__name__}")
        if tree.num_states == 0:
            raise ValueError(f"player {tree.player} never decides anything in this game: there is nothing to learn")
        if isinstance(seed, bool) or int(seed) != seed or seed < 0:
            raise ValueError(f"seed must be a whole number of at least 0, not {seed}")
        self.tree = tree
        self.seed = int(seed)
        self.episodes = 0

    @abc.abstractmethod
    def plan(self) -> np.ndarray:
        """The policy for the next episode: one action index per state, or one probability per sequence."""

    def learn(self, ended_on: int, value: float) -> None:
        """Takes in an episode of plan(): the sequence it ended on (num_sequences: before any own decision), its return in [0, 1]."""
        ended_on, value = self._checked(ended_on, value)
        self._update(ended_on, value)
        self.episodes += 1

    @abc.abstractmethod
    def _update(self, ended_on: int, value: float) -> None:
        """Takes in a checked episode."""

    @abc.abstractmethod
    def recommend(self) -> np.ndarray:
        """The policy that the learner would be judged on now."""

    @property
    def stopped(self) -> bool:
        """Whether the learner has reached the certainty it was asked for."""
        return False

    @abc.abstractmethod
    def _play(self, mdp: TreeMDP, rng: np.random.Generator, episodes: int) -> tuple[int, float]:
        """Plays up to that many episodes, compiled: (episodes played, summed value of the played policies in [0, 1])."""

    def play(self, mdp: TreeMDP, rng: np.random.Generator, episodes: int) -> tuple[int, float]:
        """Plays episodes against the environment; stops early only if the learner does.

        Returns the episodes played and their regret in exact expectation, in utility units. The episodes are those
        that plan(), mdp.sample(plan, rng) and learn() would give one by one.
        """
        played, total = self._play(mdp, rng, episodes)
        self.episodes += played
        return played, (played * mdp.scaled_best_value - total) * self.tree.utility_range

    def recommended_value(self, mdp: TreeMDP) -> float:
        """The exact value of recommend(), in utility units."""
        return mdp.value(self.recommend())

    def _checked(self, ended_on: int, value: float) -> tuple[int, float]:
        tree = self.tree
        value = float(value)
        if not (math.isfinite(value) and 0.0 <= value <= 1.0):
            raise ValueError(f"the return of an episode must be rescaled to [0, 1], not {value}")
        if int(ended_on) != ended_on or not 0 <= ended_on <= tree.num_sequences:
            raise ValueError(
                f"an episode ends on a sequence 0 .. {tree.num_sequences - 1}, or on the root {tree.num_sequences}, "
                f"not on {ended_on}"
            )
        ended_on = int(ended_on)
        can_end = tree.root_can_end if ended_on == tree.num_sequences else tree.can_end[ended_on]
        if not can_end:
            raise ValueError(f"no episode can end on sequence {ended_on}")
        plan, sequence = self.plan(), ended_on
        while sequence != tree.num_sequences:
            state = state_of(tree.links, sequence)
            index = sequence - tree.first_sequence[state]
            if (plan[state] != index) if plan.dtype == PLAN_DTYPE else (plan[sequence] <= 0):
                raise ValueError(
                    f"the current plan cannot end on sequence {ended_on}: it does not take action index {index} at "
                    f"state {state}"
                )
            sequence = int(tree.parent[state])
        return ended_on, value
