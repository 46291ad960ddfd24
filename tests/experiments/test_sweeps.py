"""The sweeps as a user runs them: killed, interrupted, resumed, on a pool; tables and figures."""

import json
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from absl import flags
from absl.testing import flagsaver

from experiments import plot, regret, reproduce, stopping_times, value_gap
from experiments.paper import settings
from experiments.sweep import run, store
from experiments.sweep.configuration import configuration

ROOT = pathlib.Path(__file__).parents[2]
TINY = ("--games=leduc", "--players=x", "--iterations=5")


def command(module, *chosen):
    return [sys.executable, "-m", f"experiments.{module}", *chosen]


def call(module, *chosen):
    return subprocess.run(command(module, *chosen), cwd=ROOT, capture_output=True, text=True, timeout=200)


def outcomes(directory):
    """All stored results but for what made them and how long it took, by path."""
    found = {}
    for path in pathlib.Path(directory).rglob("seed_*.json"):
        result = json.loads(path.read_text().partition("\n")[2])
        found[str(path.relative_to(directory))] = {**result, "code": None, "timing": None}
    return found


def alone(algorithm, seed, episodes):
    """A run in this process, without a pool."""
    constants = settings.constants("leduc", 0, algorithm)
    asked = configuration("learning", "leduc", 0, algorithm, constants, seed, episodes, iterations=5)
    return json.loads(json.dumps({**run.perform(asked), "code": None, "timing": None}))


@pytest.mark.slow
def test_a_sweep_killed_and_interrupted_ends_with_the_same_results(tmp_path):
    chosen = [
        "--algorithms=UCBT,LUCBT",
        "--runs=10",
        "--episodes=60000",
        "--processes=1",
        f"--output={tmp_path}",
        *TINY,
    ]
    runs = tmp_path / "runs"

    def start_and_wait_for(number):
        # A shell starts what it puts in the background with SIGINT ignored, and so would be all that the tests start.
        process = subprocess.Popen(
            command("regret", *chosen),
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        while process.poll() is None and len(list(runs.rglob("seed_*.json"))) < number:
            time.sleep(0.005)
        return process

    with start_and_wait_for(1) as killed:
        killed.kill()
    left_by_kill = outcomes(runs)
    assert 1 <= len(left_by_kill) < 19

    with start_and_wait_for(len(left_by_kill) + 1) as interrupted:
        interrupted.send_signal(signal.SIGINT)
        _, message = interrupted.communicate(timeout=60)
    left = outcomes(runs)
    assert len(left_by_kill) < len(left) < 20
    assert left_by_kill.items() <= left.items()
    assert interrupted.returncode != 0 and "Traceback" not in message
    assert f"interrupted: {len(left)} of 20 runs are kept in {runs}; the same command goes on" in message

    done = call("regret", *chosen)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no bar when not on a terminal"
    assert "| UCB-T |" in done.stdout and "10 runs of 60,000 episodes" in done.stdout
    expected = [alone(algorithm, seed, 60_000) for algorithm in ("UCBT", "LUCBT") for seed in range(10)]
    assert outcomes(runs) == {str(store.Store("").path(each["configuration"])): each for each in expected}


@pytest.mark.slow
def test_the_measures_share_runs_and_refuse_damaged_ones(tmp_path):
    chosen = [f"--output={tmp_path}", "--runs=2", "--episodes=200", *TINY]
    done = call("value_gap", *chosen)
    assert done.returncode == 0, done.stderr
    assert "left out on leduc: LUCBTUniform, because" in done.stderr
    ucbt = [path for path in tmp_path.rglob("seed_*.json") if "UCBT" in path.parts]
    before = {path: path.stat().st_mtime_ns for path in ucbt}
    assert len(ucbt) == 2

    done = call("regret", *chosen, "--algorithms=UCBT,OPF")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in ucbt} == before, "found, not run again"

    text = ucbt[0].read_text()
    ucbt[0].write_text(text[:-30])
    refused = call("regret", *chosen)
    assert refused.returncode != 0 and "Traceback" not in refused.stderr
    assert f"{ucbt[0]} is truncated or was altered; remove it" in refused.stderr


