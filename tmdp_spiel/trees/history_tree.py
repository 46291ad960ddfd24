"""All histories of a game by its rules: who is to act, the probabilities of chance, and the returns of the ends.

An InfostateTree contains what one player can distinguish. A history tree contains everything that is known about an
episode after it has ended and all hidden information is revealed. It does not depend on how anybody plays.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Sequence

import numba
import numpy as np

from tmdp_spiel.trees.sequence_form import tree_levels

CHANCE, OTHER, OWN, END = range(4)

# What compiled kernels see. Histories are numbered such that parents come before children. Among histories after the
# same number of decisions of the player, those at which the player is to act come last.
# kind: int8[N], one of the above;  first_move: int32[N + 1];  child: int32[N - 1], the histories after the moves of a
# history, moves first_move[h] .. first_move[h + 1];  action: int32[N], the game's last action;
# slot: int32[N], the state of a node of the player, the first answer's number of a node of another player;
# move: int32[N], the sequence after a move of the player, the answer's number after a move of another player;
# chance: float64[N], the probability of the last move if it was chance's, otherwise 1;  value: float64[N], the return
# of an end in [0, 1], otherwise 0;
# own_first, own_end: int32[D], the player's nodes at depth d, after d decisions of the player;  first_state:
# int32[D + 1], the player's states likewise;  first_answer: int32[I + 1], the answers of each state of the others
Histories = collections.namedtuple(
    "Histories",
    [
        "kind",
        "first_move",
        "child",
        "action",
        "slot",
        "move",
        "chance",
        "value",
        "own_first",
        "own_end",
        "first_state",
        "first_answer",
    ],
)


class HistoryTree:
    """The histories of a game, for one player.

    tree: the InfostateTree of the player, whose numbers `histories` uses.
    """

    def __init__(self, tree, histories: Histories):
        self.tree, self.histories = tree, histories

    @functools.cached_property
    def longest(self) -> int:
        """The largest number of histories in one episode, the empty one included."""
        return int(_longest(self.histories))

    def nodes_of(self, actions: Sequence[int]) -> np.ndarray:
        """The histories of an episode, given by its actions; raises an error if the rules do not allow it."""
        nodes = _nodes_of(self.histories, np.array(actions, np.int64))
        if len(nodes) <= len(actions) or self.histories.kind[nodes[-1]] != END:
            raise ValueError(f"{list(actions)} is not an episode by the rules of {self.tree.game_string or 'the game'}")
        return nodes

    def __len__(self) -> int:
        return len(self.histories.kind)


@numba.njit(cache=True)
def _longest(histories):
    left = np.ones(len(histories.kind), np.int64)
    for h in range(len(left) - 1, -1, -1):
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            left[h] = max(left[h], left[histories.child[at]] + 1)
    return left[0]


@numba.njit(cache=True)
def _nodes_of(histories, actions):
    """The histories of an episode, up to the first action that the rules do not allow."""
    nodes = np.zeros(len(actions) + 1, np.int32)
    for k in range(len(actions)):
        for at in range(histories.first_move[nodes[k]], histories.first_move[nodes[k] + 1]):
            if histories.action[histories.child[at]] == actions[k]:
                nodes[k + 1] = histories.child[at]
        if nodes[k + 1] == 0:
            return nodes[: k + 1]
    return nodes


def arranged(tree, kind, parent, action, slot, move, chance, value, first_answer) -> HistoryTree:
    """Numbers histories as kernels need them. They are given with parents first; the first one has no parent."""
    kind, parent = np.array(kind, np.int8), np.array(parent, np.int64)
    number = len(kind)
    depth, decisions = np.zeros(number, np.int64), np.zeros(number, np.int64)
    for h in range(1, number):
        above = parent[h]
        depth[h] = depth[above] + 1
        decisions[h] = decisions[above] + (kind[above] == OWN)
    order = np.lexsort((depth, kind == OWN, decisions))
    new = np.empty(number, np.int64)
    new[order] = np.arange(number)
    above = new[parent[order][1:]] if number > 1 else np.empty(0, np.int64)
    first_move = np.zeros(number + 1, np.int32)
    np.add.at(first_move, above + 1, 1)
    most = int(decisions.max(initial=0)) + 1
    own = kind[order] == OWN
    own_first, own_end = np.zeros(most, np.int32), np.zeros(most, np.int32)
    for at in range(most):
        found = np.flatnonzero(own & (decisions[order] == at))
        if len(found):
            own_first[at], own_end[at] = found[0], found[-1] + 1
    return HistoryTree(
        tree,
        Histories(
            kind=kind[order],
            first_move=np.cumsum(first_move, dtype=np.int32),
            # The sequences of a state, and the answers at a state of another player, keep their order.
            child=(1 + np.lexsort((np.array(move)[order][1:], above))).astype(np.int32),
            action=np.array(action, np.int32)[order],
            slot=np.array(slot, np.int32)[order],
            move=np.array(move, np.int32)[order],
            chance=np.array(chance, np.float64)[order],
            value=np.array(value, np.float64)[order],
            own_first=own_first,
            own_end=own_end,
            first_state=_states_by_depth(tree, most),
            first_answer=np.array(first_answer, np.int32),
        ),
    )


def _states_by_depth(tree, most: int) -> np.ndarray:
    """Where the player's states after 0, 1, ... decisions begin; in level order they follow one another."""
    starts = tree_levels(tree).level_start
    return np.append(starts, np.full(most + 1 - len(starts), tree.num_states)).astype(np.int32)
