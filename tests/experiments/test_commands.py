"""The experiment binaries, as a user runs them."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def command(module: str, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", f"experiments.{module}", *flags], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


def test_learn_prints_a_table_and_draws_a_picture(tmp_path):
    done = command("learn", "--game=kuhn", "--episodes=2000", "--iterations=50", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "exact best response" in done.stdout and "LUCB-T" in done.stdout
    assert (tmp_path / "learn_kuhn_poker.png").stat().st_size > 10_000


def test_coverage_reports_every_player():
    done = command("coverage", "--games=kuhn", "--runs=3", "--episodes=100")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| kuhn |") == 2


@pytest.mark.parametrize(
    "module, flag, message",
    [
        ("learn", "--game=leduck", "leduc"),
        ("learn", "--episodes=0", "positive integer"),
    ],
)
def test_a_wrong_flag_names_the_right_values(module, flag, message):
    done = command(module, flag)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
