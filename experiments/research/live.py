"""How often a certificate of a live opponent is wrong, compared with delta, for every way to produce episodes.

The game is matching pennies and the opponent a coin, so every response has value 0. A certificate is wrong if its lower
bound is above 0 or its upper bound below 0. Random numbers that are shared by workers, or repeated when a run resumes,
are revealed at once, because a response then wins against repeated draws. A case fails if its number of wrong runs is
improbable at delta. Controls, in which the independence of draws is switched off, must fail.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import importlib.util
import itertools
import math
import multiprocessing
import pathlib
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pyspiel

import tmdp_spiel as ts
from experiments.research.options import Options
from experiments.sweep.binary import Stopped
from tmdp_spiel.exploit import session
from tmdp_spiel.exploit.checkpoint import SameOpponent
from tmdp_spiel.openspiel.opponents import parallel
from tmdp_spiel.openspiel.opponents.repetition import Copies
from tmdp_spiel.openspiel.opponents.resolve import Opponent

GAME = "matrix_mp"
WAYS = ("one process", "8 processes", "16 threads")
CALLS = ("one call", "20 calls")
EPISODES = 900  # in all, of player 0
CONTROL_EPISODES = 2_700  # of a control, so that what is broken shows
LEVEL = 0.01  # a cell fails if its wrong runs, or more, have a smaller probability at delta
REFUSED = ("repeat each other's random answers", "same random answers as in an earlier call", "holds a bot in C++")

_THINKING = 0.0003  # seconds a move, so that all workers have something to do


class GlobalCoin(pyspiel.Bot):
    """A fair coin from NumPy's global generator, as is common."""

    def __init__(self):
        super().__init__()

    def step(self, state):
        time.sleep(_THINKING)
        return int(np.random.choice(state.legal_actions()))


class OwnCoin:
    """A fair coin from its own generator, with a fixed seed."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def step(self, state):
        time.sleep(_THINKING)
        return int(self.rng.choice(state.legal_actions()))


class TorchCoin(OwnCoin):
    """As OwnCoin, with a generator of torch."""

    def __init__(self):
        import torch

        self.torch, self.rng = torch, torch.Generator().manual_seed(0)

    def step(self, state):
        time.sleep(_THINKING)
        return int(self.torch.randint(2, (1,), generator=self.rng))


class FailingCoin:
    """A coin whose run fails at two of five tails."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def step(self, state):
        time.sleep(_THINKING)
        action = int(self.rng.integers(2))
        if action == 1 and self.rng.random() < 0.4:
            raise RuntimeError("tails")
        return action


class SeededEveryEpisode:
    """A coin that seeds itself with a given seed and the number of the episode."""

    def __init__(self, seed=0):
        self.seed, self.episode = seed, 0

    def restart(self):
        self.episode += 1
        self.rng = np.random.default_rng([self.seed, self.episode])

    def step(self, state):
        time.sleep(_THINKING)
        return int(self.rng.integers(2))


class RepeatsItself(SeededEveryEpisode):
    """A coin that seeds itself with the number of the episode alone; refused wherever it would repeat its draws."""

    def __init__(self):
        super().__init__()

    def restart(self):
        self.episode += 1
        self.rng = np.random.default_rng(self.episode)

    def step(self, state):
        time.sleep(_THINKING)
        return int(self.rng.choice(state.legal_actions()))


def cpp_coin(seed):
    """OpenSpiel's uniform bot in C++."""
    return pyspiel.make_uniform_random_bot(1, seed)


FORMS: dict[str, Callable[[], Any]] = {
    "class": lambda: GlobalCoin,
    "object": OwnCoin,
    "file": lambda: f"{pathlib.Path(__file__).resolve()}:GlobalCoin",
    "class, seeded every episode": lambda: SeededEveryEpisode,
    "class, repeats itself": lambda: RepeatsItself,
    "function, bot in C++": lambda: cpp_coin,
    "object, bot in C++": lambda: pyspiel.make_uniform_random_bot(1, 0),
    "class, fails": lambda: FailingCoin,
}
if importlib.util.find_spec("torch") is not None:
    FORMS["object, torch"] = TorchCoin


@dataclasses.dataclass(frozen=True)
class Case:
    """way: of WAYS;  form: of FORMS;  calls: of CALLS;  tree: "enumerated", or "lazy", which is explored first."""

    way: str
    form: str
    calls: str
    tree: str = "enumerated"


