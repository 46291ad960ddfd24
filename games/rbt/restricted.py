"""RBT with only some of the sequences of each player."""

from __future__ import annotations

import numpy as np

from tmdp_spiel.games.rbt import passes
from tmdp_spiel.games.rbt.rules import ILLEGAL
from tmdp_spiel.games.rbt.structure import Enumeration, Lists, PlayerTree, Ply
from tmdp_spiel.trees.sequence_form import Restriction, number_kept


def restricted_enumeration(whole: Enumeration, restrictions: tuple[Restriction, Restriction]) -> Enumeration:
    """The enumeration with these states and sequences alone, and the positions to which they lead."""
    first, second = (_player_tree(tree, found) for tree, found in zip(whole.trees, restrictions))
    plies, reached = [], np.ones(whole.plies[0].num_positions, np.bool_)
    for ply, after in zip(whole.plies, [*whole.plies[1:], None]):
        tree, of_whole = (first, second)[ply.player], whole.trees[ply.player]
        live, positions = _lists(ply, of_whole.level_start, restrictions[ply.player].states, reached)
        weight = passes.weights_of_moves(live, tree.links, tree.level_start[ply.level], np.ones(tree.sequence_end))
        moves = ply.next_position[reached]
        moves = np.where((moves >= 0) & (weight == 0), ILLEGAL, moves)
        reached = np.zeros(after.num_positions if after else 0, np.bool_)
        reached[moves[moves >= 0]] = True
        moves[moves >= 0] = number_kept(reached)[moves[moves >= 0]]
        plies.append(
            Ply(
                player=ply.player,
                level=ply.level,
                next_position=moves,
                first_live=live.first,
                live=live.items,
                first_where=positions.first,
                where=positions.items,
            )
        )
    return Enumeration((first, second), plies, whole.description)


def _player_tree(whole: PlayerTree, found: Restriction) -> PlayerTree:
    return PlayerTree(
        first_sequence=found.tree.first_sequence,
        first_child=found.tree.first_child,
        parent=found.tree.parent,
        action=whole.action[found.sequences],
        endings=whole.endings[found.sequences],
        level_start=np.searchsorted(found.states, whole.level_start),
        observation=whole.observation[found.states],
    )


def _lists(ply: Ply, level_start: np.ndarray, states: np.ndarray, reached: np.ndarray) -> tuple[Lists, Lists]:
    """The live states of the positions that are reached, and the positions of the states that are kept."""
    start, end = level_start[ply.level : ply.level + 2]
    here = np.zeros(end - start, np.bool_)
    here[states[slice(*np.searchsorted(states, (start, end)))] - start] = True
    live = here[ply.live] & np.repeat(reached, np.diff(ply.first_live))
    where = reached[ply.where] & np.repeat(here, np.diff(ply.first_where))
    of_position = Lists(_first(live, ply.first_live, reached), number_kept(here)[ply.live[live]].astype(np.int32))
    of_state = Lists(_first(where, ply.first_where, here), number_kept(reached)[ply.where[where]].astype(np.int32))
    return of_position, of_state


def _first(items: np.ndarray, first: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Where the lists of a mask begin, with only the items of a mask, and where the last one ends."""
    before = number_kept(items)
    return np.append(before[first[:-1][lists]], before[-1])
