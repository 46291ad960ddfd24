import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.balanced_levels import LevelsTwin
from reference.learners import ends_at_once
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.trees.return_ranges import ranges_below


def check_against_twin(mdp, episodes, seed, **settings):
    learner = ts.BalancedLevels(mdp.tree, seed=seed, **settings)
    given = {
        name: each for name, each in learner.hyper_parameters.items() if name not in ("lowest", "highest", "number")
    }
    twin = LevelsTwin(mdp.tree, learner.levels, seed, **given)
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
    check_against_twin(mdp_of("kuhn", 1), 150, 1, lowest=0.2, highest=1.0, number=2, noise=0.3, caution=0.0)
    check_against_twin(mdp_of("kuhn", 0), 150, 3, surge=0.0, surge_from=1.0, surge_to=5.0)
    check_against_twin(mdp_of("kuhn", 0), 150, 4, patience=3.0, insistence=0.5)
    check_against_twin(ends_at_once(), 150, 2)
    for seed in range(4):
        check_against_twin(brute_force.random_mdp(np.random.default_rng(seed)), 100, seed)


def test_levels_that_lose_are_played_less():
    """With next to no allowance guesses are soon refuted; the twin refutes the same ones."""
    mdp = brute_force.random_mdp(np.random.default_rng(9))
    learner = check_against_twin(mdp, 120, 9, confidence=0.01, guess=0.01)
    assert 0 < learner.played.min() < learner.played.max() / 2


def test_levels_are_in_equal_ratios(mdp_of):
    learner = ts.BalancedLevels(mdp_of("kuhn", 0).tree, lowest=0.2, highest=0.8, number=3)
    assert learner.levels == pytest.approx([0.2, 0.4, 0.8])


def test_every_level_is_played_after_every_restart(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner, rng = ts.BalancedLevels(mdp.tree, seed=3), np.random.default_rng(3)
    for restart in (64, 128, 256, 512, 1024):
        while learner.episodes < restart:
            learner.learn(*mdp.sample(learner.plan(), rng))
        played = learner.played
        for _ in learner.levels:
            learner.learn(*mdp.sample(learner.plan(), rng))
        np.testing.assert_array_equal(learner.played - played, 1)


def test_untried_actions_are_not_recommended_unless_the_rules_settle_them(mdp_of):
    mdp = mdp_of("leduc", 1)
    least, most = ranges_below(mdp.tree)
    learner, rng, tried = ts.BalancedLevels(mdp.tree, seed=1), np.random.default_rng(1), set()
    tree = mdp.tree
    for _ in range(300):
        ended_on, value = mdp.sample(learner.plan(), rng)
        learner.learn(ended_on, value)
        sequence = ended_on
        while sequence != tree.num_sequences:
            tried.add(sequence)
            sequence = int(tree.parent[np.searchsorted(tree.first_sequence, sequence, side="right") - 1])
        recommended = tree.first_sequence[:-1] + learner.recommend()
        for state in range(tree.num_states):
            if tried & set(range(tree.first_sequence[state], tree.first_sequence[state + 1])):
                assert recommended[state] in tried or least[recommended[state]] == most[recommended[state]]


def test_what_the_rules_settle_is_known_untried():
    """Of two actions one is a fold worth 0.4; the other wins 0 or 1, and seldom: the fold is recommended untried."""
    tree = ts.InfostateTree(
        first_sequence=[0, 2],
        first_child=[1, 1, 1],
        parent=[2],
        action=[0, 1],
        can_end=[True, True],
        least_return=[0.4, 0.0],
        most_return=[0.4, 1.0],
    )
    for seed in range(8):
        learner = ts.BalancedLevels(tree, seed=seed)
        for _ in range(5):
            learner.observe(1, 0.0)
        np.testing.assert_array_equal(learner.recommend(), [0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"surge": -1.0},
        {"surge_from": 0.0},
        {"surge_to": -2.0},
        {"caution": -0.1},
        {"patience": 0.0},
        {"insistence": 0.6},
    ],
)
def test_wrong_settings_are_named(mdp_of, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ts.BalancedLevels(mdp_of("kuhn", 0).tree, **wrong)


@pytest.mark.parametrize("seed", range(6))
def test_finds_a_best_response_on_any_small_tree(seed):
    mdp = brute_force.random_mdp(np.random.default_rng(seed), impossible_chance=0.2)
    trace = ts.run(ts.BalancedLevels(mdp.tree, seed=seed), mdp, 100_000, measure_at=[100_000], progress=False)
    assert trace.value_gap[-1] < 0.002 * mdp.tree.utility_range
    assert trace.regret[-1] / 100_000 < 0.01 * mdp.tree.utility_range


def test_is_the_default_and_listed_once(mdp_of):
    assert [name for name, learner in catalogue().items() if learner is ts.BalancedLevels] == ["BalancedLevels"]
    mdp = mdp_of("kuhn", 0)
    assert type(ts.default_learner(mdp.tree, seed=0)) is ts.BalancedLevels
    assert ts.run(ts.default_learner(mdp.tree, seed=0), mdp, 100, progress=False).episode[-1] == 100
