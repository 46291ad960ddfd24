"""How often certified answers are worse than guaranteed, on problems that would reveal a wrong proof.

    python -m experiments.research.identification_coverage --runs=10000 --delta=0.5
    python -m experiments.research.identification_coverage --learners=CertifiedUCRL --least_epsilon=0.1 --noexploit

Each learner plays until it stops; an error is an answer with a value below V* - epsilon. delta is large and epsilon
near the gaps, so that errors are as likely as possible. The same measurement is repeated with a bound that is broken on
purpose, three times too narrow: it stops as if epsilon were three times as large. The measurement is meaningful only if
it distinguishes the two.
"""

import numpy as np
from absl import flags

import tmdp_spiel as ts
from experiments.research.problems import problems
from experiments.sweep.binary import run_binary
from tmdp_spiel.evaluation.evaluator import KnownOpponent
from tmdp_spiel.exploit.respond import respond

_RUNS = flags.DEFINE_integer("runs", 10_000, "Independent runs of each problem.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", 0.5, "The guaranteed bound on the probability of an error.", 0.0, 1.0)
_LEARNERS = flags.DEFINE_list("learners", ["BettingOnDifferences"], "Learners that take epsilon and delta.")
_LEAST_EPSILON = flags.DEFINE_float("least_epsilon", 0.0, "Problems with a smaller epsilon are left out.", 0.0, 1.0)
_EXPLOIT = flags.DEFINE_bool("exploit", True, "Both sides of the certificate of ts.exploit as well.")
_EXPLOIT_EPISODES = flags.DEFINE_integer("exploit_episodes", 600, "Episodes of each run of exploit.", lower_bound=1)
_TOO_NARROW = 3.0
_FAR_TOO_NARROW = 20.0


def errors(learner, mdp: ts.TreeMDP, epsilon: float, judged_by: float) -> tuple[float, float]:
    """The share of runs that end with an answer worse than V* - judged_by, and their mean length."""
    wrong, episodes = 0, 0
    for seed in range(_RUNS.value):
        made = learner(mdp.tree, epsilon=min(epsilon, 0.99), delta=_DELTA.value, seed=seed)
        result = ts.run_until_stopped(made, mdp, progress=False)
        wrong += result.gap > judged_by * mdp.tree.utility_range
        episodes += result.episodes
    return wrong / _RUNS.value, episodes / _RUNS.value


def exploit_errors(mdp: ts.TreeMDP) -> list[float]:
    """The shares of runs with a wrong bound: from below, from above, any, and any if both were far too narrow."""
    value_of, best = mdp.value, mdp.to_utility(mdp.scaled_best_value)
    wrong = np.zeros(4)
    for seed in range(_RUNS.value):
        learner = ts.BettingUCRL(mdp.tree, delta=_DELTA.value / 2, seed=seed)
        found = respond(
            learner,
            KnownOpponent(mdp, seed),
            delta=_DELTA.value,
            episodes=_EXPLOIT_EPISODES.value,
            progress=False,
        )
        value = value_of(found.plan)
        lower = found.mean - (found.mean - found.lower) / _FAR_TOO_NARROW
        upper = found.mean + (found.upper - found.mean) / _FAR_TOO_NARROW
        below, above = found.lower > value, found.upper < best
        wrong += [below, above, below or above, lower > value or upper < best]
    return (wrong / _RUNS.value).tolist()


def main() -> None:
    print("| learner | problem | epsilon | errors | promised | episodes | errors of the broken bound |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in _LEARNERS.value:
        learner = getattr(ts, name)
        for title, (mdp, epsilon) in problems().items():
            if epsilon < _LEAST_EPSILON.value:
                continue
            share, episodes = errors(learner, mdp, epsilon, epsilon)
            broken, _ = errors(learner, mdp, _TOO_NARROW * epsilon, epsilon)
            print(
                f"| {name} | {title} | {epsilon:.3f} | {share:.4f} | {_DELTA.value} | {episodes:,.0f} | {broken:.4f} |",
                flush=True,
            )

    if not _EXPLOIT.value:
        return
    print(
        "\n| problem | wrong from below | wrong from above | any | promised | any, if twenty times nearer to the mean |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for title, (mdp, _) in problems().items():
        shares = [f"{share:.4f}" for share in exploit_errors(mdp)]
        print(f"| {title} | {shares[0]} | {shares[1]} | {shares[2]} | {_DELTA.value} | {shares[3]} |", flush=True)


if __name__ == "__main__":
    run_binary(main)
