"""The real command line of experiments/compare_solvers.py."""

import pathlib
import subprocess
import sys

import pytest

from experiments.sweep.names import label
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.spiel import solvers as open_spiel_solvers

pytestmark = pytest.mark.slow
ROOT = pathlib.Path(__file__).parents[2]


def compare(*flags):
    command = [sys.executable, "-m", "experiments.compare_solvers", *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)


def test_everything_on_kuhn(tmp_path):
    done = compare("--game=kuhn", "--episodes=60", "--runs=2", "--opponent=uniform", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for name in [*catalogue(), *open_spiel_solvers.SOLVERS]:
        assert done.stdout.count(f"| {label(name)} | ") == 2
    assert (tmp_path / "compare_solvers_kuhn_player0.png").stat().st_size > 10_000


def test_chosen_algorithms_one_that_cannot_run_and_more_runs_later(tmp_path):
    flags = ["--game=leduc", "--opponent=uniform", "--player=1", "--episodes=40", f"--output={tmp_path}"]
    done = compare(*flags, "--runs=1", "--processes=1", "--algorithms=UCBT,LUCB,OpenSpielExternalSampling")
    assert done.returncode == 0, done.stderr
    assert (
        "| UCB-T | " in done.stdout and "left out: LUCB on leduc, player o: LUCB has one arm per policy" in done.stderr
    )
    assert (tmp_path / "compare_solvers_leduc_player1.png").exists()

    runs = {path: path.read_bytes() for path in tmp_path.rglob("seed_*.json")}
    done = compare(*flags, "--runs=2", "--processes=1", "--algorithms=UCBT")
    assert done.returncode == 0, done.stderr
    again = {path: path.read_bytes() for path in tmp_path.rglob("seed_*.json")}
    assert len(runs) == 2 and len(again) == 3 and runs.items() <= again.items()


def test_wrong_flags():
    done = compare("--algorithms=UCBT,MCCFR")
    assert done.returncode != 0
    assert "choose from AMB, BalancedLevels" in done.stdout + done.stderr
    done = compare("--player=5")
    assert done.returncode != 0
    assert "there is no player 5" in done.stderr and "Traceback" not in done.stderr
