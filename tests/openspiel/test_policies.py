import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib

import tmdp_spiel as ts
from tmdp_spiel.trees.random_tree import random_tree_mdp


@pytest.fixture(scope="module")
def leduc_tree():
    return ts.build_infostate_tree("leduc", 1)


def test_there_and_back(leduc_tree):
    policy = pyspiel.GetRandomPolicy(ts.load_game("leduc"), 5)
    plan = ts.policy_to_plan(leduc_tree, policy)
    np.testing.assert_allclose(ts.policy_to_plan(leduc_tree, ts.plan_to_policy(leduc_tree, plan)), plan, atol=1e-12)


def test_the_policy_has_the_probabilities_of_the_plan(leduc_tree):
    plan = np.arange(leduc_tree.num_states) % 2
    policy = ts.plan_to_policy(leduc_tree, plan)
    assert isinstance(policy, policy_lib.TabularPolicy)
    for state in range(leduc_tree.num_states):
        row = policy.policy_for_key(leduc_tree.state_string(state))
        assert row[leduc_tree.legal_actions(state)[plan[state]]] == row.sum() == 1


def test_a_best_response_wins_the_same_seen_from_the_other_side():
    game = ts.load_game("leduc")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    value, plan = mdp.best_response()
    against_it = ts.build_tree(game, 1, ts.plan_to_policy(mdp.tree, plan))
    assert against_it.value(ts.policy_to_plan(against_it.tree, ts.uniform(game))) == pytest.approx(-value, abs=1e-9)


def test_a_game_made_in_python_is_passed_along():
    game = ts.fixed_opponent_game("kuhn", 0, ts.uniform(ts.load_game("kuhn")))
    tree = ts.build_infostate_tree(game, 0)
    plan = np.zeros(tree.num_states, int)
    policy = ts.plan_to_policy(tree, plan, game)
    np.testing.assert_array_equal(ts.policy_to_plan(tree, policy, game), tree.as_probabilities(plan))


def test_a_tree_that_does_not_know_its_game():
    tree = random_tree_mdp(np.random.default_rng(0)).tree
    with pytest.raises(ValueError, match="does not know its game"):
        ts.plan_to_policy(tree, np.zeros(tree.num_states, int))


@pytest.mark.parametrize("other", ["kuhn", "leduc_poker(suit_isomorphism=False)"])
def test_the_wrong_game(leduc_tree, other):
    game = ts.load_game(other)
    with pytest.raises((KeyError, ValueError), match="in this tree|not in"):
        ts.policy_to_plan(leduc_tree, ts.uniform(game), game)


def test_a_game_that_lacks_states_of_the_tree():
    tree = ts.build_infostate_tree("kuhn", 1)
    game = ts.load_game("start_at(history=0;1,game=kuhn_poker())")
    with pytest.raises(ValueError, match="4 states of the tree are not in"):
        ts.policy_to_plan(tree, ts.uniform(game), game)


def test_bad_plans_and_policies(leduc_tree):
    with pytest.raises(ValueError, match="needs 144 entries"):
        ts.plan_to_policy(leduc_tree, [0])
    with pytest.raises(ValueError, match="missing at state"):
        ts.policy_to_plan(leduc_tree, pyspiel.TabularPolicy({}))
    with pytest.raises(ValueError, match="raise max_nodes"):
        ts.policy_to_plan(leduc_tree, ts.uniform(ts.load_game("leduc")), max_nodes=100)
