"""How often the bounds of Theorem 1 fail, with data from an adaptive learner.

UCB-T plays each run; then both bounds of every reduced policy are compared with its true value. The theorem promises
that each bound of each policy, at counts fixed in advance, fails with probability at most delta.
"""

import numpy as np

import tmdp_spiel as ts
from experiments.research.options import Options
from tmdp_spiel.algorithms.baselines.lucb import reduced_policies
from tmdp_spiel.bounds import widths

GAMES = {name: name for name in ("kuhn", "kuhn5")}  # whose policies can be enumerated


def failures(
    mdp: ts.TreeMDP, seed: int, episodes: int, delta: float, endings: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Per policy, after one run: whether its upper and its lower bound miss its true value."""
    learner = ts.UCBT(mdp.tree, c=0.1, baseline=0.0, seed=seed)
    ts.run(learner, mdp, episodes, measure_at=[episodes], progress=False)
    means = learner.totals / np.maximum(learner.plays, 1)
    estimates = endings @ means
    least = np.where(endings, learner.plays, np.iinfo(np.int32).max).min(axis=1)
    margins = np.array([widths.beta(max(plays, 1), delta) for plays in least])
    played = least > 0
    return played & (values >= estimates + margins), played & (values <= np.minimum(estimates, 1.0) - margins)


def report(options: Options) -> None:
    runs, episodes, delta = options.runs or 1000, options.episodes or 1000, options.delta or 0.1
    print("| game | player | policies | upper bound misses: mean, worst policy | lower bound misses | promised |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in options.chosen(GAMES):
        game = ts.load_game(name)
        for player in range(game.num_players()):
            mdp = ts.build_tree(game, player, ts.equilibrium(game))
            plans = reduced_policies(mdp.tree)
            endings = np.array([(mdp.own_reach(plan) > 0) & mdp.tree.can_end for plan in plans])
            values = np.array([mdp.scaled_value(plan) for plan in plans])
            missed = [failures(mdp, seed, episodes, delta, endings, values) for seed in range(runs)]
            upper, lower = (np.mean([run[side] for run in missed], axis=0) for side in (0, 1))
            print(
                f"| {name} | {player} | {len(plans)} | {upper.mean():.5f}, {upper.max():.5f} | "
                f"{lower.mean():.5f}, {lower.max():.5f} | {delta} |"
            )
