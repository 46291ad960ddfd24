import numpy as np
import pytest
from hypothesis import given, settings, strategies

import tmdp_spiel as ts
from reference import brute_force, differences
from tmdp_spiel.bounds.differences import Bet, largest_difference, least_total, settle
from tmdp_spiel.trees import traversal

SEEDS = strategies.integers(0, 2**32 - 1)


def random_bet(mdp: ts.TreeMDP, rng: np.random.Generator, stake: float = 0.01) -> Bet:
    plans = [differences.random_plan(mdp.tree, rng) for _ in range(2)]
    return Bet(*plans, rng.random(mdp.tree.sequence_end), np.array([stake]))


def random_mdp(rng: np.random.Generator) -> ts.TreeMDP:
    while True:
        mdp = brute_force.random_mdp(rng, impossible_chance=0.2)
        if mdp.tree.num_policies <= 100:
            return mdp


def outcomes(mdp: ts.TreeMDP):
    """(sequence it ends on, return, probability if the own actions are taken) of every outcome."""
    for j in range(mdp.tree.sequence_end):
        for outcome in range(mdp.first_outcome[j], mdp.first_outcome[j + 1]):
            yield j, float(mdp.outcome_return[outcome]), float(mdp.outcome_probability[outcome])


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_estimate_is_unbiased_for_every_policy_and_baseline(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    bet = random_bet(mdp, rng)
    reach = mdp.own_reach(bet.mu)
    for plan in [*differences.pure_plans(mdp.tree)[:20], bet.hat]:
        mean = sum(
            reach[j]
            * probability
            * differences.estimate(mdp.tree, plan, bet.mu, bet.baseline, differences.path_to(mdp.tree, j), value)
            for j, value, probability in outcomes(mdp)
        )
        exact = sum(brute_reach(mdp, plan)[j] * p * value for j, value, p in outcomes(mdp))
        assert mean == pytest.approx(exact, abs=1e-9)


def brute_reach(mdp: ts.TreeMDP, plan) -> np.ndarray:
    """The own reach of sequences under probabilities that may be all zero where the plan does not come."""
    reach = np.zeros(mdp.tree.sequence_end)
    for j in range(mdp.tree.sequence_end):
        reach[j] = np.prod([plan[played] for _, played in differences.path_to(mdp.tree, j)])
    return reach


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_settled_bets_are_those_of_every_policy_written_out(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    tree, epsilon = mdp.tree, 0.07
    path = traversal.new_path(tree.horizon)
    log_capital, scratch = np.zeros(tree.sequence_end), np.empty((2, tree.horizon + 1))
    plans = differences.pure_plans(tree)
    written_out = np.zeros(len(plans))
    for _ in range(5):
        bet = random_bet(mdp, rng, stake=0.001 * rng.random())
        for _ in range(6):
            ended_on, value = mdp.sample(bet.mu, rng)
            decisions = differences.path_to(tree, ended_on)
            for at, (state, sequence) in enumerate(decisions):
                path.states[at], path.sequences[at] = state, sequence
            settle(tree.links, bet, epsilon, path, len(decisions), value, *scratch, log_capital)
            for which, plan in enumerate(plans):
                lead = differences.difference(tree, plan, bet, decisions, value)
                written_out[which] += np.log1p(bet.stake[0] * (epsilon - lead))
    for plan, expected in zip(plans, written_out):
        assert log_capital[plan > 0].sum() == pytest.approx(expected, abs=1e-9)
    assert least_total(tree.links, log_capital) == pytest.approx(written_out.min(), abs=1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_largest_difference_is_that_of_all_policies_paths_and_returns(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    tree, bet = mdp.tree, random_bet(mdp, rng)
    ends = np.sort(rng.random((2, tree.sequence_end)), axis=0)
    largest = 0.0
    for j in np.flatnonzero(tree.can_end):
        path = differences.path_to(tree, j)
        for plan in differences.pure_plans(tree):
            for value in np.linspace(ends[0, j], ends[1, j], 3):
                largest = max(largest, differences.difference(tree, plan, bet, path, value))
    assert largest_difference(tree.links, bet, *ends) == pytest.approx(largest, abs=1e-9)
