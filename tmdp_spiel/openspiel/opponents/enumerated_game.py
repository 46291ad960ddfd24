"""Episodes against live opponents, on the tree that the rules alone give.

The rules of a small game are known even if the opponents are not. So its infostate tree can be enumerated, and bounds
need not allow for states that have not been visited yet.
"""

from __future__ import annotations

import functools
import math
import time
import types

import numpy as np

from tmdp_spiel.algorithms.betting_on_values import BettingOnValues
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.algorithms.path_learner import PathLearner
from tmdp_spiel.openspiel.opponents.live_game import LiveGame, largest_round
from tmdp_spiel.trees.infostate_tree import InfostateTree, string_with_actions
from tmdp_spiel.trees.lazy_tree import OUTSIDE, LazyTree
from tmdp_spiel.trees.traversal import ROOT

_CAREFUL = 0.9  # share of the time left that episodes are foreseen for


class EnumeratedTreeView:
    """An enumerated tree with the methods of a LazyTree."""

    new_states = 0
    names = types.SimpleNamespace(ambiguous=False)

    def __init__(self, tree: InfostateTree):
        self.tree, self.num_states = tree, tree.num_states
        self.first_of = tree.first_sequence.tolist()

    def find(self, sequence: int, string: str, legal: tuple[int, ...]) -> int:
        """The state after a sequence with this string and these legal actions; OUTSIDE if there is none."""
        tree = self.tree
        number = tree.state_after(sequence, string)
        if number is not None and tuple(tree.legal_actions(number).tolist()) != legal:
            number = tree.state_after(sequence, string_with_actions(string, legal))
        return OUTSIDE if number is None else number

    get_or_add = find

    def end(self, sequence: int) -> None:
        """Does nothing: it is known where episodes can end."""


class EnumeratedGame(LiveGame):
    """As LiveGame, on an enumerated tree; learners may also play mixed plans.

    Args:
        tree: from build_infostate_tree, for the same game and player.
        Others: as for LiveGame.
    """

    _began_at: float | None = None  # when learning began; _learned_from: how many episodes were learned from since then
    _learned_from = 0

    def _checked_tree(self, tree):
        if tree is None or isinstance(tree, LazyTree) or tree.player != self.player:
            raise ValueError(f"an enumerated tree of player {self.player} is needed, not {tree!r}")
        return tree

    def _view_of_tree(self) -> EnumeratedTreeView:
        return EnumeratedTreeView(self.tree)

    def play(self, learner: Learner, number: int) -> int:
        """Lets the learner play and learn; returns how many episodes it played, fewer if an opponent failed.

        A failed episode is counted, as the worst outcome that it could have had (`observe_failed`), because failures
        may depend on the cards. A learner that learns from whole histories (`learn_actions`) cannot do this. It ends
        before the failed episode, where its anytime bounds hold, and must not learn from later episodes.
        """
        if learner.tree is not self.tree:
            raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {self.tree!r}")
        self._foresee(learner)
        before = learner.episodes
        played = (
            self._play_one_by_one(learner, number) if self._batched is None else self._play_batches(learner, number)
        )
        self._learned_from += learner.episodes - before
        return played

    def _foresee(self, learner: Learner) -> None:
        """Tells the learner about how many episodes there will be in all, if it is to know and that is limited."""
        if not hasattr(learner, "expect"):
            return
        now, expected = time.perf_counter(), float(self.last_episode)
        if self._began_at is None:
            self._began_at = now
        elif self._learned_from > 0 and self.deadline < math.inf:
            left = _CAREFUL * max(self.deadline - now, 0.0)
            expected = min(expected, learner.episodes + self._learned_from * left / (now - self._began_at))
        if expected < math.inf:
            learner.expect(expected)

    def _play_one_by_one(self, learner: Learner, number: int) -> int:
        choose, known, plan = None, self.tree.num_states, None
        for played in range(number):
            if self._has_stopped:
                return played
            if isinstance(learner, PathLearner):
                choose = learner.action_selector(self._random.random) if choose is None else choose
            else:
                now = learner.plan()
                if plan is None or not np.array_equal(plan, now):
                    plan = now
                    choose, known = self._follow(plan)
            if hasattr(learner, "learn_actions"):
                if not self._learns_from_whole_episode(learner, choose, known):
                    return played
                continue
            ended_on, utility, left = self._episode(choose, known, self._view.find)
            self._check_inside(left)
            self._learn_from(learner, [(ended_on, utility)])
        return number

    def _learns_from_whole_episode(self, learner: Learner, choose, known: int) -> bool:
        """Plays an episode, and lets the learner learn from all moves of it; False if an opponent failed."""
        state, deadline = self.game.new_initial_state(), self.deadline
        self.deadline = math.inf  # an episode that was cut off could not be settled, and leaving it out could mislead
        ended_on, utility, left = self._play_on(state, ROOT, choose, known, self._view.find)
        self.deadline = deadline
        self._check_inside(left)
        if utility is None:
            return False
        learner.learn_actions(state.history())  # type: ignore[attr-defined]
        if self.watch is not None:
            self.watch(ended_on, self.tree.to_return(utility), False, self.tree.num_states)
        return True

    def _play_batches(self, learner: Learner, number: int) -> int:
        """Plays a round of episodes, and learns from them when all of them have ended."""
        played = 0
        while played < number and not self._has_stopped:
            size = min(number - played, largest_round(self._batched.in_flight, learner.episodes))
            if isinstance(learner, PathLearner):
                selectors = learner.action_selectors(size)
            elif isinstance(learner, BettingOnValues):
                selectors = functools.partial(_same, self._follow(learner.plan())[0])
            else:
                raise TypeError(f"{type(learner).__name__} cannot play in rounds")
            ended = self._round(selectors, self.tree.num_states, size)
            self._check_inside(any(steps for _, steps, _, _ in ended))
            self._learn_from(learner, [(sequence, utility) for sequence, _, utility, _ in ended])
            played += size
        return played

    def _check_inside(self, left: bool) -> None:
        if left:
            raise ValueError(
                f"an episode of {self.game} reached a state that was not found when the rules were enumerated"
            )

    def _learn_from(self, learner: Learner, episodes: list[tuple[int, float | None]]) -> None:
        """Lets the learner, and the observer if there is one, learn from episodes that one policy played.

        episodes: the sequence that each ended on, and its utility; None if an opponent failed.
        """
        values = [None if utility is None else self.tree.to_return(utility) for _, utility in episodes]
        pairs = [(ended_on, value) for (ended_on, _), value in zip(episodes, values)]
        if isinstance(learner, BettingOnValues):
            learner.observe_round(pairs)
        else:
            for ended_on, value in pairs:
                if value is not None and isinstance(learner, PathLearner):
                    learner.observe(ended_on, value)
                elif value is not None:
                    learner.learn(ended_on, value)
                elif isinstance(learner, PathLearner):
                    learner.observe_failed(ended_on)
                else:
                    raise TypeError(
                        f"{type(learner).__name__} cannot learn from an episode that the opponent failed in: "
                        f"{self.first_error}"
                    )
        if self.watch is not None:
            for ended_on, value in pairs:
                if not self._was_cut_off(value):
                    self.watch(ended_on, 0.0 if value is None else value, False, self.tree.num_states)


def _same(choose, draw):
    """The action selector, which is the same for every episode of a round."""
    return choose
