"""What RBT registers is found by the library, and loaded no earlier than it is needed."""

import pathlib
import subprocess
import sys

import pytest
from open_spiel.python import policy as policy_lib

import tmdp_spiel as ts
from tmdp_spiel.games.rbt import policy_file
from tmdp_spiel.openspiel import games

LIBRARY = pathlib.Path(ts.__file__).parent

OPENS_THE_SHIPPED_FILE = """
import sys

sys.modules["scipy"] = None  # to import it is an error; numba, which only looks for its version, does without

import tmdp_spiel as ts

game = ts.load_game("rbt")
policy = ts.equilibrium(game)
assert policy.action_probabilities(game.new_initial_state())
print(" ".join(sys.modules))
"""


def test_opening_the_shipped_equilibrium_loads_neither_the_solver_nor_scipy():
    run = subprocess.run([sys.executable, "-c", OPENS_THE_SHIPPED_FILE], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "tmdp_spiel.games.rbt.policy_file" in loaded
    for module in ("solving", "passes", "enumeration", "tree"):
        assert f"tmdp_spiel.games.rbt.{module}" not in loaded
    assert not [module for module in loaded if module.startswith("scipy.")]


def test_the_library_has_no_special_case_for_a_game():
    for file in LIBRARY.rglob("*.py"):
        if LIBRARY / "games" not in file.parents:
            source = file.read_text(encoding="utf-8")
            for special in ("RBTGame", "games.rbt", '== "rbt"', "== 'rbt'", '"python_rbt" in', '== "python_rbt"'):
                assert special not in source, f"{file.name} has {special}"


def test_the_equilibrium_ships_for_the_whole_game_alone():
    assert ts.equilibrium("rbt").facts == policy_file.shipped().facts
    assert ts.equilibrium("rbt", 200).facts["exploitability"] == pytest.approx(0.002085, abs=1e-6)  # of stored runs
    with pytest.raises(ValueError, match="included equilibrium is of python_rbt.*solve python_rbt.*forced_wins=False"):
        ts.equilibrium("python_rbt(forced_wins=False)")
    late = ts.load_game("python_rbt(start=x0o4x8o2x1o7)")
    assert games.enumeration_of(late).equilibrium(late) is None


def test_a_late_start_takes_any_opponent():
    late = ts.load_game("python_rbt(start=x0o4x8o2x1o7)")
    opponent = ts.uniform(late)
    asked = ts.build_tree(late, 0, {1: opponent})
    told = ts.build_tree(late, 0, ts.equilibrium(late, 20))
    assert asked.tree.num_states == told.tree.num_states


def test_a_subclass_that_plays_differently_is_queried():
    late = ts.load_game("python_rbt(start=x0o4x8o2x1o7)")

    class First(policy_lib.UniformRandomPolicy):
        action_probabilities = policy_lib.FirstActionPolicy.action_probabilities

    for player in (0, 1):
        expected = ts.build_tree(late, player, policy_lib.FirstActionPolicy(late)).best_response()[0]
        assert ts.build_tree(late, player, First(late)).best_response()[0] == expected
        assert expected != ts.build_tree(late, player, ts.uniform(late)).best_response()[0]
