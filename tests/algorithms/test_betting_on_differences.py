import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies

import tmdp_spiel as ts
from reference import brute_force, differences
from reference.learners import ends_at_once
from tmdp_spiel.algorithms import exploration
from tmdp_spiel.bounds.differences import Bet
from tmdp_spiel.evaluation.evaluator import Evaluator

SEEDS = strategies.integers(0, 2**32 - 1)


def small_mdp(rng: np.random.Generator) -> ts.TreeMDP:
    while True:
        mdp = brute_force.random_mdp(rng, impossible_chance=0.2)
        if mdp.tree.num_policies <= 60:
            return mdp


def with_ranges(mdp: ts.TreeMDP) -> ts.TreeMDP:
    """The same Tree MDP, its tree knowing what each ending can return."""
    returns = [
        mdp.outcome_return[mdp.first_outcome[j] : mdp.first_outcome[j + 1]] for j in range(mdp.tree.sequence_end)
    ]
    state = mdp.tree.__getstate__()
    state["least_return"] = [each.min(initial=1.0) for each in returns]
    state["most_return"] = [each.max(initial=0.0) for each in returns]
    tree = ts.InfostateTree(**state)
    return ts.TreeMDP(tree, mdp.reach, mdp.first_outcome, mdp.outcome_return, mdp.outcome_probability)


def copied(bet: Bet) -> Bet:
    return Bet(*(each.copy() for each in bet))


def written_out(mdp: ts.TreeMDP, learner: ts.BettingOnDifferences, rng, episodes: int):
    """Steps the learner; after every look: the least log capital of any policy, and the mixture of the answers."""
    tree, plans = mdp.tree, differences.pure_plans(mdp.tree)
    capitals, mixed, weight, looks = np.zeros(len(plans)), np.zeros(tree.sequence_end), 0.0, 0
    while learner.episodes < episodes and not learner.stopped:
        bet = copied(learner._memory.bet)
        ended_on, value = mdp.sample(learner.plan(), rng)
        learner.learn(ended_on, value)
        path = differences.path_to(tree, ended_on)
        leads = np.array([differences.difference(tree, plan, bet, path, value) for plan in plans])
        factors = 1.0 + bet.stake[0] * (learner.epsilon - leads)
        assert factors.min() >= 0.2 - 1e-9
        capitals += np.log(factors)
        mixed += bet.stake[0] * mdp.own_reach(bet.hat)
        weight += bet.stake[0]
        if learner._memory.seen.progress[exploration.LOOKS] > looks:
            looks = learner._memory.seen.progress[exploration.LOOKS]
            yield capitals.min(), mixed / weight if weight else None


@settings(max_examples=15, deadline=None, derandomize=True)
@given(SEEDS, strategies.booleans())
def test_capital_and_mixture_are_those_written_out_for_every_policy(seed, ranges):
    rng = np.random.default_rng(seed)
    mdp = small_mdp(rng)
    mdp = with_ranges(mdp) if ranges else mdp
    learner = ts.BettingOnDifferences(mdp.tree, epsilon=0.1, delta=0.3)
    for least, mixture in written_out(mdp, learner, rng, 60):
        assert learner.certainty * math.log(1 / 0.3) == pytest.approx(least, abs=1e-8)
        assert learner.stopped == (least >= math.log(1 / 0.3))
        if mixture is not None:
            np.testing.assert_allclose(mdp.own_reach(learner.recommend()), mixture, atol=1e-9)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SEEDS)
def test_the_exploration_minimises_the_sum_of_costs_over_reach(seed):
    rng = np.random.default_rng(seed)
    mdp = small_mdp(rng)
    costs = rng.random(mdp.tree.sequence_end)
    plan = exploration.neyman(mdp.tree.links, costs)
    best = (costs / mdp.own_reach(plan)).sum()
    for _ in range(30):
        other = differences.random_plan(mdp.tree, rng)
        near = 0.99 * plan + 0.01 * other
        assert (costs / mdp.own_reach(other)).sum() >= best - 1e-6
        assert (costs / mdp.own_reach(near)).sum() >= best - 1e-6


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SEEDS)
def test_rivals_are_drawn_in_proportion_to_their_weights(seed):
    rng = np.random.default_rng(seed)
    mdp = small_mdp(rng)
    costs = rng.normal(size=mdp.tree.sequence_end)
    plans = np.array(differences.pure_plans(mdp.tree))
    weights = np.exp(-plans @ costs)
    np.testing.assert_allclose(exploration.rivals(mdp.tree.links, costs), weights @ plans / weights.sum(), atol=1e-9)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(SEEDS)
def test_no_plan_has_a_larger_least_reach_than_the_cover(seed):
    rng = np.random.default_rng(seed)
    mdp = small_mdp(rng)
    plan, width = exploration.max_cover(mdp.tree.links)
    least = mdp.own_reach(plan)[mdp.tree.can_end].min()
    assert width == pytest.approx(1 / least)
    for _ in range(30):
        other = differences.random_plan(mdp.tree, rng)
        assert mdp.own_reach(other)[mdp.tree.can_end].min() <= least + 1e-9


