"""The default learner beside the others."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def python(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300)


def command(*flags: str) -> subprocess.CompletedProcess:
    return python("-m", "experiments.ranks", *flags)


@pytest.mark.slow
def test_a_table_a_stage_and_runs_that_are_kept(tmp_path):
    flags = ["--problems=sheriff x,auction o", "--algorithms=BalancedLevels,UCT", "--runs=2", "--episodes=400"]
    flags += ["--processes=1", f"--output={tmp_path}"]
    first = command(*flags)
    assert first.returncode == 0, first.stderr
    assert "| after 40 | Balanced levels | UCT | ratio to the best other | rank |" in first.stdout
    assert "| after 400 |" in first.stdout and first.stdout.count("| sheriff x, uniform |") == 2
    kept = list(tmp_path.rglob("seed_*.json"))
    assert len(kept) == 8
    times = [path.stat().st_mtime_ns for path in kept]
    assert command(*flags).stdout == first.stdout
    assert times == [path.stat().st_mtime_ns for path in kept]


def test_without_another_learner_there_is_nothing_to_compare():
    done = command("--algorithms=BalancedLevels")
    assert done.returncode != 0 and "is compared with at least one other" in done.stderr


@pytest.mark.parametrize(
    "gaps, expected",
    [
        ({"BalancedLevels": 0.02, "UCT": 0.01, "MVP": 0.04}, ("UCT", 2.0, 2)),
        ({"BalancedLevels": 0.005, "UCT": 0.01, "MVP": 0.04}, ("UCT", 0.5, 1)),
        ({"BalancedLevels": 1e-9, "UCT": 0.0, "MVP": 0.04}, ("UCT", 1.0, 1)),
        ({"BalancedLevels": 0.1, "UCT": 0.0, "MVP": 0.0}, ("UCT", float("inf"), 3)),
    ],
)
def test_ratios_and_ranks(gaps, expected):
    done = python("-c", f"from experiments import ranks; print(ranks.compared({gaps!r}))")
    assert done.stdout.strip() == repr(expected), done.stderr
