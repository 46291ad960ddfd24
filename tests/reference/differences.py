"""Bets on differences written out: every policy by itself, every path by recursion."""

import numpy as np

import tmdp_spiel as ts
from reference import brute_force


def path_to(tree: ts.InfostateTree, ended_on: int) -> list[tuple[int, int]]:
    """The (state, sequence) pairs of an episode in order."""
    path, sequence = [], ended_on
    while sequence != tree.root:
        state = int(np.searchsorted(tree.first_sequence, sequence, side="right") - 1)
        path.insert(0, (state, sequence))
        sequence = int(tree.parent[state])
    return path


def estimate(tree: ts.InfostateTree, probabilities, mu, baseline, path, value: float) -> float:
    """X of the plan with these probabilities: sum of pi Q + pi / mu (X of the rest - Q)."""
    if not path:
        return value
    (state, played), *rest = path
    sequences = range(tree.first_sequence[state], tree.first_sequence[state + 1])
    expected = sum(probabilities[j] * baseline[j] for j in sequences)
    if probabilities[played] == 0:
        return expected
    after = estimate(tree, probabilities, mu, baseline, rest, value)
    return expected + probabilities[played] / mu[played] * (after - baseline[played])


def pure_plans(tree: ts.InfostateTree) -> list[np.ndarray]:
    """Every reduced policy as probabilities of sequences, 0 at states that it does not reach."""
    plans = []
    for policy in brute_force.policies(tree):
        plan = np.zeros(tree.sequence_end)
        plan[[tree.root, *policy]] = 1.0
        plans.append(plan)
    return plans


def difference(tree: ts.InfostateTree, plan, bet, path, value: float) -> float:
    """D of a policy in one episode."""
    estimates = [estimate(tree, each, bet.mu, bet.baseline, path, value) for each in (plan, bet.hat)]
    return estimates[0] - estimates[1]


def random_plan(tree: ts.InfostateTree, rng: np.random.Generator) -> np.ndarray:
    """A mixed plan that takes every action."""
    sizes = np.diff(tree.first_sequence)
    return np.concatenate([[1.0], *(0.9 * rng.dirichlet(np.ones(size)) + 0.1 / size for size in sizes)])
