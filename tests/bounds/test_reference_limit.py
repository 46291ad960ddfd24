import numpy as np
import pytest
import scipy.optimize

import tmdp_spiel as ts
from tmdp_spiel.bounds import reference_limit as module


def two_coins(first: float, second: float) -> ts.TreeMDP:
    tree = ts.DecisionTree(
        first_sequence=[0, 2], first_child=[1, 1, 1], parent=[2], action=[0, 1], can_end=[True, True]
    )
    chances = [1 - first, first, 1 - second, second]
    return ts.TreeMDP(tree, [1.0], [0, 2, 4, 4], [0.0, 1.0, 0.0, 1.0], chances)


def coin_divergence(one: float, other: float) -> float:
    return one * np.log(one / other) + (1 - one) * np.log((1 - one) / (1 - other))


def test_two_coins_are_those_of_the_textbook():
    """D* = max over shares w of min over m of w kl(p, m) + (1 - w) kl(q, m + epsilon), the second coin being worse."""
    first, second, epsilon = 0.6, 0.4, 0.05

    def cheapest(share):
        def cost(m):
            return share * coin_divergence(first, m) + (1 - share) * coin_divergence(second, m + epsilon)

        return scipy.optimize.minimize_scalar(cost, bounds=(1e-6, 1 - epsilon - 1e-6), method="bounded").fun

    best = max(cheapest(share) for share in np.linspace(0.01, 0.99, 981))
    found = module.best_rate(two_coins(first, second), epsilon, precision=1e-3)
    assert found.lower <= best * (1 + 1e-5) and found.upper >= best * (1 - 1e-4)
    assert found.upper <= 1.0011 * found.lower


@pytest.mark.slow
@pytest.mark.parametrize("player, tolerance, known", [(0, 0.1, 63), (1, 0.1, 37), (0, 0.05, 308), (1, 0.05, 164)])
def test_kuhn(player, tolerance, known):
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, player, ts.equilibrium(game))
    low, high = module.reference_limit(mdp, tolerance, tolerance)
    assert low <= high <= 1.0101 * low
    assert low * 0.99 <= known <= high * 1.01


def test_an_alternative_is_one():
    """The cost of an alternative that is written down is above the least cost."""
    mdp = two_coins(0.6, 0.4)
    problem = module._Problem(mdp, np.eye(2), np.array([1.0, 0.0]), 0.05)
    reach = np.array([0.3, 0.7, 1.0])
    lower, costs = module.cheapest_alternatives(problem.outcomes, problem.signs, problem.flow, reach, 0.05)
    for shifted in np.linspace(0.3, 0.9, 30):
        written_down = 0.3 * coin_divergence(0.6, shifted) + 0.7 * coin_divergence(0.4, shifted + 0.05)
        assert lower[0] <= written_down + 1e-9
    assert costs[0] @ reach == pytest.approx(lower[0], abs=1e-5)


def test_too_many_policies_and_wrong_deltas_are_refused(mdp_of):
    with pytest.raises(ValueError, match="lists all policies"):
        module.reference_limit(mdp_of("leduc", 0), 0.05, 0.05)
    with pytest.raises(ValueError, match="delta must lie"):
        module.reference_limit(two_coins(0.6, 0.4), 0.05, 0.7)
