"""LUCB-T from outside: both policies of every batch, and the guarantee by simulation."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.observer import Observer

SETTINGS = {
    "tight": dict(bound="theory"),
    "paper": dict(bound="theory", union="paper"),
    "best": dict(bound="theory", union="best"),
    "simple": dict(bound="simple", c=0.1, epsilon=0.001),
    "transitions": dict(bound="simple", c=0.1, estimator="transitions", epsilon=0.001),
}


def written_out_lambda(learner, t):
    tree, delta = learner.tree, learner.delta
    if learner.bound == "simple":
        return np.sqrt(learner.c * np.log(t / delta))
    if learner.union == "paper":
        log_inverse = np.log(3 / delta) + tree.log_num_unreduced_policies
        log_inverse += (tree.num_merged_terminals + 4) * np.log(t)
    else:
        k = tree.max_ending_sequences
        log_policies = 0.0 if learner.union == "best" else tree.log_num_policies
        log_inverse = np.log(4 / delta) + log_policies + k * np.log(2 * t) + 2 * np.log(t)
    return np.sqrt(8 / 3 * log_inverse)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("player", [0, 1])
def test_every_batch_is_that_of_algorithm_1(setting, player, mdp_of):
    mdp = mdp_of("kuhn", player)
    learner = ts.LUCBT(mdp.tree, seed=player, **SETTINGS[setting])
    observer = Observer(mdp.tree, learner.baseline)
    rng = np.random.default_rng(2)

    def step():
        policy = brute_force.policy_of(mdp.tree, learner.plan())
        ended_on, value = mdp.sample(learner.plan(), rng)
        learner.learn(ended_on, value)
        observer.see(policy, ended_on, value)

    batch = 0
    while observer.plays[1:].min() == 0:
        batch += 1
        assert min(observer.plays[j] for j in brute_force.policy_of(mdp.tree, learner.plan())) == 0
        step()
    first = batch + 1
    for batch in range(first, first + 119):
        lam = written_out_lambda(learner, batch)
        estimates = [observer.estimate(each, learner.estimator) for each in observer.policies]
        bounds = {each: observer.bound(each, lam, learner.estimator) for each in observer.policies}
        first = brute_force.policy_of(mdp.tree, learner.plan())
        assert observer.estimate(first, learner.estimator) == pytest.approx(max(estimates), abs=1e-10)
        assert not learner.stopped
        step()
        second = brute_force.policy_of(mdp.tree, learner.plan())
        assert second != first
        assert brute_force.close(bounds[second], max(bound for each, bound in bounds.items() if each != first))
        step()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ts.LUCBT, ts.LUCBTUniform, ts.LUCB])
@pytest.mark.parametrize("name, runs", [("kuhn", 10), ("kuhn5", 2)])
@pytest.mark.parametrize("player", [0, 1])
def test_the_returned_policy_is_epsilon_best_on_kuhn(algorithm, name, runs, player, mdp_of):
    mdp = mdp_of(name, player)
    for seed in range(runs):
        result = ts.run_until_stopped(algorithm(mdp.tree, epsilon=0.2, delta=0.1, seed=seed), mdp)
        assert result.stopped
        assert result.gap <= 0.2 * mdp.tree.utility_range


@pytest.mark.parametrize("algorithm", [ts.LUCBT, ts.LUCBTUniform, ts.LUCB])
def test_the_returned_policy_is_epsilon_best_on_random_trees(algorithm):
    rng = np.random.default_rng(5)
    for seed in range(20):
        mdp = brute_force.random_mdp(rng)
        result = ts.run_until_stopped(algorithm(mdp.tree, epsilon=0.2, delta=0.1, seed=seed), mdp)
        assert result.stopped
        assert result.gap <= 0.2


@pytest.mark.slow
def test_it_stops_exactly_when_the_bounds_part(mdp_of):
    mdp = mdp_of("kuhn", 0)
    learner = ts.LUCBT(mdp.tree, epsilon=0.3, delta=0.1, seed=3)
    observer = Observer(mdp.tree, 0.0)
    rng = np.random.default_rng(3)
    batch, in_batch = 0, 0
    while not learner.stopped:
        policy = brute_force.policy_of(mdp.tree, learner.plan())
        if in_batch == 0:
            batch += 1
            in_batch = 1 if observer.plays[1:].min() == 0 else 2
        ended_on, value = mdp.sample(learner.plan(), rng)
        learner.learn(ended_on, value)
        observer.see(policy, ended_on, value)
        in_batch -= 1
    lam = written_out_lambda(learner, batch + 1)
    first = brute_force.policy_of(mdp.tree, learner.recommend())
    least = min(observer.plays[j] for j in brute_force.endings(mdp.tree, first))
    lower = min(observer.estimate(first, "counts"), 1.0) - lam / np.sqrt(least)
    upper = max(observer.bound(each, lam)[1] for each in observer.policies if each != first)
    assert lower >= upper - 0.3
    assert learner.width == pytest.approx(upper - lower, abs=1e-10)


def test_a_tree_with_one_policy_needs_no_episode():
    tree = ts.InfostateTree(
        first_sequence=[1, 2], first_child=[0, 1, 1], parent=[0], action=[0, 0], can_end=[False, True]
    )
    mdp = ts.TreeMDP(tree, [1.0], [0, 0, 1], [0.5], [1.0])
    result = ts.run_until_stopped(ts.LUCBT(tree), mdp)
    assert result.stopped and result.episodes <= 1 and result.gap == 0.0


@pytest.mark.parametrize(
    "wrong", [dict(epsilon=0.0), dict(epsilon=1.0), dict(delta=-1), dict(delta=1), dict(bound="tigth"), dict(union="x")]
)
@pytest.mark.parametrize("algorithm", [ts.LUCBT, ts.LUCBTUniform])
def test_wrong_parameters_are_refused(algorithm, wrong, mdp_of):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        algorithm(mdp_of("kuhn", 0).tree, **wrong)


def test_without_the_union_over_policies_it_stops_sooner(mdp_of):
    mdp = mdp_of("kuhn", 0)
    episodes = []
    for union in ("tight", "best"):
        result = ts.run_until_stopped(ts.LUCBT(mdp.tree, epsilon=0.2, delta=0.1, union=union, seed=0), mdp)
        assert result.gap <= 0.2 * mdp.tree.utility_range
        episodes.append(result.episodes)
    assert episodes[1] < episodes[0]
