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

from experiments import reproduce
from experiments.paper import flags as paper_flags, settings
from experiments.sweep import run, set_flag, store
from experiments.sweep.configuration import Configuration, configuration, hyper_parameters_of
from reference import commands
from tmdp_spiel.algorithms.catalogue import catalogue

ROOT = pathlib.Path(__file__).parents[2]
TINY = ("--games=leduc", "--players=x", "--iterations=5")


def command(part, *chosen):
    return [sys.executable, "-m", "experiments.reproduce", *chosen, *([] if part == "all" else [f"--only={part}"])]


def call(part, *chosen):
    return commands.run("experiments.reproduce", *command(part, *chosen)[3:])


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
    return {**run.perform(asked).to_json(), "code": None, "timing": None}


@pytest.mark.slow
def test_a_sweep_killed_and_interrupted_ends_with_the_same_results(tmp_path):
    chosen = [
        "--algorithms=UCBT,LUCBT",
        "--runs=5",
        "--episodes=60000",
        "--processes=1",
        "--nofigures",
        f"--output={tmp_path}",
        *TINY,
    ]
    runs = tmp_path / "runs"

    def start_and_wait_for(number):
        process = subprocess.Popen(
            command("regret", *chosen),
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and len(list(runs.rglob("seed_*.json"))) < number:
            time.sleep(0.005)
        return process

    with start_and_wait_for(1) as killed:
        killed.kill()
    left_by_kill = outcomes(runs)
    assert 1 <= len(left_by_kill) < 9

    with start_and_wait_for(len(left_by_kill) + 1) as interrupted:
        interrupted.send_signal(signal.SIGINT)
        _, message = interrupted.communicate(timeout=600)
    left = outcomes(runs)
    assert len(left_by_kill) < len(left) < 10
    assert left_by_kill.items() <= left.items()
    assert interrupted.returncode != 0 and "Traceback" not in message
    assert f"interrupted: {len(left)} of 10 runs are saved in {runs}; the same command continues" in message

    done = call("regret", *chosen)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "no bar when not on a terminal"
    assert "| UCB-T |" in done.stdout and "5 runs of 60,000 episodes" in done.stdout
    expected = [alone(algorithm, seed, 60_000) for algorithm in ("UCBT", "LUCBT") for seed in range(5)]
    assert outcomes(runs) == {
        str(store.Store("").path(Configuration(**each["configuration"]))): each for each in expected
    }


@pytest.mark.slow
def test_the_measures_share_runs_and_refuse_damaged_ones(tmp_path):
    chosen = [f"--output={tmp_path}", "--runs=2", "--episodes=200", "--nofigures", *TINY]
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
    done = call("all", "--runs=2", f"--pack={tmp_path / 'all.xz'}", *curves, *stopping)
    assert done.returncode == 0, done.stderr
    tables = (tmp_path / "tables.md").read_text()
    assert tables in done.stdout
    assert len(store.unpack(tmp_path / "all.xz")) == len(list(tmp_path.rglob("seed_*.json")))
    assert f"runs in {tmp_path / 'all.xz'}, " in done.stderr
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
    table = again.stdout.split("## The paper's orderings")[0].strip()
    assert table in tables, "found, and the same table"
    assert (tmp_path / "tables_stopping_times.md").read_text() in again.stdout
    assert (tmp_path / "tables.md").read_text() == tables
    packed = call("stopping_times", "--runs=2", "--stored", f"--archive={tmp_path / 'all.xz'}", "--iterations=5",
                  f"--output={tmp_path / 'other'}", *stopping)  # fmt: skip
    assert table in packed.stdout, packed.stderr

    more = ["--stopping_games=leduc", "--stopping_algorithms=LUCB,MDPGapE", "--give_up_after=200", "--tolerances=0.4"]
    more.append("--noreference")
    limited = call("stopping_times", "--runs=1", "--iterations=5", f"--output={tmp_path}", *more)
    assert limited.returncode == 0, limited.stderr
    assert "left out: LUCB on leduc, player o: LUCB has one arm per policy" in limited.stderr
    assert "| o | MDP-GapE | none | given up after 200 episodes, remaining width " in limited.stdout

    for drawn in (tmp_path / "figures").iterdir():
        drawn.unlink()
    drawn = call("value_gap,regret", "--stored", "--runs=3", *curves)
    assert drawn.returncode == 0, drawn.stderr
    assert "2 of 3 runs of StrongEuler on leduc, player x, are stored" in drawn.stderr
    for name in ("panels_value_gap_regret", "a_leduc_value_gap_x", "e_leduc_regret_x"):
        assert f"{name}.png" in drawn.stdout
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 20_000
        assert (tmp_path / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "flag, message",
    [
        ("--games=chess", "choose from leduc, rbt"),
        ("--stopping_games=chess", "choose from kuhn, kuhn5, leduc, rbt"),
        ("--stopping_algorithms=UCT", "choose from BettingOnDifferences, BPIUCRL"),
        ("--algorithms=UCBT,MCCFR", "choose from AMB, BettingOnDifferences"),
        ("--scale=tiny", "choose full, medium, small, or a number in (0, 1]"),
        ("--scale=1.5", "choose full, medium, small, or a number in (0, 1]"),
        ("--players=0", "choose from x, o"),
        ("--scheduler=localhost", "tcp://localhost:8786"),
        ("--unions=loose", "choose from paper, tight"),
        ("--tolerances=2", "strictly between 0 and 1"),
        ("--tolerances=x", "strictly between 0 and 1"),
        ("--runs=0", "positive integer"),
        ("--only=plot", "choose from stopping_times, value_gap, regret"),
        ("--set=UCBT_c=1", "'UCBT_c=1' does not look like UCBT.c=0.5"),
        ("--set=UCTT.c=1", "no learner is called 'UCTT'; choose from AMB, BettingOnDifferences"),
        ("--set=UCT.d=1", "UCT has no 'd'; it has c"),
        ("--set=UCT.c=big", "c of UCT must be float, not 'big'"),
        ("--set=PSRL.lazy=1", "lazy of PSRL must be bool, not '1'"),
    ],
)
def test_a_wrong_flag_names_the_right_values(flag, message):
    with flagsaver.flagsaver(), pytest.raises(flags.IllegalFlagValueError, match=re.escape(message)):
        flags.FLAGS(["reproduce", flag])


@pytest.mark.slow
@pytest.mark.parametrize(
    "part, chosen, message",
    [
        ("regret", ["--set=UCBT.c=-1"], "c must be a positive number"),
        ("stopping_times", ["--set=UCBT.c=1"], "--set names UCBT, but the learners are none"),
        ("regret", ["--stored", "--output=/nowhere"], "none of the runs selected by the flags is in /nowhere/runs"),
    ],
)
def test_mistakes_end_with_a_message(part, chosen, message):
    done = call(part, *chosen)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_has_all_parts_and_few_flags():
    for part in reproduce.PARTS:
        assert f"python -m experiments.reproduce --only={part}" in reproduce.__doc__
    shown = {flag.name for flag in flags.FLAGS.get_key_flags_for_module("experiments.reproduce")}
    assert {"only", "scale", "runs", "episodes", "set", "stored", "pack", "archive", "output", "scheduler"} <= shown
    assert len(shown) < 30


@pytest.mark.parametrize(
    "setting, expected",
    [
        ("UCBT.c=0.5", ("UCBT", "c", 0.5)),
        ("UCBT.baseline=0.5", ("UCBT", "baseline", 0.5)),
        ("UCBT.baseline=mean", ("UCBT", "baseline", "mean")),
        ("UCBT.recommended=lower bound", ("UCBT", "recommended", "lower bound")),
        ("PSRL.lazy=True", ("PSRL", "lazy", True)),
        ("ThompsonTree.num_levels=4", ("ThompsonTree", "num_levels", 4)),
    ],
)
def test_settings_have_the_type_of_the_hyper_parameter(setting, expected):
    found = set_flag.parse(setting)
    assert found == expected and type(found[2]) is type(expected[2])


def test_every_hyper_parameter_can_be_set_to_its_default():
    for algorithm in catalogue():
        for name, each in hyper_parameters_of(algorithm).items():
            assert each.types, f"{algorithm}.{name} has no type to read a value by"
            if each.default is not None:
                assert set_flag.parse(f"{algorithm}.{name}={each.default}") == (algorithm, name, each.default)


def test_settings_reach_the_runs():
    with flagsaver.flagsaver():
        flags.FLAGS(["reproduce", "--set=UCBT.c=0.25", "--set", "UCBT.c=0.5", "--set=UCT.c=3", "--games=leduc"])
        assert set_flag.given("UCBT") == {"c": 0.5} and set_flag.given("MVP") == {}
        asked = paper_flags.configurations(paper_flags.panels({"regret"}))
        of = {each.algorithm: each.hyper_parameters for each in asked}
        assert of["UCBT"]["c"] == 0.5 and of["UCT"] == {"c": 3.0} and of["OPF"]["k"] == 5.0
