"""A learner as an OpenSpiel bot."""

from __future__ import annotations

import pyspiel

from tmdp_spiel.spiel.opponents import state_key
from tmdp_spiel.spiel.recall import Recall
from tmdp_spiel.spiel.table.seat import Seat


class TreeBot(pyspiel.Bot):
    """Plays a seat in evaluate_bots and wherever else OpenSpiel takes a bot, and learns from the episodes it plays.

    Of the states that it is handed it reads its own information state, its legal actions, and whether an action ends
    the episode and with what return. evaluate: play the recommended policy and learn nothing.
    """

    def __init__(self, seat: Seat, game: pyspiel.Game, *, evaluate: bool = False):
        super().__init__()
        self.seat = seat
        self.evaluate = evaluate
        self._game_type = game.get_type()
        self._recall = Recall(seat.learner.tree, game)

    @property
    def player_id(self) -> int:
        return self.seat.learner.tree.player

    def restart_at(self, state) -> None:
        self.seat.abandon()

    def restart(self) -> None:
        self.seat.abandon()

    def step(self, state) -> int:
        tree = self.seat.learner.tree
        number = self._recall.state_after(self.seat.last, state)
        if number is None:  # or a new episode has begun, the last one having been left before its end
            number = self._recall.state_after(tree.root, state)
        if number is None:
            raise ValueError(
                f"player {tree.player} is shown a state that is not in its tree: "
                f"{state_key(state, tree.player, self._game_type)!r}; are these states of the game of its tree?"
            )
        index, _ = self.seat.act(number, self.evaluate)
        action = int(tree.legal_actions(number)[index])
        self._look_ahead(state, action)
        return action

    def inform_action(self, state, player_id, action) -> None:
        self._look_ahead(state, int(action))

    def _look_ahead(self, state, action: int) -> None:
        """Bots are told of every action before it happens, but not of the end: the one that ends the episode is it."""
        after = state.child(action)
        if after.is_terminal():
            self.seat.end(after.player_return(self.player_id), self.evaluate)
