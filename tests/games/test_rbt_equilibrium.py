"""The factored solver against OpenSpiel's, its checkpoints, and the files of its policies."""

import dataclasses
import pathlib
import signal
import subprocess
import sys

import numba
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import expected_game_score, exploitability, gambit

from reference import commands
from tmdp_spiel.games.rbt import policy_file, solving, tree as rbt_tree
from tmdp_spiel.games.rbt.policy import SupportPolicy
from tmdp_spiel.openspiel.exact_games import exact_exploitability, exact_form
from tmdp_spiel.planning.cfr import CFRSolver, PrunedCFRSolver

pytestmark = pytest.mark.rbt

ROOT = pathlib.Path(__file__).parents[2]
TINY = "python_rbt(start=x0o4x8o2x1o7)"
SMALL = "python_rbt(start=x4o0x8o2x1)"
MEDIUM = "python_rbt(start=x4o0)"
WITHOUT_RULES = "python_rbt(start=x4o0x8o2x1,useful_senses=False,forced_wins=False)"
X_CAN_WIN_AT_ONCE = "python_rbt(start=x0o8x1o4x5o3)"


def solved(game_string, iterations):
    game = pyspiel.load_game(game_string)
    solver = CFRSolver(exact_form(game), block=10)
    for _ in range(iterations):
        solver.iterate()
    return game, solver


def averages(solver):
    return [solver.average_policy(player) for player in (0, 1)]


def policy_of_tables(game, tables):
    return rbt_tree.array_policy(game, dict(enumerate(tables)))


@pytest.mark.parametrize("game_string", (TINY, SMALL, WITHOUT_RULES, X_CAN_WIN_AT_ONCE))
def test_cfr_plus_is_openspiels_iteration_by_iteration(game_string):
    game = pyspiel.load_game(game_string)
    in_cpp = pyspiel.load_efg_game(gambit.export_gambit(game))  # the same game as a table, which C++ traverses quickly
    theirs, ours = pyspiel.CFRPlusSolver(in_cpp), CFRSolver(exact_form(game))
    for iteration in range(1, 31):
        theirs.evaluate_and_update_policy()
        ours.iterate()
        if iteration in (1, 2, 5, 30):
            policy = theirs.tabular_average_policy()
            value = pyspiel.expected_returns(in_cpp.new_initial_state(), policy, -1, True)[0]
            best = ours.exploitability().best_responses
            assert sum(best) / 2 == pytest.approx(pyspiel.exploitability(in_cpp, policy), abs=1e-9)
            assert -best[1] - 1e-9 <= value <= best[0] + 1e-9


@pytest.mark.parametrize("game_string", (TINY, WITHOUT_RULES, X_CAN_WIN_AT_ONCE))
def test_the_sequence_form_has_the_values_of_rbts_own_passes(game_string):
    game, solver = solved(game_string, 5)
    found = solver.exploitability()
    assert sum(found.values) == pytest.approx(0.0, abs=1e-12)
    unpruned = policy_of_tables(game, averages(solver))
    assert solving.best_response_values(game, unpruned) == pytest.approx(found.best_responses, abs=1e-12)
    policy = solving.pruned_policy(game, averages(solver))
    assert exact_exploitability(game, policy).best_responses == pytest.approx(
        solving.best_response_values(game, policy), abs=1e-12
    )


def test_average_policy_has_the_value_and_exploitability_that_openspiel_measures():
    game, solver = solved(TINY, 7)
    policy = policy_of_tables(game, averages(solver))
    best = solver.exploitability().best_responses
    assert sum(best) / 2 == pytest.approx(exploitability.exploitability(game, policy), abs=1e-9)
    value = expected_game_score.policy_value(game.new_initial_state(), [policy, policy])[0]
    mdp = rbt_tree.build_tree_mdp(game, 0, policy)
    assert mdp.value(policy.plans[0]) == pytest.approx(value, abs=1e-12)
    assert mdp.best_response()[0] == pytest.approx(best[0], abs=1e-12)


@pytest.mark.parametrize("game_string", (TINY, SMALL, WITHOUT_RULES, X_CAN_WIN_AT_ONCE, MEDIUM))
def test_the_mixture_of_blocks_is_less_exploitable_than_the_average(game_string):
    game, solver = solved(game_string, 60)
    tables, (loss_x, loss_o) = solver.mixed_policies()
    assert -1e-12 <= (loss_x + loss_o) / 2 < 0.001
    best_x, best_o = solver.exploitability().best_responses
    assert loss_o <= best_x + 5e-5 and loss_x <= best_o + 5e-5  # the tolerance of the mixture
    assert solving.best_response_values(game, policy_of_tables(game, tables)) == pytest.approx(
        (loss_o, loss_x), abs=1e-12
    )


