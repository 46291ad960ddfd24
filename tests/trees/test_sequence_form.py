"""Sequence forms of enumerated games, against OpenSpiel's own values and against build_tree."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability as exploitability_lib

import tmdp_spiel as ts
from reference.policy_tables import as_policy, random_tables
from tmdp_spiel.openspiel.histories import enumerated_form
from tmdp_spiel.planning.cfr import VARIANTS, CFRSolver
from tmdp_spiel.planning.mixture import mixed_reach
from tmdp_spiel.trees import sequence_form

GAMES = [
    "kuhn_poker",
    "leduc_poker(suit_isomorphism=True)",
    "liars_dice(numdice=1,dice_sides=3)",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
]
forms: dict = {}


@pytest.fixture(params=GAMES)
def case(request):
    game = ts.load_game(request.param)
    if request.param not in forms:
        forms[request.param] = enumerated_form(game)
    return game, forms[request.param]


def test_values_and_exploitability_are_those_of_openspiel(case):
    game, form = case
    tables = random_tables(form, np.random.default_rng(1))
    policy = as_policy(game, form, tables)
    found = sequence_form.exploitability(form, tables)
    expected = exploitability_lib.nash_conv(game, policy, return_only_nash_conv=False)
    assert found.nash_conv == pytest.approx(expected.nash_conv, abs=1e-9)
    assert found.gains == pytest.approx(expected.player_improvements, abs=1e-9)
    assert sequence_form.expected_values(form, tables) == pytest.approx(found.values, abs=1e-12)
    assert found.values[0] == pytest.approx(-found.values[1], abs=1e-12)


def test_tree_mdp_is_that_of_build_tree(case):
    game, form = case
    tables = random_tables(form, np.random.default_rng(2))
    policy = as_policy(game, form, tables)
    for player in (0, 1):
        mdp, expected = sequence_form.tree_mdp(form, player, tables[1 - player]), ts.build_tree(game, player, policy)
        assert mdp.tree.has_the_states_of(expected.tree)
        np.testing.assert_array_equal(mdp.first_outcome, expected.first_outcome)
        np.testing.assert_allclose(mdp.outcome_return, expected.outcome_return, atol=1e-15)
        np.testing.assert_allclose(mdp.outcome_probability, expected.outcome_probability, atol=1e-15)
        np.testing.assert_allclose(mdp.reach, expected.reach, atol=1e-14)
        value, plan = sequence_form.best_response(form, player, tables[1 - player])
        assert value == pytest.approx(expected.best_response()[0], abs=1e-12)
        assert expected.value(plan) == pytest.approx(value, abs=1e-12)


def test_cfr_plus_is_that_of_openspiel(case):
    game, form = case
    solver, expected = CFRSolver(form), pyspiel.CFRPlusSolver(game)
    for _ in range(12):
        solver.iterate()
        expected.evaluate_and_update_policy()
    average = expected.tabular_average_policy()
    assert solver.exploitability().exploitability == pytest.approx(pyspiel.exploitability(game, average), abs=1e-9)
    for player, tree in enumerate(form.trees):
        table, reach = solver.average_policy(player), solver.average_reach(player)
        for state in np.flatnonzero(np.append(reach[:-1], 1.0)[tree.parent] > 1e-9):
            of_state = table[tree.first_sequence[state] : tree.first_sequence[state + 1]]
            answer = dict(average.policy_table()[tree.state_string(state)])
            if reach[tree.first_sequence[state] : tree.first_sequence[state + 1]].sum() > 1e-9:
                assert of_state == pytest.approx([answer[a] for a in tree.legal_actions(state)], abs=1e-9)


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_every_variant_converges_and_resumes_identically(variant):
    form = forms.setdefault(GAMES[0], enumerated_form(GAMES[0]))
    solver, resumed = CFRSolver(form, variant), CFRSolver(form, variant)
    for iteration in range(1000):
        if iteration == 100:
            resumed.load_state_dict({name: array.copy() for name, array in solver.state_dict().items()})
        solver.iterate()
        if iteration >= 100:
            resumed.iterate()
    found = solver.exploitability()
    assert found.exploitability < 1e-3
    assert found.values[0] == pytest.approx(-1 / 18, abs=1e-3)
    np.testing.assert_array_equal(resumed.average_policy(0), solver.average_policy(0))


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_blocks_add_up_to_the_average(variant):
    form = forms.setdefault(GAMES[0], enumerated_form(GAMES[0]))
    plain, solver = CFRSolver(form, variant), CFRSolver(form, variant, block=10)
    for _ in range(27):
        plain.iterate()
        solver.iterate()
    weights = np.arange(1, 28) ** VARIANTS[variant].averaging
    of_block = np.array([weights[:10].sum(), weights[10:20].sum(), weights[20:].sum()]) / weights.sum()
    for player in (0, 1):
        reach = mixed_reach(form, player, solver.block_reaches(player), of_block)
        np.testing.assert_allclose(reach, solver.average_reach(player), atol=1e-12)
        np.testing.assert_allclose(solver.average_policy(player), plain.average_policy(player), atol=1e-12)
    tables, losses = solver.mixed_policies()
    found = sequence_form.exploitability(form, tables)
    assert found.best_responses == pytest.approx(losses[::-1], abs=1e-12)
    assert found.exploitability <= plain.exploitability().exploitability + 5e-5  # the tolerance of the mixture
    with pytest.raises(ValueError, match="was not asked to keep blocks"):
        plain.block_reaches(0)


def test_a_solver_with_blocks_resumes_identically():
    form = forms.setdefault(GAMES[0], enumerated_form(GAMES[0]))
    solver, resumed = CFRSolver(form, "dcfr", block=5), CFRSolver(form, "dcfr", block=5)
    for iteration in range(27):
        if iteration == 13:
            resumed.load_state_dict({name: array.copy() for name, array in solver.state_dict().items()})
        solver.iterate()
        if iteration >= 13:
            resumed.iterate()
    for player in (0, 1):
        assert len(resumed.block_reaches(player)) == 6
        for ours, theirs in zip(resumed.block_reaches(player), solver.block_reaches(player), strict=True):
            np.testing.assert_array_equal(ours.sequences, theirs.sequences)
            np.testing.assert_array_equal(ours.reach, theirs.reach)
    with pytest.raises(ValueError, match="blocks of 5 iterations, but this solver of 10"):
        CFRSolver(form, "dcfr", block=10).load_state_dict(solver.state_dict())
    with pytest.raises(ValueError, match="at least 1 iteration, not 0"):
        CFRSolver(form, block=0)


def test_general_sum_games_have_a_payoff_per_player():
    form = enumerated_form("first_sealed_auction(players=2,max_value=4)")
    tables = random_tables(form, np.random.default_rng(3))
    policy = as_policy(ts.load_game("first_sealed_auction(players=2,max_value=4)"), form, tables)
    expected = exploitability_lib.nash_conv(
        pyspiel.load_game("first_sealed_auction(players=2,max_value=4)"), policy, return_only_nash_conv=False
    )
    assert sequence_form.exploitability(form, tables).gains == pytest.approx(expected.player_improvements, abs=1e-9)


@pytest.mark.parametrize("wrong", [np.nan, -0.5, 0.7])
def test_a_wrong_policy_is_named_by_its_state(wrong):
    form = forms.setdefault(GAMES[0], enumerated_form(GAMES[0]))
    table = form.uniform_policy(0)
    table[form.trees[0].first_sequence[form.trees[0].state_index("1pb")]] = wrong
    with pytest.raises(ValueError, match="'1pb'.*legal actions"):
        form.reach(0, table)
    with pytest.raises(ValueError, match="13 floats"):
        form.reach(0, table[:-2])
    with pytest.raises(ValueError, match="13 float64 entries"):
        form.gradient(1, table[:-1])
    with pytest.raises(ValueError, match="variant"):
        CFRSolver(form, "cfr++")
