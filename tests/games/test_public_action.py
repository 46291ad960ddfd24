"""Exact sequence forms of liar's dice, goofspiel and oshi-zumo, against OpenSpiel and the enumeration of histories."""

import random

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import exploitability as exploitability_lib

import tmdp_spiel as ts
from reference.policy_tables import as_policy, random_tables
from tmdp_spiel.games.public_action import exact_game
from tmdp_spiel.games.public_action.bidding_equilibrium import solve_matrix_game
from tmdp_spiel.openspiel import build, games
from tmdp_spiel.openspiel.worlds import best_response_by_worlds
from tmdp_spiel.planning.cfr import CFRSolver
from tmdp_spiel.trees import sequence_form

SMALL = [
    "liars_dice(numdice=1,dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=2)",
    "liars_dice(numdice=1,dice_sides=3,bidding_rule=reset-quantity)",
    "goofspiel(imp_info=True,num_cards=2,points_order=random)",
    "goofspiel(imp_info=True,num_cards=3,points_order=random)",
    "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
    "goofspiel(imp_info=True,num_cards=3,points_order=ascending,egocentric=True)",
    "oshi_zumo(coins=5,min_bid=1)",
    "oshi_zumo(coins=6,min_bid=2,size=1)",
    "oshi_zumo(coins=5,min_bid=1,size=1,alesia=True)",
]
MEDIUM = [
    "liars_dice(numdice=2,dice_sides=3)",
    "goofspiel(imp_info=True,num_cards=5,points_order=random)",
    "goofspiel(imp_info=True,num_cards=6,points_order=descending)",
    "oshi_zumo(coins=9,min_bid=1)",
]


@pytest.fixture
def by_histories(monkeypatch):
    """Trees are built through the game's histories, whatever the game brings."""
    monkeypatch.setattr(games, "_registered", {})


def sequence_map(own, other):
    """For every sequence of `other`: the sequence of `own` with the same state string and action."""
    places = np.empty(other.sequence_end, np.int64)
    places[other.root] = own.root
    for state in range(other.num_states):
        here = own.state_index(other.state_string(state))
        assert own.legal_actions(here).tolist() == other.legal_actions(state).tolist()
        first, end = other.first_sequence[state : state + 2]
        places[first:end] = np.arange(own.first_sequence[here], own.first_sequence[here + 1])
    return places


@pytest.mark.parametrize("string", SMALL)
def test_trees_are_node_for_node_those_of_the_histories(string, by_histories):
    game = ts.load_game(string)
    form = exact_game(string)
    for player, tree in enumerate(form.trees):
        expected = build.build_infostate_tree(game, player)
        assert (tree.num_states, tree.num_sequences) == (expected.num_states, expected.num_sequences)
        assert tree.num_terminals == expected.num_terminals
        places = sequence_map(tree, expected)
        assert sorted(places) == list(range(tree.sequence_end))
        np.testing.assert_array_equal(tree.can_end[places], expected.can_end)
        for state in range(expected.num_states):
            here = tree.state_index(expected.state_string(state))
            assert tree.state_string(here) == expected.state_string(state)
            assert tree.parent[here] == places[expected.parent[state]]


@pytest.mark.parametrize("string", SMALL)
def test_exploitability_is_that_of_openspiel(string):
    game, form = ts.load_game(string), exact_game(string)
    tables = random_tables(form, np.random.default_rng(1))
    expected = exploitability_lib.nash_conv(game, as_policy(game, form, tables), return_only_nash_conv=False)
    found = sequence_form.exploitability(form, tables)
    assert found.gains == pytest.approx(expected.player_improvements, abs=1e-9)
    assert sum(found.values) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("string", SMALL)
