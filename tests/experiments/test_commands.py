"""The experiment binaries, as a user runs them."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def command(module: str, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", f"experiments.{module}", *flags], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


@pytest.mark.slow
def test_learn_prints_a_table_and_draws_a_picture(tmp_path):
    done = command("learn", "--game=kuhn", "--episodes=2000", "--iterations=50", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "exact best response" in done.stdout and "LUCB-T" in done.stdout
    assert (tmp_path / "learn_kuhn_poker.png").stat().st_size > 10_000


def test_coverage_reports_every_player():
    done = command("research.coverage", "--games=kuhn", "--runs=3", "--episodes=100")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| kuhn |") == 2


@pytest.mark.slow
def test_episode_costs_are_measured_once(tmp_path):
    flags = ["--games=kuhn", "--seconds=0.001", f"--output={tmp_path}"]
    first = command("benchmarks.episode_cost", *flags)
    assert first.returncode == 0, first.stderr
    assert "| one plain pass over the tree |" in first.stdout and "| PSRL, lazy |" in first.stdout
    assert "kuhn, player x, 6 states" in first.stdout
    assert len(list((tmp_path / "runs" / "cost").rglob("seed_*.json"))) == 15
    assert (tmp_path / "episode_cost.png").stat().st_size > 10_000
    again = command("benchmarks.episode_cost", *flags)
    assert again.stdout == first.stdout and "measuring" not in again.stderr


@pytest.mark.slow
def test_episode_costs_say_why_an_algorithm_cannot():
    script = (
        "from experiments.benchmarks import episode_cost as e; "
        "asked = next(each for each in e.configurations(['leduc'], 0.0) if each.algorithm == 'LUCB'); "
        "row = e.perform(asked); print(row.outcome.refused, row.environment.num_states)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert "more than max_policies" in done.stdout and done.stdout.strip().endswith(" 144"), done.stderr


@pytest.mark.parametrize(
    "module, flag, message",
    [
        ("learn", "--game=leduck", "leduc"),
        ("learn", "--episodes=0", "positive integer"),
        ("learn", "--set=UCT.c=1", "--set names UCT, but the learners are UCBT, LUCBT"),
    ],
)
def test_a_wrong_flag_names_the_right_values(module, flag, message):
    done = command(module, flag)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
