r"""The processor time of an episode for every algorithm, on games from Kuhn poker to RBT, and of a pass over the tree.

  python -m experiments.benchmarks.episode_cost --games=kuhn,kuhn5,leduc,rbt

It is the processor time of the compiled loop, including exact regret. Everything is measured in a separate process,
which opens the tree itself, so that peak memory is its own. Measurements are stored and not repeated; the table and the
chart are made from them.
"""

import multiprocessing
import pathlib
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numba
import numpy as np
from absl import flags

import tmdp_spiel as ts
from experiments.paper import settings
from experiments.sweep import execution, flags as sweep_flags, run, store
from experiments.sweep.binary import run_binary
from experiments.sweep.configuration import Configuration, configuration
from experiments.sweep.drawing import save
from experiments.sweep.names import label, player_name
from experiments.sweep.result import Cost, Result
from experiments.sweep.tables import markdown
from tmdp_spiel.core import plotting
from tmdp_spiel.planning import full_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE

_GAMES = flags.DEFINE_list(
    "games", ["kuhn", "kuhn5", "leduc", "rbt"], "Games to measure; both players of rbt, player 0 of others."
)
_SECONDS = flags.DEFINE_float("seconds", 4.0, "Time to play for.", lower_bound=1e-3)
flags.adopt_module_key_flags(sweep_flags)

