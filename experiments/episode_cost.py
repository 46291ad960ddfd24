r"""What an episode costs every algorithm, from three-card Kuhn poker to RBT, beside one plain pass over the tree.

  python -m experiments.episode_cost --games=kuhn,kuhn5,leduc,rbt

Processor time of the compiled loop, exact regret included. Everything is measured in a process of its own, which opens the
tree itself, so that its peak memory is its own. What was measured is kept in --output and not measured again; the table
and the chart are drawn from it.
"""

import json
import math
import multiprocessing
import pathlib
import resource
import sys
import time
from collections.abc import Callable, Sequence

import matplotlib
import matplotlib.pyplot as plt
import numba
import numpy as np
from absl import app, flags

import tmdp_spiel as ts
from tmdp_spiel.planning import plain
from tmdp_spiel.trees import walk
from tmdp_spiel.trees.decision_tree import PLAN_DTYPE

_GAMES = flags.DEFINE_list(
    "games", ["kuhn", "kuhn5", "leduc", "rbt"], "Games to measure; two players for rbt, else player 0."
)
_SECONDS = flags.DEFINE_float("seconds", 4.0, "Processor time to play for, after the warm-up.", lower_bound=0.0)
_OUTPUT = flags.DEFINE_string("output", "results/episode_cost.jsonl", "Where the measurements are kept, a line each.")
_CHART = flags.DEFINE_string("chart", "results/episode_cost.png", "Where the chart goes.")

PLAIN_PASS = "one plain pass over the tree"
EXACT_PSRL = "PSRL, exact"
ALGORITHMS: dict[str, Callable[[ts.DecisionTree], ts.Learner]] = {
    "UCB-T": ts.UCBT,
    "LUCB-T": lambda tree: ts.LUCBT(tree, bound="simple", epsilon=1e-6),
    "UCT": ts.UCT,
    "MCCFR": ts.OutcomeSamplingMCCFR,
    "OPF": ts.OPF,
    "BPI-UCRL": lambda tree: ts.BPIUCRL(tree, epsilon=1e-6),
    "MDP-GapE": lambda tree: ts.MDPGapE(tree, epsilon=1e-6),
    "MVP": ts.MVP,
    "StrongEuler": ts.StrongEuler,
    "AMB": ts.AMB,
    "PSRL, lazy": lambda tree: ts.PSRL(tree, lazy=True),
    EXACT_PSRL: ts.PSRL,
    "LUCB-T-Uniform": ts.LUCBTUniform,
    "LUCB": ts.LUCB,
}
_WARM_UP = 1000  # episodes
_PLAIN_PASSES = 5


