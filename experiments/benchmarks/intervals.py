"""How wide the interval of ts.exploit is around a black box: means of several seeds, as a table.

python -m experiments.benchmarks.intervals --game=leduc_poker --opponent=cfr+ --episodes=10000,30000
"""

import random
import time
from collections.abc import Sequence

import numpy as np
import pyspiel
from absl import app, flags

import tmdp_spiel as ts
from tmdp_spiel.openspiel.opponents.episode import Categorical


class BlackBox(pyspiel.Bot):
    """Plays a policy without revealing its probabilities."""

    def __init__(self, policy, player: int, seed: int):
        super().__init__()
        self._policy, self._player, self._draw = policy, player, random.Random(seed).random
        self._answers: dict[str, Categorical] = {}

    def player_id(self):
        return self._player

    def restart_at(self, state):
        """Does nothing."""

    def step(self, state):
        key = state.information_state_string(self._player)
        if key not in self._answers:
            self._answers[key] = Categorical(list(self._policy.action_probabilities(state).items()))
        return self._answers[key].action(self._draw())


def widths(
    game, policy, episodes: int, seeds: Sequence[int], memoryless: bool = False
) -> tuple[np.ndarray, int, float]:
    """The widths by seed and player, how many intervals were wrong, and the processor seconds of a run."""
    found, wrong, seconds = [], 0, 0.0
    players = range(game.num_players())
    best = [ts.build_tree(game, player, policy).best_response()[0] for player in players]
    for seed in seeds:
        bots = {player: BlackBox(policy, player, 2 * seed + player) for player in players}
        begun = time.process_time()
        each = ts.exploit(game, bots, episodes=episodes, seed=seed, memoryless=memoryless, progress=False).seats
        seconds += time.process_time() - begun
        found.append([each[player].width for player in players])
        wrong += sum(not each[p].lower - 1e-9 <= best[p] <= each[p].upper + 1e-9 for p in players)
    return np.array(found), wrong, seconds / len(found)


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    game, seeds = ts.load_game(flags.FLAGS.game), range(flags.FLAGS.seeds)
    iterations = flags.FLAGS.iterations
    policy = ts.uniform(game) if flags.FLAGS.opponent == "uniform" else ts.equilibrium(game, iterations=iterations)
    widths(game, policy, 1_000, [0], flags.FLAGS.memoryless)  # compiles
    print("| game | opponent | episodes a player | width, by player | wrong | processor seconds |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for episodes in map(int, flags.FLAGS.episodes):
        found, wrong, seconds = widths(game, policy, episodes, seeds, flags.FLAGS.memoryless)
        errors = found.std(axis=0, ddof=min(1, len(found) - 1)) / len(found) ** 0.5
        shown = " / ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in zip(found.mean(axis=0), errors))
        row = (
            flags.FLAGS.game,
            flags.FLAGS.opponent,
            f"{episodes:,}",
            shown,
            f"{wrong} of {found.size}",
            f"{seconds:.1f}",
        )
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    flags.DEFINE_string("game", "leduc_poker", "An OpenSpiel game with information state strings.")
    flags.DEFINE_enum("opponent", "uniform", ["uniform", "cfr+"], "The policy that the black box plays.")
    flags.DEFINE_integer("iterations", 1000, "Iterations of cfr+.", lower_bound=1)
    flags.DEFINE_list("episodes", ["10000", "30000", "100000"], "Episodes per player.")
    flags.DEFINE_bool("memoryless", False, "Query it at its states (memoryless=True); episodes are answers.")
    flags.DEFINE_integer("seeds", 10, "Seeds 0, 1, ...", lower_bound=1)
    app.run(main)
