r"""Time and memory of Reconnaissance Blind Tic-Tac-Toe: enumeration, solving, Tree MDPs, OpenSpiel's CFR+, learning.

  python -m experiments.benchmarks.rbt

Every stage runs in a separate process, so that its peak memory is its own.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyspiel
from absl import app

from experiments.benchmarks import episode_cost
from experiments.sweep import store
from tmdp_spiel.games.rbt import passes, policy_file, solving, tree as rbt_tree
from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.planning.cfr import CFRSolver

_SMALL = "python_rbt(start=x4o0x8o2x1)"  # small enough for OpenSpiel's solver on a game in Python
_TIMED_ITERATIONS = 10


def run():
    """Measures every stage and prints a table."""
    with tempfile.TemporaryDirectory() as cache:
        print(f"{'':52}{'time':>12}{'peak memory':>14}")
        for stage in STAGES:
            measured = _in_own_process(stage, cache)
            print(f"{measured['what']:52}{measured['seconds']:>10.2f} s{measured['gibibytes']:>10.2f} GiB", flush=True)
            if "remark" in measured:
                print(f"    {measured['remark']}", flush=True)
    with tempfile.TemporaryDirectory() as nothing_yet:
        chart = pathlib.Path("results/episode_cost.png")
        episode_cost.report(["kuhn", "kuhn5", "leduc", "rbt"], 4.0, store.Store(nothing_yet), chart)


def _in_own_process(stage, cache):
    done = subprocess.run(
        [sys.executable, "-m", "experiments.benchmarks.rbt", stage],
        check=True,
        stdout=subprocess.PIPE,
        cwd=pathlib.Path(__file__).parents[2],
        env={**os.environ, "TMDP_SPIEL_CACHE": cache},
    )
    return json.loads(done.stdout.splitlines()[-1])


def _compile_ahead():
    """Compiles the kernels on a small game."""
    game = pyspiel.load_game(_SMALL)
    solver = CFRSolver(exact_form(game))
    solver.iterate()
    solver.exploitability()
    rbt_tree.build_tree_mdp(game, 0, solving.pruned_policy(game, [solver.average_policy(p) for p in (0, 1)]))
    rbt_tree.forget_enumeration()


def enumerate_trees():
    game = pyspiel.load_game("python_rbt")
    seconds = _timed(lambda: rbt_tree.enumeration(game))
    counts = "; ".join(
        f"{mark}: {tree.num_states:,} states, {tree.num_sequences:,} sequences"
        for mark, tree in zip("xo", rbt_tree.enumeration(game).trees)
    )
    return {"what": "enumerate both trees and save them", "seconds": seconds, "remark": counts}


def reload_trees():
    game = pyspiel.load_game("python_rbt")
    return {
        "what": "open both trees again",
        "seconds": _timed(lambda: [rbt_tree.infostate_tree(game, p) for p in (0, 1)]),
    }


def iterate():
    solver = CFRSolver(exact_form("python_rbt"), dtype=np.float32)
    solver.iterate()

    def iterations():
        for _ in range(_TIMED_ITERATIONS):
            solver.iterate()

    seconds = _timed(iterations) / _TIMED_ITERATIONS
    measuring = _timed(solver.exploitability)
    return {
        "what": "one CFR+ iteration, both players",
        "seconds": seconds,
        "remark": f"exact exploitability: {measuring:.2f} s more each time",
    }


def build_for_x():
    return _build(0)


def build_for_o():
    return _build(1)


def _build(player):
    game = pyspiel.load_game("python_rbt")
    seconds = _timed(lambda: rbt_tree.build_tree_mdp(game, player, policy_file.shipped()))
    again = _timed(lambda: rbt_tree.build_tree_mdp(game, player, policy_file.shipped()))
    return {
        "what": f"tree MDP of {'xo'[player]} against the included equilibrium",
        "seconds": seconds,
        "remark": f"opened again from the cache: {again:.2f} s",
    }


def openspiel_cfr_plus():
    """OpenSpiel's CFR+ visits every history in every iteration; its speed on a small start is extrapolated."""
    small = pyspiel.load_game(_SMALL)
    solver = pyspiel.CFRPlusSolver(small)
    solver.evaluate_and_update_policy()
    seconds = _timed(solver.evaluate_and_update_policy)
    speed = 2 * passes.num_histories(rbt_tree.enumeration(small)) / seconds  # one traversal for each player
    histories = passes.num_histories(rbt_tree.enumeration(pyspiel.load_game("python_rbt")))
    years = 2 * histories / speed / (365.25 * 24 * 3600)
    return {
        "what": "OpenSpiel's CFR+, one iteration of a small start",
        "seconds": seconds,
        "remark": f"{speed:,.0f} histories a second; the whole game has {histories:,} histories, so an iteration of it "
        f"would take {years * 365.25:,.0f} days",
    }


def _timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


STAGES = {
    function.__name__: function
    for function in (enumerate_trees, reload_trees, iterate, build_for_x, build_for_o, openspiel_cfr_plus)
}


def main(argv):
    if len(argv) == 1:
        run()
        return
    if argv[1] not in STAGES:
        raise app.UsageError(f"no stage is called {argv[1]!r}; there are {', '.join(STAGES)}")
    _compile_ahead()
    measured = STAGES[argv[1]]()
    measured["gibibytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(measured))


if __name__ == "__main__":
    app.run(main)
