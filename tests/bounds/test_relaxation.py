"""Information relaxation from above, control variates from below, on enumerated trees."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import differences, relaxation as listing
from tmdp_spiel.bounds import betting
from tmdp_spiel.bounds.betting import lower_mean, upper_mean
from tmdp_spiel.bounds.relaxation import Relaxation, shrunken_values
from tmdp_spiel.trees.random_tree import random_tree_mdp


def small_mdp(seed: int, states: int = 5) -> ts.TreeMDP:
    rng = np.random.default_rng(seed)
    return random_tree_mdp(rng, max_states=states, max_actions=2, max_children=2, first_states=2)


def true_values(mdp: ts.TreeMDP) -> np.ndarray:
    return np.where(mdp.reach > 0, mdp.best_values() / np.maximum(mdp.reach, 1e-300), 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_scenarios_have_the_mean_and_the_range_of_all_scenarios(seed):
    mdp, rng = small_mdp(seed), np.random.default_rng(seed)
    values = rng.random(mdp.tree.num_states)
    relaxation = Relaxation(mdp, values)
    listed = list(listing.scenarios(mdp, values))
    mean = sum(chance * value for chance, value in listed)
    assert sum(chance for chance, _ in listed) == pytest.approx(1)
    assert mean >= mdp.scaled_best_value - 1e-12
    assert max(value for _, value in listed) <= relaxation.most + 1e-12
    drawn = relaxation.scenarios(20_000, rng)
    assert set(np.round(drawn, 9)) <= {round(value, 9) for _, value in listed}
    assert drawn.mean() == pytest.approx(mean, abs=5 * drawn.std() / np.sqrt(len(drawn)) + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_with_the_true_values_every_scenario_is_worth_the_best_response(seed):
    mdp = small_mdp(seed, states=12)
    relaxation = Relaxation(mdp, true_values(mdp))
    drawn = relaxation.scenarios(200, np.random.default_rng(seed))
    np.testing.assert_allclose(drawn, mdp.scaled_best_value, atol=1e-12)
    bound = relaxation.upper_bound(scenarios=200, delta=0.01, rng=np.random.default_rng(0))
    assert bound == pytest.approx(mdp.scaled_best_value, abs=1e-9)


@pytest.mark.parametrize("clip", [None, 0.3, 0.01])
@pytest.mark.parametrize("seed", range(4))
def test_control_variates_leave_the_mean_of_a_plan(seed, clip):
    mdp, rng = small_mdp(seed, states=8), np.random.default_rng(seed)
    values, plan = rng.random(mdp.tree.num_states), differences.random_plan(mdp.tree, rng)
    listed = list(listing.episodes(mdp, values, plan))
    value = mdp.scaled_value(plan)
    assert sum(chance * result for chance, result, _ in listed) == pytest.approx(value)
    assert sum(chance * estimate for chance, _, estimate in listed) == pytest.approx(value)
    drawn, least = Relaxation(mdp, values).episodes(plan, 20_000, rng, clip)
    assert drawn.min() >= least - 1e-12
    assert drawn.mean() == pytest.approx(value, abs=5 * drawn.std() / np.sqrt(len(drawn)) + 1e-9)
    if clip is None:
        assert set(np.round(drawn, 9)) <= {round(estimate, 9) for _, _, estimate in listed}


def test_a_small_clip_proves_a_small_range():
    mdp = small_mdp(3, states=12)
    values = np.random.default_rng(0).random(mdp.tree.num_states)
    plan = differences.random_plan(mdp.tree, np.random.default_rng(1))
    relaxation, rng = Relaxation(mdp, values), np.random.default_rng(2)
    _, wide = relaxation.episodes(plan, 1, rng)
    _, narrow = relaxation.episodes(plan, 1, rng, clip=0.01)
    assert mdp.scaled_value(plan) - narrow < mdp.scaled_value(plan) - wide


def test_learned_values_bring_both_sides_near_the_best_response(mdp_of):
    mdp = mdp_of("kuhn", 0)
    learner = ts.BettingUCRL(mdp.tree, delta=0.05, seed=0)
    learner.play(mdp, learner.init_values(mdp), np.random.default_rng(0), 3_000)
    values = shrunken_values(mdp.tree.links, learner.visits, learner._memory.means, 2.0, 8.0)
    relaxation, rng, plan = Relaxation(mdp, values), np.random.default_rng(2), learner.recommend()
    upper = relaxation.upper_bound(scenarios=5_000, delta=0.025, rng=rng)
    lower = relaxation.lower_bound(plan, episodes=5_000, delta=0.025, rng=rng, clip=0.05)
    assert lower <= mdp.scaled_value(plan) <= mdp.scaled_best_value <= upper
    assert upper - lower < 0.25 * (learner.upper_bound(0.025) - mdp.scaled_value(plan))


def test_one_sided_means_need_no_range_on_the_other_side():
    rng = np.random.default_rng(0)
    values = rng.exponential(1.0, 5_000)
    lower = lower_mean(values, least=0.0, delta=0.05)
    assert 0.9 < lower < 1.0
    assert upper_mean(-values, most=0.0, delta=0.05) == pytest.approx(-lower)
    assert lower_mean(np.full(1_000, 2.5), least=-100.0, delta=0.05) <= 2.5


def two_first_states() -> ts.TreeMDP:
    """The first state, reached half of the time, returns 0 or 1, 1/2 each; the second returns 0."""
    tree = ts.InfostateTree(
        first_sequence=[1, 2, 3], first_child=[0, 2, 2, 2], parent=[0, 0], action=[0, 0, 0], can_end=[False, True, True]
    )
    return ts.TreeMDP(tree, [0.5, 0.5], [0, 0, 2, 3], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5])


def test_continuations_of_one_path_are_drawn_independently():
    """The theorem needs it: where a 1 is drawn just when it is not come to, each has its law, and the mean is 0."""
    mdp = two_first_states()
    assert mdp.scaled_best_value == 0.25
    values = np.zeros(2)
    # (where the root leads, what the first state returns): as likely as they should be, each by itself
    coupled = [(0, 0.0), (1, 1.0)]
    best = [after_first if root == 0 else 0.0 for root, after_first in coupled]
    assert np.mean(best) == 0 < mdp.scaled_best_value
    assert sum(p * value for p, value in listing.scenarios(mdp, values)) == 0.25
    drawn = Relaxation(mdp, values).scenarios(20_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(0.25, abs=5 * 0.44 / np.sqrt(20_000))


def test_stakes_are_settled_before_the_numbers_that_they_are_for():
    """So the same beginning has the same stakes, however it goes on and however many numbers there will be."""
    rng = np.random.default_rng(0)
    values = rng.random(400)
    later = values.copy()
    later[300:] = 1_000.0 * rng.random(100)
    stakes = betting._stakes(values, 400, 0.05)
    np.testing.assert_array_equal(betting._stakes(later, 400, 0.05)[:301], stakes[:301])
    np.testing.assert_array_equal(betting._stakes(values[:20], 400, 0.05), stakes[:20])
    assert np.all(stakes[16:] > 0)
    with pytest.raises(ValueError, match="400 values, and 399 were planned"):
        lower_mean(values, least=0.0, delta=0.05, planned=399)


def test_bounds_on_one_mean_fail_as_rarely_as_promised():
    rng, runs, delta = np.random.default_rng(1), 1_000, 0.3
    wrong = broken = 0
    for _ in range(runs):
        values = (rng.random(60) < 0.2).astype(float)
        bound = lower_mean(values, least=0.0, delta=delta)
        wrong += bound > 0.2
        broken += values.mean() - 0.1 * (values.mean() - bound) > 0.2
    assert wrong / runs <= delta
    assert broken / runs > delta


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: lower_mean([], least=0.0, delta=0.1), "at least one finite number"),
        (lambda: lower_mean([0.5], least=0.6, delta=0.1), "below 0.6"),
        (lambda: lower_mean([0.5], least=0.0, delta=1.5), "delta"),
        (lambda: Relaxation(small_mdp(0), [0.5]), "one for each state"),
        (lambda: Relaxation(small_mdp(0), np.zeros(small_mdp(0).tree.num_states)).episodes([0], 5, None, -1), "clip"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
