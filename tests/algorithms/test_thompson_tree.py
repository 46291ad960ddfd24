import concurrent.futures

import numpy as np
import pytest
import scipy.stats

import tmdp_spiel as ts
from reference import brute_force
from reference.learners import ends_at_once
from reference.thompson_tree import ThompsonTwin
from tmdp_spiel.core.hash_rng import normal
from tmdp_spiel.openspiel.opponents.parallel import ExecutorOpponents


def check_against_twin(mdp, episodes, seed, **settings):
    learner = ts.ThompsonTree(mdp.tree, seed=seed, **settings)
    twin = ThompsonTwin(
        mdp.tree, learner.levels, seed, **{name: learner.hyper_parameters[name] for name in ("noise", "decay")}
    )
    rng = np.random.default_rng(seed)
    for _ in range(episodes):
        plan = learner.plan()
        np.testing.assert_array_equal(plan, twin.plan())
        episode = mdp.sample(plan, rng)
        learner.learn(*episode)
        twin.learn(*episode)
    np.testing.assert_array_equal(learner.recommend(), twin.recommend())
    np.testing.assert_array_equal(learner.played, np.bincount(twin.level_of, minlength=len(learner.levels)))
    return learner


def test_every_estimate_and_choice_against_its_definition(mdp_of):
    check_against_twin(mdp_of("kuhn", 0), 150, 0)
    check_against_twin(mdp_of("kuhn", 1), 150, 1, num_levels=2, noise=0.5, decay=0.5)
    check_against_twin(ends_at_once(), 150, 2)
    for seed in range(6):
        check_against_twin(brute_force.random_mdp(np.random.default_rng(seed)), 100, seed)


def test_draws_are_normal():
    drawn = [normal(3, time, 7, 8) for time in range(20_000)]
    assert scipy.stats.kstest(drawn, scipy.stats.norm.cdf).pvalue > 0.001