def cases() -> list[Case]:
    """All of them."""
    enumerated = [Case(*each) for each in itertools.product(WAYS, FORMS, CALLS)]
    return enumerated + [dataclasses.replace(each, tree="lazy") for each in enumerated]


# With what is switched off, cases in which it keeps draws apart.
CONTROLS = {
    "workers not reseeded": Case("16 threads", "object", "one call", "lazy"),
    "calls repeat their draws": Case("one process", "class, repeats itself", "20 calls"),
}


@contextlib.contextmanager
def switched_off(control: str) -> Iterator[None]:
    """Switches off the independence of the draws of workers, or of calls, and the checks for it."""
    nothing: dict[str, Callable] = {"reseed": lambda *_: 0, "reseed_global_generators": lambda *_: None}
    patches: list[Any] = [mock.patch.object(Copies, "add", lambda *_: None)]
    patches += [mock.patch.object(SameOpponent, "_refuse_repetition", lambda *_: None)]
    if control == "workers not reseeded":
        patches += [mock.patch.object(parallel, name, function) for name, function in nothing.items()]
    else:
        patches += [mock.patch.object(session, "derived_seed", lambda seed, *_: seed)]
        patches += [mock.patch.object(session, "advance_global_generators", nothing["reseed_global_generators"])]
        patches += [mock.patch.object(Opponent, "reseed", lambda *_: None)]
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield


def _executor(way: str):
    if way == "one process":
        return None
    if way == "16 threads":
        return concurrent.futures.ThreadPoolExecutor(16)
    return concurrent.futures.ProcessPoolExecutor(8, mp_context=multiprocessing.get_context("fork"))


def outcome(case: Case, seed: int, delta: float, episodes: int = EPISODES) -> str:
    """ "wrong" if any certificate of one run, in any of its calls, is wrong; otherwise "right" or "refused"."""
    number = 1 if case.calls == "one call" else 20
    executor = _executor(case.way)
    on_error = "skip" if "fails" in case.form else "raise"
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = None if number == 1 else pathlib.Path(folder) / "run"
            for call in range(1, number + 1):
                np.random.seed(seed)  # what a script may do before each call
                try:
                    found = ts.exploit(
                        GAME,
                        FORMS[case.form](),
                        player=0,
                        episodes=episodes * call // number,
                        delta=delta,
                        seed=seed,
                        executor=executor,
                        on_error=on_error,
                        file=file,
                        progress=False,
                        max_nodes=1_000 if case.tree == "enumerated" else 1,
                    )
                except ts.OpponentNotFixedError:
                    return "wrong"
                except (ValueError, ts.OpponentError) as error:
                    if any(words in str(error) for words in REFUSED):
                        return "refused"
                    raise
                if found.lower > 1e-9 or found.upper < -1e-9:
                    return "wrong"
    finally:
        if executor is not None:
            executor.shutdown()
    return "right"


def improbable(wrong: int, runs: int, delta: float) -> bool:
    """Whether at least this many wrong runs have a probability below LEVEL if each is wrong with probability delta."""
    tail = sum(math.comb(runs, each) * delta**each * (1 - delta) ** (runs - each) for each in range(wrong, runs + 1))
    return tail < LEVEL


def report(options: Options) -> None:
    """The share of runs with a wrong certificate, by case; raises an error if a case fails or a control does not."""
    runs, delta = options.runs or 20, options.delta or 0.05
    titles = {f"{case.way}, {case.tree} tree, {case.form}, {case.calls}": (case, "") for case in cases()}
    titles |= {f"{CONTROLS[control].way}, {control}": (CONTROLS[control], control) for control in CONTROLS}
    print("| episodes from | opponent given as | in | runs | refused | wrong | share | at delta |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |")
    surprising = []
    for title, (case, control) in options.chosen(titles).items():
        with switched_off(control) if control else contextlib.nullcontext():
            episodes = options.episodes or (CONTROL_EPISODES if control else EPISODES)
            outcomes = [outcome(case, seed, delta, episodes) for seed in range(runs)]
        wrong, refused = outcomes.count("wrong"), outcomes.count("refused")
        failed = improbable(wrong, runs, delta)
        verdict = ("fails" if failed else "holds") + (", as it should" if failed and control else "")
        where = f"{case.way}{control and ', '}{control}, {case.tree} tree"
        row = where, case.form, case.calls, str(runs), str(refused), str(wrong), f"{wrong / runs:.2f}", verdict
        print(f"| {' | '.join(row)} |", flush=True)
        if failed != bool(control):
            surprising.append(title)
    if surprising:
        raise Stopped(f"not as promised: {'; '.join(surprising)}")
