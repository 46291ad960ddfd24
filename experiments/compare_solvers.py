"""All learners and OpenSpiel's own solvers on one problem: a table, and a figure of value gap against episodes.

    python -m experiments.compare_solvers --game=kuhn --player=0 --episodes=100000 --seeds=5
    python -m experiments.compare_solvers --game=leduc --algorithms=UCBT,UCT,OpenSpielOutcomeSampling

On kuhn, kuhn5 and leduc the constants are the paper's, elsewhere the learners' defaults. OpenSpiel's solvers are as
they come. What counts as one of their episodes: see tmdp_spiel.open_spiel_solvers.
"""

import concurrent.futures
import functools
import os
import pathlib
import sys
from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import tqdm
from absl import app, flags, logging

import tmdp_spiel as ts
from tmdp_spiel import open_spiel_solvers
from tmdp_spiel.algorithms.catalogue import catalogue

_GAME = flags.DEFINE_string("game", "kuhn", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that learns.", lower_bound=0)
_OPPONENT = flags.DEFINE_enum("opponent", "cfr+", ["cfr+", "uniform"], "What the others are fixed at.")
_ITERATIONS = flags.DEFINE_integer("iterations", 1000, "CFR+ iterations of the opponent.", lower_bound=1)
_EPISODES = flags.DEFINE_integer("episodes", 100_000, "Episodes of each run.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "The longest that one run may take; it then ends.", lower_bound=0.0)
_SEEDS = flags.DEFINE_integer("seeds", 3, "Runs of each algorithm.", lower_bound=1)
_ALGORITHMS = flags.DEFINE_list("algorithms", None, "Learners of tmdp_spiel and OpenSpiel's solvers; all if not given.")
_PROCESSES = flags.DEFINE_integer("processes", os.cpu_count(), "Runs at a time.", lower_bound=1)
_OUTPUT = flags.DEFINE_string("output", "results", "Where the figure goes.")

# So small a tolerance that the learners that can stop use all their episodes.
_TOLERANCE = {"epsilon": 1e-6}
_SETTINGS = {
    "LUCB": _TOLERANCE,
    "LUCBT": {"bound": "simple", **_TOLERANCE},
    "LUCBTUniform": _TOLERANCE,
    "BPIUCRL": _TOLERANCE,
    "MDPGapE": _TOLERANCE,
}
_KUHN = {
    "UCBT": {"c": 0.1},
    "LUCBT": {"c": 0.1},
    "UCT": {"c": 0.5},
    "OutcomeSamplingMCCFR": {"epsilon": 0.1},
    "OPF": {"k": 0.5},
}
_LEDUC = {
    "UCBT": {"c": 1.0},
    "LUCBT": {"c": 1.0},
    "UCT": {"c": 5.0},
    "OutcomeSamplingMCCFR": {"epsilon": 0.1},
    "OPF": {"k": 5.0},
}
_KUHN_SECOND = {**_KUHN, "LUCBT": {"c": 1.0}}
_PAPER = {
    ("kuhn", 0): _KUHN,
    ("kuhn", 1): _KUHN_SECOND,
    ("kuhn5", 0): _KUHN,
    ("kuhn5", 1): _KUHN_SECOND,
    ("leduc", 0): _LEDUC,
    ("leduc", 1): _LEDUC,
}

_ZERO = 1e-12  # smaller gaps are rounding
_MARKERS = "os^vD<>pPX*hd8H1234"


def chosen_algorithms() -> list[str]:
    known = [*catalogue(), *open_spiel_solvers.SOLVERS]
    chosen = known if _ALGORITHMS.value is None else _ALGORITHMS.value
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise ValueError(f"--algorithms: no algorithm is called {', '.join(unknown)}; there are: {', '.join(known)}")
    return chosen


@functools.cache
def problem(game_name: str, player: int, opponent: str, iterations: int) -> open_spiel_solvers.Problem:
    game = ts.load_game(game_name)
    policy = ts.uniform(game) if opponent == "uniform" else ts.equilibrium(game, iterations)
    return open_spiel_solvers.make_problem(game, player, policy)


def measure(name: str, seed: int, episodes: int, seconds: float, game_name: str, *opponent) -> ts.Trace | str:
    """One run, or the reason why the algorithm cannot run on this problem."""
    solved = problem(game_name, *opponent)
    if name in open_spiel_solvers.SOLVERS:
        return open_spiel_solvers.run(name, solved, episodes, seed=seed, seconds=seconds)
    settings = {**_SETTINGS.get(name, {}), **_PAPER.get((game_name, solved.player), {}).get(name, {})}
    make = functools.partial(catalogue()[name], solved.mdp.tree, seed=seed, **settings)
    try:
        ts.run(make(), solved.mdp, 10, progress=False)  # compiles
    except ValueError as error:
        return str(error)
    return ts.run(make(), solved.mdp, episodes, seconds=seconds)


def measure_all(names: list[str]) -> dict[str, list[ts.Trace] | str]:
    """Per algorithm the traces of all seeds, or why there are none."""
    settings = (_EPISODES.value, _SECONDS.value, _GAME.value, _PLAYER.value, _OPPONENT.value, _ITERATIONS.value)
    tasks = [(name, seed, *settings) for name in names for seed in range(_SEEDS.value)]
    problem(*settings[2:])  # says what is wrong with the flags, and fills the cache of opponents
    if _PROCESSES.value == 1:
        outcomes = [measure(*task) for task in tasks]
    else:
        with concurrent.futures.ProcessPoolExecutor(_PROCESSES.value) as pool:
            running = pool.map(measure, *zip(*tasks))
            outcomes = list(tqdm.tqdm(running, "runs", len(tasks), disable=None, leave=False))
    measured = {}
    for (name, *_), outcome in zip(tasks, outcomes):
        if isinstance(outcome, str):
            measured[name] = outcome
        else:
            measured.setdefault(name, []).append(outcome)
    return measured


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error, 0 for a single value."""
    values = np.asarray(values)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def print_table(measured: dict[str, list[ts.Trace] | str]) -> None:
    print(f"\n{'algorithm':<33}{'value gap':>12}{'+-':>10}{'regret':>12}{'episodes':>12}{'episodes / s':>15}")
    for name, traces in measured.items():
        if isinstance(traces, str):
            print(f"{name:<33}  does not run here: {traces}")
            continue
        gap, error = mean_and_error([trace.value_gap[-1] for trace in traces])
        regret = np.mean([trace.regret[-1] for trace in traces])
        episodes = np.mean([trace.episode[-1] for trace in traces])
        speed = episodes / np.mean([trace.seconds[-1] for trace in traces])
        shown_regret = "-" if np.isnan(regret) else f"{regret:.1f}"
        print(f"{name:<33}{gap:>12.6f}{error:>10.6f}{shown_regret:>12}{episodes:>12,.0f}{speed:>15,.0f}")
    print("\nmeans over the seeds, in the game's utility units; +- one standard error of the value gap")


def draw(measured: dict[str, list[ts.Trace] | str], title: str, path: pathlib.Path) -> None:
    """Mean value gap against episodes; our learners in solid lines, OpenSpiel's solvers in dashed ones."""
    curves = {}
    for name, traces in measured.items():
        if not isinstance(traces, str):
            length = min(len(trace.episode) for trace in traces)
            gaps = np.mean([trace.value_gap[:length] for trace in traces], axis=0)
            curves[name] = traces[0].episode[:length], gaps
    floor = min((gap for _, gaps in curves.values() for gap in gaps if gap > _ZERO), default=1.0) / 2
    figure, panel = plt.subplots(figsize=(9, 5))
    order = sorted(curves, key=lambda name: -curves[name][1][-1])
    for index, name in enumerate(order):
        episodes, gaps = curves[name]
        panel.plot(
            episodes,
            np.maximum(gaps, floor),
            linestyle="--" if name in open_spiel_solvers.SOLVERS else "-",
            color=plt.colormaps["viridis"](0.75 * index / max(1, len(order) - 1)),
            linewidth=1.2,
            marker=_MARKERS[index % len(_MARKERS)],
            markersize=6,
            markerfacecolor="white",
            markevery=(index % 10, 10),
            label=name,
        )
    label = "value gap of the recommended policy"
    if any(gaps.min() <= _ZERO for _, gaps in curves.values()):
        label += "\n(on the grey line: exactly 0)"
        panel.axhline(floor, color="0.7", linewidth=0.8, zorder=0)
    panel.set(xscale="log", yscale="log", title=title, xlabel="episodes", ylabel=label)
    panel.grid(alpha=0.3)
    legend = {"fontsize": 8, "title": "largest final gap first", "title_fontsize": 8}
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), **legend)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def run() -> None:
    game = ts.load_game(_GAME.value)
    others = "the uniform policy" if _OPPONENT.value == "uniform" else f"CFR+ after {_ITERATIONS.value} iterations"
    name = game.get_type().short_name
    title = f"{name}, player {_PLAYER.value} against {others}"
    print(f"{title}: up to {_EPISODES.value:,} episodes, {_SEEDS.value} seeds", flush=True)
    measured = measure_all(chosen_algorithms())
    print_table(measured)
    path = pathlib.Path(_OUTPUT.value) / f"compare_solvers_{name}_player{_PLAYER.value}.png"
    draw(measured, title, path)
    print(f"value gap against episodes: {path}")


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    matplotlib.use("Agg")
    logging.set_verbosity(logging.WARNING)  # OpenSpiel announces every environment
    try:
        run()
    except ValueError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    app.run(main)
