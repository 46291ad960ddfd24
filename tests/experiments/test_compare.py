"""The real command line of experiments/compare.py: the default learner beside others, and all on one game."""

import pathlib
import subprocess
import sys

import pytest

from experiments.sweep.tables import label
from reference import commands
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.openspiel.solvers import SOLVERS

ROOT = pathlib.Path(__file__).parents[2]


def python(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600)


def command(*flags: str) -> subprocess.CompletedProcess:
    return commands.run("experiments.compare", *flags)


@pytest.mark.slow
def test_a_table_a_stage_and_runs_that_are_kept(tmp_path):
    flags = ["--problems=sheriff x,auction o", "--algorithms=ThompsonTree,UCT", "--runs=2", "--episodes=400"]
    flags += ["--processes=1", f"--output={tmp_path}"]
    first = command(*flags)
    assert first.returncode == 0, first.stderr
    assert "| after 40 | Thompson tree | UCT | ratio to the best other | rank |" in first.stdout
    assert "| after 400 |" in first.stdout and first.stdout.count("| sheriff x, uniform |") == 2
    kept = list(tmp_path.rglob("seed_*.json"))
    assert len(kept) == 8
    times = [path.stat().st_mtime_ns for path in kept]
    assert command(*flags).stdout == first.stdout == command(*flags, "--stored").stdout
    assert times == [path.stat().st_mtime_ns for path in kept]


def test_without_another_learner_there_is_nothing_to_compare():
    done = command("--algorithms=ThompsonTree")
    assert done.returncode != 0 and "is compared with at least one other" in done.stderr + done.stdout
    done = command("--problems=chess")
    assert done.returncode != 0 and "no name begins with chess; there are kuhn x, eq" in done.stderr + done.stdout


@pytest.mark.parametrize(
    "gaps, expected",
    [
        ({"ThompsonTree": 0.02, "UCT": 0.01, "MVP": 0.04}, ("UCT", 2.0, 2)),
        ({"ThompsonTree": 0.005, "UCT": 0.01, "MVP": 0.04}, ("UCT", 0.5, 1)),
        ({"ThompsonTree": 1e-9, "UCT": 0.0, "MVP": 0.04}, ("UCT", 1.0, 1)),
        ({"ThompsonTree": 0.1, "UCT": 0.0, "MVP": 0.0}, ("UCT", float("inf"), 3)),
    ],
)
def test_ratios_and_ranks(gaps, expected):
    done = python("-c", f"from experiments import compare; print(compare.compared({gaps!r}))")
    assert done.stdout.strip() == repr(expected), done.stderr


@pytest.mark.slow
def test_everything_on_kuhn(tmp_path):
    done = command("--game=kuhn", "--episodes=60", "--runs=2", "--opponent=uniform", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for name in [*catalogue(), *SOLVERS]:
        assert done.stdout.count(f"| {label(name)} | ") == 2
    assert (tmp_path / "compare_kuhn_player0.png").stat().st_size > 10_000


@pytest.mark.slow
def test_chosen_algorithms_one_that_cannot_run_and_more_runs_later(tmp_path):
    flags = ["--game=leduc", "--opponent=uniform", "--player=1", "--episodes=40", f"--output={tmp_path}"]
    done = command(*flags, "--runs=1", "--processes=1", "--algorithms=UCBT,LUCB,OpenSpielExternalSampling")
    assert done.returncode == 0, done.stderr
    assert (
        "| UCB-T | " in done.stdout and "left out: LUCB on leduc, player o: LUCB has one arm per policy" in done.stderr
    )
    assert (tmp_path / "compare_leduc_player1.png").exists()

    runs = {path: path.read_bytes() for path in tmp_path.rglob("seed_*.json")}
    done = command(*flags, "--runs=2", "--processes=1", "--algorithms=UCBT")
    assert done.returncode == 0, done.stderr
    again = {path: path.read_bytes() for path in tmp_path.rglob("seed_*.json")}
    assert len(runs) == 2 and len(again) == 3 and runs.items() <= again.items()


@pytest.mark.slow
def test_wrong_flags():
    done = command("--game=kuhn", "--algorithms=UCBT,MCCFR")
    assert done.returncode != 0
    assert "choose from AMB, BettingOnDifferences" in done.stdout + done.stderr
    done = command("--game=kuhn", "--player=5")
    assert done.returncode != 0
    assert "there is no player 5" in done.stderr and "Traceback" not in done.stderr