def test_levels_are_restarted_when_the_episodes_have_doubled(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner, rng = ts.ThompsonTree(mdp.tree, seed=3), np.random.default_rng(3)
    for restart in (64, 128, 256, 512, 1024):
        while learner.episodes < restart:
            learner.learn(*mdp.sample(learner.plan(), rng))
        played = learner.played
        for _ in learner.levels:
            learner.learn(*mdp.sample(learner.plan(), rng))
        np.testing.assert_array_equal(learner.played - played, 1)


def two_actions(least, most) -> ts.InfostateTree:
    return ts.InfostateTree(
        first_sequence=[1, 3],
        first_child=[0, 1, 1, 1],
        parent=[0],
        action=[0, 0, 1],
        can_end=[False, True, True],
        least_return=least,
        most_return=most,
    )


def test_returns_fixed_by_the_rules_are_known_without_trying():
    """Of two actions one is a fold worth 0.4; the other wins 0 or 1, and seldom: the fold is recommended untried."""
    for seed in range(8):
        learner = ts.ThompsonTree(two_actions([0.0, 0.4, 0.0], [1.0, 0.4, 1.0]), seed=seed)
        for _ in range(5):
            learner.observe(2, 0.0)
        np.testing.assert_array_equal(learner.recommend(), [0])


def test_unlucky_first_returns_are_corrected():
    """The better action has lost at once, the other one always returns 0.5: the better one is tried again and again."""
    for seed in range(10):
        learner = ts.ThompsonTree(two_actions([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]), noise=1.0, seed=seed)
        rng = np.random.default_rng(seed)
        learner.observe(1, 0.0)
        for _ in range(20_000):
            action = int(learner.plan()[0])
            learner.observe(1 + action, float(rng.random() < 0.8) if action == 0 else 0.5)
        np.testing.assert_array_equal(learner.recommend(), [0])


@pytest.mark.parametrize("seed", range(6))
def test_finds_a_best_response_on_any_small_tree(seed):
    mdp = brute_force.random_mdp(np.random.default_rng(seed), impossible_chance=0.2)
    trace = ts.run(ts.ThompsonTree(mdp.tree, seed=seed), mdp, 100_000, measure_at=[100_000], progress=False)
    assert trace.value_gap[-1] < 0.002 * mdp.tree.utility_range
    assert trace.regret[-1] / 100_000 < 0.01 * mdp.tree.utility_range


def test_learns_on_a_lazy_tree():
    game = ts.load_game("leduc")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    table = ts.LiveGame(game, 0, ts.uniform(game), tree=ts.grow_tree(game, 0), seed=2)
    learner = ts.ThompsonTree(table.tree, seed=1)
    table.play(learner, 6000)
    plan = ts.policy_to_plan(mdp.tree, ts.plan_to_policy(table.tree, learner.recommend(), game), game)
    assert mdp.value(plan) > 1.2  # the best response has 2.09, the uniform policy -0.08
    believed = learner.estimate()
    utility = [table.tree.min_utility + each * table.tree.utility_range for each in believed[:3]]
    assert utility[1] - 0.5 < mdp.value(plan) < utility[2] + 0.5


def play_in_rounds(workers, episodes=600):
    rounds = ExecutorOpponents(
        lambda: concurrent.futures.ThreadPoolExecutor(workers), ts.uniform(ts.load_game("kuhn")), in_flight=16
    )
    live = ts.LiveGame("kuhn", 0, None, batched_opponent=rounds, seed=4)
    learner = ts.ThompsonTree(live.tree, seed=4)
    try:
        assert live.play(learner, episodes) == episodes == learner.episodes == learner.played.sum()
    finally:
        rounds.close()
    return live, learner


def test_learns_in_rounds_whatever_the_number_of_workers():
    (live, learner), (_, other) = play_in_rounds(1), play_in_rounds(4)
    np.testing.assert_array_equal(learner.recommend(), other.recommend())
    np.testing.assert_array_equal(learner.played, other.played)
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    plan = ts.policy_to_plan(mdp.tree, ts.plan_to_policy(live.tree, learner.recommend(), game), game)
    assert mdp.best_response()[0] - mdp.value(plan) < 0.2


def test_the_episodes_of_a_round_have_levels_and_draws_of_their_own(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner = ts.ThompsonTree(mdp.tree, noise=5.0, seed=2)
    ts.run(learner, mdp, 200, progress=False)
    current, played = int(learner._memory.bandit.current[0]), learner.played
    make = learner.action_selectors(12)
    action_selectors = [make(None) for _ in range(12)]
    levels = list(learner._in_flight)
    assert levels[0] == current and len(set(levels)) > 1
    plans = np.array([[choose(state) for state in range(mdp.tree.num_states)] for choose in action_selectors])
    assert len(np.unique(plans, axis=0)) > 6
    again = learner.action_selectors(12)
    for plan in plans:
        np.testing.assert_array_equal(list(map(again(None), range(mdp.tree.num_states))), plan)
    for _ in range(12):
        learner.observe(mdp.tree.root if mdp.tree.root_can_end else int(np.flatnonzero(mdp.tree.can_end)[0]), 0.5)
    np.testing.assert_array_equal(learner.played - played, np.bincount(levels, minlength=len(learner.levels)))


def test_a_round_that_failed_is_forgotten(mdp_of):
    mdp = mdp_of("kuhn", 0)
    learner, other = (ts.ThompsonTree(mdp.tree, seed=1) for _ in range(2))
    make = learner.action_selectors(3)
    for _ in range(3):
        make(None)
    rng = np.random.default_rng(0)
    for _ in range(50):
        choose = learner.action_selector(None)
        plan = np.array([choose(state) for state in range(mdp.tree.num_states)], learner.plan().dtype)
        np.testing.assert_array_equal(plan, other.plan())
        episode = mdp.sample(plan, rng)
        learner.observe(*episode)
        other.learn(*episode)
    np.testing.assert_array_equal(learner.played, other.played)


def test_the_estimate_of_one_action_is_its_posterior():
    """One state, one action: normal about the mean, with the variance of the returns over their number."""
    tree = ts.InfostateTree(
        first_sequence=[1, 2], first_child=[0, 1, 1], parent=[0], action=[0, 0], can_end=[False, True]
    )
    learner, rng = ts.ThompsonTree(tree, seed=0), np.random.default_rng(0)
    returns = (rng.random(400) < 0.3).astype(float)
    for value in returns:
        learner.observe(1, value)
    found = learner.estimate(confidence=0.9, draws=4000)
    deviation = 0.5  # one first try and the imagined pair: of 0 and 1
    assert found.value == pytest.approx(returns.mean(), abs=0.002)
    assert found.upper - found.lower == pytest.approx(2 * 1.645 * deviation / 20, rel=0.15)
    assert found.gap == found.largest_gap == 0


def test_estimates_cover_and_shrink(mdp_of):
    """Of runs on Leduc, the interval of the recommended value holds it in most, and the gap is estimated to fall."""
    mdp, inside, gaps = mdp_of("leduc", 1), 0, []
    best = mdp.best_response()[0]
    for seed in range(10):
        learner, rng = ts.ThompsonTree(mdp.tree, seed=seed), np.random.default_rng(seed)
        for episodes in (2000, 48_000):
            ts.run(learner, mdp, episodes, rng=rng, progress=False)
            found = learner.estimate()
            assert 0 <= found.lower <= found.value <= found.upper <= 1 and 0 <= found.gap <= found.largest_gap
            gaps.append(found.gap)
        value = mdp.value(learner.recommend())
        inside += found.lower <= (value - mdp.tree.min_utility) / mdp.tree.utility_range <= found.upper
        assert (best - value) / mdp.tree.utility_range <= found.largest_gap
    assert inside >= 6
    assert np.mean(gaps[1::2]) < 0.7 * np.mean(gaps[::2])


def test_estimates_before_the_first_episode_and_repeated(mdp_of):
    learner = ts.ThompsonTree(mdp_of("leduc", 0).tree, seed=1)
    assert 0 <= learner.estimate().lower <= learner.estimate().upper <= 1
    assert learner.estimate() == learner.estimate()
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1, not 1"):
        learner.estimate(confidence=1)
    with pytest.raises(ValueError, match="draws must be a whole number"):
        learner.estimate(draws=0)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"noise": 0.0}, "noise must be a positive number"),
        ({"decay": -1.0}, "decay must be a positive number"),
        ({"num_levels": 0}, "num_levels must be a whole number"),
    ],
)
def test_wrong_settings_are_named(mdp_of, settings, message):
    with pytest.raises(ValueError, match=message):
        ts.ThompsonTree(mdp_of("kuhn", 0).tree, **settings)
