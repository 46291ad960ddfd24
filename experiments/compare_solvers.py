"""All learners and OpenSpiel's own solvers on one problem: tables, and a figure of value gap against episodes.

    python -m experiments.compare_solvers --game=kuhn --player=0 --episodes=100000 --runs=5
    python -m experiments.compare_solvers --game=leduc --algorithms=UCBT,UCT,OpenSpielOutcomeSampling

The constants are the paper's where it has any, else the learners' defaults. OpenSpiel's solvers are as they come. What
counts as one of their episodes: see tmdp_spiel.spiel.solvers. Every run is kept as it ends; started again, the command
goes on with the runs that are missing.
"""

import pathlib

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from absl import flags, logging

import tmdp_spiel as ts
from experiments.paper import settings
from experiments.sweep import curves, flags as sweep_flags
from experiments.sweep.configuration import configuration, measured_at
from experiments.sweep.drawing import draw_curves, save, styles_of
from experiments.sweep.names import as_path, label
from experiments.sweep.tables import markdown, mean_and_error
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.spiel.opponents import check_player
from tmdp_spiel.spiel.solvers import SOLVERS

_GAME = flags.DEFINE_string("game", "kuhn", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that learns.", lower_bound=0)
_OPPONENT = flags.DEFINE_enum("opponent", "cfr+", ["cfr+", "uniform"], "What the others are fixed at.")
_EPISODES = flags.DEFINE_integer("episodes", 100_000, "Episodes of each run.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "The longest that one run may take; it then ends.", lower_bound=0.0)
_RUNS = flags.DEFINE_integer("runs", 3, "Runs of each algorithm.", lower_bound=1)
_ALGORITHMS = sweep_flags.define_choice("algorithms", (*catalogue(), *SOLVERS), "Learners and OpenSpiel's solvers")
flags.DEFINE_alias("seeds", "runs")
flags.adopt_module_key_flags(sweep_flags)

_FAMILIES = {
    "policies as arms": ("UCBT", "LUCBT", "LUCBTUniform", "LUCB"),
    "a bandit or regrets at every state": ("UCT", "OutcomeSamplingMCCFR", "OPF"),
    "to identify or certify": ("BettingUCRL", "CertifiedUCRL", "BettingOnDifferences", "BPIUCRL", "MDPGapE"),
    "a model, for low regret": ("MVP", "StrongEuler", "AMB", "PSRL"),
    "OpenSpiel's solvers": tuple(SOLVERS),
}
_REFERENCE = "UCBT"  # drawn in every panel


def configurations() -> list[dict]:
    game, player, episodes = _GAME.value, check_player(ts.load_game(_GAME.value), _PLAYER.value), _EPISODES.value
    how = {"opponent": _OPPONENT.value, "iterations": sweep_flags.iterations(), "seconds": _SECONDS.value}
    wanted = [
        configuration("learning", game, player, name, settings.constants(game, player, name), seed, episodes, **how)
        for name in _ALGORITHMS.value
        for seed in range(_RUNS.value)
    ]
    return sweep_flags.without_refused(wanted)[0]


def by_algorithm(items: list[dict], configuration_of) -> dict[str, list[dict]]:
    names = dict.fromkeys(configuration_of(each)["algorithm"] for each in items)
    return {name: [each for each in items if configuration_of(each)["algorithm"] == name] for name in names}


def final_table(results: dict[str, list[dict]]) -> str:
    """Means over the runs at their ends."""
    rows = []
    for name, runs in results.items():
        gaps, regrets, episodes = (
            [each["outcome"][column][-1] for each in runs] for column in ("value_gap", "regret", "episode")
        )
        speed = np.mean(episodes) / np.mean([each["timing"]["measured_after"][-1] for each in runs])
        regret = "—" if np.isnan(regrets).any() else mean_and_error(regrets)
        rows.append([label(name), mean_and_error(gaps), regret, f"{np.mean(episodes):,.0f}", f"{speed:,.0f}"])
    return markdown(["algorithm", "value gap", "regret", "episodes", "episodes / s"], rows)


def convergence_table(results: dict[str, list[dict]], episodes: list[int]) -> str:
    """The mean value gap at the first measurement from that many episodes on; a dash if a run ended before."""
    columns = list(dict.fromkeys(max(1, round(episodes[-1] / 10**decades)) for decades in (3, 2, 1, 0)))
    rows = [[label(name), *(_gap_after(runs, column) for column in columns)] for name, runs in results.items()]
    return markdown(["value gap after episodes", *(f"{column:,}" for column in columns)], rows)


def _gap_after(runs: list[dict], episodes: int) -> str:
    later = [np.searchsorted(each["outcome"]["episode"], episodes) for each in runs]
    if any(at == len(each["outcome"]["episode"]) for at, each in zip(later, runs)):
        return "—"
    return mean_and_error([each["outcome"]["value_gap"][at] for at, each in zip(later, runs)])


def draw(found: dict[str, curves.Curve], title: str, path: pathlib.Path) -> pathlib.Path:
    """A panel for each family of algorithms, one algorithm in all panels."""
    others = tuple(name for name in found if not any(name in family for family in _FAMILIES.values()))
    panels = {
        family: [name for name in names if name in found] for family, names in {**_FAMILIES, "others": others}.items()
    }
    panels = {family: names for family, names in panels.items() if names}
    styles = styles_of(set(found))
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(12, 0.6 + 3.8 * rows), sharex=True, sharey=True, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (family, names) in zip(axes.flat, panels.items()):
        shown = names if _REFERENCE in names or _REFERENCE not in found else [_REFERENCE, *names]
        draw_curves(axis, {name: found[name] for name in shown}, styles)
        axis.set(title=family, ylabel="value gap (utility)")
        axis.legend(fontsize=8, handlelength=4)
    figure.suptitle(title)
    figure.tight_layout()
    return save(figure, path)


def main() -> None:
    matplotlib.use("Agg")
    logging.set_verbosity(logging.WARNING)  # OpenSpiel announces every environment
    wanted = configurations()
    name, against = as_path(_GAME.value), wanted[0]["opponent"] if wanted else _OPPONENT.value
    title = f"{_GAME.value}, player {_PLAYER.value} against {against}: up to {_EPISODES.value:,} episodes"
    print(f"{title}, {_RUNS.value} runs\n", flush=True)
    results = sweep_flags.carry_out(wanted)
    measured = by_algorithm(results, lambda each: each["configuration"])
    panel = {"measure": "value_gap", "curves": by_algorithm(wanted, lambda each: each)}
    print(final_table(measured), convergence_table(measured, measured_at(wanted[0])), sep="\n\n")
    path = pathlib.Path(sweep_flags.output()) / f"compare_solvers_{name}_player{_PLAYER.value}"
    print(f"\nvalue gap against episodes: {draw(curves.of_panel(panel, results), title, path)}")


if __name__ == "__main__":
    sweep_flags.run_binary(main)
