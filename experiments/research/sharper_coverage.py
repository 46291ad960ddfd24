"""How often the sharper certificates are wrong, on problems where a wrong proof would show.

The module experiments.research.sharper_coverage takes --runs, --delta and --episodes.

delta is large and the problems are small, so that errors are as likely as they can be. Intervals that hold at all times
are looked at after every episode, and are wrong if they were wrong once. The same campaign is run with intervals that
are broken on purpose, many times too narrow: a campaign that cannot tell the two apart shows nothing.
"""

from collections.abc import Sequence

import numpy as np
from absl import app, flags

import tmdp_spiel as ts
from experiments.research.problems import problems
from tmdp_spiel.algorithms.betting_on_values import BettingOnValues
from tmdp_spiel.bounds.mean_bounds import lower_mean, upper_mean
from tmdp_spiel.bounds.relaxation import Relaxation
from tmdp_spiel.bounds.sequence_values import upper_values

TOO_NARROW = 20.0


def values_wrong(mdp: ts.TreeMDP, seed: int, episodes: int, delta: float) -> tuple[bool, bool]:
    """Whether the interval of BettingOnValues was ever wrong, and whether the broken one was."""
    learner, rng = BettingOnValues(mdp.tree, planned=episodes, delta=delta, seed=seed), np.random.default_rng(seed)
    values, best = learner.init_values(mdp), mdp.scaled_best_value
    wrong = broken = False
    for _ in range(episodes):
        learner.play(mdp, values, rng, 1)
        lower, upper = learner.lower_bound(), learner.upper_bound()
        value = mdp.scaled_value(learner.recommend()) if lower > 0 else 0.0
        middle, half = (lower + upper) / 2, (upper - lower) / 2 / TOO_NARROW
        wrong = wrong or lower > value or upper < best
        broken = broken or middle + half < best
    return wrong, broken


def sequences_wrong(mdp: ts.TreeMDP, seed: int, episodes: int, delta: float) -> tuple[bool, bool]:
    """The same for the upper bound by sequences with shares by policy, looked at twenty times."""
    learner, rng = ts.BettingUCRL(mdp.tree, delta=delta, seed=seed), np.random.default_rng(seed)
    values, best = learner.init_values(mdp), mdp.scaled_best_value
    wrong = broken = False
    for _ in range(20):
        learner.play(mdp, values, rng, max(episodes // 20, 1))
        model = learner._model
        upper = upper_values(mdp.tree, model.visits, model.returns, model.squares, delta)[-1]
        mean = learner.estimate()
        wrong = wrong or upper < best
        broken = broken or mean + (upper - mean) / TOO_NARROW < best
    return wrong, broken


def relaxation_wrong(mdp: ts.TreeMDP, seed: int, number: int, delta: float) -> tuple[bool, bool]:
    """Whether bounds by information relaxation and control variates with a random W are wrong, and whether the mean
    of the estimates from episodes is further from the truth than a broken bound allows, on either side.
    """
    rng = np.random.default_rng(seed)
    relaxation, plan = Relaxation(mdp, rng.random(mdp.tree.num_states)), mdp.best_response()[1]
    best, scenarios = mdp.scaled_best_value, relaxation.scenarios(number, rng)
    episodes, least = relaxation.episodes(plan, number, rng, clip=0.2)
    upper = upper_mean(scenarios, most=relaxation.most, delta=delta / 2)
    lower = lower_mean(episodes, least=least, delta=delta / 2)
    mean = episodes.mean()
    return lower > best or upper < best, abs(mean - best) > (mean - lower) / TOO_NARROW + 1e-9


CERTIFICATES = {"values": values_wrong, "sequences": sequences_wrong, "relaxation": relaxation_wrong}


def shares(certificate, mdp: ts.TreeMDP, runs: int, episodes: int, delta: float) -> tuple[float, float]:
    """The shares of runs in which the certificate was wrong, and in which the broken one was."""
    results = [certificate(mdp, seed, episodes, delta) for seed in range(runs)]
    return tuple(np.mean(results, axis=0).tolist())


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    print("| certificate | problem | errors | promised | errors of the broken one |")
    print("| --- | --- | ---: | ---: | ---: |")
    for name, certificate in CERTIFICATES.items():
        for title, (mdp, _) in problems().items():
            wrong, broken = shares(certificate, mdp, flags.FLAGS.runs, flags.FLAGS.episodes, flags.FLAGS.delta)
            print(f"| {name} | {title} | {wrong:.4f} | {flags.FLAGS.delta} | {broken:.4f} |", flush=True)


if __name__ == "__main__":
    flags.DEFINE_integer("runs", 300, "Independent runs of each problem.", lower_bound=1)
    flags.DEFINE_float("delta", 0.5, "Promised probability of an error.", 0.0, 1.0)
    flags.DEFINE_integer("episodes", 200, "Episodes, or scenarios, of each run.", lower_bound=1)
    app.run(main)
