"""Bets on values where an opponent failed: at least as bad, for each side, as any way to go on."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import differences
from tmdp_spiel.bounds import policy_values
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.random_tree import random_tree_mdp


def random_bet(tree: ts.InfostateTree, rng) -> policy_values.ValueBet:
    return policy_values.ValueBet(
        differences.random_plan(tree, rng),
        differences.random_plan(tree, rng),
        rng.random(tree.sequence_end),
        rng.random(tree.sequence_end),
        rng.uniform(0.01, 0.05, 2),
        rng.random(2),
        np.array([15.0, 15.0]),
    )


def settled(tree, bet, ended_on: int, value: float | None) -> tuple[np.ndarray, float]:
    """What an episode adds to the bracket of every pure policy, and to that of the lower bound."""
    path, totals, ranges = traversal.new_path(tree.horizon), np.zeros(tree.sequence_end), tree.return_range
    length = traversal.trace_back(tree.links, ended_on, path)
    if value is None:
        lower = policy_values.settle_failed(tree.links, bet, path, length, *ranges, totals)
    else:
        policy_values.settle_upper(tree.links, bet, path, length, value, totals)
        lower = policy_values.settle_lower(tree.links, bet, path, length, value)
    return np.array([plan @ totals for plan in differences.pure_plans(tree)]), lower


@pytest.mark.parametrize("seed", range(6))
def test_a_failed_episode_counts_as_the_worst_continuation(seed):
    rng = np.random.default_rng(seed)
    mdp = random_tree_mdp(rng, max_states=7, max_actions=3, max_children=2, first_states=2, returns=(0.0, 0.3, 1.0))
    tree = mdp.tree
    least, most = tree.return_range
    ends = np.flatnonzero(tree.can_end)
    for _ in range(5):
        bet, tight = random_bet(tree, rng), 0
        for cut in range(tree.sequence_end):
            of_policies, of_answer = settled(tree, bet, cut, None)
            worst, lowest = np.full(len(of_policies), -np.inf), np.inf
            for end in map(int, ends):
                on_the_way = [tree.root, *(j for _, j in differences.path_to(tree, end))]
                for value in (least[end], most[end]) if cut in on_the_way else ():
                    upper, lower = settled(tree, bet, end, value)
                    worst, lowest = np.maximum(worst, upper), min(lowest, lower)
            assert np.all(of_policies >= worst - 1e-12)
            assert of_answer == pytest.approx(lowest)
            tight += np.isclose(of_policies.max(), worst.max())
        assert tight > tree.num_sequences / 2, "no worse than need be"