def test_openspiel_measures_the_same_exploitability_of_the_mixture():
    game, solver = solved(TINY, 25)
    tables, losses = solver.mixed_policies()
    assert exploitability.exploitability(game, policy_of_tables(game, tables)) == pytest.approx(
        sum(losses) / 2, abs=1e-9
    )


@pytest.mark.parametrize("start", ("x4o0x8o2x1", "x0o4x8o2"))
def test_the_pruning_rules_do_not_change_the_value(start):
    intervals = []
    for useful_senses in (True, False):
        for forced_wins in (True, False):
            game_string = f"python_rbt(start={start},useful_senses={useful_senses},forced_wins={forced_wins})"
            _, (loss_x, loss_o) = solved(game_string, 60)[1].mixed_policies()
            assert (loss_x + loss_o) / 2 < 1e-4
            intervals.append((-loss_x, loss_o))
    assert max(low for low, _ in intervals) <= min(high for _, high in intervals) + 1e-12


def test_the_number_of_threads_changes_no_bit():
    _, alone = solved(MEDIUM, 5)
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    _, together = solved(MEDIUM, 5)
    for player in (0, 1):
        np.testing.assert_array_equal(alone.average_policy(player), together.average_policy(player))


def test_a_restricted_game_collects_what_the_whole_one_does():
    whole, rng = exact_form(SMALL), np.random.default_rng(0)
    kept = [rng.random(tree.sequence_end) < 0.3 for tree in whole.trees]
    for mask, tree in zip(kept, whole.trees):
        mask[tree.first_sequence[:-1]] = True
    form, sequences = whole.restricted(kept)
    for tree in form.enumerated.trees:
        tree.check()
    for ply, after in zip(form.enumerated.plies, [*form.enumerated.plies[1:], None]):
        ply.check(form.enumerated.trees[ply.player], after.num_positions if after else 0)
    for player in (0, 1):
        other, reach = 1 - player, np.zeros(whole.trees[1 - player].sequence_end)
        assert form.trees[other].num_sequences < len(reach) / 2
        reach[sequences[other]] = rng.random(form.trees[other].sequence_end)
        found = form.gradient(player, reach[sequences[other]])
        np.testing.assert_allclose(found, whole.gradient(player, reach)[sequences[player]])


@pytest.mark.parametrize("variant", ("cfr+", "pcfr+"))
def test_pruned_iterations_resume_identically_and_are_as_good(variant):
    form = exact_form(MEDIUM)
    solver, resumed = (PrunedCFRSolver(form, variant, np.float32, block=20, pruned=16) for _ in range(2))
    whole = CFRSolver(form, variant, np.float32)
    for iteration in range(1, 81):
        solver.iterate()
        whole.iterate()
        if iteration in (15, 30, 36, 45):  # in blocks and between them, in pruned iterations and in others
            resumed.load_state_dict(solver.state_dict())
        if iteration == 20:
            np.testing.assert_array_equal(solver.average_policy(0), whole.average_policy(0))
    while resumed.iteration < 80:
        resumed.iterate()
    for player in (0, 1):
        np.testing.assert_array_equal(resumed.average_policy(player), solver.average_policy(player))
    assert solver.exploitability().exploitability < 1.3 * whole.exploitability().exploitability
    with pytest.raises(ValueError, match="of the 5 iterations of a block, 1 to 4 can be pruned"):
        PrunedCFRSolver(form, block=5, pruned=5)


def flags_of(folder, name, *more):
    return [
        f"--game={MEDIUM}",
        "--iterations=60",
        "--checkpoint_seconds=0",
        "--threads=1",
        f"--output={folder / name}.bin",
        f"--checkpoint={folder / name}.npz",
        *more,
    ]


def solve(folder, name, *more):
    return commands.run("experiments.solve_rbt", *flags_of(folder, name, *more))


# Runs the command, and kills it at its third checkpoint: after that was written, or when half of it is.
KILLED = """
import io, os, runpy, signal, sys
import numpy as np

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def savez(stream, **arrays):
    global left
    left -= 1
    whole = io.BytesIO()
    save(whole, **arrays)
    if left == 0 and during:
        stream.write(whole.getvalue()[: len(whole.getvalue()) // 2])
        stream.flush()
        kill()
    stream.write(whole.getvalue())

def replace(source, target):
    move(source, target)
    if left == 0:
        kill()

left, during, sys.argv = 3, sys.argv[1] == "during", sys.argv[1:]
save, np.savez, move, os.replace = np.savez, savez, os.replace, replace
runpy.run_module("experiments.solve_rbt", run_name="__main__")
"""


