"""How wide the interval of ts.exploit is around a black box: means of several seeds."""

import dataclasses
import random
import time
from collections.abc import Sequence

import numpy as np
import pyspiel

import tmdp_spiel as ts
from experiments.research.options import Options
from tmdp_spiel.openspiel.opponents.episode import Categorical


@dataclasses.dataclass(frozen=True)
class Row:
    """memoryless: the black box is queried at its states, and episodes are answers."""

    game: str
    opponent: str
    memoryless: bool = False
    episodes: Sequence[int] = (10_000, 30_000, 100_000)


ROWS = {
    f"{game}, {opponent}{', memoryless' if memoryless else ''}": Row(game, opponent, memoryless)
    for game in ("kuhn_poker", "leduc_poker", "liars_dice")
    for opponent in ("uniform", "cfr+ 1000")
    for memoryless in (False, True)
}


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
    game, policy, episodes: int, seeds: Sequence[int], memoryless: bool = False, delta: float = 0.05
) -> tuple[np.ndarray, int, float]:
    """The widths by seed and player, how many intervals were wrong, and the processor seconds of a run."""
    found, wrong, seconds = [], 0, 0.0
    players = range(game.num_players())
    best = [ts.build_tree(game, player, policy).best_response()[0] for player in players]
    for seed in seeds:
        bots = {player: BlackBox(policy, player, 2 * seed + player) for player in players}
        begun = time.process_time()
        each = ts.exploit(
            game, bots, episodes=episodes, seed=seed, delta=delta, memoryless=memoryless, progress=False
        ).seats
        seconds += time.process_time() - begun
        found.append([each[player].width for player in players])
        wrong += sum(not each[p].lower - 1e-9 <= best[p] <= each[p].upper + 1e-9 for p in players)
    return np.array(found), wrong, seconds / len(found)


def report(options: Options) -> None:
    """A row for each game, opponent and number of episodes."""
    seeds = range(options.runs or 10)
    print("| game, opponent | episodes a player | width, by player | wrong | processor seconds |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for title, row in options.chosen(ROWS).items():
        game = ts.load_game(row.game)
        policy = ts.uniform(game) if row.opponent == "uniform" else ts.equilibrium(game, iterations=1000)
        widths(game, policy, 1_000, [0], row.memoryless)  # compiles
        for episodes in row.episodes if options.episodes is None else [options.episodes]:
            found, wrong, seconds = widths(game, policy, episodes, seeds, row.memoryless, options.delta or 0.05)
            errors = found.std(axis=0, ddof=min(1, len(found) - 1)) / len(found) ** 0.5
            shown = " / ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in zip(found.mean(axis=0), errors))
            print(f"| {title} | {episodes:,} | {shown} | {wrong} of {found.size} | {seconds:.1f} |", flush=True)
