"""The sweeps as a user runs them: killed, interrupted, resumed, on a pool; tables and figures."""

import functools
import json
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from experiments.sweep import run, store

ROOT = pathlib.Path(__file__).parents[2]
TINY = ("--games=leduc", "--players=x", "--iterations=5")


def command(module, *flags):
    return [sys.executable, "-m", f"experiments.{module}", *flags]


def call(module, *flags):
    return subprocess.run(command(module, *flags), cwd=ROOT, capture_output=True, text=True, timeout=200)


def outcomes(directory):
    """All stored results but for how long they took, by path."""
    found = {}
    for path in pathlib.Path(directory).rglob("seed_*.json"):
        result = json.loads(path.read_text().partition("\n")[2])
        found[str(path.relative_to(directory))] = {**result, "timing": None}
    return found


@functools.cache
def alone(algorithm, seed, episodes):
    """A run in this process, without a pool."""
    asked = run.configuration("learning", "leduc", 0, algorithm, {}, seed, episodes, iterations=5)
    return json.loads(json.dumps({**run.perform(asked), "timing": None}))


def assert_same_as_alone(directory, algorithms, seeds, episodes):
    expected = {}
    for algorithm in algorithms:
        for seed in range(seeds):
            result = alone(algorithm, seed, episodes)
            expected[str(store.Store("").path(result["configuration"]))] = result
    assert outcomes(directory) == expected


def test_a_sweep_killed_and_interrupted_ends_with_the_same_results(tmp_path):
    flags = ["--algorithms=MVP,AMB", "--runs=4", "--episodes=600000", "--processes=2", f"--output={tmp_path}", *TINY]

    def start_and_wait_for(number):
        process = subprocess.Popen(command("regret", *flags), cwd=ROOT, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and len(outcomes(tmp_path / "runs")) < number:
            time.sleep(0.01)
        return process

    with start_and_wait_for(1) as killed:
        killed.kill()
    left_by_kill = outcomes(tmp_path / "runs")
    assert 1 <= len(left_by_kill) < 8

    with start_and_wait_for(len(left_by_kill) + 1) as interrupted:
        interrupted.send_signal(signal.SIGINT)
        _, message = interrupted.communicate(timeout=60)
    left = outcomes(tmp_path / "runs")
    assert len(left_by_kill) < len(left) < 8
    assert left_by_kill.items() <= left.items()
    assert interrupted.returncode != 0 and "Traceback" not in message
    assert f"interrupted: {len(left)} of 8 runs are kept in {tmp_path / 'runs'}; the same command goes on" in message

    done = call("regret", *flags)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no bar when not on a terminal"
    assert "| MVP |" in done.stdout and "4 runs of 600,000 episodes" in done.stdout
    assert_same_as_alone(tmp_path / "runs", ["MVP", "AMB"], 4, 600_000)


def test_the_measures_share_runs_and_refuse_damaged_ones(tmp_path):
    flags = [f"--output={tmp_path}", "--runs=2", "--episodes=200", *TINY]
    done = call("value_gap", *flags)
    assert done.returncode == 0, done.stderr
    assert "left out on leduc: LUCBTUniform, because" in done.stderr
    ucbt = [path for path in tmp_path.rglob("seed_*.json") if "UCBT" in path.parts]
    before = {path: path.stat().st_mtime_ns for path in ucbt}
    assert len(ucbt) == 2

    done = call("regret", *flags, "--algorithms=UCBT,OPF")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in ucbt} == before, "found, not run again"

    drawn = call("plot", *flags)
    assert drawn.returncode == 0, drawn.stderr
    assert "panel e: 0 of 2 runs of StrongEuler" in drawn.stdout
    for name in ("panels", "a_leduc_value_gap_x", "e_leduc_regret_x"):
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 20_000
        assert (tmp_path / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")

    text = ucbt[0].read_text()
    ucbt[0].write_text(text[:-30])
    for module in ("regret", "plot"):
        refused = call(module, *flags)
        assert refused.returncode != 0 and "Traceback" not in refused.stderr
        assert f"{ucbt[0]} is truncated or was altered; remove it" in refused.stderr


def test_everything_at_once(tmp_path):
    flags = ["--runs=2", "--episodes=100", "--kuhn_games=kuhn", "--tolerances=0.4", f"--output={tmp_path}", *TINY]
    done = call("reproduce", *flags)
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
    assert (tmp_path / "figures" / "panels.png").exists()
    stopping = call("stopping_times", *(flag for flag in flags if "games=leduc" not in flag and "players" not in flag and "episodes" not in flag))
    assert stopping.returncode == 0, stopping.stderr
    assert stopping.stdout.strip() in tables, "found, and the same table"


@pytest.mark.parametrize(
    "module, flag, message",
    [
        ("value_gap", "--games=chess", "choose from leduc, rbt"),
        ("regret", "--algorithms=UCBT,MCCFR", "choose from AMB, BPIUCRL"),
        ("reproduce", "--scale=tiny", "choose full, medium, small, or a number in (0, 1]"),
        ("reproduce", "--scale=1.5", "choose full, medium, small, or a number in (0, 1]"),
        ("plot", "--players=0", "choose from x, o"),
        ("regret", "--UCBT_c=-1", "c must be a positive number"),
        ("regret", "--scheduler=localhost", "tcp://localhost:8786"),
        ("plot", "--output=/nowhere", "none of the runs that the flags ask for is in /nowhere/runs"),
        ("stopping_times", "--unions=loose", "choose from paper, tight"),
        ("stopping_times", "--tolerances=2", "strictly between 0 and 1"),
    ],
)
def test_a_wrong_flag_names_the_right_values(module, flag, message):
    done = call(module, flag)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["value_gap", "regret", "plot", "stopping_times", "reproduce"])
def test_help_stands_on_its_own(module):
    done = call(module, "--help")
    assert f"python -m experiments.{module}" in done.stdout and "--scale" in done.stdout
