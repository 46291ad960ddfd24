"""Exact games through build_tree, exploit and equilibrium, and the files that policies are kept in."""

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.games.public_action import exact_game
from tmdp_spiel.openspiel import exact_games, policy_tables
from tmdp_spiel.openspiel.build import GameTooLargeError, build_infostate_tree
from tmdp_spiel.openspiel.policy_tables import TablePolicy, policy_table, save_table
from tmdp_spiel.planning.cfr import CFRSolver
from tmdp_spiel.trees import sequence_form

LARGE = "liars_dice(numdice=1,dice_sides=7)"  # 16,384 sets of bids, 7 hands


@pytest.fixture(scope="module")
def form():
    return exact_game(LARGE)


def network(tensors):
    return np.sin(np.outer(tensors @ np.arange(tensors.shape[1]), np.arange(1, 16)))


def test_build_tree_takes_any_agent_that_a_table_can_be_made_of(form):
    tables = {player: policy_table(form, player, network) for player in (0, 1)}
    expected = sequence_form.best_response(form, 0, tables[1])[0]
    mdp = ts.build_tree(LARGE, 0, TablePolicy(ts.load_game(LARGE), form, tables))
    assert mdp.tree is form.trees[0]
    assert mdp.best_response()[0] == pytest.approx(expected, abs=1e-12)
    assert ts.build_tree(LARGE, 0, {1: tables[1]}).best_response()[0] == pytest.approx(expected, abs=1e-12)
    assert build_infostate_tree(LARGE, 1) is form.trees[1]
    with pytest.raises(ValueError, match="missing for player 1"):
        ts.build_tree(LARGE, 0, {0: tables[0]})


def test_small_instances_go_through_their_histories():
    tree = build_infostate_tree("liars_dice(numdice=1,dice_sides=3)", 0)
    assert tree is not exact_game("liars_dice(numdice=1,dice_sides=3)").trees[0]
    with pytest.raises(ValueError, match="has no exact sequence form. Use ts.exploit"):
        exact_games.exact_form("kuhn_poker")


def test_an_agent_for_one_player_alone_is_not_enough():
    with pytest.raises(ValueError, match="the agent of player 1 is missing"):
        exact_games.exact_exploitability(LARGE, {0: "uniform"})


def test_exploit_is_exact(form):
    tables = {player: policy_table(form, player, network) for player in (0, 1)}
    expected = exact_games.exact_exploitability(LARGE, network)
    again = exact_games.exact_exploitability(LARGE, tables)
    assert again == expected
    found = ts.exploit(LARGE, TablePolicy(ts.load_game(LARGE), form, tables), episodes=2000, progress=False)
    for player in (0, 1):
        response = found.seats[player]
        assert response.exact_best == pytest.approx(expected.best_responses[player], abs=1e-9)
        assert response.lower <= response.exact_value and response.exact_best <= response.upper


def test_exploit_takes_arrays_as_the_policies_of_players(form, tmp_path):
    tables = {player: policy_table(form, player, network) for player in (0, 1)}
    expected = exact_games.exact_exploitability(LARGE, tables)
    found = ts.exploit(LARGE, tables, episodes=10, progress=False)
    assert [found.seats[p].exact_best for p in (0, 1)] == pytest.approx(expected.best_responses, abs=1e-9)
    save_table(tmp_path / "table.npz", form, 1, tables[1])
    again = ts.exploit(LARGE, tmp_path / "table.npz", player=0, episodes=10, progress=False)
    assert again.seats[0].exact_best == found.seats[0].exact_best
    with pytest.raises(ValueError, match="an empty mapping"):
        ts.exploit(LARGE, {0: {"1": {0: 1.0}}, 1: {}}, episodes=10)
    with pytest.raises(TypeError, match="but kuhn_poker has none"):
        ts.exploit("kuhn_poker", {0: np.ones(3), 1: np.ones(3)}, episodes=10)


def test_plans_of_large_trees_are_policies_and_back(form):
    game = ts.load_game(LARGE)
    plan = sequence_form.best_response(form, 1, policy_table(form, 0, network))[1]
    policy = ts.plan_to_policy(form.trees[1], plan)
    assert isinstance(policy, TablePolicy)
    np.testing.assert_array_equal(ts.policy_to_plan(form.trees[1], policy, game), form.trees[1].as_probabilities(plan))
    uniform = ts.policy_to_plan(form.trees[1], ts.uniform(game))
    np.testing.assert_array_equal(uniform, form.uniform_policy(1))


