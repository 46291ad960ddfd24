"""The real command line of experiments/compare_solvers.py."""

import pathlib
import subprocess
import sys

from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.spiel import solvers as open_spiel_solvers

ROOT = pathlib.Path(__file__).parents[2]


def compare(*flags):
    command = [sys.executable, "-m", "experiments.compare_solvers", *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)


def test_everything_on_kuhn(tmp_path):
    done = compare("--game=kuhn", "--episodes=60", "--seeds=2", "--opponent=uniform", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line}
    for name in [*catalogue(), *open_spiel_solvers.SOLVERS]:
        assert float(rows[name][0]) >= 0
    assert (tmp_path / "compare_solvers_kuhn_poker_player0.png").stat().st_size > 10_000


def test_chosen_algorithms_one_that_cannot_run_and_more_seeds_later(tmp_path):
    flags = ["--game=leduc", "--opponent=uniform", "--player=1", "--episodes=40", f"--output={tmp_path}"]
    done = compare(*flags, "--seeds=1", "--processes=1", "--algorithms=UCBT,LUCB,OpenSpielExternalSampling")
    assert done.returncode == 0, done.stderr
    assert "UCBT " in done.stdout and "does not run here: LUCB has one arm per policy" in done.stdout
    assert (tmp_path / "compare_solvers_leduc_poker_player1.png").exists()

    runs = (tmp_path / "compare_solvers_leduc_poker_player1.jsonl").read_text().splitlines()
    done = compare(*flags, "--seeds=2", "--algorithms=UCBT")
    assert done.returncode == 0, done.stderr
    again = (tmp_path / "compare_solvers_leduc_poker_player1.jsonl").read_text().splitlines()
    assert len(runs) == 3 and len(again) == 4 and again[:3] == runs


def test_wrong_flags():
    done = compare("--algorithms=UCBT,MCCFR")
    assert done.returncode != 0
    assert "no algorithm is called MCCFR; there are: " in done.stderr
    done = compare("--player=5")
    assert done.returncode != 0
    assert "there is no player 5" in done.stderr
