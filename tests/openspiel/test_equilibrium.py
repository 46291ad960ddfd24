import importlib
import subprocess
import sys

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

import tmdp_spiel as ts
from tmdp_spiel.core import storage


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache of one's own."""
    monkeypatch.setenv("TMDP_SPIEL_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def solved(monkeypatch):
    """The games that were solved, not read from the cache."""
    games = []
    module = importlib.import_module("tmdp_spiel.openspiel.equilibrium")
    solve = module._solve
    monkeypatch.setattr(module, "_solve", lambda game, iterations: games.append(str(game)) or solve(game, iterations))
    return games


@pytest.mark.parametrize("name", ["kuhn", "kuhn5", "kuhn_poker(players=3)", "goofspiel(num_cards=3,imp_info=True)"])
def test_exploitability_is_openspiels(cache, name):
    game = ts.load_game(name)
    policy = ts.equilibrium(game, 50)
    theirs = exploitability.nash_conv(game, policy) / game.num_players()
    assert policy.exploitability == pytest.approx(theirs, abs=1e-9)
    assert policy.iterations == 50


def test_more_iterations_are_less_exploitable(cache):
    assert ts.equilibrium("kuhn", 300).exploitability < ts.equilibrium("kuhn", 30).exploitability / 3


def test_it_is_the_average_policy_of_cfr_plus(cache):
    game = pyspiel.load_game("kuhn_poker")
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(10):
        solver.evaluate_and_update_policy()
    policy = ts.equilibrium(game, 10)
    for key, row in solver.tabular_average_policy().policy_table().items():
        np.testing.assert_allclose(policy.policy_for_key(key), [probability for _, probability in sorted(row)])


def test_solved_once_and_then_read(cache, solved):
    first, second = ts.equilibrium("kuhn", 20), ts.equilibrium("kuhn", 20)
    np.testing.assert_array_equal(first.action_probability_array, second.action_probability_array)
    assert first.exploitability == second.exploitability
    assert len(solved) == 1


def test_games_parameters_iterations_and_versions_are_kept_apart(cache, solved, monkeypatch):
    for game, iterations in [("kuhn", 20), ("kuhn", 21), ("kuhn5", 20), ("kuhn_poker(players=3)", 20)]:
        ts.equilibrium(game, iterations)
    monkeypatch.setattr("importlib.metadata.version", lambda package: "next")
    ts.equilibrium("kuhn", 20)
    assert len(solved) == 5
    assert len(list(cache.iterdir())) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"0.", b"1.", 1),
        lambda content: b"\xff\x00" * 100,
    ],
    ids=["empty", "truncated", "altered", "garbage"],
)
def test_damaged_files_are_solved_for_again(cache, solved, damage):
    good = ts.equilibrium("kuhn", 20)
    (file,) = cache.iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content))
    again = ts.equilibrium("kuhn", 20)
    np.testing.assert_array_equal(again.action_probability_array, good.action_probability_array)
    assert len(solved) == 2
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "content", [[], {}, {"policy": 1}, {"policy": {"nowhere": []}}, {"policy": {"0": [[9, 1.0]]}}], ids=repr
)
def test_a_file_of_other_content_is_solved_for_again(cache, solved, content):
    """With a checksum that is right."""
    good = ts.equilibrium("kuhn", 20)
    (file,) = cache.iterdir()
    key = storage.read_checked_json(file)["key"]
    storage.write_checked_json(file, {"key": key, "exploitability": 0.0, **content} if content else content)
    again = ts.equilibrium("kuhn", 20)
    np.testing.assert_array_equal(again.action_probability_array, good.action_probability_array)
    assert len(solved) == 2


def test_a_file_that_cannot_be_read_is_said_to_be(cache, solved):
    ts.equilibrium("kuhn", 20)
    (file,) = cache.iterdir()
    file.unlink()
    file.mkdir()
    with pytest.warns(UserWarning, match="cannot be read, so the game is solved again"):
        ts.equilibrium("kuhn", 20)
    assert len(solved) == 2


def test_a_file_of_another_game_is_not_used(cache, solved):
    ts.equilibrium("kuhn", 20)
    (kuhn,) = cache.iterdir()
    ts.equilibrium("kuhn", 21)
    (longer,) = set(cache.iterdir()) - {kuhn}
    longer.write_bytes(kuhn.read_bytes())
    assert ts.equilibrium("kuhn", 21).iterations == 21
    assert len(solved) == 3


@pytest.mark.slow
def test_two_processes_at_once(cache):
    command = [sys.executable, "-c", "import tmdp_spiel as ts; print(ts.equilibrium('kuhn', 200).exploitability)"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=600)[0] for process in processes]
    assert printed[0] == printed[1] == f"{ts.equilibrium('kuhn', 200).exploitability}\n"
    assert len(list(cache.iterdir())) == 1


def test_a_cache_that_cannot_be_written_costs_a_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TMDP_SPIEL_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="could not be written to the cache"):
        assert ts.equilibrium("kuhn", 20).exploitability > 0


@pytest.mark.parametrize("iterations", [0, -5, 1.5, True])
def test_iterations_are_positive_whole_numbers(iterations):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        ts.equilibrium("kuhn", iterations)


@pytest.mark.filterwarnings("ignore:the .* strings of")
@pytest.mark.parametrize(
    "name, message",
    [
        ("liars_dice_ir(dice_sides=4)", "perfect recall"),
        ("mfg_crowd_modelling", "mean-field"),
        ("bridge", "too large: stopped after 20,000 histories"),
        ("catch(rows=3,columns=3)", "no information-state strings"),
    ],
)
def test_games_that_cannot_be_solved(cache, name, message):
    with pytest.raises(ValueError, match=message):
        ts.equilibrium(name, 5, max_nodes=20_000)
    assert list(cache.iterdir()) == []