def test_survives_being_killed_between_and_during_checkpoints(tmp_path):
    solve(tmp_path, "whole").check_returncode()
    iterations = [0]
    for when in ("after", "during", "during", "after"):
        flags = flags_of(tmp_path, "killed", "--resume")
        killed = subprocess.run([sys.executable, "-c", KILLED, when, *flags], cwd=ROOT, stdout=subprocess.DEVNULL)
        assert killed.returncode == -signal.SIGKILL
        half_written = [path.name for path in tmp_path.glob(".killed.npz.*") if "lock" not in path.name]
        assert len(half_written) == (when == "during")
        with np.load(tmp_path / "killed.npz") as stored:
            iterations.append(int(stored["iteration"]))
    solve(tmp_path, "killed", "--resume").check_returncode()
    assert (tmp_path / "killed.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
    assert iterations == [0, 3, 5, 7, 10], "every run continued from the checkpoint of the one before"
    assert not list(tmp_path.glob(".killed.npz.*")), "what an interrupted write left behind is removed"


def test_an_existing_checkpoint_is_not_overwritten(tmp_path):
    (tmp_path / "old.npz").write_bytes(b"")
    run = solve(tmp_path, "old")
    assert run.returncode != 0 and "--resume" in run.stdout + run.stderr


def test_pruned_policy_keeps_the_exploitability_and_survives_its_file(tmp_path):
    game, solver = solved(MEDIUM, 60)
    policy = solving.pruned_policy(game, averages(solver), iterations=60)
    assert policy.exploitability < solver.exploitability().exploitability + 0.003
    path = tmp_path / "policy.bin"
    policy_file.write(path, policy)
    read = policy_file.read(path)
    assert read.facts == policy.facts
    assert solving.best_response_values(game, read) == solving.best_response_values(game, policy)
    arrays = {player: rbt_tree.policy_to_plan(game, player, read) for player in (0, 1)}
    assert_same_policy(game, read, rbt_tree.array_policy(game, arrays))


def assert_same_policy(game, one, other):
    rng = np.random.default_rng(5)
    for _ in range(100):
        state = game.new_initial_state()
        while not state.is_terminal():
            assert one.action_probabilities(state) == pytest.approx(other.action_probabilities(state), abs=1e-12)
            state.apply_action(rng.choice(state.legal_actions()))


def test_truncated_and_altered_policy_files_are_refused(tmp_path):
    game, solver = solved(SMALL, 20)
    path = tmp_path / "policy.bin"
    policy_file.write(path, solving.pruned_policy(game, averages(solver), iterations=20))
    content = path.read_bytes()
    body = content.index(b"\n") + 1
    for cut in (0, 1, body // 2, body, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ValueError, match="not an RBT policy file|truncated"):
            policy_file.read(path)
    for place in (body, body + (len(content) - body) // 2, len(content) - 1):
        path.write_bytes(content[:place] + bytes([content[place] ^ 8]) + content[place + 1 :])
        with pytest.raises(ValueError, match="altered"):
            policy_file.read(path)
    path.write_bytes(content.replace(b'"iterations": 20', b'"iterations": 21'))
    with pytest.raises(ValueError, match="altered"):
        policy_file.read(path)


def test_a_policy_of_another_game_is_refused():
    game, solver = solved(SMALL, 20)
    policy = solving.pruned_policy(game, averages(solver))
    with pytest.raises(ValueError, match="other rules"):
        rbt_tree.policy_to_plan(pyspiel.load_game(TINY), 0, policy)


def test_policies_that_are_not_arrays_are_refused_clearly():
    game = pyspiel.load_game(SMALL)
    general = policy_lib.TabularPolicy(game)
    assert not rbt_tree.knows_opponent(0, general)
    with pytest.raises(TypeError, match="TabularPolicy would have to be queried at each of .* states of o"):
        rbt_tree.build_tree_mdp(game, 0, general)
    with pytest.raises(TypeError, match="TabularPolicy would have to be queried at each of .* states of x"):
        rbt_tree.policy_to_plan(game, 0, general)
    with pytest.raises(ValueError, match="missing for player 1"):
        rbt_tree.build_tree_mdp(game, 0, {0: policy_lib.UniformRandomPolicy(game)})


def test_a_changed_policy_is_not_answered_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TMDP_SPIEL_CACHE", str(tmp_path))
    monkeypatch.setattr(rbt_tree, "_WORTH_A_FILE", 0)
    game, solver = solved(SMALL, 1)  # the average is the uniform policy
    policy = solving.pruned_policy(game, averages(solver))
    support = policy.supports[1]
    weight = np.random.default_rng(7).integers(1, 60000, len(support.weight)).astype(np.uint16)
    changed = SupportPolicy(game, (policy.supports[0], dataclasses.replace(support, weight=weight)), {})
    first, second, again = (rbt_tree.build_tree_mdp(game, 0, opponent) for opponent in (policy, changed, policy))
    assert len(list(tmp_path.glob("rbt_mdp_*"))) == 2
    assert second.best_response()[0] == pytest.approx(solving.best_response_values(game, changed)[0], abs=1e-12)
    assert np.abs(first.reach - second.reach).max() > 1e-3
    np.testing.assert_array_equal(first.reach, again.reach)
