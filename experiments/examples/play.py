"""Play a game in the terminal against its equilibrium.

    python -m experiments.examples.play --game=rbt --player=1

An empty line lists the legal actions. tmdp-play plays against a learned response.
"""

import numpy as np
from absl import app, flags
from open_spiel.python.algorithms.evaluate_bots import evaluate_bots
from open_spiel.python.bots import human, policy

import tmdp_spiel as ts

_GAME = flags.DEFINE_string("game", "rbt", "rbt, leduc, or any OpenSpiel game string with an observation string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that you are.", lower_bound=0)
_SEED = flags.DEFINE_integer("seed", None, "Seed of chance and of the opponent.")


class You(human.HumanBot):
    """Shows what you observe before it asks."""

    def step(self, state):
        print(f"\n{state.observation_string(_PLAYER.value)}")
        return super().step(state)


def main(_):
    game, rng = ts.load_game(_GAME.value), np.random.default_rng(_SEED.value)
    equilibrium = ts.equilibrium(game)
    bots = [policy.PolicyBot(player, rng, equilibrium) for player in range(game.num_players())]
    bots[_PLAYER.value] = You()
    state = game.new_initial_state()
    returns = evaluate_bots(state, bots, rng)
    print(f"\n{state}\nYou win {returns[_PLAYER.value]:+g}.")


if __name__ == "__main__":
    app.run(main)
