"""All histories of an OpenSpiel game, linked to the infostate tree of one player."""

from __future__ import annotations

import pyspiel

from tmdp_spiel.openspiel.build import GameTooLargeError, check_supported
from tmdp_spiel.openspiel.load_game import game_title
from tmdp_spiel.openspiel.opponents.fixed import state_key
from tmdp_spiel.openspiel.sequence_forms import state_number
from tmdp_spiel.trees.history_tree import CHANCE, END, OTHER, OWN, HistoryTree, arranged
from tmdp_spiel.trees.infostate_tree import InfostateTree

DEFAULT_MAX_HISTORIES = 500_000
_CHANCE = int(pyspiel.PlayerId.CHANCE)


def build_history_tree(
    game: pyspiel.Game, tree: InfostateTree, *, max_nodes: int = DEFAULT_MAX_HISTORIES
) -> HistoryTree:
    """The histories of a game by its rules alone.

    Args:
        game: turn-based, with explicit chance probabilities.
        tree: from build_infostate_tree, of the same game.
        max_nodes: the most histories; if there are more, a GameTooLargeError is raised.
    """
    check_supported(game)
    player, game_type = tree.player, game.get_type()
    found: list[tuple[int, int, int, int, int, float, float]] = []
    answers: dict[tuple[int, str, tuple[int, ...]], int] = {}
    first_answer = [0]
    waiting = [(game.new_initial_state(), tree.root, -1, -1, -1, 1.0)]
    while waiting:
        state, sequence, above, action, move, chance = waiting.pop()
        if len(found) >= max_nodes:
            raise GameTooLargeError(f"{game_title(game)} has more than max_nodes = {max_nodes:,} histories")
        number, actor = len(found), state.current_player()
        if state.is_terminal():
            found.append((END, above, action, -1, move, chance, tree.to_return(state.player_return(player))))
        elif actor == _CHANCE:
            found.append((CHANCE, above, action, -1, move, chance, 0.0))
            waiting += [(state.child(each), sequence, number, each, -1, p) for each, p in state.chance_outcomes()]
        else:
            legal = state.legal_actions()
            if actor == player:
                kind, slot = OWN, state_number(tree, sequence, state, player)
                first = int(tree.first_sequence[slot])
            else:
                key = (actor, state_key(state, actor, game_type), tuple(legal))
                if key not in answers:
                    answers[key] = first_answer[-1]
                    first_answer.append(first_answer[-1] + len(legal))
                kind = OTHER
                slot = first = answers[key]
            found.append((kind, above, action, slot, move, chance, 0.0))
            for after, each in enumerate(legal, start=first):
                waiting.append((state.child(each), after if kind == OWN else sequence, number, each, after, 1.0))
    kinds, parents, actions, slots, moves, chances, values = zip(*found)
    return arranged(tree, kinds, parents, actions, slots, moves, chances, values, first_answer)
