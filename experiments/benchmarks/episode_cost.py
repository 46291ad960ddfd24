r"""The processor time of an episode for every algorithm, on games from Kuhn poker to RBT, and of a pass over the tree.

It is the processor time of the compiled loop, including exact regret. Everything is measured in a process of its own,
which opens the tree itself, so that peak memory is its own.
"""

import dataclasses
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numba
import numpy as np

import tmdp_spiel as ts
from experiments.benchmarks import own_process
from experiments.paper import settings
from experiments.sweep import run
from experiments.sweep.configuration import configuration
from experiments.sweep.drawing import save
from experiments.sweep.tables import label, markdown, player_name
from tmdp_spiel.core import plotting
from tmdp_spiel.planning import full_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE

GAMES, SMALL_GAMES = ("kuhn", "kuhn5", "leduc", "rbt"), ("kuhn",)
PLAIN_PASS = "one plain pass over the tree"
ALGORITHMS = (
    *("UCBT", "LUCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "BPIUCRL", "MDPGapE", "MVP", "StrongEuler", "AMB"),
    *("PSRL", "LUCBTUniform", "LUCB"),
)
_BY_PLAYER = ("rbt",)  # games whose players' trees differ in size
_NOT_DRAWN = ("LUCB", "LUCBTUniform")
_MARKS = "osv^D*Xph<>d"
_SECONDS = 4.0
_WARM_UP = 1000  # episodes
_PLAIN_PASSES = 5
_PASSES_ARE_LONG = 1_000_000  # states from which an episode that passes over the tree is timed once


@dataclasses.dataclass
class Cost:
    """What is measured: an algorithm, or PLAIN_PASS, as a player of a game."""

    game: str
    player: int
    algorithm: str
    hyper_parameters: dict[str, Any]

    @property
    def name(self) -> str:
        lazy = self.hyper_parameters.get("lazy")
        return label(self.algorithm) + ("" if lazy is None else ", lazy" if lazy else ", exact")


@dataclasses.dataclass
class Measured:
    """Processor seconds of an episode or pass, and of a value gap; or why the learner refuses the game."""

    states: int
    seconds: float = 0.0
    episodes: int = 0
    gap_seconds: float = 0.0
    refused: str | None = None


Row = tuple[Cost, Measured, float]  # and peak memory in GiB


def costs_of(game: str) -> list[Cost]:
    """What is measured on a game."""
    wanted = []
    for player in (0, 1) if game in _BY_PLAYER else (0,):
        wanted.append(Cost(game, player, PLAIN_PASS, {}))
        for algorithm in ALGORITHMS:
            constants = settings.constants(game, player, algorithm)
            for lazy in [{"lazy": True}, {"lazy": False}] if algorithm == "PSRL" else [{}]:
                wanted.append(Cost(game, player, algorithm, constants | lazy))
    return wanted


def measure(cost: Cost, seconds: float) -> Measured:
    """One row of a table."""
    asked = configuration("learning", cost.game, cost.player, cost.algorithm, cost.hyper_parameters, seed=0)
    mdp = run.environment(asked.problem)
    if cost.algorithm == PLAIN_PASS:
        return _plain_pass(mdp)
    run.compile_ahead(cost.algorithm)
    try:
        learner = run.new_learner(asked, mdp.tree)
    except ValueError as error:
        return Measured(mdp.tree.num_states, refused=str(error))
    once = cost.hyper_parameters.get("lazy") is False and mdp.tree.num_states > _PASSES_ARE_LONG
    return _episodes(learner, mdp, seconds, [1] if once else (_WARM_UP * 2 ** np.arange(21)).tolist())


def _plain_pass(mdp: ts.TreeMDP) -> Measured:
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
    return Measured(tree.num_states, float(np.median(times[1:])))


@numba.njit(cache=True)
def _passes(links, plays, totals, work, forced, plan, reached, number):
    for _ in range(number):
        full_pass.counts_losses(links, plays, totals, work)
        ending, _, _ = full_pass.max_ucb_ending(links, work, plays, -1, 1.0, False, 0, 0)
        traversal.force_path(links, ending, forced)
        full_pass.best_plan(links, work, forced, 0, 0, plan, reached)
        traversal.release_path(links, ending, forced)


def _episodes(learner: ts.Learner, mdp: ts.TreeMDP, seconds: float, measure_at: list[int]) -> Measured:
    """The mean over as many episodes as fit, after a warm-up; if measured once, the first episode."""
    trace = ts.run(learner, mdp, measure_at[-1], measure_at=measure_at, rng=0, seconds=seconds, progress=False)
    rows = np.array([trace.episode, trace.playing, trace.measuring]).T
    before, last = (np.zeros((2, 3)) if len(rows) == 1 else rows[[0, -2]]), rows[-1]
    played, playing, _ = last - before[0]
    return Measured(mdp.tree.num_states, float(playing / played), int(played), float(last[2] - before[1][2]))


def tables(rows: Sequence[Row]) -> str:
    """A table in Markdown for each game and player."""
    parts = []
    for game, player in dict.fromkeys((cost.game, cost.player) for cost, _, _ in rows):
        mine = [row for row in rows if (row[0].game, row[0].player) == (game, player)]
        plain = mine[0][1]
        header = ["", "an episode", "of a full pass", "episodes timed", "a value gap", "peak memory"]
        parts.append(f"{game}, player {player_name(player)}, {plain.states:,} states")
        parts.append(markdown(header, [_line(row, plain.seconds) for row in mine if row[1].refused is None]))
        parts += [f"{cost.name} cannot: {found.refused}." for cost, found, _ in mine if found.refused is not None]
    return "\n\n".join(parts)


def _line(row: Row, plain_pass: float) -> list[str]:
    cost, found, gibibytes = row
    memory = f"{gibibytes:.2f} GiB"
    if cost.algorithm == PLAIN_PASS:
        return [cost.name, duration(plain_pass), "", "", "", memory]
    share = found.seconds / plain_pass
    ratio = f"{share:.1f}" if share > 0.5 else f"1/{1 / share:,.0f}"
    return [cost.name, duration(found.seconds), ratio, f"{found.episodes:,}", duration(found.gap_seconds), memory]


def duration(seconds: float) -> str:
    """Seconds in a unit with one to three digits before the decimal point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.2f} us"


@plotting.styled
def draw(rows: Sequence[Row], path: pathlib.Path) -> None:
    """Cost against the number of states, both logarithmic; a line per algorithm, the most expensive named first."""
    costs: dict[str, list[tuple[int, float]]] = {}
    games = {}
    for cost, found, _ in rows:
        games[found.states] = cost.game + (f" {player_name(cost.player)}" if cost.game in _BY_PLAYER else "")
        if cost.algorithm not in _NOT_DRAWN:
            costs.setdefault(cost.name, []).append((found.states, found.seconds * 1e6))
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


def report(games: Sequence[str], small: bool, folder: pathlib.Path) -> None:
    """Prints the tables and draws the chart."""
    matplotlib.use("Agg")
    rows: list[Row] = []
    for cost in (each for game in games for each in costs_of(game)):
        print(f"measuring {cost.name} on {cost.game} as {player_name(cost.player)}", file=sys.stderr, flush=True)
        rows.append((cost, *own_process.call(measure, cost, 1e-3 if small else _SECONDS)))
    chart = folder / "episode_cost.png"
    draw(rows, chart)
    print(f"{tables(rows)}\n\nchart: {chart}")
