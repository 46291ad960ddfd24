"""A learner as an OpenSpiel bot."""

from __future__ import annotations

import pyspiel

from tmdp_spiel.openspiel.agents.session import EpisodeSession
from tmdp_spiel.openspiel.infostates import InfostateLocator
from tmdp_spiel.openspiel.opponents.fixed import state_key


class TreeBot(pyspiel.Bot):
    """Plays in evaluate_bots and wherever else OpenSpiel takes a bot, and learns from the episodes it plays.

    Of the states that it gets, it reads only the player's information state, the legal actions, and whether an action
    ends the episode and with what return. evaluate: play the recommended policy and learn nothing.
    """

    def __init__(self, session: EpisodeSession, game: pyspiel.Game, *, evaluate: bool = False):
        super().__init__()
        self.session = session
        self.evaluate = evaluate
        self._game_type = game.get_type()
        self._locator = InfostateLocator(session.learner.tree, game)

    @property
    def player_id(self) -> int:
        return self.session.learner.tree.player

    def restart_at(self, state) -> None:
        self.session.abandon()

    def restart(self) -> None:
        self.session.abandon()

    def step(self, state) -> int:
        tree = self.session.learner.tree
        number = self._locator.state_after(self.session.last, state)
        if number is None:  # or a new episode has begun, the last one having been left before its end
            number = self._locator.state_after(tree.root, state)
        if number is None:
            raise ValueError(
                f"player {tree.player} was given a state that is not in its tree: "
                f"{state_key(state, tree.player, self._game_type)!r}; are these states of the game of its tree?"
            )
        index, _ = self.session.act(number, self.evaluate)
        action = int(tree.legal_actions(number)[index])
        self._look_ahead(state, action)
        return action

    def inform_action(self, state, player_id, action) -> None:
        self._look_ahead(state, int(action))

    def _look_ahead(self, state, action: int) -> None:
        """Ends the episode if this action does: bots are informed of actions, but not of the end of an episode."""
        after = state.child(action)
        if after.is_terminal():
            self.session.end(after.player_return(self.player_id), self.evaluate)
