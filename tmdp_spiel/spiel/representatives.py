"""One state of the game for every state of a decision tree."""

from __future__ import annotations

import pyspiel

from tmdp_spiel.spiel.build import DEFAULT_MAX_NODES
from tmdp_spiel.spiel.opponents import state_key
from tmdp_spiel.spiel.recall import Recall
from tmdp_spiel.trees.decision_tree import DecisionTree


def representative_states(
    tree: DecisionTree, game: pyspiel.Game, *, max_nodes: int = DEFAULT_MAX_NODES
) -> list[pyspiel.State]:
    """For each state of the tree, a state of the game at which its player knows just that."""
    found: dict[int, pyspiel.State] = {}
    recall = Recall(tree, game)
    stack = [(game.new_initial_state(), tree.root)]
    nodes = 0
    while stack and len(found) < tree.num_states:
        state, sequence = stack.pop()
        nodes += 1
        if nodes > max_nodes:
            missing = tree.num_states - len(found)
            raise ValueError(f"{missing} states not met in {max_nodes:,} histories; raise max_nodes")
        if state.is_terminal():
            continue
        if not state.is_player_node() or state.current_player() != tree.player:
            stack.extend((state.child(action), sequence) for action in state.legal_actions())
            continue
        number = recall.state_after(sequence, state)
        if number is None:
            raise ValueError(
                f"{game} has a state that is not in this tree: {state_key(state, tree.player, game.get_type())!r}"
            )
        found.setdefault(number, state)
        stack.extend(
            (state.child(action), own) for own, action in enumerate(state.legal_actions(), tree.first_sequence[number])
        )
    if len(found) < tree.num_states:
        missing = tree.num_states - len(found)
        raise ValueError(f"{missing} states of the tree are not in {game}; was it built from another game?")
    return [found[number] for number in range(tree.num_states)]
