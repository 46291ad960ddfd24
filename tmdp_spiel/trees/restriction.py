"""A game in which the players have only some of their sequences."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import tree_levels
from tmdp_spiel.trees.traversal import ROOT


@dataclasses.dataclass(frozen=True)
class Restriction:
    """Some of the sequences of a tree, with the states that they reach, as a tree of their own.

    sequences, states: their numbers in the whole tree, ascending
    tree:              they alone, in the same order, without names
    """

    sequences: np.ndarray
    states: np.ndarray
    tree: InfostateTree


def restrict_tree(tree: InfostateTree, kept: np.ndarray) -> Restriction:
    """The restriction to the kept sequences whose ancestors are kept.

    kept: bool[J + 1], not changed; at every state that is reached, one sequence must be kept.
    """
    kept, reached = kept.copy(), np.empty(tree.num_states, np.bool_)
    kept[ROOT] = True
    starts = tree_levels(tree).level_start
    for start, end in itertools.pairwise(starts):
        reached[start:end] = kept[tree.parent[start:end]]
        first = tree.first_sequence[start : end + 1]
        kept[first[0] : first[-1]] &= np.repeat(reached[start:end], np.diff(first))
    sequences, states = np.flatnonzero(kept), np.flatnonzero(reached)
    of_sequence, of_state = number_kept(kept), number_kept(reached)
    restricted = InfostateTree(
        first_sequence=of_sequence[tree.first_sequence[np.append(states, tree.num_states)]],
        first_child=np.append(of_state[tree.first_child[sequences]], len(states)),
        parent=of_sequence[tree.parent[states]],
        action=tree.action[sequences],
        can_end=tree.can_end[sequences],
        player=tree.player,
        min_utility=tree.min_utility,
        max_utility=tree.max_utility,
        game_string=tree.game_string,
    )
    return Restriction(sequences, states, restricted)


def number_kept(mask: np.ndarray) -> np.ndarray:
    """For each entry of a mask, and for its end, the number of True before it."""
    return np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
