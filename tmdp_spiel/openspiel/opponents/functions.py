"""Functions of a state as policies and bots, and policies as bots."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.openspiel.opponents.bots import bot_name
from tmdp_spiel.openspiel.opponents.fixed import is_table, state_key
from tmdp_spiel.openspiel.opponents.seeding import POLICIES, derived_seed


def as_probabilities(answer, state: pyspiel.State, player: int) -> dict[int, float]:
    """A policy's answer: {action: probability}, [(action, probability)], or one number per distinct action."""
    try:
        if isinstance(answer, Mapping):
            return {int(action): float(probability) for action, probability in answer.items()}
        answer = list(answer)
        if answer and isinstance(answer[0], (tuple, list)):
            return {int(action): float(probability) for action, probability in answer}
        legal = state.legal_actions(player)
        if len(answer) == len(legal) and max(legal) >= len(legal):
            return dict(zip(legal, map(float, answer)))
        return {
            action: float(probability) for action, probability in enumerate(answer) if probability or action in legal
        }
    except (TypeError, ValueError):
        raise TypeError(
            f"the opponent of player {player} returned {answer!r}; a policy returns {{action: probability}}, a list of "
            "(action, probability), or one probability per action of the game; a bot returns an action"
        ) from None


class CallablePolicy(policy_lib.Policy):
    """A function of a state as an OpenSpiel policy."""

    def __init__(self, game: pyspiel.Game, function: Callable, player: int, name: str):
        super().__init__(game, [player])
        self._function, self.__name__ = function, name

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        return as_probabilities(self._function(state), state, player)


class SteppingFunction:
    """A function from a state to an action as a bot, with the function's name."""

    def __init__(self, function: Callable):
        self.step = function
        self.__name__ = bot_name(function)


class PolicyPlayer:
    """A bot that plays a policy, which is queried once per information state if it is a table, and else every time."""

    def __init__(self, game: pyspiel.Game, policy, player: int, seed: int):
        self._kind, self._policy, self._player = game.get_type(), policy, player
        self.__name__ = bot_name(policy)
        self._rng = np.random.default_rng(derived_seed(seed, POLICIES, player))
        self._keeps = is_table(policy)
        self._choices: dict[str, tuple[list[int], np.ndarray]] = {}

    def step(self, state):
        key = state_key(state, self._player, self._kind)
        if key not in self._choices or not self._keeps:
            arguments = (state, self._player) if isinstance(self._policy, policy_lib.Policy) else (state,)
            given = dict(self._policy.action_probabilities(*arguments))
            weights = np.array(list(given.values()), float)
            self._choices[key] = list(given), np.cumsum(weights / weights.sum())
        actions, sums = self._choices[key]
        return int(actions[min(int(np.searchsorted(sums, self._rng.random(), side="right")), len(actions) - 1)])
