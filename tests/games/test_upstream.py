"""What is prepared for OpenSpiel in docs/upstream: its own tests, and the game against ours on random histories."""

import importlib
import pathlib
import random
import subprocess
import sys

import pyspiel
import pytest
from open_spiel.python.algorithms import generate_playthrough

import tmdp_spiel.games  # noqa: F401 (registers python_rbt)

ROOT = pathlib.Path(__file__).parents[2] / "docs" / "upstream" / "open_spiel"
FILES = {"games": "reconnaissance_ttt", "algorithms": "certified_value"}
UPSTREAM = "python_reconnaissance_ttt"

RUN = """
import importlib, runpy, sys
root, package, name = sys.argv[1:]
importlib.import_module(f"open_spiel.python.{package}").__path__.append(f"{root}/python/{package}")
sys.argv = [name]
runpy.run_module(f"open_spiel.python.{package}.{name}", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module", autouse=True)
def upstream_game():
    package = importlib.import_module("open_spiel.python.games")
    package.__path__.append(str(ROOT / "python" / "games"))
    importlib.import_module("open_spiel.python.games.reconnaissance_ttt")
    package.__path__.pop()


@pytest.mark.parametrize("package", FILES)
def test_its_absltest_passes_with_the_installed_openspiel(package):
    arguments = [sys.executable, "-c", RUN, str(ROOT), package, f"{FILES[package]}_test"]
    run = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "OK" in run.stderr and "Ran 0 tests" not in run.stderr, run.stderr


@pytest.mark.parametrize("package", FILES)
def test_it_follows_openspiels_style_and_needs_nothing_of_this_project(package):
    for file in (ROOT / "python" / package).glob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert source.startswith("# Copyright") and "Apache License" in source
        assert "tmdp" not in source
        long = [line for line in source.splitlines() if len(line) > 80 and "pylint" not in line]
        assert not long


def test_the_playthrough_is_as_recorded():
    recorded = (ROOT / "integration_tests" / "playthroughs" / f"{UPSTREAM}.txt").read_text(encoding="utf-8")
    actions = [int(line.partition(": ")[2]) for line in recorded.splitlines() if line.startswith("action: ")]
    assert len(actions) > 5
    assert generate_playthrough.playthrough(UPSTREAM, actions).strip() == recorded.strip()


@pytest.mark.parametrize(
    "parameters", [{}, {"useful_senses": False}, {"forced_wins": False}], ids=["defaults", "any_sense", "unforced"]
)
def test_the_game_is_ours(parameters):
    """The same legal actions, strings, tensors and returns along random histories."""
    ours, theirs = (pyspiel.load_game(name, parameters) for name in ("python_rbt", UPSTREAM))
    assert ours.max_game_length() == theirs.max_game_length()
    rng, results = random.Random(5), set()
    for _ in range(150):
        one, other = ours.new_initial_state(), theirs.new_initial_state()
        while not one.is_terminal():
            assert str(one) == str(other) and one.current_player() == other.current_player()
            assert one.legal_actions() == other.legal_actions()
            for player in (0, 1):
                assert one.information_state_string(player) == other.information_state_string(player)
                assert one.observation_string(player) == other.observation_string(player)
                assert one.information_state_tensor(player) == other.information_state_tensor(player)
                assert one.observation_tensor(player) == other.observation_tensor(player)
            action = rng.choice(one.legal_actions())
            assert one.action_to_string(action) == other.action_to_string(action)
            one.apply_action(action)
            other.apply_action(action)
        assert other.is_terminal() and one.returns() == other.returns()
        results.add(one.returns()[0])
    assert {-1.0, 1.0} <= results
