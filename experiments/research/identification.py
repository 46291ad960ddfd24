"""How often certified answers are worse than guaranteed, on problems that would reveal a wrong proof.

Each learner plays until it stops; an error is an answer with a value below V* - epsilon. delta is large and epsilon
near the gaps, so that errors are as likely as possible. The same measurement is repeated with a bound that is broken on
purpose, three times too narrow: it stops as if epsilon were three times as large. The measurement is meaningful only if
it distinguishes the two.
"""

import numpy as np

import tmdp_spiel as ts
from experiments.research.options import Options
from experiments.research.problems import problems
from tmdp_spiel.evaluation.evaluator import KnownOpponent
from tmdp_spiel.exploit.respond import respond

# The least epsilon of the problems of a learner, which needs more episodes for small ones.
LEARNERS = {"BettingOnDifferences": 0.0, "CertifiedUCRL": 0.1}
_DELTA = 0.5
_EXPLOIT_EPISODES = 600
_TOO_NARROW = 3.0
_FAR_TOO_NARROW = 20.0


def errors(learner, mdp: ts.TreeMDP, epsilon: float, judged_by: float, delta: float, runs: int) -> tuple[float, float]:
    """The share of runs that end with an answer worse than V* - judged_by, and their mean length."""
    wrong, episodes = 0, 0
    for seed in range(runs):
        made = learner(mdp.tree, epsilon=min(epsilon, 0.99), delta=delta, seed=seed)
        result = ts.run_until_stopped(made, mdp, progress=False)
        wrong += result.gap > judged_by * mdp.tree.utility_range
        episodes += result.episodes
    return wrong / runs, episodes / runs


def exploit_errors(mdp: ts.TreeMDP, episodes: int, delta: float, runs: int) -> list[float]:
    """The shares of runs with a wrong bound: from below, from above, any, and any if both were far too narrow."""
    value_of, best = mdp.value, mdp.to_utility(mdp.scaled_best_value)
    wrong = np.zeros(4)
    for seed in range(runs):
        learner = ts.BettingUCRL(mdp.tree, delta=delta / 2, seed=seed)
        found = respond(
            learner,
            KnownOpponent(mdp, seed),
            delta=delta,
            episodes=episodes,
            progress=False,
        )
        value = value_of(found.plan)
        lower = found.mean - (found.mean - found.lower) / _FAR_TOO_NARROW
        upper = found.mean + (found.upper - found.mean) / _FAR_TOO_NARROW
        below, above = found.lower > value, found.upper < best
        wrong += [below, above, below or above, lower > value or upper < best]
    return (wrong / runs).tolist()


def report(options: Options) -> None:
    """The errors of learners that stop."""
    runs, delta = options.runs or 10_000, options.delta or _DELTA
    print("| learner | problem | epsilon | errors | promised | episodes | errors of the broken bound |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, least_epsilon in options.chosen(LEARNERS).items():
        learner = getattr(ts, name)
        for title, (mdp, epsilon) in problems().items():
            if epsilon < least_epsilon:
                continue
            share, episodes = errors(learner, mdp, epsilon, epsilon, delta, runs)
            broken, _ = errors(learner, mdp, _TOO_NARROW * epsilon, epsilon, delta, runs)
            print(
                f"| {name} | {title} | {epsilon:.3f} | {share:.4f} | {delta} | {episodes:,.0f} | {broken:.4f} |",
                flush=True,
            )


def report_exploit(options: Options) -> None:
    """The errors of both sides of the certificate of ts.exploit."""
    runs, episodes, delta = options.runs or 1000, options.episodes or _EXPLOIT_EPISODES, options.delta or _DELTA
    print(
        "| problem | wrong from below | wrong from above | any | promised | any, if twenty times nearer to the mean |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for title, (mdp, _) in options.chosen(problems()).items():
        shares = [f"{share:.4f}" for share in exploit_errors(mdp, episodes, delta, runs)]
        print(f"| {title} | {shares[0]} | {shares[1]} | {shares[2]} | {delta} | {shares[3]} |", flush=True)
