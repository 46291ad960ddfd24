"""The least exploitable mixture against sampled mixtures, OpenSpiel's values and a game whose answer is known."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score

from tmdp_spiel.games.rbt import tree as rbt_tree
from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.planning import mixture as mixtures
from tmdp_spiel.trees import sequence_form

pytestmark = pytest.mark.rbt

STARTS = ("x0o4x8o2x1o7", "x4o0x8o2x1", "x0o8x1o4x5o3")


def random_plan(tree, rng):
    weight = rng.exponential(size=tree.num_sequences) * (rng.random(tree.num_sequences) < 0.6) + 1e-3
    totals = np.add.reduceat(weight, tree.first_sequence[:-1] - 1)
    return np.append(1.0, weight / np.repeat(totals, np.diff(tree.first_sequence)))


def form_with_plans(start, player, count, seed):
    form = exact_form(f"python_rbt(start={start})")
    rng = np.random.default_rng(seed)
    plans = [random_plan(form.trees[player], rng) for _ in range(count)]
    reaches = [form.reach(player, plan) * (np.arange(len(plan)) > 0) for plan in plans]
    return form, plans, [mixtures.SparseReach.of(reach) for reach in reaches]


def loss_of(form, player, reaches, weights):
    mixed = mixtures.mixed_reach(form, player, reaches, weights)
    return sequence_form.best_response_to_reach(form, 1 - player, mixed)[0]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("player", (0, 1))
def test_no_other_mixture_loses_less(start, player):
    form, _, reaches = form_with_plans(start, player, 5, seed=1)
    mixture = mixtures.least_exploitable(form, player, reaches, tolerance=1e-9)
    assert mixture.weights.sum() == pytest.approx(1.0) and (mixture.weights >= 0).all()
    assert mixture.loss - mixture.bound <= 1e-9
    assert loss_of(form, player, reaches, mixture.weights) == mixture.loss
    rng = np.random.default_rng(2)
    others = [
        *np.eye(5),
        *rng.dirichlet(np.ones(5), 100),
        *(0.99 * mixture.weights + 0.01 * rng.dirichlet(np.ones(5), 100)),
    ]
    assert all(loss_of(form, player, reaches, other) >= mixture.bound - 1e-12 for other in others)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("player", (0, 1))
def test_rows_are_what_openspiel_says_the_best_response_wins(start, player):
    form, plans, reaches = form_with_plans(start, player, 3, seed=3)
    mixed = mixtures.mixed_reach(form, player, reaches, np.array([0.2, 0.3, 0.5]))
    loss, row = mixtures._best_response(form, player, reaches, mixed)
    assert row @ [0.2, 0.3, 0.5] == pytest.approx(loss, abs=1e-12)
    game = pyspiel.load_game(f"python_rbt(start={start})")
    chosen = sequence_form.best_response_to_reach(form, 1 - player, mixed)[1]
    response = form.check_policy(1 - player, chosen)
    for plan, won in zip(plans, row):
        both = rbt_tree.array_policy(game, {player: plan, 1 - player: response})
        value = expected_game_score.policy_value(game.new_initial_state(), [both, both])[1 - player]
        assert won == pytest.approx(value, abs=1e-12)


def test_a_plan_that_all_others_are_worse_than_gets_all_the_weight():
    form, _, reaches = form_with_plans("x0o8x1o4x5o3", 0, 2, seed=4)
    value, perfect = sequence_form.best_response(form, 0, form.uniform_policy(1))
    assert value == pytest.approx(1.0, abs=1e-12), "x can win at once, on square 2"
    reaches.insert(1, mixtures.SparseReach.of(form.reach(0, perfect)[:-1]))
    mixture = mixtures.least_exploitable(form, 0, reaches, tolerance=1e-9)
    assert mixture.loss == pytest.approx(-1.0, abs=1e-9)
    assert mixture.weights == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)


def test_one_plan_is_its_own_mixture_and_steps_are_reported():
    form, _, reaches = form_with_plans("x4o0x8o2x1", 1, 1, seed=5)
    steps = []
    mixture = mixtures.least_exploitable(form, 1, reaches, report=lambda step, best: steps.append((step, best.loss)))
    assert steps == [(1, mixture.loss)]
    assert mixture.weights.tolist() == [1.0]
    assert mixture.bound == pytest.approx(mixture.loss, abs=1e-12)
