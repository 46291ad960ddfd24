"""What the tests with real libraries share: exact values by OpenSpiel's own means."""

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import exploitability

KUHN = pyspiel.load_game("kuhn_poker")
LEDUC = pyspiel.load_game("leduc_poker")


def softmax(logits) -> np.ndarray:
    weights = np.exp(np.asarray(logits, float) - np.max(logits))
    return weights / weights.sum()


def greedy(values) -> np.ndarray:
    return np.eye(len(values))[int(np.argmax(values))]


def exact_nash_conv(game: pyspiel.Game, answer, choose=None) -> float:
    """NashConv of the policy that answer(state), a number for each action of the game, stands for; by OpenSpiel."""
    tabular = policy_lib.TabularPolicy(game)
    for row, state in enumerate(tabular.states):
        legal = state.legal_actions()
        tabular.action_probability_array[row] = 0.0
        numbers = np.asarray(answer(state), float).reshape(-1)[legal]
        tabular.action_probability_array[row, legal] = (choose or softmax)(numbers)
    return exploitability.nash_conv(game, tabular)


def information_state(state) -> np.ndarray:
    return np.array([state.information_state_tensor(state.current_player())], np.float32)


def observation(state) -> np.ndarray:
    return np.array([state.observation_tensor(state.current_player())], np.float32)
