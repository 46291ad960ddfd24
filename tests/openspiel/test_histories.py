"""Games whose strings forget: a state is its own history and its string."""

import warnings

import numpy as np
import pytest
from open_spiel.python.algorithms import best_response, evaluate_bots
from open_spiel.python.bots import uniform_random

import tmdp_spiel as ts
from tmdp_spiel.openspiel import build, histories
from tmdp_spiel.openspiel.histories import InfostateLocator

pytestmark = pytest.mark.filterwarnings("ignore:the .* strings of")
GOOFSPIEL = "goofspiel(num_cards=4,points_order=descending)"


@pytest.fixture(scope="module")
def goofspiel():
    game = ts.load_game(GOOFSPIEL)
    return game, ts.build_tree(game, 0, ts.uniform(game))


@pytest.mark.parametrize("player", [0, 1])
def test_a_game_that_forgets_has_the_tree_of_the_one_that_does_not(player):
    """Liar's dice with imperfect recall has the rules of liar's dice."""
    values = []
    for name in ("liars_dice(dice_sides=4)", "liars_dice_ir(dice_sides=4)"):
        game = ts.load_game(name)
        mdp = ts.build_tree(game, player, ts.uniform(game))
        values.append((mdp.best_response()[0], mdp.tree.num_states, mdp.tree.num_sequences))
    assert values[0] == pytest.approx(values[1])


def test_goofspiel_is_worth_what_openspiel_says():
    game = ts.load_game("goofspiel(num_cards=4)")
    theirs = best_response.BestResponsePolicy(game, 0, ts.uniform(game))
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    assert mdp.best_response()[0] == pytest.approx(theirs.value(game.new_initial_state()), abs=1e-9)
    assert mdp.best_response()[0] == pytest.approx(0.7465, abs=1e-4)


def test_it_is_said_once(monkeypatch):
    monkeypatch.setattr(build, "_warned", set())
    with pytest.warns(UserWarning, match="forget what player 0 saw or did before"):
        ts.build_infostate_tree(GOOFSPIEL, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.build_infostate_tree(GOOFSPIEL, 0)


def test_strings_of_states_keep_the_history(goofspiel):
    _, mdp = goofspiel
    tree = mdp.tree
    strings = [tree.state_string(state) for state in range(tree.num_states)]
    assert len(set(strings)) == tree.num_states
    assert [tree.state_index(string) for string in strings] == list(range(tree.num_states))
    assert any("\naction " in string for string in strings)


def test_policies_and_files_of_plans(goofspiel, tmp_path):
    game, mdp = goofspiel
    value, plan = mdp.best_response()
    ts.write_policy(tmp_path / "policy.json", mdp.tree, plan)
    for policy in (ts.plan_to_policy(mdp.tree, plan), ts.read_policy(tmp_path / "policy.json", game)):
        np.testing.assert_array_equal(ts.policy_to_plan(mdp.tree, policy), mdp.tree.as_probabilities(plan))
        against_it = ts.build_tree(game, 1, policy)
        assert against_it.value(ts.policy_to_plan(against_it.tree, ts.uniform(game))) == pytest.approx(-value)


def test_a_state_is_found_from_its_history(goofspiel):
    game, mdp = goofspiel
    state, finder, sequence = game.new_initial_state(), InfostateLocator(mdp.tree, game), mdp.tree.root
    rng = np.random.default_rng(0)
    while not state.is_terminal():
        if state.current_player() == 0:
            number = finder.state_after(sequence, state)
            assert finder.locate(state) == (sequence, number) and mdp.tree.parent[number] == sequence
        action = rng.choice(state.legal_actions())
        if state.current_player() == 0:
            sequence = histories.sequence_of(mdp.tree, number, action)
        state.apply_action(action)


def test_a_bot_learns_where_strings_forget(goofspiel):
    game, _ = goofspiel
    agent = ts.agent.TreeAgent(0, game, "UCT")
    bots = [agent.as_bot(), uniform_random.UniformRandomBot(1, np.random.RandomState(0))]
    for _ in range(50):
        evaluate_bots.evaluate_bots(game.new_initial_state(), bots, np.random.RandomState(0))
    assert agent.learner.episodes == 50
