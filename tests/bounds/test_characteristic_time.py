import numpy as np
import pytest
import scipy.optimize

import tmdp_spiel as ts
from tests.reference import cheapest_alternatives as reference
from tmdp_spiel.bounds.characteristic_time import all_alternatives, cheapest_alternative, limit as module
from tmdp_spiel.trees.random_tree import random_tree_mdp


def two_coins(first: float, second: float) -> ts.TreeMDP:
    tree = ts.InfostateTree(
        first_sequence=[1, 3], first_child=[0, 1, 1, 1], parent=[0], action=[0, 0, 1], can_end=[False, True, True]
    )
    chances = [1 - first, first, 1 - second, second]
    return ts.TreeMDP(tree, [1.0], [0, 0, 2, 4], [0.0, 1.0, 0.0, 1.0], chances)


def coin_divergence(one: float, other: float) -> float:
    return one * np.log(one / other) + (1 - one) * np.log((1 - one) / (1 - other))


def random_problem(seed: int):
    """A Tree MDP, the signs of all rivals of its best response, the answer itself, and a plan."""
    rng = np.random.default_rng(seed)
    while True:
        mdp = random_tree_mdp(rng, max_states=10, max_actions=3, first_states=2)
        if 8 <= mdp.tree.num_policies <= 200:
            return mdp, *rivals_of(mdp), random_reach(mdp.tree, rng)


def rivals_of(mdp):
    plays = module._policies(mdp.tree)
    answer = module._played(mdp.tree, mdp.best_response()[1])
    return plays[np.any(plays != answer, axis=1)] - answer, answer


def random_reach(tree, rng):
    reach = np.ones(tree.sequence_end)
    for state in range(tree.num_states):
        here = slice(tree.first_sequence[state], tree.first_sequence[state + 1])
        reach[here] = reach[tree.parent[state]] * rng.dirichlet(np.full(here.stop - here.start, 5.0))
    return reach


def pass_over(mdp, answer, reach, epsilon, eta):
    """The lower bound over all rivals, and the rival that it comes from."""
    tables = all_alternatives.new_tables(mdp.tree.num_states)
    lower, nu = all_alternatives.least_cost(mdp.tree.links, mdp.chances, reach, answer, epsilon, eta, tables)
    rival, size = np.zeros(len(reach)), len(reach)
    all_alternatives.read_rival(mdp.tree.links, answer, nu, tables, rival, np.zeros(size), np.zeros(size, np.int64))
    return lower, rival


def test_two_coins_are_those_of_the_textbook():
    """D* = max over shares w of min over m of w kl(p, m) + (1 - w) kl(q, m + epsilon), the second coin being worse."""
    first, second, epsilon = 0.6, 0.4, 0.05

    def cheapest(share):
        def cost(m):
            return share * coin_divergence(first, m) + (1 - share) * coin_divergence(second, m + epsilon)

        return scipy.optimize.minimize_scalar(cost, bounds=(1e-6, 1 - epsilon - 1e-6), method="bounded").fun

    best = max(cheapest(share) for share in np.linspace(0.01, 0.99, 981))
    found = module.best_rate(two_coins(first, second), epsilon, precision=2e-3)
    assert found.lower <= best * (1 + 1e-5) and found.upper >= best * (1 - 1e-4)
    assert found.upper <= 1.0021 * found.lower


@pytest.mark.parametrize("player, tolerance, known", [(0, 0.1, 63), (1, 0.1, 37), (0, 0.05, 308), (1, 0.05, 164)])
def test_kuhn(player, tolerance, known, mdp_of):
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, player, ts.equilibrium(game))
    low, high, for_every_answer = module.asymptotic_sample_complexity(mdp, tolerance, tolerance)
    assert for_every_answer and low <= high <= 1.0101 * low
    assert low * 0.99 <= known <= high * 1.01


