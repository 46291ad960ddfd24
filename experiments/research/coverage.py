"""How often the bounds of Theorem 1 fail, with data from an adaptive learner.

    python -m experiments.research.coverage --runs=1000 --delta=0.1

UCB-T plays each run; then both bounds of every reduced policy are compared with its true value. The theorem promises
that each bound of each policy, at counts fixed in advance, fails with probability at most delta.
"""

import numpy as np
from absl import flags

import tmdp_spiel as ts
from experiments.sweep.binary import run_binary
from tmdp_spiel.algorithms.baselines.lucb import reduced_policies
from tmdp_spiel.bounds import widths

_GAMES = flags.DEFINE_list("games", ["kuhn", "kuhn5"], "Games whose policies can be enumerated.")
_RUNS = flags.DEFINE_integer("runs", 1000, "Independent runs.", lower_bound=1)
_EPISODES = flags.DEFINE_integer("episodes", 1000, "Episodes of each run.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", 0.1, "The probability with which each bound may fail.", 0.0, 1.0)


def failures(mdp: ts.TreeMDP, seed: int, endings: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per policy, after one run: whether its upper and its lower bound miss its true value."""
    learner = ts.UCBT(mdp.tree, c=0.1, baseline=0.0, seed=seed)
    ts.run(learner, mdp, _EPISODES.value, measure_at=[_EPISODES.value], progress=False)
    means = learner.totals / np.maximum(learner.plays, 1)
    estimates = endings @ means
    least = np.where(endings, learner.plays, np.iinfo(np.int32).max).min(axis=1)
    margins = np.array([widths.beta(max(plays, 1), _DELTA.value) for plays in least])
    played = least > 0
    return played & (values >= estimates + margins), played & (values <= np.minimum(estimates, 1.0) - margins)


def main() -> None:
    print("| game | player | policies | upper bound misses: mean, worst policy | lower bound misses | promised |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in _GAMES.value:
        game = ts.load_game(name)
        for player in range(game.num_players()):
            mdp = ts.build_tree(game, player, ts.equilibrium(game))
            plans = reduced_policies(mdp.tree)
            endings = np.array([(mdp.own_reach(plan) > 0) & mdp.tree.can_end for plan in plans])
            values = np.array([mdp.scaled_value(plan) for plan in plans])
            missed = [failures(mdp, seed, endings, values) for seed in range(_RUNS.value)]
            upper, lower = (np.mean([run[side] for run in missed], axis=0) for side in (0, 1))
            print(
                f"| {name} | {player} | {len(plans)} | {upper.mean():.5f}, {upper.max():.5f} | "
                f"{lower.mean():.5f}, {lower.max():.5f} | {_DELTA.value} |"
            )


if __name__ == "__main__":
    run_binary(main)
