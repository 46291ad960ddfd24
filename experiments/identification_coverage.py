"""How often certified answers are worse than promised, on problems where a wrong proof would show.

    python -m experiments.identification_coverage --runs=10000 --delta=0.5
    python -m experiments.identification_coverage --learners=CertifiedUCRL --least_epsilon=0.1 --noexploit

Each learner stops by itself; an error is an answer worth less than V* - epsilon. delta is large and epsilon near
the gaps, so that errors are as likely as they can be. The same campaign is run with a bound that is broken on purpose,
three times too narrow: it stops as if epsilon were three times as large. A campaign that cannot tell the two apart
shows nothing.
"""

from collections.abc import Sequence

import numpy as np
from absl import app, flags

import tmdp_spiel as ts
from tmdp_spiel.spiel.exploit.response import KnownOpponent, respond

_RUNS = flags.DEFINE_integer("runs", 10_000, "Independent runs of each problem.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", 0.5, "Promised probability of an error.", 0.0, 1.0)
_LEARNERS = flags.DEFINE_list("learners", ["BettingOnDifferences"], "Learners that take epsilon and delta.")
_LEAST_EPSILON = flags.DEFINE_float("least_epsilon", 0.0, "Problems with a smaller epsilon are left out.", 0.0, 1.0)
_EXPLOIT = flags.DEFINE_bool("exploit", True, "Both sides of the certificate of ts.exploit as well.")
_EXPLOIT_EPISODES = flags.DEFINE_integer("exploit_episodes", 600, "Episodes of each run of exploit.", lower_bound=1)
_TOO_NARROW = 3.0
_FAR_TOO_NARROW = 20.0


def arms(number: int, gap: float) -> ts.TreeMDP:
    """One state; the first of its actions wins with probability 0.5 + gap / 2, the others with 0.5 - gap / 2."""
    tree = ts.DecisionTree(
        first_sequence=[0, number],
        first_child=[1] * (number + 1),
        parent=[number],
        action=range(number),
        can_end=[True] * number,
    )
    chances = np.array([0.5 + gap / 2] + [0.5 - gap / 2] * (number - 1))
    first_outcome = [*range(0, 2 * number + 1, 2), 2 * number]
    return ts.TreeMDP(tree, [1.0], first_outcome, [0.0, 1.0] * number, np.stack([1 - chances, chances], 1).ravel())


def random_problem(seed: int) -> ts.TreeMDP:
    rng = np.random.default_rng(seed)
    while True:
        mdp = ts.random_tree_mdp(rng, max_states=8, max_actions=4, first_states=2, returns=(0.0, 1.0))
        if mdp.tree.num_policies >= 8:
            return mdp


def median_gap(mdp: ts.TreeMDP) -> float:
    """The median of what the first mistakes of one decision cost, on the [0, 1] scale."""
    losses = mdp.losses() / mdp.tree.utility_range
    return float(np.median(losses[losses > 1e-6]))


def problems() -> dict[str, tuple[ts.TreeMDP, float]]:
    """Name, and the Tree MDP with its epsilon."""
    found = {f"{number} arms, gap {gap}": (arms(number, gap), 0.6 * gap) for number in (2, 10) for gap in (0.2, 0.4)}
    for seed in range(6):
        mdp = random_problem(seed)
        found[f"random tree {seed}"] = mdp, 0.5 * median_gap(mdp)
    game = ts.load_game("kuhn")
    for player in range(2):
        for name, opponent in (("equilibrium", ts.equilibrium(game)), ("uniform", ts.uniform(game))):
            found[f"kuhn {'xo'[player]}, {name}"] = ts.build_tree(game, player, opponent), 0.03
    return found


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
    """The shares of runs with a wrong bound: from below, from above, any, and any if both were far too near it."""
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


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
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
    app.run(main)
