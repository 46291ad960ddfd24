r"""Time and memory of exact exploitability in the benchmark games, and the published figures of others.

Each game has a process of its own, and an empty cache. The policy is uniform: the time does not depend on it, unless
its support is small. Published figures are those of Rudolph and others ("Reevaluating policy gradient methods for
imperfect-information games", ICLR 2026: exp-a-spiel) and of nashbench.
"""

from __future__ import annotations

import dataclasses
import pathlib
import resource
import tempfile
import time
from collections.abc import Callable, Sequence

import pyspiel

import tmdp_spiel as ts
from experiments.benchmarks import own_process
from tmdp_spiel.games.rbt import passes, tree as rbt_tree
from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.planning.cfr import CFRSolver
from tmdp_spiel.trees import sequence_form

# Seconds per exact exploitability as published; memory where it was given.
PUBLISHED = {
    "python_rbt": "none",
    "phantom_ttt": "exp-a-spiel ~80 s on 20 threads; nashbench 5.5 s on an A6000, > 2,400 s on a CPU",
    "dark_hex(board_size=3)": "exp-a-spiel 75 s on 16 threads; nashbench 5.4 s on an A6000, > 2,400 s on a CPU",
    "phantom_ttt(gameversion=abrupt)": "exp-a-spiel > 30 GB; nashbench 8.2 s on an A6000, > 2,400 s on a CPU",
    "dark_hex(board_size=3,gameversion=adh)": "exp-a-spiel > 30 GB; nashbench 9.5 s on an A6000, > 2,400 s on a CPU",
    "liars_dice(numdice=2,dice_sides=5)": "nashbench 0.06 s on an A6000",
    "goofspiel(imp_info=True,num_cards=6,points_order=descending)": "none",
    "goofspiel(imp_info=True,num_cards=6,points_order=random)": "nashbench 0.087 s on an A6000, 5 to 6 s on a CPU",
    "oshi_zumo(coins=13,min_bid=1)": "nashbench 0.18 s on an A6000",
}
# A small instance of the same kind, whose kernels are the same.
_SMALL_RBT = "python_rbt(start=x4o0x8o2x1)"
_SMALL = {
    "python_rbt": _SMALL_RBT,
    "phantom_ttt": "dark_hex(board_size=2)",
    "dark_hex": "dark_hex(board_size=2)",
    "abrupt": "dark_hex(board_size=2,gameversion=adh)",
    "adh": "dark_hex(board_size=2,gameversion=adh)",
    "liars_dice": "liars_dice(numdice=1,dice_sides=2)",
    "goofspiel": "goofspiel(imp_info=True,num_cards=3,points_order=descending)",
    "points_order=random": "goofspiel(imp_info=True,num_cards=3,points_order=random)",
    "oshi_zumo": "oshi_zumo(coins=3,min_bid=1)",
}
GAMES, SMALL_GAMES = tuple(PUBLISHED), ("liars_dice(numdice=1,dice_sides=3)",)
_REPEATS = 3

Seconds = tuple[float, float]  # on the wall, the shortest; on the processors, the shortest


@dataclasses.dataclass
class Measured:
    """The figures of one game; gibibytes: the peak before the iterations of CFR."""

    states: int
    sequences: int
    best_responses: list[float]
    value: float
    seconds: dict[str, Seconds]
    gibibytes: float


def measure(string: str, repeats: int) -> Measured:
    """Seconds and values of one game."""
    small = exact_form(next(game for part, game in reversed(_SMALL.items()) if part in string))
    sequence_form.exploitability(small, [small.uniform_policy(player) for player in (0, 1)])
    CFRSolver(small).iterate()
    game = ts.load_game(string)
    seconds = {"build the trees": _timed(lambda: exact_form(game), 1)}
    form = exact_form(game)
    policies = [form.uniform_policy(player) for player in (0, 1)]
    found = sequence_form.exploitability(form, policies)
    exploitability = lambda: sequence_form.exploitability(form, policies)  # noqa: E731
    seconds["exact exploitability, both players"] = _timed(exploitability, repeats)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    solver = CFRSolver(form)
    solver.iterate()
    seconds["one CFR+ iteration"] = _timed(solver.iterate, repeats)
    return Measured(
        sum(tree.num_states for tree in form.trees),
        sum(tree.num_sequences for tree in form.trees),
        list(found.best_responses),
        found.values[0],
        seconds,
        memory,
    )


def _timed(function: Callable, repeats: int) -> Seconds:
    walls, processors = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        function()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return min(walls), min(processors)


def openspiel_histories_per_second() -> float:
    """OpenSpiel's CFR+ visits every history of RBT in every iteration, once for each player; on a small start."""
    small = pyspiel.load_game(_SMALL_RBT)
    solver = pyspiel.CFRPlusSolver(small)
    solver.evaluate_and_update_policy()
    wall, _ = _timed(solver.evaluate_and_update_policy, 1)
    return 2 * passes.num_histories(rbt_tree.enumeration(small)) / wall


def report(games: Sequence[str], small: bool, folder: pathlib.Path) -> None:
    """Prints the figures of every game."""
    for string in games:
        with tempfile.TemporaryDirectory() as cache:
            measured, peak = own_process.call(measure, string, 1 if small else _REPEATS, TMDP_SPIEL_CACHE=cache)
        print(f"{string}: {measured.states:,} states, {measured.sequences:,} sequences of both players")
        first, second = measured.best_responses
        print(f"    uniform: best responses {first:.9f} and {second:.9f}, value {measured.value:.9f}")
        for what, (wall, cpu) in measured.seconds.items():
            print(f"    {what:36}{wall:>9.2f} s, {cpu:.2f} s of processor time")
        print(f"    peak memory {measured.gibibytes:.2f} GiB, with CFR {peak:.2f} GiB")
        print(f"    published: {PUBLISHED.get(string, 'none')}", flush=True)
        if string == "python_rbt":
            rate = openspiel_histories_per_second()
            print(f"    OpenSpiel's CFR+ on a small start of it: {rate:,.0f} histories a second", flush=True)