@pytest.mark.parametrize("name, player", [("kuhn", 0), ("kuhn", 1), ("leduc", 0), ("leduc", 1)])
def test_stops_with_an_answer_that_is_good_enough(name, player, mdp_of):
    mdp = mdp_of(name, player)
    for seed in range(5):
        learner = ts.BettingOnDifferences(mdp.tree, epsilon=0.05, delta=0.05, seed=seed)
        result = ts.run_until_stopped(learner, mdp, max_episodes=30_000, progress=False)
        assert result.stopped and learner.certainty >= 1.0
        assert result.gap <= 0.05 * mdp.tree.utility_range


def test_stops_at_the_same_episode_however_it_is_cut_into_pieces(mdp_of):
    mdp, stops = mdp_of("kuhn", 0), set()
    for piece in (1, 7, 100, 10_000):
        learner, rng = ts.BettingOnDifferences(mdp.tree, seed=3), np.random.default_rng(3)
        evaluator = Evaluator(learner, mdp)
        while not learner.stopped:
            evaluator.play(rng, piece)
        stops.add((learner.episodes, float(learner.recommend().sum() + learner.recommend() @ np.arange(13.0))))
    assert len(stops) == 1


def test_errors_are_no_more_frequent_than_promised():
    """Two policies that differ by a little more than epsilon, and a delta so large that errors can be seen."""
    tree = ts.InfostateTree(
        first_sequence=[1, 3], first_child=[0, 1, 1, 1], parent=[0], action=[0, 0, 1], can_end=[False, True, True]
    )
    mdp = ts.TreeMDP(tree, [1.0], [0, 0, 2, 4], [0.0, 1.0, 0.0, 1.0], [0.5, 0.5, 0.39, 0.61])
    epsilon, delta, runs, wrong = 0.1, 0.5, 1000, 0
    for seed in range(runs):
        learner = ts.BettingOnDifferences(tree, epsilon=epsilon, delta=delta, seed=seed)
        wrong += ts.run_until_stopped(learner, mdp, progress=False).gap > epsilon
    assert wrong / runs <= delta + 3 * np.sqrt(delta * (1 - delta) / runs)


def test_a_tree_without_choices_is_certain_at_once():
    tree = ts.InfostateTree(
        first_sequence=[1, 2], first_child=[0, 1, 1], parent=[0], action=[0, 0], can_end=[False, True]
    )
    mdp = ts.TreeMDP(tree, [1.0], [0, 0, 2], [0.0, 1.0], [0.5, 0.5])
    result = ts.run_until_stopped(ts.BettingOnDifferences(tree, epsilon=0.01, delta=0.01), mdp, progress=False)
    assert result.stopped and result.episodes < 100 and result.gap == 0.0


def test_episodes_without_an_own_decision_count():
    mdp = ends_at_once()
    result = ts.run_until_stopped(ts.BettingOnDifferences(mdp.tree), mdp, max_episodes=10_000, progress=False)
    assert result.stopped and result.gap <= 0.05


def test_narrow_ranges_of_returns_need_fewer_episodes(mdp_of):
    mdp = mdp_of("leduc", 1)
    state = mdp.tree.__getstate__() | dict(least_return=None, most_return=None)
    tree = ts.InfostateTree(**state)
    blind = ts.TreeMDP(tree, mdp.reach, mdp.first_outcome, mdp.outcome_return, mdp.outcome_probability)
    knowing, unknowing = (
        ts.run_until_stopped(ts.BettingOnDifferences(each.tree), each, progress=False) for each in (mdp, blind)
    )
    assert knowing.episodes < unknowing.episodes


@pytest.mark.parametrize(
    "settings, message",
    [
        (dict(epsilon=0.0), "epsilon must lie"),
        (dict(epsilon=1.0), "epsilon must lie"),
        (dict(delta=0.0), "delta must lie"),
        (dict(delta=float("nan")), "delta must lie"),
        (dict(epsilon=1e-6), r"about .* episodes on this tree"),
    ],
)
def test_wrong_or_hopeless_settings_are_refused(settings, message, mdp_of):
    with pytest.raises(ValueError, match=message):
        ts.BettingOnDifferences(mdp_of("kuhn", 0).tree, **settings)


def test_another_opponent_is_refused(mdp_of):
    mdp = mdp_of("kuhn", 0)
    game = ts.load_game("kuhn")
    other = ts.build_tree(game, 0, ts.uniform(game))
    learner = ts.BettingOnDifferences(mdp.tree)
    ts.run(learner, mdp, 50, progress=False)
    with pytest.raises(ValueError, match="another opponent"):
        ts.run_until_stopped(learner, other, progress=False)
    with pytest.raises(ValueError, match="another tree"):
        ts.run_until_stopped(ts.BettingOnDifferences(mdp_of("kuhn", 1).tree), mdp, progress=False)


def test_returns_outside_the_rules_are_refused(mdp_of):
    mdp = with_ranges(ends_at_once())
    learner = ts.BettingOnDifferences(mdp.tree)
    with pytest.raises(ValueError, match="by the rules"):
        learner.learn(3, 0.7)
    assert learner.episodes == 0
    wrong = ts.TreeMDP(mdp.tree, mdp.reach, mdp.first_outcome, 1.0 - mdp.outcome_return, mdp.outcome_probability)
    with pytest.raises(ValueError, match="outside the ranges"):
        ts.run(learner, wrong, 10, progress=False)
