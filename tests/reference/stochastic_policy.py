"""A policy whose answers change from query to query."""

import numpy as np
from open_spiel.python import policy as policy_lib


class StochasticBot(policy_lib.Policy):
    """Always one action, but any: on average the uniform policy."""

    def __init__(self, game):
        super().__init__(game, [0, 1])
        self._rng = np.random.default_rng(4)

    def action_probabilities(self, state, player_id=None):
        chosen = self._rng.integers(len(state.legal_actions()))
        return {action: float(at == chosen) for at, action in enumerate(state.legal_actions())}