@pytest.mark.parametrize("player", [0, 1])
def test_tree_mdps_have_the_chances_of_the_histories(string, player, by_histories):
    game, form = ts.load_game(string), exact_game(string)
    tables = random_tables(form, np.random.default_rng(2))
    found = sequence_form.tree_mdp(form, player, tables[1 - player])
    expected = ts.build_tree(game, player, as_policy(game, form, tables))
    places = sequence_map(found.tree, expected.tree)
    for state in range(expected.tree.num_states):
        here = found.tree.state_index(expected.tree.state_string(state))
        assert found.reach[here] == pytest.approx(expected.reach[state], abs=1e-12)
    for j, here in enumerate(places):
        theirs = slice(*expected.first_outcome[j : j + 2])
        ours = slice(*found.first_outcome[here : here + 2])
        np.testing.assert_array_equal(found.outcome_return[ours], expected.outcome_return[theirs])
        np.testing.assert_allclose(found.outcome_probability[ours], expected.outcome_probability[theirs], atol=1e-12)


LARGE = [
    pytest.param(string, marks=pytest.mark.slow)
    for string in (
        "liars_dice(numdice=2,dice_sides=5)",
        "goofspiel(imp_info=True,num_cards=6,points_order=random)",
        "oshi_zumo(coins=13,min_bid=1)",
    )
]


@pytest.mark.parametrize("string", [*SMALL, *MEDIUM, *LARGE])
def test_random_histories_have_openspiels_strings_actions_and_tensors(string):
    game, form = ts.load_game(string), exact_game(string)
    rng = random.Random(3)
    for _ in range(40):
        state = game.new_initial_state()
        last = [tree.root for tree in form.trees]
        while not state.is_terminal():
            player = state.current_player()
            if not state.is_chance_node():
                tree = form.trees[player]
                here = tree.state_index(state.information_state_string(player))
                assert tree.parent[here] == last[player]
                assert tree.state_string(here) == state.information_state_string(player)
                assert tree.legal_actions(here).tolist() == state.legal_actions()
                expected = getattr(state, form.tensor_kind)(player)
                assert form.tensors(player, np.array([here]))[0].tolist() == expected
            action = rng.choice(state.legal_actions())
            if not state.is_chance_node():
                last[player] = int(tree.first_sequence[here]) + tree.legal_actions(here).tolist().index(action)
            state.apply_action(action)
        assert all(tree.can_end[j] for tree, j in zip(form.trees, last))


@pytest.mark.parametrize("string", MEDIUM)
def test_values_against_sparse_policies_are_those_of_played_histories(string):
    """Both players deterministic: the value is the return of the few histories that chance leaves."""
    game, form = ts.load_game(string), exact_game(string)
    rng = np.random.default_rng(4)
    plans = [(rng.random(tree.num_states) * np.diff(tree.first_sequence)).astype(np.int16) for tree in form.trees]

    def value(state):
        if state.is_terminal():
            return state.returns()[0]
        if state.is_chance_node():
            return sum(chance * value(state.child(action)) for action, chance in state.chance_outcomes())
        player = state.current_player()
        here = form.trees[player].state_index(state.information_state_string(player))
        return value(state.child(state.legal_actions()[plans[player][here]]))

    mine, theirs = sequence_form.expected_values(form, plans)
    assert mine == pytest.approx(value(game.new_initial_state()), abs=1e-12)
    assert theirs == pytest.approx(-mine, abs=1e-12)


class ByTable(policy_lib.Policy):
    """A deterministic policy of a form's states, asked state by state."""

    def __init__(self, game, form, player, table):
        super().__init__(game, [player])
        self._tree, self._table = form.trees[player], table

    def action_probabilities(self, state, player_id=None):
        number = self._tree.state_index(state.information_state_string())
        own = slice(*self._tree.first_sequence[number : number + 2])
        return dict(zip(self._tree.action[own].tolist(), self._table[own].tolist()))


