"""Episodes against opponents who are played with, on the tree that the rules alone give.

The rules of a small game are known even where the opponents are not, so its infostate tree can be enumerated, and
bounds need not allow for states that have not been met.
"""

from __future__ import annotations

import types

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.algorithms.path_learner import PathLearner
from tmdp_spiel.openspiel.opponents.live_game import LiveGame
from tmdp_spiel.trees.infostate_tree import InfostateTree, string_with_actions
from tmdp_spiel.trees.lazy_tree import OUTSIDE, ROOT, LazyTree


class EnumeratedTreeView:
    """An enumerated tree with the numbers and methods of a LazyTree: the root is sequence 0, others are one more."""

    new_states = 0
    names = types.SimpleNamespace(ambiguous=False)

    def __init__(self, tree: InfostateTree):
        self.tree, self.num_states = tree, tree.num_states
        self.first_of = (tree.first_sequence + 1).tolist()

    def find(self, sequence: int, string: str, legal: tuple[int, ...]) -> int:
        """The state after a sequence, told by its string and legal actions; OUTSIDE if there is none."""
        tree, before = self.tree, self.sequence(sequence)
        number = tree.state_after(before, string)
        if number is not None and tuple(tree.legal_actions(number).tolist()) != legal:
            number = tree.state_after(before, string_with_actions(string, legal))
        return OUTSIDE if number is None else number

    get_or_add = find

    def end(self, sequence: int) -> None:
        """Nothing to note: where episodes can end is known."""

    def sequence(self, number: int) -> int:
        """The number that the tree itself gives the sequence."""
        return self.tree.root if number == ROOT else number - 1


class EnumeratedGame(LiveGame):
    """As LiveGame, on an enumerated tree; learners may also be such that play a mixed plan.

    Args:
        tree: from build_infostate_tree, for the same game and player.
        Others: as LiveGame.
    """

    def _checked_tree(self, tree):
        if tree is None or isinstance(tree, LazyTree) or tree.player != self.player:
            raise ValueError(f"this needs an enumerated tree of player {self.player}, not {tree!r}")
        return tree

    def _view_of_tree(self) -> EnumeratedTreeView:
        return EnumeratedTreeView(self.tree)

    def _sequence_in_tree(self, sequence):
        return self._view.sequence(sequence)

    def play(self, learner: Learner, number: int) -> int:
        """Lets the learner play and learn; returns how many episodes it played, fewer if an opponent failed."""
        if learner.tree is not self.tree:
            raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {self.tree!r}")
        choose, known, plan = None, self.tree.num_states, None
        for played in range(number):
            if isinstance(learner, PathLearner):
                choose = learner.action_selector(self._random.random) if choose is None else choose
            else:
                now = learner.plan()
                if plan is None or not np.array_equal(plan, now):
                    plan = now
                    choose, known = self._follow(plan)
            ended_on, utility, left = self._episode(choose, known, self._view.find)
            if left:
                raise ValueError(
                    f"an episode of {self.game} came to a state that the rules did not give when they were enumerated"
                )
            if utility is None:
                # Not learned from: bounds that hold at all times hold at this one. No more episodes are played.
                return played
            ended_on, value = self._view.sequence(ended_on), self.tree.to_return(utility)
            learner.learn(ended_on, value)
            if self.watch is not None:
                self.watch(ended_on, value, False, self.tree.num_states)
        return number
