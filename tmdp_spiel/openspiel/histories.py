"""One state of the game for every state of an infostate tree."""

from __future__ import annotations

import weakref

import pyspiel

from tmdp_spiel.openspiel.build import DEFAULT_MAX_NODES
from tmdp_spiel.openspiel.infostates import InfostateLocator
from tmdp_spiel.openspiel.load_game import game_string
from tmdp_spiel.openspiel.opponents.fixed import state_key
from tmdp_spiel.trees.infostate_tree import InfostateTree

_MOST_KEPT = 50_000  # states, while their tree lives
_kept: weakref.WeakKeyDictionary[InfostateTree, tuple[list[pyspiel.State], int]] = weakref.WeakKeyDictionary()


def one_history_per_infostate(
    tree: InfostateTree, game: pyspiel.Game, *, max_nodes: int = DEFAULT_MAX_NODES
) -> list[pyspiel.State]:
    """For each state of the tree, a state of the game in that information state; do not modify them."""
    states, nodes = _kept.get(tree, ([], 0))
    if states and nodes <= max_nodes and str(states[0].get_game()) == str(game):
        return states
    states, nodes = _one_history_per_infostate(tree, game, max_nodes)
    if len(states) <= _MOST_KEPT:
        _kept[tree] = states, nodes
    return states


def _one_history_per_infostate(
    tree: InfostateTree, game: pyspiel.Game, max_nodes: int
) -> tuple[list[pyspiel.State], int]:
    """The states, and how many histories were visited."""
    found: dict[int, pyspiel.State] = {}
    locator = InfostateLocator(tree, game)
    stack = [(game.new_initial_state(), tree.root)]
    nodes = 0
    while stack and len(found) < tree.num_states:
        state, sequence = stack.pop()
        nodes += 1
        if nodes > max_nodes:
            missing = tree.num_states - len(found)
            raise ValueError(f"{missing} states were not found in {max_nodes:,} histories; raise max_nodes")
        if state.is_terminal():
            continue
        if not state.is_player_node() or state.current_player() != tree.player:
            stack.extend((state.child(action), sequence) for action in state.legal_actions())
            continue
        number = locator.state_after(sequence, state)
        if number is None:
            raise ValueError(
                f"{game_string(game)} has a state that is not in this tree: "
                f"{state_key(state, tree.player, game.get_type())!r}"
            )
        found.setdefault(number, state)
        stack.extend(
            (state.child(action), own) for own, action in enumerate(state.legal_actions(), tree.first_sequence[number])
        )
    if len(found) < tree.num_states:
        missing = tree.num_states - len(found)
        raise ValueError(
            f"{missing} states of the tree are not in {game_string(game)}; was it built from another game?"
        )
    return [found[number] for number in range(tree.num_states)], nodes
