"""A person against the equilibrium, by the real command with scripted input."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def play(answers, *flags):
    run = subprocess.run(
        [sys.executable, "-m", "experiments.play_rbt", "--seed=3", *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        input="\n".join(answers) + "\n",
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("mark", ("x", "o"))
def test_a_whole_game_with_illegal_input_on_the_way(mark):
    everything = ["nonsense", "9", "tl", "tr", "bl", "br", "0", "1", "2", "3", "4", "5", "6", "7", "8"]
    output = play(everything * 12, f"--mark={mark}")
    assert "'nonsense' is not possible now. Type one of: " in output
    assert "The game is over. The board:" in output
    assert any(result in output for result in ("You win.", "A draw.", "You lose."))


def test_legal_answers_are_listed_and_the_view_is_drawn():
    output = play(["5x", "4", "tl"], "--mark=x")
    assert "Type one of: 0 1 2 3 4 5 6 7 8 (or q to quit)" in output
    assert "   ? ? ?\n   ? x ?\n   ? ? ?\n" in output
    assert "Good-bye." in output, "the end of the input ends the game"


def test_quitting():
    assert "Good-bye." in play(["q"])


def test_a_missing_policy_is_named():
    run = subprocess.run(
        [sys.executable, "-m", "experiments.play_rbt", "--policy=/nowhere.bin"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        input="",
    )
    assert run.returncode != 0 and "/nowhere.bin" in run.stderr