@pytest.mark.parametrize("seed", range(5))
def test_steps_on_the_tree_find_what_dense_ones_do(seed):
    mdp, signs, _, reach = random_problem(seed)
    expected = reference.least_costs(mdp, reach, signs, 0.1)
    found = [cheapest_alternative.least_cost(mdp.tree.links, mdp.chances, reach, each, 0.1) for each in signs]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_an_alternative_has_the_difference_and_costs_what_it_must(seed):
    mdp, signs, _, reach = random_problem(seed)
    for each in signs:
        nu, eta = cheapest_alternative.solve(mdp.tree.links, mdp.chances, reach, each, 0.1001)
        cost, value = np.zeros(len(reach)), np.zeros(len(reach))
        args = mdp.tree.links, mdp.chances, reach, each
        assert cheapest_alternative.read_alternative(*args, 0.1, nu, eta, cost, value)
        assert each @ value == pytest.approx(0.1)
        assert np.all(value >= 0) and value @ reach <= 1
        least = cheapest_alternative.least_cost(*args, 0.1)
        assert least - 1e-7 <= cost @ reach <= 1.01 * least + 1e-5
        assert not cheapest_alternative.read_alternative(*args, 0.2, nu, eta, cost, value)


@pytest.mark.parametrize("seed", range(5))
def test_the_pass_bounds_every_alternative_from_below(seed):
    mdp, signs, answer, reach = random_problem(seed)
    least = min(cheapest_alternative.least_cost(mdp.tree.links, mdp.chances, reach, each, 0.1) for each in signs)
    lower = [pass_over(mdp, answer, reach, 0.1, eta) for eta in np.geomspace(0.02, 2, 40)]
    assert max(each for each, _ in lower) <= least + 1e-9
    assert max(each for each, _ in lower) >= 0.7 * least
    read = [rival - answer for _, rival in lower if np.any(rival != answer)]
    assert (
        min(cheapest_alternative.least_cost(mdp.tree.links, mdp.chances, reach, each, 0.1) for each in read)
        <= 1.3 * least
    )


def test_the_pass_finds_the_cheapest_alternatives_of_kuhn(mdp_of):
    for player in range(2):
        mdp = mdp_of("kuhn", player)
        signs, answer = rivals_of(mdp)
        reach = module._uniform_reach(mdp.tree)
        costs = [cheapest_alternative.least_cost(mdp.tree.links, mdp.chances, reach, each, 0.05) for each in signs]
        lower, rival = max(
            (pass_over(mdp, answer, reach, 0.05, eta) for eta in np.geomspace(0.05, 1, 60)), key=lambda each: each[0]
        )
        assert 0.98 * min(costs) <= lower <= min(costs)
        found = cheapest_alternative.least_cost(mdp.tree.links, mdp.chances, reach, rival - answer, 0.05)
        assert found == pytest.approx(min(costs), rel=1e-6)


def test_searching_for_rivals_is_a_bracket_for_the_best_response(mdp_of, monkeypatch):
    """Its upper bound on the best plan and its lower bound agree with those of the listed rivals of that answer."""
    mdp = mdp_of("kuhn", 1)
    plays, answer = module._policies(mdp.tree), module._played(mdp.tree, mdp.best_response()[1])
    pool = module._Pool(mdp, 0.1)
    listed = module._Problem(pool, answer, module._Listed(pool, answer, plays))
    for _ in range(40):
        listed.step()
    monkeypatch.setattr(module, "_LISTED", 0)
    found = module.best_rate(mdp, 0.1, steps=40)
    assert np.array_equal(found.answer, answer)
    assert found.lower <= listed.upper and listed.lower <= found.upper
    assert found.upper <= 1.2 * found.lower
    assert not module.asymptotic_sample_complexity(mdp, 0.1, 0.1, steps=2).for_every_answer


def test_wrong_deltas_are_refused():
    with pytest.raises(ValueError, match="delta must lie"):
        module.asymptotic_sample_complexity(two_coins(0.6, 0.4), 0.05, 0.7)


def test_leduc_has_bounds_after_a_few_plans(mdp_of):
    """Wide after so few; that at least comes to 0 where no alternative was found, as for large epsilons."""
    low, high, for_every_answer = module.asymptotic_sample_complexity(mdp_of("leduc", 1), 0.05, 0.05, steps=3)
    assert 0 < low < high < np.inf and not for_every_answer
    low, high, _ = module.asymptotic_sample_complexity(mdp_of("leduc", 1), 0.4, 0.05, steps=2)
    assert 0 <= low < high < np.inf
