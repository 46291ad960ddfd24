"""How often a certificate of a live opponent is wrong, against delta, for every way in which episodes are produced.

The game is matching pennies and the opponent a coin, so that every response is worth 0 and a certificate is wrong if it
says more than 0 at least, or less than 0 at most. Random numbers that are shared by workers, or repeated when a run
resumes, show at once: a response then wins against draws that were seen before.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import multiprocessing
import pathlib
import tempfile
import time
import warnings

import numpy as np
import pyspiel

import tmdp_spiel as ts

GAME = "matrix_mp"
WAYS = ("one process", "8 processes", "16 threads")
FORMS = ("class", "object", "file")
CALLS = ("one call", "20 calls")
EPISODES = 900  # in all, of player 0


_THINKING = 0.0005  # seconds a move, so that all workers have something to do


class GlobalCoin(pyspiel.Bot):
    """A fair coin from NumPy's global generator, as many people write it."""

    def __init__(self):
        super().__init__()

    def step(self, state):
        time.sleep(_THINKING)
        return int(np.random.choice(state.legal_actions()))


class OwnCoin:
    """A fair coin from a generator of its own, with a fixed seed."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def step(self, state):
        time.sleep(_THINKING)
        return int(self.rng.choice(state.legal_actions()))


@dataclasses.dataclass(frozen=True)
class Case:
    """way: of WAYS;  form: of FORMS;  calls: of CALLS."""

    way: str
    form: str
    calls: str


def cases() -> list[Case]:
    """All of them."""
    return [Case(*each) for each in itertools.product(WAYS, FORMS, CALLS)]


def _opponent(form: str):
    if form == "class":
        return GlobalCoin
    return OwnCoin() if form == "object" else f"{pathlib.Path(__file__).resolve()}:GlobalCoin"


def _executor(way: str):
    if way == "one process":
        return None
    if way == "16 threads":
        return concurrent.futures.ThreadPoolExecutor(16)
    return concurrent.futures.ProcessPoolExecutor(8, mp_context=multiprocessing.get_context("fork"))


def is_wrong(case: Case, seed: int, delta: float, episodes: int = EPISODES) -> bool:
    """Whether any certificate of one run is wrong, those of all its calls included."""
    number = 1 if case.calls == "one call" else 20
    executor = _executor(case.way)
    np.random.seed(seed)  # what a script may do before each call
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = None if number == 1 else pathlib.Path(folder) / "run"
            for call in range(1, number + 1):
                np.random.seed(seed)
                opponent = _opponent(case.form)
                budget = episodes * call // number
                try:
                    found = ts.exploit(
                        GAME,
                        opponent,
                        player=0,
                        episodes=budget,
                        delta=delta,
                        seed=seed,
                        executor=executor,
                        file=file,
                        progress=False,
                    )
                except ts.OpponentNotFixedError:
                    return True
                if found.lower > 1e-9 or found.upper < -1e-9:
                    return True
    finally:
        if executor is not None:
            executor.shutdown()
    return False


def error_table(runs: int, delta: float, seed: int, report=print) -> tuple[list[str], bool]:
    """The share of runs with a wrong certificate, case by case, and whether none is above delta."""
    lines = ["| episodes from | opponent given as | in | runs | wrong | share | delta |"]
    lines.append("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    fine = True
    for case in cases():
        wrong = sum(is_wrong(case, seed + run, delta) for run in range(runs))
        lines.append(f"| {case.way} | {case.form} | {case.calls} | {runs} | {wrong} | {wrong / runs:.3f} | {delta:g} |")
        report(lines[-1], flush=True)
        fine = fine and wrong <= delta * runs
    return lines, fine
