"""All learners and OpenSpiel's own solvers on one problem: tables, and a figure of value gap against episodes.

    python -m experiments.compare_solvers --game=kuhn --player=0 --episodes=100000 --seeds=5
    python -m experiments.compare_solvers --game=leduc --algorithms=UCBT,UCT,OpenSpielOutcomeSampling

On kuhn, kuhn5 and leduc the constants are the paper's, elsewhere the learners' defaults. OpenSpiel's solvers are as
they come. What counts as one of their episodes: see tmdp_spiel.spiel.solvers. Every run is written as it ends;
started again, the command goes on with the runs that are missing.
"""

import concurrent.futures
import functools
import json
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
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.running.run import log_spaced
from tmdp_spiel.spiel import solvers as open_spiel_solvers
from tmdp_spiel.trees import storage

_GAME = flags.DEFINE_string("game", "kuhn", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that learns.", lower_bound=0)
_OPPONENT = flags.DEFINE_enum("opponent", "cfr+", ["cfr+", "uniform"], "What the others are fixed at.")
_ITERATIONS = flags.DEFINE_integer("iterations", 1000, "CFR+ iterations of the opponent.", lower_bound=1)
_EPISODES = flags.DEFINE_integer("episodes", 100_000, "Episodes of each run.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "The longest that one run may take; it then ends.", lower_bound=0.0)
_SEEDS = flags.DEFINE_integer("seeds", 3, "Runs of each algorithm.", lower_bound=1)
_ALGORITHMS = flags.DEFINE_list("algorithms", None, "Learners of tmdp_spiel and OpenSpiel's solvers; all if not given.")
_PROCESSES = flags.DEFINE_integer("processes", os.cpu_count(), "Runs at a time.", lower_bound=1)
_OUTPUT = flags.DEFINE_string("output", "results", "Where the figure and the runs go.")

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

_FAMILIES = {
    "policies as arms": ("UCBT", "LUCBT", "LUCBTUniform", "LUCB"),
    "a bandit or regrets at every state": ("UCT", "OutcomeSamplingMCCFR", "OPF"),
    "a model, to identify or certify": ("BettingUCRL", "BPIUCRL", "MDPGapE"),
    "a model, for low regret": ("MVP", "StrongEuler", "AMB", "PSRL"),
    "OpenSpiel's solvers": tuple(open_spiel_solvers.SOLVERS),
}
_REFERENCE = "UCBT"  # drawn in every panel
_ZERO = 1e-12  # smaller gaps are rounding
_STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_SMOOTHED = 5  # measurements, a quarter of a decade
_DECADES = 5  # drawn


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


def decades(episodes: int) -> list[int]:
    """The last four powers of ten up to that many episodes."""
    last = len(str(episodes)) - 1
    return [10**power for power in range(max(last - 3, 0), last + 1)]


def measure(setting: dict) -> dict:
    """One run, or the reason why the algorithm cannot run on this problem."""
    name, seed, episodes, seconds = (setting[each] for each in ("algorithm", "seed", "episodes", "seconds"))
    solved = problem(*(setting[each] for each in ("game", "player", "opponent", "iterations")))
    measure_at = np.union1d(log_spaced(episodes), decades(episodes))
    if name in open_spiel_solvers.SOLVERS:
        trace = open_spiel_solvers.run(name, solved, episodes, seed=seed, measure_at=measure_at, seconds=seconds)
    else:
        constants = {**_SETTINGS.get(name, {}), **_PAPER.get((setting["game"], solved.player), {}).get(name, {})}
        make = functools.partial(catalogue()[name], solved.mdp.tree, seed=seed, **constants)
        try:
            ts.run(make(), solved.mdp, 10, progress=False)  # compiles
        except ValueError as error:
            return {**setting, "reason": str(error)}
        trace = ts.run(make(), solved.mdp, episodes, measure_at=measure_at, seconds=seconds)
    columns = {"episode": trace.episode, "regret": trace.regret, "value_gap": trace.value_gap, "spent": trace.seconds}
    return {**setting, **{column: values.tolist() for column, values in columns.items()}}


def measure_all(names: list[str], path: pathlib.Path) -> dict[str, list[ts.Trace] | str]:
    """Per algorithm the traces of all seeds, or why there are none. The runs are kept in the file."""
    flag_values = {
        "episodes": _EPISODES.value,
        "seconds": _SECONDS.value,
        "game": _GAME.value,
        "player": _PLAYER.value,
        "opponent": _OPPONENT.value,
        "iterations": _ITERATIONS.value,
    }
    settings = [{"algorithm": name, "seed": seed, **flag_values} for name in names for seed in range(_SEEDS.value)]
    problem(*(flag_values[each] for each in ("game", "player", "opponent", "iterations")))  # names wrong flags early
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {key(row): row for row in kept}
    missing = [setting for setting in settings if key(setting) not in done]
    for row in tqdm.tqdm(outcomes(missing), "runs", len(missing), disable=None, leave=False):
        done[key(row)] = row
        write(path, done.values())
    measured = {}
    for row in (done[key(setting)] for setting in settings):
        if "reason" in row:
            measured[row["algorithm"]] = row["reason"]
        else:
            columns = (np.array(row[column], np.float64) for column in ("episode", "regret", "value_gap", "spent"))
            measured.setdefault(row["algorithm"], []).append(ts.Trace(*columns))
    return measured


def outcomes(settings: list[dict]):
    """The runs, in the order in which they end."""
    if _PROCESSES.value == 1:
        yield from map(measure, settings)
        return
    with concurrent.futures.ProcessPoolExecutor(_PROCESSES.value) as pool:
        started = [pool.submit(measure, setting) for setting in settings]
        for finished in concurrent.futures.as_completed(started):
            yield finished.result()


def key(row: dict) -> tuple:
    """What tells one run from another."""
    names = ("algorithm", "seed", "episodes", "seconds", "game", "player", "opponent", "iterations")
    return tuple(row[name] for name in names)


def write(path: pathlib.Path, rows) -> None:
    """Replaces the file in one step, so that a kill leaves the old one or the new one."""
    with storage.replacing(path) as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


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


def print_convergence(measured: dict[str, list[ts.Trace] | str]) -> None:
    """The value gap after each of the last four powers of ten; a dash if a run ended before."""
    columns = decades(_EPISODES.value)
    print(f"\n{'value gap after episodes':<33}" + "".join(f"{episodes:>14,}" for episodes in columns))
    for name, traces in measured.items():
        if not isinstance(traces, str):
            cells = [gap_after(traces, episodes) for episodes in columns]
            print(f"{name:<33}" + "".join(f"{'-' if gap is None else f'{gap:.6f}':>14}" for gap in cells))


def gap_after(traces: list[ts.Trace], episodes: int) -> float | None:
    """The mean value gap at the first measurement from that many episodes on, if all runs have one."""
    at = [int(np.searchsorted(trace.episode, episodes)) for trace in traces]
    if any(place == len(trace.episode) for place, trace in zip(at, traces)):
        return None
    return float(np.mean([trace.value_gap[place] for place, trace in zip(at, traces)]))


def curve(traces: list[ts.Trace]) -> tuple[np.ndarray, np.ndarray]:
    """Episodes and mean value gap where all runs were measured; those ended by the clock have an odd last place."""
    length = min(len(trace.episode) for trace in traces)
    episodes = np.array([trace.episode[:length] for trace in traces])
    common = np.all(episodes == episodes[0], axis=0)
    common[0] = True
    return episodes[0, common], np.mean([trace.value_gap[:length][common] for trace in traces], axis=0)


def smooth(gaps: np.ndarray, floor: float) -> np.ndarray:
    """The geometric mean of each gap and its neighbours."""
    logs = np.log(np.maximum(gaps, floor))
    weights = np.ones(min(_SMOOTHED, len(logs)))
    return np.exp(np.convolve(logs, weights, "same") / np.convolve(np.ones(len(logs)), weights, "same"))


def panels_of(curves: dict) -> dict[str, list[str]]:
    """The curves by family, without empty families."""
    others = [name for name in curves if not any(name in family for family in _FAMILIES.values())]
    families = {**_FAMILIES, "others": others}
    panels = {title: [name for name in family if name in curves] for title, family in families.items()}
    return {title: names for title, names in panels.items() if names}


def spread(heights: list[float], least: float) -> list[float]:
    """The heights moved apart as little as keeps them in order and at least that far from each other."""
    order = np.argsort(heights)
    placed = np.array(heights, float)[order]
    for _ in range(200):
        for low in range(len(placed) - 1):
            lack = least - (placed[low + 1] - placed[low])
            if lack > 0:
                placed[low] -= lack / 2
                placed[low + 1] += lack / 2
    apart = np.empty(len(placed))
    apart[order] = placed
    return apart.tolist()


def draw(measured: dict[str, list[ts.Trace] | str], title: str, path: pathlib.Path) -> None:
    """Mean value gap against episodes, smoothed; a panel for each family of algorithms, one in grey in all panels."""
    curves = {name: curve(traces) for name, traces in measured.items() if not isinstance(traces, str)}
    panels = panels_of(curves)
    floor = min((gap for _, gaps in curves.values() for gap in gaps if gap > _ZERO), default=1.0) / 2
    latest = max((episodes[-1] for episodes, _ in curves.values()), default=1)
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(
        rows, min(2, len(panels)), figsize=(11, 0.6 + 3.1 * rows), sharex=True, sharey=True, squeeze=False
    )
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (family, names) in zip(axes.flat, panels.items()):
        axis.set(xscale="log", yscale="log", title=family, xlim=(max(1, latest / 10**_DECADES), 1.3 * latest))
        axis.grid(alpha=0.25)
        if _REFERENCE in curves and _REFERENCE not in names:
            episodes, gaps = curves[_REFERENCE]
            axis.plot(episodes, smooth(gaps, floor), color="0.75", linewidth=3, zorder=1, label=_REFERENCE)
            axis.legend(loc="lower left", fontsize=8, frameon=False)
        if any(smooth(curves[name][1], floor).min() <= 1.001 * floor for name in names):
            axis.axhline(floor, color="0.6", linewidth=0.8, zorder=0)
            place = axis.get_yaxis_transform()
            axis.text(0.99, floor, "exactly 0", fontsize=7, color="0.4", ha="right", va="bottom", transform=place)
        for index, name in enumerate(names):
            episodes, gaps = curves[name]
            colour = plt.colormaps["viridis"](0.7 * index / max(1, len(names) - 1))
            style = _STYLES[index % len(_STYLES)]
            axis.plot(episodes, smooth(gaps, floor), color=colour, linestyle=style, linewidth=1.6, label=name)
    for axis in axes.flat[max(0, len(panels) - axes.shape[1]) : len(panels)]:
        axis.set_xlabel("episodes")
        axis.tick_params(labelbottom=True)
    figure.supylabel("value gap of the recommended policy, smoothed")
    figure.suptitle(title)
    figure.tight_layout()
    figure.subplots_adjust(wspace=0.5)  # room for the names
    for axis, names in zip(axes.flat, panels.values()):
        label_lines(axis, names)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80, bbox_inches="tight")
    plt.close(figure)


def label_lines(axis, names: list[str]) -> None:
    """The names right of the panel, each joined to the end of its line."""
    lines = {line.get_label(): line for line in axis.lines}
    ends = [axis.transData.transform((lines[name].get_xdata()[-1], lines[name].get_ydata()[-1])) for name in names]
    ends = axis.transAxes.inverted().transform(ends)
    for name, end, height in zip(names, ends, spread([end[1] for end in ends], 0.075)):
        axis.annotate(
            name.removeprefix("OpenSpiel"),
            xy=end,
            xytext=(1.04, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=8,
            color=lines[name].get_color(),
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "0.8", "linewidth": 0.7},
        )


def run() -> None:
    game = ts.load_game(_GAME.value)
    others = "the uniform policy" if _OPPONENT.value == "uniform" else f"CFR+ after {_ITERATIONS.value} iterations"
    name = game.get_type().short_name
    title = f"{name}, player {_PLAYER.value} against {others}"
    print(f"{title}: up to {_EPISODES.value:,} episodes, {_SEEDS.value} seeds", flush=True)
    path = pathlib.Path(_OUTPUT.value) / f"compare_solvers_{name}_player{_PLAYER.value}.png"
    measured = measure_all(chosen_algorithms(), path.with_suffix(".jsonl"))
    print_table(measured)
    print_convergence(measured)
    draw(measured, title, path)
    print(f"\nvalue gap against episodes: {path}; the runs: {path.with_suffix('.jsonl')}")


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