@pytest.mark.slow
def test_everything_at_once(tmp_path):
    curves = ["--episodes=100", f"--output={tmp_path}", *TINY]
    stopping = ["--stopping_games=kuhn", "--tolerances=0.4"]
    done = call("reproduce", "--runs=2", *curves, *stopping)
    assert done.returncode == 0, done.stderr
    tables = (tmp_path / "tables.md").read_text()
    assert tables in done.stdout
    for line in (
        "| x | LUCB | none | ",
        "| o | LUCB-T | tight | ",
        "| LUCB first on 3 cards | kuhn x, 0.4, union paper | LUCB < LUCB-T | ",
        "| UCT lower regret on small games | leduc x (e) | UCT < UCB-T | ",
        "not decided at 2 runs",
    ):
        assert line in tables
    again = call("stopping_times", "--runs=2", "--iterations=5", f"--output={tmp_path}", *stopping)
    assert again.returncode == 0, again.stderr
    assert again.stdout.strip() in tables, "found, and the same table"

    more = ["--stopping_games=leduc", "--stopping_algorithms=LUCB,MDPGapE", "--give_up_after=200", "--tolerances=0.4"]
    more.append("--noreference")
    limited = call("stopping_times", "--runs=1", "--iterations=5", f"--output={tmp_path}", *more)
    assert limited.returncode == 0, limited.stderr
    assert "left out: LUCB on leduc, player o: LUCB has one arm per policy" in limited.stderr
    assert "| o | MDP-GapE | none | given up after 200 episodes, remaining width " in limited.stdout

    for drawn in (tmp_path / "figures").iterdir():
        drawn.unlink()
    drawn = call("plot", "--runs=3", *curves)
    assert drawn.returncode == 0, drawn.stderr
    assert "panel e: 2 of 3 runs of StrongEuler" in drawn.stdout
    for name in ("panels", "a_leduc_value_gap_x", "e_leduc_regret_x"):
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 20_000
        assert (tmp_path / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "flag, message",
    [
        ("--games=chess", "choose from leduc, rbt"),
        ("--stopping_games=chess", "choose from kuhn, kuhn5, leduc, rbt"),
        ("--stopping_algorithms=UCT", "choose from BettingOnDifferences, BPIUCRL"),
        ("--algorithms=UCBT,MCCFR", "choose from AMB, BalancedLevels"),
        ("--scale=tiny", "choose full, medium, small, or a number in (0, 1]"),
        ("--scale=1.5", "choose full, medium, small, or a number in (0, 1]"),
        ("--players=0", "choose from x, o"),
        ("--scheduler=localhost", "tcp://localhost:8786"),
        ("--unions=loose", "choose from paper, tight"),
        ("--tolerances=2", "strictly between 0 and 1"),
        ("--tolerances=x", "strictly between 0 and 1"),
        ("--runs=0", "positive integer"),
    ],
)
def test_a_wrong_flag_names_the_right_values(flag, message):
    with flagsaver.flagsaver(), pytest.raises(flags.IllegalFlagValueError, match=re.escape(message)):
        flags.FLAGS(["reproduce", flag])


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, flag, message",
    [
        ("regret", "--UCBT_c=-1", "c must be a positive number"),
        ("plot", "--output=/nowhere", "none of the runs that the flags ask for is in /nowhere/runs"),
        ("stopping_times", "--unions=loose", "choose from paper, tight"),
    ],
)
def test_mistakes_end_with_a_message(module, flag, message):
    done = call(module, flag)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", [value_gap, regret, plot, stopping_times, reproduce])
def test_help_stands_on_its_own(module):
    assert f"python -m {module.__name__}" in module.__doc__
    shown = {flag.name for flag in flags.FLAGS.get_key_flags_for_module(module.__name__)}
    assert {"scale", "runs", "output", "processes", "scheduler", "use_progress"} <= shown
    assert ("episodes" in shown) == (module is not stopping_times)
