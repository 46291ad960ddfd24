"""SIGKILLs at random moments: after a restart, the result must be the same as without the kill."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from tmdp_spiel.core import storage

ROOT = pathlib.Path(__file__).parents[2]
_SECONDS_TO_START = 180.0


@dataclasses.dataclass
class Target:
    """A command that can be killed and started again.

    command(folder): what to run;  result(folder): its result, for comparison;  spread: it is killed within this number
    of seconds after the first sign of work.
    """

    name: str
    command: Callable[[pathlib.Path], list[str]]
    result: Callable[[pathlib.Path], object]
    spread: float


@dataclasses.dataclass
class Survival:
    """The outcome for a target: how often it was killed during work, and what was wrong at the end."""

    name: str
    kills: int
    same: bool
    left_behind: int

    @property
    def survived(self) -> bool:
        return self.same and self.left_behind == 0


def _python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


_RUN = """
import sys
import tmdp_spiel as ts
game = ts.load_game("leduc")
mdp = ts.build_tree(game, 1, ts.equilibrium(game, iterations=50))
learner = ts.UCBT(mdp.tree, seed=6)
folder, episodes = sys.argv[1], int(sys.argv[2])
trace = ts.run(learner, mdp, episodes, piece=1000, file=folder + "/run", save_every=0.02, progress=False)
with open(folder + "/trace", "wb") as file:
    file.write(b"".join(column.tobytes() for column in (trace.episode, trace.regret, trace.value_gap)))
"""
_EQUILIBRIUM = """
import os, sys
os.environ["TMDP_SPIEL_CACHE"] = sys.argv[1]
import tmdp_spiel as ts
for iterations in range(20, 20 + int(sys.argv[2])):
    ts.equilibrium("leduc", iterations)
"""
_SWEEP = [
    "--only=regret",
    "--nofigures",
    "--games=leduc",
    "--players=x",
    "--iterations=20",
    "--algorithms=UCT,MVP",
    "--processes=1",
]
_RBT_START = "python_rbt(start=x4o0x8)"


def _contents(folder: pathlib.Path, pattern: str) -> dict:
    return {file.name: file.read_bytes() for file in sorted(folder.glob(pattern))}


def _sweep_outcomes(folder: pathlib.Path) -> dict:
    found = {}
    for file in sorted(folder.rglob("seed_*.json")):
        document = storage.read_checked_json(file)
        found[str(file.relative_to(folder))] = json.dumps(document["outcome"])
    return found


def targets(size: int = 1) -> list[Target]:
    """A sweep, a run with a file, the cache of equilibria, the RBT solver. size: the amount of work."""
    return [
        Target(
            "sweep",
            lambda folder: [
                *(sys.executable, "-m", "experiments.reproduce", *_SWEEP),
                *(f"--runs={10 * size}", f"--episodes={100_000}", f"--output={folder}"),
            ],
            _sweep_outcomes,
            spread=1.0,
        ),
        Target(
            "run with a file",
            lambda folder: _python(_RUN, str(folder), str(400_000 * size)),
            lambda folder: _contents(folder, "trace"),
            spread=0.3,
        ),
        Target(
            "equilibrium cache",
            lambda folder: _python(_EQUILIBRIUM, str(folder), str(20 * size)),
            lambda folder: _contents(folder, "cfr_plus_*.json"),
            spread=0.5,
        ),
        Target(
            "RBT solver",
            lambda folder: [
                *(sys.executable, "-m", "experiments.solve_rbt", f"--game={_RBT_START}", f"--iterations={150 * size}"),
                *("--checkpoint_seconds=0", "--threads=1", f"--output={folder}/policy.bin"),
                *(f"--checkpoint={folder}/checkpoint.npz", "--resume"),
            ],
            lambda folder: _contents(folder, "policy.bin"),
            spread=0.3,
        ),
    ]


def _start(target: Target, folder: pathlib.Path, **options) -> subprocess.Popen:
    options |= {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(target.command(folder), cwd=ROOT, start_new_session=True, **options)


def _work_done(folder: pathlib.Path) -> tuple:
    """A value that changes whenever the command writes."""
    files = [file for file in folder.rglob("*") if not file.name.startswith(".")]
    return tuple(sorted((str(file), file.stat().st_mtime_ns) for file in files if file.exists() and file.is_file()))


def survive(target: Target, folder: pathlib.Path, kills: int, rng: np.random.Generator) -> Survival:
    """Kills the command repeatedly during its work, lets it finish, and compares it with an undisturbed run."""
    whole = folder / "whole"
    whole.mkdir(parents=True)
    if _start(target, whole).wait() != 0:
        raise RuntimeError(f"{target.name} fails even without being killed: {' '.join(target.command(whole))}")
    expected, killed, same, rounds, left = target.result(whole), 0, True, 0, 0
    while killed < kills or rounds == 0:
        place = folder / f"killed_{rounds}"
        place.mkdir()
        rounds += 1
        finished = False
        while not finished:
            process, before = _start(target, place), _work_done(place)
            if killed < kills:
                _wait_for_work(process, place, before)
                time.sleep(rng.uniform(0, target.spread))
            if killed < kills and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                killed += process.wait() == -signal.SIGKILL
            else:
                finished = True
                same = same and process.wait() == 0
        same = same and target.result(place) == expected
        left += sum(file.name.endswith(".tmdp-spiel") and ".lock." not in file.name for file in place.rglob(".*"))
    return Survival(target.name, killed, same, left)


def _wait_for_work(process: subprocess.Popen, folder: pathlib.Path, before: tuple) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while process.poll() is None and _work_done(folder) == before and time.monotonic() < deadline:
        time.sleep(0.005)
