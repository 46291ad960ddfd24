"""A neural network as the opponent, asked about many states in one call (needs torch).

    python -m experiments.neural_opponent
    python -m experiments.neural_opponent --game=liars_dice --episodes=20000

The network is not trained: it stands for one of yours. The same network is asked one state at a time, and in batches;
responses are learned both ways, and the rates are printed.
"""

import time
from collections.abc import Sequence

import numpy as np
import pyspiel
from absl import app, flags

import tmdp_spiel as ts
from tmdp_spiel.spiel.rounds import InBatches

_GAME = flags.DEFINE_string("game", "liars_dice(numdice=2)", "A game with information-state tensors.")
_EPISODES = flags.DEFINE_integer("episodes", 5_000, "To learn from, each way.", lower_bound=1)
_WIDTH = flags.DEFINE_integer("width", 256, "Of the two hidden layers.", lower_bound=1)


def network_policy(game: pyspiel.Game, width: int):
    """A function from a list of states to an array of action probabilities, a row for each."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(game.information_state_tensor_size(), width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, game.num_distinct_actions()),
    )

    @torch.no_grad()
    def probabilities_of(states: list[pyspiel.State]) -> np.ndarray:
        tensors = [state.information_state_tensor(state.current_player()) for state in states]
        legal = torch.tensor([state.legal_actions_mask() for state in states], dtype=torch.bool)
        scores = network(torch.tensor(tensors)).masked_fill(~legal, -torch.inf)
        return torch.softmax(scores.double(), dim=1).numpy()

    return probabilities_of


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    game = ts.load_game(_GAME.value)
    for in_flight in (1, 256):
        table = ts.LiveGame(
            game, 0, None, rounds=InBatches(game, network_policy(game, _WIDTH.value), in_flight=in_flight)
        )
        learner, start = ts.UCT(table.tree), time.perf_counter()
        table.play(learner, _EPISODES.value)
        rate = _EPISODES.value / (time.perf_counter() - start)
        returns = table.measure(learner.recommend(), 1_000)
        won = table.tree.min_utility + table.tree.utility_range * returns.mean()
        print(f"{in_flight:>4} in flight: {rate:>8,.0f} episodes a second; the response wins {won:+.3f} on average")


if __name__ == "__main__":
    app.run(main)