def measure(name: str, game: str, player: int, seconds: float) -> dict:
    """One row of the table."""
    kuhn = ts.load_game("kuhn")
    _one(name, ts.build_tree(kuhn, 0, ts.uniform(kuhn)), 0.0)  # compiles
    mdp = ts.build_tree(game, player, ts.equilibrium(ts.load_game(game)))
    row = {"game": game, "player": player, "algorithm": name, "states": mdp.tree.num_states}
    try:
        row |= _one(name, mdp, seconds)
    except ValueError as error:
        row["refused"] = str(error)
    return {**row, "gibibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def _one(name: str, mdp: ts.TreeMDP, seconds: float) -> dict:
    return _plain_pass(mdp) if name == PLAIN_PASS else _episodes(name, mdp, seconds)


def _plain_pass(mdp: ts.TreeMDP) -> dict:
    """The best plan and the max-UCB plan by plain passes. All counts differ, so that no time goes into ties."""
    tree, rng = mdp.tree, np.random.default_rng(0)
    plays = rng.integers(1, 1000, tree.num_sequences, np.int32)
    totals = plays * rng.random(tree.num_sequences)
    work = plain.new_workspace(tree.num_states, tree.num_sequences)
    forced, plan = np.full(tree.num_states, -1, PLAN_DTYPE), np.zeros(tree.num_states, PLAN_DTYPE)
    reached, times = np.empty(tree.num_states, np.int32), []
    number = max(1, 1_000_000 // tree.num_sequences)
    for _ in range(_PLAIN_PASSES + 1):
        start = time.process_time()
        _passes(tree.links, plays, totals, work, forced, plan, reached, number)
        times.append((time.process_time() - start) / number)
    return {"seconds": float(np.median(times[1:])), "episodes": None}


@numba.njit(cache=True)
def _passes(links, plays, totals, work, forced, plan, reached, number):
    for _ in range(number):
        plain.counts_losses(links, plays, totals, work)
        ending, _, _ = plain.max_ucb_ending(links, work, plays, -1, 1.0, False, 0, 0)
        walk.force_path(links, ending, forced)
        plain.best_plan(links, work, forced, 0, 0, plan, reached)
        walk.release_path(links, ending, forced)


def _episodes(name: str, mdp: ts.TreeMDP, seconds: float) -> dict:
    """The mean over as many episodes as fit, after a warm-up; of exact PSRL on a large tree, the first episode."""
    learner = ALGORITHMS[name](mdp.tree)
    if name == EXACT_PSRL and mdp.tree.num_states > 1_000_000:
        trace = ts.run(learner, mdp, 1, rng=0, progress=False)
        return {"seconds": float(trace.playing[0]), "episodes": 1, "gap_seconds": float(trace.measuring[0])}
    measure_at = _WARM_UP * 2 ** np.arange(21)
    last = int(measure_at[-1])
    trace = ts.run(learner, mdp, last, measure_at=measure_at, rng=0, seconds=seconds, progress=False)
    played = int(trace.episode[-1] - trace.episode[0])
    spent = float(trace.playing[-1] - trace.playing[0])
    gap_seconds = float(np.diff(trace.measuring, prepend=0.0)[-1])
    return {"seconds": spent / max(played, 1), "episodes": played, "gap_seconds": gap_seconds}


def settings(games: Sequence[str]) -> list[tuple[str, str, int]]:
    return [
        (name, game, player)
        for game in games
        for player in ((0, 1) if game == "rbt" else (0,))
        for name in (PLAIN_PASS, *ALGORITHMS)
    ]


def run(games: Sequence[str], seconds: float, output: pathlib.Path, chart: pathlib.Path) -> None:
    """Measures what is not in the output yet; prints the table and draws the chart."""
    output.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    measured = {(row["algorithm"], row["game"], row["player"]): row for row in rows}
    wanted = settings(games)
    for name, game, player in wanted:
        if (name, game, player) not in measured:
            print(f"measuring {name} on {game}, player {player}", file=sys.stderr, flush=True)
            with multiprocessing.get_context("fork").Pool(1) as pool:
                row = measured[name, game, player] = pool.apply(measure, (name, game, player, seconds))
            with output.open("a") as file:
                file.write(json.dumps(row) + "\n")
    rows = [measured[setting] for setting in wanted]
    print_table(rows)
    draw(rows, chart)
    print(f"\nchart: {chart}")


def print_table(rows: list[dict]) -> None:
    """A table in Markdown for each game and player."""
    for game, player in dict.fromkeys((row["game"], row["player"]) for row in rows):
        mine = [row for row in rows if (row["game"], row["player"]) == (game, player)]
        plain = next(row["seconds"] for row in mine if row["algorithm"] == PLAIN_PASS)
        print(f"\n{game}, player {player}, {mine[0]['states']:,} states\n")
        print("| | an episode | of a plain pass | episodes timed | a value gap | peak memory |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for row in mine:
            if "refused" not in row:
                print(_table_line(row, plain))
        for row in mine:
            if "refused" in row:
                print(f"\n{row['algorithm']} cannot: {row['refused']}.")


def _table_line(row: dict, plain: float) -> str:
    ratio = "" if row["algorithm"] == PLAIN_PASS else f"1/{plain / row['seconds']:,.0f}"
    if row["algorithm"] != PLAIN_PASS and row["seconds"] > plain / 2:
        ratio = f"{row['seconds'] / plain:.1f}"
    episodes = "" if row["episodes"] is None else f"{row['episodes']:,}"
    gap = "" if row["episodes"] is None else duration(row["gap_seconds"])
    return f"| {row['algorithm']} | {duration(row['seconds'])} | {ratio} | {episodes} | {gap} | {row['gibibytes']:.2f} GiB |"


def duration(seconds: float) -> str:
    """In a unit that leaves one to three digits before the point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.2f} us"


_STYLES = [dict(linestyle=line, color=shade) for shade in ("black", "0.35", "0.55") for line in ("-", "--", "-.", ":")]
_MARKS = "osv^D*Xph<>d"


def draw(rows: list[dict], path: pathlib.Path) -> None:
    """Cost against the number of states, both logarithmic; a line per algorithm, named at its right end."""
    matplotlib.use("Agg")
    costs = {}
    for row in rows:
        if row["algorithm"] not in ("LUCB", "LUCB-T-Uniform"):
            costs.setdefault(row["algorithm"], []).append((row["states"], row["seconds"] * 1e6))
    figure, axes = plt.subplots(figsize=(9, 6.5))
    thick = [axes.plot(*zip(*sorted(costs.pop(PLAIN_PASS))), color="black", linewidth=3, label=PLAIN_PASS)[0]]
    lines = thick + [
        axes.plot(*zip(*sorted(points)), marker=mark, linewidth=1.1, label=name, **style)[0]
        for (name, points), mark, style in zip(costs.items(), _MARKS, _STYLES)
    ]
    axes.set(xscale="log", yscale="log", xlabel="states of the tree", ylabel="microseconds an episode (processor time)")
    axes.grid(alpha=0.3)
    _name_ends(axes, lines)
    games = {row["states"]: row["game"] + (f" {'xo'[row['player']]}" if row["game"] == "rbt" else "") for row in rows}
    for place, (states, name) in enumerate(sorted(games.items())):
        axes.annotate(
            name,
            (states, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4 + 11 * (place % 2)),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    figure.subplots_adjust(left=0.08, right=0.72, top=0.93, bottom=0.09)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _name_ends(axes, lines: list) -> None:
    """Names with their marks at the right, in the order of the ends and moved apart where they would touch."""
    low, high = (math.log(limit) for limit in axes.get_ylim())
    lines = sorted(lines, key=lambda line: line.get_ydata()[-1])
    ends = [(math.log(line.get_ydata()[-1]) - low) / (high - low) for line in lines]
    up, down = _moved_up(ends), [-end for end in _moved_up([-end for end in reversed(ends)])][::-1]
    for line, end, height in zip(lines, ends, (np.array(up) + down) / 2):
        axes.plot(
            [1.005, 1.04, 1.08],
            [end, height, height],
            color="0.6",
            linewidth=0.6,
            transform=axes.transAxes,
            clip_on=False,
        )
        axes.plot(
            [1.06], [height], marker=line.get_marker(), color=line.get_color(), transform=axes.transAxes, clip_on=False
        )
        axes.text(1.09, height, line.get_label(), transform=axes.transAxes, va="center", fontsize=9)


def _moved_up(heights: list[float], apart: float = 1 / 28) -> list[float]:
    """Ascending heights, none closer to the one below than that."""
    moved = []
    for height in heights:
        moved.append(max(height, moved[-1] + apart) if moved else height)
    return moved


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    run(_GAMES.value, _SECONDS.value, pathlib.Path(_OUTPUT.value), pathlib.Path(_CHART.value))


if __name__ == "__main__":
    app.run(main)
