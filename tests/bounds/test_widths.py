import math

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.learners import ends_at_once
from tmdp_spiel.bounds import theorems, widths


def test_widths_by_hand():
    assert widths.beta(24, math.exp(-9)) == pytest.approx(1.0)
    assert widths.simple_beta(4, 10, 2.0, 0.1) == pytest.approx(math.sqrt(0.5 * math.log(100)))


def test_schedules_by_hand(mdp_of):
    tree = mdp_of("kuhn", 0).tree  # 27 reduced policies of 64, k = 6, the paper's |Sigma| = 15
    t, delta = 100, 0.05
    expected = {
        widths.lucb_t_schedule(tree, delta, "paper"): 3 * 64 * t**19 / delta,
        widths.lucb_t_schedule(tree, delta, "tight"): 4 * 27 * (2 * t) ** 6 * t**2 / delta,
        widths.uniform_schedule(tree, delta, "tight"): 4 * 27 * (2 * t) * t**2 / delta,
        widths.ucb_t_schedule(tree, "paper"): 64 * t**19,
        widths.ucb_t_schedule(tree, "tight"): 27 * t**10,
    }
    check_schedules(expected, t)


def check_schedules(expected, t):
    for schedule, inverse_delta in expected.items():
        width = widths.growth(schedule, t) / math.sqrt(1000)
        assert width == pytest.approx(widths.beta(1000, 1 / inverse_delta))


def test_unions_count_the_episodes_that_end_before_any_own_decision():
    tree = ends_at_once().tree  # 3 reduced policies, k = 3 with the root
    t, delta = 100, 0.05
    expected = {
        widths.lucb_t_schedule(tree, delta, "tight"): 4 * 3 * (2 * t) ** 3 * t**2 / delta,
        widths.uniform_schedule(tree, delta, "tight"): 4 * 3 * (2 * t) ** 2 * t**2 / delta,
    }
    check_schedules(expected, t)


def gaps(mdp):
    values = {}
    for policy in brute_force.policies(mdp.tree):
        values[policy] = sum(mdp.chances.ending_value[j] for j in policy)
    best = max(values.values())
    return {policy: best - value for policy, value in values.items()}


@pytest.mark.parametrize("seed", range(30))
def test_theorem_2_by_enumeration(seed):
    mdp = brute_force.random_mdp(np.random.default_rng(seed))
    tree, epsilon, delta = mdp.tree, 0.02, 0.1
    gap = gaps(mdp)
    best = brute_force.policy_of(tree, mdp.best_response()[1])
    gap[best] = min((value for policy, value in gap.items() if policy != best), default=0.0)
    terminals = np.diff(mdp.first_outcome)
    total = 0.0
    for j in np.flatnonzero(tree.can_end):
        least = min(max(value, epsilon) for policy, value in gap.items() if j in policy)
        total += terminals[j] / least**2
    logs = math.log(1 / delta) + math.log(max(total, 1.0)) + tree.num_states * math.log(tree.max_actions)
    assert theorems.theorem_2(mdp, epsilon, delta) == pytest.approx(mdp.num_terminals * total * logs, rel=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_theorem_3_by_enumeration(seed):
    mdp = brute_force.random_mdp(np.random.default_rng(seed), impossible_chance=0.2)
    tree, gap = mdp.tree, gaps(mdp)
    terminals = np.diff(mdp.first_outcome)
    total = 0.0
    for j in np.flatnonzero(tree.can_end):
        positive = [value for policy, value in gap.items() if j in policy and value > 1e-12]
        if positive:
            each = mdp.num_terminals * max(positive) / min(positive) ** 2 * math.log(1000)
            total += terminals[j] * (each + tree.log_num_unreduced_policies)
    assert theorems.theorem_3(mdp, 1000) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("name, player", [("kuhn", 0), ("kuhn", 1), ("leduc", 0)])
def test_the_bounds_of_theorem_1_cover_the_true_value(name, player, mdp_of):
    """Data from an adaptive learner; a policy's bounds at delta = 0.1 must fail in at most a tenth of the runs."""
    mdp = mdp_of(name, player)
    tree = mdp.tree
    _, plan = mdp.best_response()
    policy = brute_force.policy_of(tree, plan)
    value, ends = mdp.scaled_value(plan), brute_force.endings(tree, policy)
    failures, runs = 0, 200
    for seed in range(runs):
        learner = ts.UCBT(tree, bound="simple", c=0.1, baseline=0.0, seed=seed)
        ts.run(learner, mdp, 1000, measure_at=[1000])
        plays, totals = learner.plays, learner.totals
        estimate = sum(totals[j] / plays[j] for j in ends)
        width = widths.beta(min(plays[j] for j in ends), 0.1)
        failures += not min(estimate, 1.0) - width <= value <= estimate + width
    assert failures <= 0.1 * runs
