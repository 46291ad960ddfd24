r"""Time and memory of exact exploitability in the benchmark games, and the published figures of others.

  python -m experiments.benchmarks.exact_games
  python -m experiments.benchmarks.exact_games --games="phantom_ttt;oshi_zumo(coins=13,min_bid=1)" --repeats=5

Each game runs in a separate process, so that peak memory is its own. Kernels are compiled before anything is timed. The
policy is uniform: the time does not depend on it, unless its support is small. Published figures are those
of Rudolph and others ("Reevaluating policy gradient methods for imperfect-information games", ICLR 2026: exp-a-spiel)
and of nashbench.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from absl import app, flags

from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.planning.cfr import CFRSolver
from tmdp_spiel.trees import sequence_form

# Seconds per exact exploitability as published; memory where it was given.
PUBLISHED = {
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
_SMALL = {
    "phantom_ttt": "dark_hex(board_size=2)",
    "dark_hex": "dark_hex(board_size=2)",
    "abrupt": "dark_hex(board_size=2,gameversion=adh)",
    "adh": "dark_hex(board_size=2,gameversion=adh)",
    "liars_dice": "liars_dice(numdice=1,dice_sides=2)",
    "goofspiel": "goofspiel(imp_info=True,num_cards=3,points_order=descending)",
    "points_order=random": "goofspiel(imp_info=True,num_cards=3,points_order=random)",
    "oshi_zumo": "oshi_zumo(coins=3,min_bid=1)",
}

_GAMES = flags.DEFINE_string("games", ";".join(PUBLISHED), "OpenSpiel game strings, with semicolons between them.")
_REPEATS = flags.DEFINE_integer(
    "repeats", 3, "How often each call is timed; the shortest time is reported.", lower_bound=1
)
_ALONE = flags.DEFINE_bool("alone", False, "Measures the first game in this process and prints JSON.")


def measure(string: str, repeats: int) -> dict:
    """Seconds on the wall and on the processors, and values, of one game."""
    small = next(game for part, game in reversed(_SMALL.items()) if part in string)
    _once(exact_form(small))
    build_wall, build_cpu = _timed(lambda: exact_form(string), 1)
    form = exact_form(string)
    policies = [form.uniform_policy(player) for player in (0, 1)]
    found = sequence_form.exploitability(form, policies)
    wall, cpu = _timed(lambda: sequence_form.exploitability(form, policies), repeats)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    solver = CFRSolver(form)
    solver.iterate()
    iteration_wall, iteration_cpu = _timed(solver.iterate, repeats)
    return {
        "game": string,
        "states": [tree.num_states for tree in form.trees],
        "sequences": [tree.num_sequences for tree in form.trees],
        "best_responses": found.best_responses,
        "value": found.values[0],
        "build": [build_wall, build_cpu],
        "exploitability": [wall, cpu],
        "iteration": [iteration_wall, iteration_cpu],
        "gibibytes": memory,
        "gibibytes_cfr": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def _once(form) -> None:
    sequence_form.exploitability(form, [form.uniform_policy(player) for player in (0, 1)])
    CFRSolver(form).iterate()


def _timed(function, repeats: int) -> tuple[float, float]:
    """The shortest wall time, and the processor time."""
    walls, processors = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        function()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return min(walls), min(processors)


def _in_own_process(string: str, repeats: int) -> dict:
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "experiments.benchmarks.exact_games", "--alone", f"--games={string}"]
            + [f"--repeats={repeats}"],
            check=True,
            stdout=subprocess.PIPE,
            cwd=pathlib.Path(__file__).parents[2],
            env={**os.environ, "TMDP_SPIEL_CACHE": cache},
        )
    return json.loads(done.stdout.splitlines()[-1])


def report(measured: dict) -> None:
    """Prints the figures of one game."""
    states, sequences = sum(measured["states"]), sum(measured["sequences"])
    print(f"{measured['game']}: {states:,} states, {sequences:,} sequences of both players")
    first, second = measured["best_responses"]
    print(f"    uniform: best responses {first:.9f} and {second:.9f}, value {measured['value']:.9f}")
    for what, key in (
        ("build the trees", "build"),
        ("exact exploitability, both players", "exploitability"),
        ("one CFR+ iteration", "iteration"),
    ):
        wall, cpu = measured[key]
        print(f"    {what:36}{wall:>9.2f} s, {cpu:.2f} s of processor time")
    print(f"    peak memory {measured['gibibytes']:.2f} GiB; with CFR+ {measured['gibibytes_cfr']:.2f} GiB")
    if measured["game"] in PUBLISHED:
        print(f"    published: {PUBLISHED[measured['game']]}")
    print(flush=True)


def main(_) -> None:
    games = [string for string in _GAMES.value.split(";") if string]
    if _ALONE.value:
        print(json.dumps(measure(games[0], _REPEATS.value)))
        return
    for string in games:
        report(_in_own_process(string, _REPEATS.value))


if __name__ == "__main__":
    app.run(main)
