"""A network as the opponent, called with one state at a time or with many: prints episodes per second.

The network is random, in numpy; replace it by your own, a function from a list of states to action probabilities.
python -m experiments.examples.neural_opponent --game=liars_dice --episodes=20000
"""

import time

import numpy as np
from absl import app, flags

import tmdp_spiel as ts
from tmdp_spiel.openspiel.opponents.parallel import BatchedPolicy

_GAME = flags.DEFINE_string("game", "liars_dice(numdice=2)", "A game with information-state tensors.")
_EPISODES = flags.DEFINE_integer("episodes", 5_000, "Episodes for each way of calling it.", lower_bound=1)
_WIDTH = flags.DEFINE_integer("width", 256, "The size of the hidden layer.", lower_bound=1)


def main(_):
    game, rng = ts.load_game(_GAME.value), np.random.default_rng(0)
    first = rng.normal(0.0, 0.1, (game.information_state_tensor_size(), _WIDTH.value))
    second = rng.normal(0.0, 0.1, (_WIDTH.value, game.num_distinct_actions()))

    def probabilities_of(states):
        inputs = np.array([state.information_state_tensor(state.current_player()) for state in states])
        weights = np.exp(np.maximum(inputs @ first, 0.0) @ second) * [state.legal_actions_mask() for state in states]
        return weights / weights.sum(axis=1, keepdims=True)

    for in_flight in (1, 256):
        table = ts.LiveGame(game, 0, None, batched_opponent=BatchedPolicy(game, probabilities_of, in_flight=in_flight))
        learner, start = ts.UCT(table.tree), time.perf_counter()
        table.play(learner, _EPISODES.value)
        rate = _EPISODES.value / (time.perf_counter() - start)
        won = table.tree.to_utility(table.measure(learner.recommend(), 1_000).mean())
        print(f"{in_flight:>4} in flight: {rate:>8,.0f} episodes a second; the response wins {won:+.3f} on average")


if __name__ == "__main__":
    app.run(main)
