"""All operations of a user in random order, for some time: memory and open files must not grow."""

from __future__ import annotations

import dataclasses
import gc
import os
import pathlib
import time
from collections.abc import Callable

import numpy as np
import pyspiel

import tmdp_spiel as ts
from tmdp_spiel.evaluation.evaluator import Evaluator

_PAGE = os.sysconf("SC_PAGESIZE")


@dataclasses.dataclass
class Usage:
    """The memory and open files of the process after some rounds."""

    rounds: int
    seconds: float
    megabytes: float
    files: int


def usage(rounds: int, start: float) -> Usage:
    """The current memory and open files of the process."""
    gc.collect()
    resident = int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * _PAGE
    return Usage(rounds, time.perf_counter() - start, resident / 1e6, len(os.listdir("/proc/self/fd")))


def _uses(folder: pathlib.Path, rng: np.random.Generator) -> list[Callable[[], object]]:
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    names = ["UCBT", "UCT", "MVP", "PSRL", "BettingUCRL", "OutcomeSamplingMCCFR"]

    def seed() -> int:
        return int(rng.integers(1000))

    def learner() -> ts.Learner:
        return getattr(ts, str(rng.choice(names)))(mdp.tree, seed=seed())

    def keep() -> None:
        path = folder / f"learner_{seed() % 5}"
        one = learner()
        Evaluator(one, mdp).play(np.random.default_rng(seed()), 50)
        ts.save_learner(one, path)
        ts.load_learner(path, mdp.tree).plan()

    def kept_run() -> None:
        path = folder / "run"
        path.unlink(missing_ok=True)
        one = learner()
        ts.run(one, mdp, 300, file=path, progress=False)
        ts.run(type(one)(mdp.tree, seed=one.seed), mdp, 300, file=path, progress=False)

    def save_tree() -> None:
        path = folder / f"tree_{rng.integers(2**60)}"
        mdp.save(path)
        ts.TreeMDP.load(path).best_response()
        for file in path.iterdir():
            file.unlink()
        path.rmdir()

    def fixed() -> None:
        made = ts.fixed_opponent_game(game, seed() % 2, ts.uniform(game))
        state = made.new_initial_state()
        while not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))

    def live() -> None:
        ts.exploit(game, pyspiel.make_uniform_random_bot(1, seed()), player=0, episodes=300, progress=False)

    return [
        lambda: ts.build_tree(game, seed() % 2, ts.uniform(game)).best_response(),
        lambda: ts.run(learner(), mdp, 500, progress=False),
        lambda: ts.exploit(game, "uniform", player=seed() % 2, episodes=500, progress=False),
        lambda: ts.agent.TreeAgent(seed() % 2, game, "UCT", seed=seed()).learner.plan(),
        lambda: ts.equilibrium(game, 10 + seed() % 3),
        keep,
        kept_run,
        save_tree,
        fixed,
        live,
    ]


def use(folder: pathlib.Path, seconds: float, seed: int) -> list[Usage]:
    """Uses everything in random order for the given time; returns memory and open files after every tenth of it."""
    rng, start, rounds = np.random.default_rng(seed), time.perf_counter(), 0
    uses, held = _uses(folder, rng), list[Usage]()
    for each in uses:  # so that everything is compiled
        each()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or not held:
        uses[rng.integers(len(uses))]()
        rounds += 1
        if time.perf_counter() - start >= seconds * (len(held) + 1) / 10:
            held.append(usage(rounds, start))
    return held