@pytest.mark.parametrize(
    "string",
    [
        "liars_dice(numdice=1,dice_sides=4)",
        "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
        "oshi_zumo(coins=6,min_bid=1)",
    ],
)
def test_best_responses_are_those_by_sets_of_worlds(string):
    game, form = ts.load_game(string), exact_game(string)
    rng = np.random.default_rng(5)
    for player in (0, 1):
        tree = form.trees[1 - player]
        plan = rng.integers(np.diff(tree.first_sequence)).astype(np.int16)
        table = form.check_policy(1 - player, plan)
        found = best_response_by_worlds(game, player, ByTable(game, form, 1 - player, table))
        assert found.value == pytest.approx(sequence_form.best_response(form, player, table)[0], abs=1e-12)


@pytest.mark.parametrize("string", ["liars_dice(numdice=1,dice_sides=3)", "oshi_zumo(coins=5,min_bid=1)"])
def test_cfr_plus_is_openspiels(string):
    game, form = ts.load_game(string), exact_game(string)
    ours, theirs = CFRSolver(form), pyspiel.CFRPlusSolver(game)
    for _ in range(20):
        ours.iterate()
        theirs.evaluate_and_update_policy()
    expected = pyspiel.exploitability(game, theirs.tabular_average_policy())
    assert ours.exploitability().exploitability == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("string", [string for string in SMALL if string.startswith("oshi_zumo")])
def test_backward_induction_gives_an_equilibrium_of_oshi_zumo(string):
    game, form = ts.load_game(string), exact_game(string)
    policy = as_policy(game, form, form.exact_equilibrium())
    assert exploitability_lib.nash_conv(game, policy) == pytest.approx(0, abs=1e-9)


def test_equilibria_of_oshi_zumo_are_exact():
    policy = ts.equilibrium("oshi_zumo(coins=9,min_bid=1)", 1)  # however few iterations of CFR are allowed
    assert policy.exploitability == pytest.approx(0, abs=1e-9)
    assert any(len(policy.action_probabilities(state)) > 1 for state in some_states("oshi_zumo(coins=9,min_bid=1)"))


def some_states(string):
    """States at which somebody moves, along random games."""
    rng = random.Random(3)
    for _ in range(20):
        state = ts.load_game(string).new_initial_state()
        while not state.is_terminal():
            yield state.clone()
            state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize("seed", range(20))
def test_matrix_games_are_solved(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, size=rng.integers(1, 6, size=2)).astype(float)
    value, rows = solve_matrix_game(matrix)
    negative, columns = solve_matrix_game(-matrix.T)  # for the other player
    assert value == pytest.approx(-negative, abs=1e-9)
    assert (rows @ matrix).min() == pytest.approx(value, abs=1e-9)
    assert (matrix @ columns).max() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    "string",
    [
        "kuhn_poker",
        "liars_dice(numdice=2,dice_sides=6)",
        "liars_dice(numdice=1,dice_sides=10)",
        "goofspiel(num_cards=4)",
        "goofspiel(imp_info=True,num_cards=4,players=3)",
        "goofspiel(imp_info=True,num_cards=4,num_turns=2)",
        "goofspiel(imp_info=True,num_cards=4,returns_type=point_difference)",
        "goofspiel(imp_info=True,num_cards=7,points_order=random)",
        "oshi_zumo(coins=5)",
        "oshi_zumo(coins=5,min_bid=1,horizon=3)",
        "oshi_zumo(coins=14,min_bid=1)",
    ],
)
def test_other_games_have_no_form_here(string):
    assert exact_game(string) is None


@pytest.mark.parametrize(
    "string, wrong",
    [
        (SMALL[0], ["", "9", "3 1-3", "1 1-2 1-1", "1 4-1 4-2", "x 1-1 1-2", "1  1-1"]),
        (SMALL[4], ["", "Current player: 1\n", "Current player: 0\nP0 hand: 1 2 3 \n"]),
        (
            SMALL[7],
            ["", "Current player: 0\n1", "Current player: 0\n9, 9", "Current player: 0\n5, 5", "Current player: 1\n"],
        ),
    ],
)
def test_strings_of_other_states_are_refused(string, wrong):
    tree = exact_game(string).trees[0]
    for each in wrong:
        with pytest.raises(KeyError, match="information state"):
            tree.state_index(each)
