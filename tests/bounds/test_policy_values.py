"""Bets on the values of all policies, bounds by sequences with shares by policy, and the threshold test."""

import math

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force, differences
from tmdp_spiel.bounds import policy_values
from tmdp_spiel.bounds.sequence_values import policy_shares, upper_values
from tmdp_spiel.bounds.threshold import decide_above
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.random_tree import random_tree_mdp


def random_mdp(seed: int) -> ts.TreeMDP:
    rng = np.random.default_rng(seed)
    return random_tree_mdp(rng, max_states=7, max_actions=3, max_children=2, first_states=2, returns=(0.0, 0.3, 1.0))


def random_bet(tree: ts.InfostateTree, rng) -> policy_values.ValueBet:
    return policy_values.ValueBet(
        differences.random_plan(tree, rng),
        differences.random_plan(tree, rng),
        rng.random(tree.sequence_end),
        rng.random(tree.sequence_end),
        np.array([0.02, 0.03]),
        np.array([0.4, 0.5]),
        np.array([2.0, 3.0]),
    )


def psi(u: float) -> float:
    return -math.log(1 - u) - u


@pytest.mark.parametrize("seed", range(5))
def test_the_bracket_is_that_of_every_single_policy(seed):
    mdp, rng = random_mdp(seed), np.random.default_rng(seed)
    tree, links = mdp.tree, mdp.tree.links
    totals, path, lower = np.zeros(tree.sequence_end), traversal.new_path(tree.horizon), 0.0
    plans = differences.pure_plans(tree)
    expected, expected_lower = np.zeros(len(plans)), 0.0
    for _ in range(30):
        bet = random_bet(tree, rng)
        ended_on, value = mdp.sample(bet.mu, rng)
        length = traversal.trace_back(links, ended_on, path)
        policy_values.settle_upper(links, bet, path, length, value, totals)
        lower += policy_values.settle_lower(links, bet, path, length, value)
        steps = differences.path_to(tree, ended_on)
        for at, plan in enumerate(plans):
            x = differences.estimate(tree, plan, bet.mu, bet.upper_baseline, steps, value)
            expected[at] += 0.02 * x + psi(0.04) / 4.0 * (x - 0.4) ** 2
        x = differences.estimate(tree, bet.answer, bet.mu, bet.lower_baseline, steps, value)
        expected_lower += 0.03 * x - psi(0.09) / 9.0 * (x - 0.5) ** 2
    assert policy_values.largest_total(links, totals) == pytest.approx(expected.max())
    assert lower == pytest.approx(expected_lower)


@pytest.mark.parametrize("seed", range(5))
def test_the_ranges_of_estimates_are_those_of_all_episodes(seed):
    tree = random_mdp(seed).tree
    bet, plans = random_bet(tree, np.random.default_rng(seed)), differences.pure_plans(tree)
    least, most = tree.return_range
    largest = policy_values.largest_estimate(tree.links, bet, most)
    smallest = policy_values.least_estimate(tree.links, bet, least)
    seen, answers = [], []
    for ended_on in np.flatnonzero(tree.can_end):
        steps = differences.path_to(tree, int(ended_on))
        for value in (0.0, 1.0):
            for plan in plans:
                seen.append(differences.estimate(tree, plan, bet.mu, bet.upper_baseline, steps, value))
            answers.append(differences.estimate(tree, bet.answer, bet.mu, bet.lower_baseline, steps, value))
    assert max(seen) == pytest.approx(largest)
    assert min(answers) == pytest.approx(smallest)


@pytest.mark.parametrize("u", [1e-6, 5e-4, 0.3, 0.8])
def test_the_weight_of_squares_has_no_cancellation(u):
    exact = sum(u**k / k for k in range(2, 300)) / 4.0
    assert policy_values.penalty(u / 2.0, 2.0) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_shares_add_up_to_one_over_every_policy(seed):
    tree = random_mdp(seed).tree
    shares = np.exp(-policy_shares(tree.links))
    for policy in brute_force.policies(tree):
        assert shares[0] + shares[list(policy)].sum() == pytest.approx(1)


def test_bounds_by_sequences_are_sharper_with_shares_by_policy(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner = ts.BettingUCRL(mdp.tree, delta=0.05, seed=0)
    learner.play(mdp, learner.init_values(mdp), np.random.default_rng(0), 20_000)
    model = learner._model
    upper = upper_values(mdp.tree, model.visits, model.returns, model.squares, 0.05)[0]
    learner._shares_by_policy = False
    assert mdp.scaled_best_value < upper < learner.upper_bound(0.05)


class Shrinking:
    """An interval around a value whose width falls as 1 / sqrt(episodes)."""

    def __init__(self, value: float):
        self.value, self.episodes = value, 0

    def play(self, episodes: int) -> int:
        self.episodes += episodes
        return episodes

    def interval(self) -> tuple[float, float]:
        width = 10 / math.sqrt(self.episodes + 1)
        return self.value - width, self.value + width


def test_the_threshold_test_stops_as_soon_as_it_knows():
    for threshold, above in ((0.5, True), (1.5, False)):
        found = decide_above([Shrinking(0.5), Shrinking(1.5)], threshold, max_episodes=100_000)
        assert found.above is above
        assert (found.lower > threshold) is above and (found.upper <= threshold) is not above
        assert 400 < sum(found.episodes) < 1_200
    near = decide_above([Shrinking(1.0)], 1.0, max_episodes=3_000)
    assert near.above is None and sum(near.episodes) == 3_000
    assert decide_above([Shrinking(1.0)], 1.0, max_episodes=3_000, stop=lambda: True).episodes == (0,)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], 0.1), "at least one"),
        (([Shrinking(0.0)], math.inf), "finite"),
    ],
)
def test_bad_thresholds_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        decide_above(*arguments, max_episodes=10)
    with pytest.raises(ValueError, match="weights"):
        decide_above([Shrinking(0.0)], 0.0, max_episodes=10, weights=[1.0, 2.0])
