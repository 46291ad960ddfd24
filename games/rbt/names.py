"""The information-state strings of RBT's trees, computed from the arrays to save the memory of ten million strings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tmdp_spiel.games.rbt import game as rbt
from tmdp_spiel.games.rbt.structure import PlayerTree
from tmdp_spiel.trees.traversal import ROOT


class RBTNames:
    """Maps the states of one player's tree to information-state strings and back, by walking up or down the tree."""

    def __init__(self, tree: PlayerTree, player: int, start: tuple[int, ...]):
        self._tree, self._player = tree, player
        self._first_marks = start[player::2]

    def string(self, state: int) -> str:
        tree = self._tree
        steps = []
        while (j := int(tree.parent[state])) != ROOT:
            steps.append((int(tree.action[j]), int(tree.observation[state])))
            state = self._state_of(j)
        own = set(self._first_marks)
        history: list[int | tuple[int, str]] = []
        for action, observation in reversed(steps):
            if action < rbt.FIRST_SENSE:
                own.add(action)
                history.append(action)
            else:
                window = action - rbt.FIRST_SENSE
                history.append((window, self._shown(window, observation, own)))
        return rbt.history_string(self._player, history)

    def _state_of(self, sequence: int) -> int:
        """The state of a sequence: the last state that begins at or before it."""
        return int(self._tree.first_sequence.searchsorted(np.int32(sequence), side="right")) - 1

    def _shown(self, window: int, observation: int, own: set[int]) -> str:
        return "".join(
            rbt.MARKS[1 - self._player]
            if (observation >> b) & 1
            else rbt.MARKS[self._player]
            if square in own
            else rbt.EMPTY
            for b, square in enumerate(rbt.WINDOWS[window])
        )

    def index(self, string: str) -> int:
        try:
            player, history = rbt.parse_history_string(string)
        except ValueError as error:
            raise KeyError(str(error)) from None
        if player != self._player:
            raise KeyError(
                f"{string!r} is a state of {rbt.MARKS[player]}; this is the tree of {rbt.MARKS[self._player]}"
            )
        state = self._follow(history)
        if state is None or self.string(state) != string:
            raise KeyError(f"no legal play leads to the information state {string!r}")
        return state

    def _follow(self, history: Iterable[int | tuple[int, str]]) -> int | None:
        state = 0
        for entry in history:
            child = self._child(state, entry)
            if child is None:
                return None
            state = child
        return state

    def _child(self, state: int, entry: int | tuple[int, str]) -> int | None:
        tree = self._tree
        action, observation = rbt.action_and_observation(self._player, entry)
        for j in range(tree.first_sequence[state], tree.first_sequence[state + 1]):
            if tree.action[j] == action:
                for child in range(tree.first_child[j], tree.first_child[j + 1]):
                    if tree.observation[child] == observation:
                        return child
        return None