PLAIN_PASS = "one plain pass over the tree"
ALGORITHMS = (
    *("UCBT", "LUCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "BPIUCRL", "MDPGapE", "MVP", "StrongEuler", "AMB"),
    *("PSRL", "LUCBTUniform", "LUCB"),
)
_BY_PLAYER = ("rbt",)  # games whose players' trees differ in size
_NOT_DRAWN = ("LUCB", "LUCBTUniform")
_MARKS = "osv^D*Xph<>d"
_WARM_UP = 1000  # episodes
_PLAIN_PASSES = 5
_PASSES_ARE_LONG = 1_000_000  # states from which an episode that passes over the tree is timed once


def configurations(games: Sequence[str], seconds: float) -> list[Configuration]:
    wanted = []
    for game in games:
        for player in (0, 1) if game in _BY_PLAYER else (0,):
            wanted.append(configuration("cost", game, player, PLAIN_PASS, {}, 0, seconds=seconds))
            for algorithm in ALGORITHMS:
                constants = settings.constants(game, player, algorithm)
                for lazy in [{"lazy": True}, {"lazy": False}] if algorithm == "PSRL" else [{}]:
                    wanted.append(configuration("cost", game, player, algorithm, constants | lazy, 0, seconds=seconds))
    return wanted


def name_of(configuration: Configuration) -> str:
    lazy = configuration.hyper_parameters.get("lazy")
    return label(configuration.algorithm) + ("" if lazy is None else ", lazy" if lazy else ", exact")


def perform(configuration: Configuration) -> Result[Cost]:
    """One row of the table."""
    start = time.perf_counter()
    mdp = run.environment(configuration.problem)
    measured = _plain_pass(mdp) if configuration.algorithm == PLAIN_PASS else _episodes(configuration, mdp)
    measured.gibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Result.of(configuration, run.facts_of(mdp), measured, time.perf_counter() - start)


def _plain_pass(mdp: ts.TreeMDP) -> Cost:
    """The best plan and the max-UCB plan by full passes. All counts differ, so no time is spent on ties."""
    tree, rng = mdp.tree, np.random.default_rng(0)
    plays = rng.integers(1, 1000, tree.sequence_end, np.int32)
    totals = plays * rng.random(tree.sequence_end)
    work = full_pass.new_workspace(tree.num_states, tree.sequence_end)
    forced, plan = np.full(tree.num_states, -1, PLAN_DTYPE), np.zeros(tree.num_states, PLAN_DTYPE)
    reached, times = np.empty(tree.num_states, np.int32), []
    number = max(1, 1_000_000 // tree.num_sequences)
    for _ in range(_PLAIN_PASSES + 1):
        start = time.process_time()
        _passes(tree.links, plays, totals, work, forced, plan, reached, number)
        times.append((time.process_time() - start) / number)
    return Cost(float(np.median(times[1:])))


@numba.njit(cache=True)
def _passes(links, plays, totals, work, forced, plan, reached, number):
    for _ in range(number):
        full_pass.counts_losses(links, plays, totals, work)
        ending, _, _ = full_pass.max_ucb_ending(links, work, plays, -1, 1.0, False, 0, 0)
        traversal.force_path(links, ending, forced)
        full_pass.best_plan(links, work, forced, 0, 0, plan, reached)
        traversal.release_path(links, ending, forced)


def _episodes(configuration: Configuration, mdp: ts.TreeMDP) -> Cost:
    """The mean over as many episodes as fit, after a warm-up; for exact PSRL on a large tree, the first episode."""
    run.compile_ahead(configuration.algorithm)
    try:
        learner = run.new_learner(configuration, mdp.tree)
    except ValueError as error:
        return Cost(0.0, refused=str(error))
    if configuration.hyper_parameters.get("lazy") is False and mdp.tree.num_states > _PASSES_ARE_LONG:
        measure_at = [1]
    else:
        measure_at = (_WARM_UP * 2 ** np.arange(21)).tolist()
    limit = configuration.seconds
    trace = ts.run(learner, mdp, measure_at[-1], measure_at=measure_at, rng=0, seconds=limit, progress=False)
    rows = np.array([trace.episode, trace.playing, trace.measuring]).T
    before, last = (np.zeros((2, 3)) if len(rows) == 1 else rows[[0, -2]]), rows[-1]
    played, playing, _ = last - before[0]
    return Cost(float(playing / played), episodes=int(played), gap_seconds=float(last[2] - before[1][2]))


def measure(games: Sequence[str], seconds: float, results: store.Store) -> list[Result[Cost]]:
    """The measurements in the store; missing ones are made now, each in a new process."""
    multiprocessing.set_forkserver_preload(["experiments.sweep.run"])
    rows = []
    for each in configurations(games, seconds):
        if results.find(each) is None:
            print(f"measuring {each.title}", file=sys.stderr, flush=True)
        rows += execution.carry_out([each], results, perform=perform, start_method="forkserver", use_progress=False)
    return rows


def tables(rows: list[Result[Cost]]) -> str:
    """A table in Markdown for each game and player."""
    parts = []
    for problem in dict.fromkeys(row.configuration.problem for row in rows):
        mine = [row for row in rows if row.configuration.problem == problem]
        refused = [row for row in mine if row.outcome.refused is not None]
        header = ["", "an episode", "of a full pass", "episodes timed", "a value gap", "peak memory"]
        lines = [_line(row, mine[0].outcome.seconds) for row in mine if row not in refused]
        parts.append(f"{problem.game}, player {player_name(problem.player)}, {mine[0].environment.num_states:,} states")
        parts.append(markdown(header, lines))
        parts += [f"{name_of(row.configuration)} cannot: {row.outcome.refused}." for row in refused]
    return "\n\n".join(parts)


def _line(row: Result[Cost], plain_pass: float) -> list[str]:
    cost, name = row.outcome, name_of(row.configuration)
    memory = f"{cost.gibibytes:.2f} GiB"
    if name == PLAIN_PASS:
        return [name, duration(plain_pass), "", "", "", memory]
    share = cost.seconds / plain_pass
    ratio = f"{share:.1f}" if share > 0.5 else f"1/{1 / share:,.0f}"
    return [
        name,
        duration(cost.seconds),
        ratio,
        f"{cost.episodes:,}",
        duration(cost.gap_seconds or 0.0),
        memory,
    ]


def duration(seconds: float) -> str:
    """Seconds in a unit with one to three digits before the decimal point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.2f} us"


@plotting.styled
def draw(rows: list[Result[Cost]], path: pathlib.Path) -> None:
    """Cost against the number of states, both logarithmic; a line per algorithm, the most expensive named first."""
    costs: dict[str, list[tuple[int, float]]] = {}
    games = {}
    for row in rows:
        asked, states = row.configuration, row.environment.num_states or 0
        games[states] = asked.game + (f" {player_name(asked.player)}" if asked.game in _BY_PLAYER else "")
        if asked.algorithm not in _NOT_DRAWN:
            costs.setdefault(name_of(asked), []).append((states, row.outcome.seconds * 1e6))
    figure, axes = plt.subplots(figsize=(9, 6.5))
    ends: list[tuple[float, float, str, Any]] = []
    for at, (name, points) in enumerate(sorted(costs.items(), key=lambda each: -max(each[1])[1])):
        style = dict(linewidth=3, color="black") if name == PLAIN_PASS else dict(marker=_MARKS[at % len(_MARKS)])
        [line] = axes.plot(*zip(*sorted(points)), linestyle=("-", "--", "-.", ":")[at % 4], **style)
        ends.append((*max(points), name, line.get_color()))
    axes.set(
        xscale="log", yscale="log", xlabel="states of the tree", ylabel="microseconds per episode (processor time)"
    )
    axes.set_xticks(list(games), [f"{states:,}\n{name}" for states, name in games.items()], fontsize=8)
    axes.minorticks_off()
    axes.set_ylim(axes.get_ylim())
    plotting.label_ends(axes, ends)
    save(figure, path)


def report(games: Sequence[str], seconds: float, results: store.Store, chart: pathlib.Path) -> None:
    matplotlib.use("Agg")
    rows = measure(games, seconds, results)
    print(tables(rows))
    draw(rows, chart)
    print(f"\nchart: {chart}")


def main() -> None:
    chart = pathlib.Path(sweep_flags.output()) / "episode_cost.png"
    report(_GAMES.value, _SECONDS.value, sweep_flags.results(), chart)


if __name__ == "__main__":
    run_binary(main)
