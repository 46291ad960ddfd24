"""Histories of a game and the states of its trees.

A history is found in a tree even if the game's strings forget: in an infostate tree a state is identified by the
player's sequence that leads to it, its string and its legal actions. Visiting all histories gives a history for every
infostate, a history tree, or a sequence form.
"""

from __future__ import annotations

import collections
import weakref
from collections.abc import Iterator

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.build import DEFAULT_MAX_NODES, GameTooLargeError, build_infostate_tree, check_supported
from tmdp_spiel.openspiel.games import game_string, game_title, load_game
from tmdp_spiel.openspiel.opponents.fixed import state_key
from tmdp_spiel.trees.history_tree import CHANCE, END, OTHER, OWN, HistoryTree, arranged
from tmdp_spiel.trees.infostate_tree import HISTORY_MARK, InfostateTree, string_with_actions
from tmdp_spiel.trees.sequence_form import SparseSequenceForm


class InfostateLocator:
    """Finds the state of a tree that its player is in, in an episode that is followed from its start."""

    def __init__(self, tree: InfostateTree, game: pyspiel.Game):
        self._tree, self._game_type = tree, game.get_type()
        self.game, self.player = game, tree.player

    def state_after(self, sequence: int, state: pyspiel.State) -> int | None:
        """The tree's state for a state of the game at which its player is to act, after the player's last sequence."""
        tree = self._tree
        string = state_key(state, tree.player, self._game_type)
        number = tree.state_after(sequence, string)
        if number is None:
            return None
        legal = state.legal_actions()
        if tree.legal_actions(number).tolist() == legal:
            return number
        return tree.state_after(sequence, string_with_actions(string, legal))

    def locate(self, state: pyspiel.State) -> tuple[int | None, int | None]:
        """The player's last sequence before a state of the game, and the tree's state there, by replaying its history.

        None if they are not in the tree.
        """
        tree = self._tree
        sequence = tree.root
        for earlier, action in own_decisions(state, tree.player):
            number = self.state_after(sequence, earlier)
            if action is None:
                return sequence, number
            if number is None:
                return None, None
            sequence = sequence_of(tree, number, action)
        return sequence, None


def history_string(state: pyspiel.State, player: int, game_type: pyspiel.GameType) -> str:
    """What InfostateTree.state_string returns if strings forget: everything that the player saw and did."""
    strings = [
        f"{state_key(earlier, player, game_type)}{HISTORY_MARK}{action}\n"
        for earlier, action in own_decisions(state, player)
        if action is not None
    ]
    return "".join(strings) + state_key(state, player, game_type)


def own_decisions(state: pyspiel.State, player: int) -> Iterator[tuple[pyspiel.State, int | None]]:
    """The states before this one at which the player acted, each with the action; then this one, if the player is to.

    The earlier states are one object that is modified, so they must not be kept. The action of the last one is None.
    """
    earlier = state.get_game().new_initial_state()
    for action in state.history():
        if earlier.current_player() == player:
            yield earlier, action
        earlier.apply_action(action)
    if state.current_player() == player:
        yield state, None


def sequence_of(tree: InfostateTree, state: int, action: int) -> int:
    """The sequence of a state and an action of the game."""
    return int(tree.first_sequence[state]) + tree.legal_actions(state).tolist().index(action)


DEFAULT_MAX_HISTORIES = 500_000
_CHANCE = int(pyspiel.PlayerId.CHANCE)
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
        number = _state_after(locator, sequence, state)
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
    locator = InfostateLocator(tree, game)
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
                kind, slot = OWN, _state_after(locator, sequence, state)
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
    locators = [InfostateLocator(tree, game) for tree in trees]
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
        tree, number = trees[actor], _state_after(locators[actor], sequences[actor], state)
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


def _state_after(locator: InfostateLocator, sequence: int, state: pyspiel.State) -> int:
    """The tree's state of an own state of the game; ValueError if the tree is of another game."""
    number = locator.state_after(sequence, state)
    if number is None:
        raise ValueError(
            f"{game_string(locator.game)} has a state that is not in this tree: "
            f"{state_key(state, locator.player, locator.game.get_type())!r}"
        )
    return number
