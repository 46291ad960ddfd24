"""The sequence form of an OpenSpiel game: the game's exact one, or one enumerated by its histories."""

from __future__ import annotations

import collections

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.build import DEFAULT_MAX_NODES, build_infostate_tree
from tmdp_spiel.openspiel.load_game import game_string, load_game
from tmdp_spiel.openspiel.opponents.fixed import state_key
from tmdp_spiel.trees.infostate_tree import InfostateTree, string_with_actions
from tmdp_spiel.trees.sequence_form import SparseSequenceForm

_CHANCE = int(pyspiel.PlayerId.CHANCE)


def enumerated_form(game, *, max_nodes: int = DEFAULT_MAX_NODES) -> SparseSequenceForm:
    """The sequence form of a two-player game by one traversal of its histories.

    Args:
        game: anything that load_game takes, with two players.
        max_nodes: the most histories to visit, as in build_tree.
    """
    game = load_game(game)
    if game.num_players() != 2:
        raise ValueError(f"a sequence form has two players; {game_string(game)} has {game.num_players()}")
    trees = (
        build_infostate_tree(game, 0, max_nodes=max_nodes),
        build_infostate_tree(game, 1, max_nodes=max_nodes),
    )
    chances: dict[tuple[int, int, tuple[float, ...]], float] = collections.defaultdict(float)
    waiting = [(game.new_initial_state(), (trees[0].root, trees[1].root), 1.0)]
    while waiting:
        state, sequences, chance = waiting.pop()
        if state.is_terminal():
            returns = tuple(round(each, 10) for each in state.returns())
            chances[sequences[0], sequences[1], returns] += chance
            continue
        actor = state.current_player()
        if actor == _CHANCE:
            waiting.extend((state.child(action), sequences, chance * p) for action, p in state.chance_outcomes())
            continue
        tree, number = trees[actor], state_number(trees[actor], sequences[actor], state, actor)
        for j, action in enumerate(tree.legal_actions(number).tolist(), start=int(tree.first_sequence[number])):
            after = (j, sequences[1]) if actor == 0 else (sequences[0], j)
            waiting.append((state.child(action), after, chance))
    kinds = sorted({returns for _, _, returns in chances})
    number_of = {returns: kind for kind, returns in enumerate(kinds)}
    return SparseSequenceForm(
        trees,
        np.array(kinds).T,
        (np.array([i for i, _, _ in chances]), np.array([j for _, j, _ in chances])),
        np.array([number_of[returns] for _, _, returns in chances]),
        np.array(list(chances.values())),
    )


def state_number(tree: InfostateTree, sequence: int, state: pyspiel.State, player: int) -> int:
    string = state_key(state, player, state.get_game().get_type())
    legal = state.legal_actions()
    for name in (string, string_with_actions(string, legal)):
        number = tree.state_after(sequence, name)
        if number is not None and tree.legal_actions(number).tolist() == legal:
            return number
    raise ValueError(f"{string!r} is not a state of player {player} after sequence {sequence}")
