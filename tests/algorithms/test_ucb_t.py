"""UCB-T from outside: its counts are kept independently, and every plan must maximise the upper bound."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.observer import Observer
from tmdp_spiel.bounds import widths

SETTINGS = {
    "simple": dict(bound="simple", c=0.1),
    "no baseline": dict(bound="simple", c=0.5, baseline=0.0),
    "tight": dict(bound="theory"),
    "paper": dict(bound="theory", union="paper"),
    "optimistic": dict(bound="simple", optimistic=True),
    "transitions": dict(bound="simple", c=0.2, estimator="transitions"),
    "adaptive": dict(bound="simple", c=0.1, baseline="adaptive"),
    "by estimate": dict(bound="simple", c=0.1, recommended="estimate"),
}


def written_out_lambda(learner, t):
    """lambda_t from the definitions of beta and delta_U."""
    tree = learner.tree
    if learner.bound == "simple":
        return np.sqrt(learner.c * np.log(t / learner.delta))
    if learner.union == "paper":
        log_inverse = tree.log_num_unreduced_policies + (tree.num_merged_terminals + 4) * np.log(t)
    else:
        log_inverse = tree.log_num_policies + (tree.max_ending_sequences + 4) * np.log(t)
    return np.sqrt(8 / 3 * log_inverse)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("player", [0, 1])
def test_every_plan_maximises_the_upper_bound_on_kuhn(setting, player, mdp_of):
    mdp = mdp_of("kuhn", player)
    learner = ts.UCBT(mdp.tree, seed=player, **SETTINGS[setting])
    observer = Observer(mdp.tree, learner.current_baseline, learner.adaptive)
    rng = np.random.default_rng(1)
    for t in range(1, 300):
        lam = written_out_lambda(learner, t)
        policy = brute_force.policy_of(mdp.tree, learner.plan())
        bounds = [observer.bound(each, lam, learner.estimator, learner.optimistic) for each in observer.policies]
        assert brute_force.close(observer.bound(policy, lam, learner.estimator, learner.optimistic), max(bounds))
        best = max(observer.estimate(each, learner.estimator) for each in observer.policies)
        recommended = brute_force.policy_of(mdp.tree, learner.recommend())
        if learner.recommended == "estimate" or learner.estimator == "transitions":
            assert observer.estimate(recommended, learner.estimator) == pytest.approx(best, abs=1e-10)
        ended_on, value = mdp.sample(learner.plan(), rng)
        learner.learn(ended_on, value)
        observer.see(policy, ended_on, value)
        np.testing.assert_array_equal(learner.plays, observer.plays)
        assert learner.current_baseline == pytest.approx(observer.baseline, abs=1e-12)


def test_every_sequence_is_played_before_any_bound_counts(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner = ts.UCBT(mdp.tree)
    rng = np.random.default_rng(0)
    while learner.plays[1:].min() == 0:
        unplayed = learner.plays == 0
        policy = brute_force.policy_of(mdp.tree, learner.plan())
        assert unplayed[list(policy)].any()
        learner.learn(*mdp.sample(learner.plan(), rng))
    assert learner.episodes <= mdp.tree.num_sequences


@pytest.mark.parametrize("name", ["kuhn", "kuhn5", "leduc"])
@pytest.mark.parametrize("player", [0, 1])
def test_regret_grows_slower_and_slower(name, player, mdp_of):
    mdp = mdp_of(name, player)
    learner = ts.UCBT(mdp.tree, c=0.1 if name != "leduc" else 1.0)
    trace = ts.run(learner, mdp, 200_000, measure_at=[20_000, 100_000, 200_000])
    early, late = trace.regret[0] / 20_000, (trace.regret[2] - trace.regret[1]) / 100_000
    assert late < 0.7 * early
    assert trace.value_gap[-1] < 0.005 * mdp.tree.utility_range


@pytest.mark.parametrize("baseline", [0.5, "adaptive"])
def test_theory_refuses_a_baseline(baseline, mdp_of):
    with pytest.raises(ValueError, match="baseline=0"):
        ts.UCBT(mdp_of("kuhn", 0).tree, bound="theory", baseline=baseline)


def test_a_wrong_baseline_is_named(mdp_of):
    tree = mdp_of("kuhn", 0).tree
    with pytest.raises(ValueError, match="adaptive"):
        ts.UCBT(tree, baseline="moving")
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        ts.UCBT(tree, baseline=1.5)
    with pytest.raises(ValueError, match="transitions"):
        ts.UCBT(tree, baseline="adaptive", estimator="transitions")


@pytest.mark.parametrize("learner", [ts.LUCBT, ts.UCBT])
def test_no_width_of_theorem_1_for_what_it_is_not_about(learner, mdp_of):
    with pytest.raises(ValueError, match="not proven for estimator='transitions'; use estimator='counts'"):
        learner(mdp_of("kuhn", 0).tree, bound="theory", estimator="transitions")


def test_growth_matches_the_written_out_widths(mdp_of):
    tree = mdp_of("kuhn", 0).tree
    for setting in ("simple", "tight", "paper"):
        learner = ts.UCBT(tree, **SETTINGS[setting])
        for t in (1, 7, 10**6):
            assert widths.growth(learner._memory.schedule, t) == pytest.approx(written_out_lambda(learner, t))
