"""Perfect recall even if a game's strings forget: a state is identified by the player's history and the string.

Not every game's strings contain everything that a player saw and did. In an infostate tree a state is identified by the
sequence that leads to it, its string and its legal actions.
"""

from __future__ import annotations

import warnings

import pyspiel

from tmdp_spiel.openspiel.games import game_string
from tmdp_spiel.openspiel.opponents.fixed import state_key
from tmdp_spiel.trees.infostate_tree import HISTORY_MARK, InfostateTree, string_with_actions

_said: set[tuple[str, int]] = set()


def warn_imperfect_recall(game: pyspiel.Game, player: int) -> None:
    """Warns, once for every game and player."""
    if (str(game), player) in _said:
        return
    _said.add((str(game), player))
    kind = "information-state" if game.get_type().provides_information_state_string else "observation"
    warnings.warn(
        f"the {kind} strings of {game_string(game)} forget what player {player} saw or did before, so a state is "
        "identified by the player's history and its string (state_string gives both), and recall is perfect",
        stacklevel=3,
    )


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
        tree, earlier = self._tree, state.get_game().new_initial_state()
        sequence: int | None = tree.root
        for action in state.history():
            if sequence is not None and _acts(earlier, tree.player):
                number = self.state_after(sequence, earlier)
                sequence = None if number is None else sequence_of(tree, number, action)
            earlier.apply_action(action)
        if sequence is None or not _acts(state, tree.player):
            return sequence, None
        return sequence, self.state_after(sequence, state)


def history_string(state: pyspiel.State, player: int, game_type: pyspiel.GameType) -> str:
    """What InfostateTree.state_string returns if strings forget: everything that the player saw and did."""
    earlier, string = state.get_game().new_initial_state(), ""
    for action in state.history():
        if _acts(earlier, player):
            string += f"{state_key(earlier, player, game_type)}{HISTORY_MARK}{action}\n"
        earlier.apply_action(action)
    return string + state_key(state, player, game_type)


def _acts(state: pyspiel.State, player: int) -> bool:
    return state.is_player_node() and state.current_player() == player


def sequence_of(tree: InfostateTree, state: int, action: int) -> int:
    """The sequence of a state and an action of the game."""
    return int(tree.first_sequence[state]) + tree.legal_actions(state).tolist().index(action)