def test_files_hold_what_was_written(form, tmp_path):
    solver = CFRSolver(form)
    for _ in range(10):
        solver.iterate()
    tables = [solver.average_policy(player) for player in (0, 1)]
    file = tmp_path / "tables.bin"
    facts = policy_tables.write_tables(file, form, tables, iterations=10)
    read, recorded = policy_tables.read_tables(file, form)
    assert recorded == facts and recorded["iterations"] == 10
    found = sequence_form.exploitability(form, read)
    assert found.exploitability == facts["exploitability"]
    assert found.exploitability == pytest.approx(solver.exploitability().exploitability, abs=0.01)
    reach = form.reach(0, tables[0])[:-1]
    assert np.abs(form.reach(0, read[0])[:-1] - reach).max() < 0.02
    assert file.stat().st_size < 2 * sum(map(len, tables))
    with pytest.raises(ValueError, match="not of liars_dice"):
        policy_tables.read_tables(file, exact_game("liars_dice(numdice=1,dice_sides=2)"))
    damaged = bytearray(file.read_bytes())
    damaged[-5] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(ValueError, match="truncated or altered"):
        policy_tables.read_tables(file, form)
    file.write_bytes(b"{}\n")
    with pytest.raises(ValueError, match="not a file of policy tables"):
        policy_tables.read_tables(file, form)


def test_solving_is_kept_and_resumes_identically(form, tmp_path, monkeypatch):
    whole = exact_games.solve(LARGE, form, 12, folder=tmp_path / "whole")
    assert whole.iterations == 12 and len(list((tmp_path / "whole").glob("tables_*"))) == 1
    monkeypatch.setattr(exact_games, "_CHECKPOINT_SECONDS", 0.0)

    def killed(iteration, found):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exact_games.solve(LARGE, form, 12, folder=tmp_path / "parts", report=killed)
    (checkpoint,) = (tmp_path / "parts").glob("*.checkpoint.npz")
    seen = []
    resumed = exact_games.solve(
        LARGE, form, 12, folder=tmp_path / "parts", report=lambda iteration, found: seen.append(iteration)
    )
    assert seen[-1] == 12 and not checkpoint.exists()
    for player in (0, 1):
        np.testing.assert_array_equal(resumed.tables[player], whole.tables[player])
    monkeypatch.setattr(exact_games, "CFRSolver", None)  # not solved again
    assert exact_games.solve(LARGE, form, 12, folder=tmp_path / "parts").exploitability == whole.exploitability


def test_a_damaged_checkpoint_starts_again(form, tmp_path, monkeypatch):
    whole = exact_games.solve(LARGE, form, 3, folder=tmp_path)
    (file,) = tmp_path.glob("tables_*")
    file.rename(tmp_path / "kept")
    file.with_suffix(".checkpoint.npz").write_bytes(b"PK\x03\x04")
    with pytest.warns(UserWarning, match="not a complete checkpoint"):
        again = exact_games.solve(LARGE, form, 3, folder=tmp_path)
    assert again.exploitability == whole.exploitability


def test_equilibrium_solves_and_stops_at_the_target(form, tmp_path, monkeypatch):
    monkeypatch.setenv("TMDP_SPIEL_CACHE", str(tmp_path))
    monkeypatch.setattr(exact_games, "TARGET", 0.05)
    policy = ts.equilibrium(LARGE, 4)
    assert policy.iterations == 4 and policy.exploitability > 0
    state = ts.load_game(LARGE).new_initial_state()
    for die in (2, 4):
        state.apply_action(die)
    assert sum(policy.action_probabilities(state).values()) == pytest.approx(1)


def test_too_little_memory_is_reported_in_advance(monkeypatch):
    monkeypatch.setattr(exact_games, "_free_memory", lambda: 2**20)
    with pytest.raises(GameTooLargeError, match=r"it needs about 0\.\d GiB of memory; 0\.0 GiB are free"):
        exact_game("liars_dice(numdice=1,dice_sides=8)")


@pytest.mark.parametrize(
    "game, value, tolerance",
    [
        ("goofspiel(imp_info=True,num_cards=6,points_order=descending)", 0.0, 0.001),  # the game is symmetric
        # The published value, 0.0177, to four digits.
        pytest.param("liars_dice(numdice=2,dice_sides=5)", 0.0177, 0.002, marks=pytest.mark.slow),
    ],
)
def test_a_shipped_equilibrium_is_what_it_says(game, value, tolerance):
    policy = ts.equilibrium(game)
    found = exact_games.exact_exploitability(game, policy)
    assert found.exploitability == pytest.approx(policy.exploitability, abs=1e-12)
    assert policy.exploitability < 0.002
    assert found.values[0] == pytest.approx(value, abs=tolerance)
    assert -found.best_responses[1] <= value + 5e-5 and value - 5e-5 <= found.best_responses[0]


def test_too_little_memory_for_a_solver_is_reported_in_advance(form, monkeypatch, tmp_path):
    monkeypatch.setattr(exact_games, "_free_memory", lambda: 2**20)
    with pytest.raises(GameTooLargeError, match="CFR on liars_dice"):
        exact_games.solve(LARGE, form, 1, folder=tmp_path)
