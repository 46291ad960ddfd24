"""The paper's eight panels in one figure, and each alone; legible in black and white."""

import pathlib

import matplotlib.pyplot as plt
import numpy as np

from experiments.sweep import data
from experiments.sweep.curves import Curve

_TITLES = {"leduc": "Leduc poker", "rbt": "RBT"}
_AXES = {"value_gap": "value gap", "regret": "regret"}

# line, marker, colour: every marker occurs once.
_STYLES = {
    "LUCBT": ("-", "o", "black"),
    "UCBT": ((0, (8, 1.5)), "s", "black"),
    "UCT": ("--", "^", "#0072b2"),
    "OutcomeSamplingMCCFR": ("-.", "D", "#d55e00"),
    "OPF": (":", "v", "#009e73"),
    "BPIUCRL": ("-.", "<", "#cc79a7"),
    "MDPGapE": (":", ">", "#e69f00"),
    "MVP": ((0, (5, 1)), "P", "#56b4e9"),
    "StrongEuler": ((0, (3, 1, 1, 1)), "X", "0.45"),
    "AMB": ((0, (1, 1)), "*", "0.6"),
    "PSRL": ((0, (7, 2, 1, 2)), "h", "#882255"),
}
_OTHER_STYLES = tuple(((0, (2 + more, 2)), marker, "0.3") for more, marker in enumerate("dp8H1234"))
_BARS_PER_CURVE = 7
_SMALLEST_SHARE = 1e-5  # of the panel's largest value: what is drawn for a mean of exactly zero


def draw_all(panels: list[tuple[dict, dict[str, Curve]]], directory) -> list[pathlib.Path]:
    """Writes the figure and its panels as PNG and PDF; panels: with their curves. Returns the paths of the PNGs."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    by_letter = {panel["panel"]: (panel, found) for panel, found in panels}
    styles = _styles({name for _, found in panels for name in found})
    figure, axes = plt.subplots(2, 4, figsize=(16, 8))
    for axis, panel in zip(axes.flat, data.PANELS):
        _draw(axis, panel, by_letter.get(panel["panel"], (panel, {}))[1], styles)
    lines = {line.get_label(): line for axis in axes.flat for line in axis.get_legend_handles_labels()[0]}
    if lines:
        columns = -(-len(lines) // 2)
        figure.legend(
            lines.values(), lines, loc="lower center", ncol=columns, handlelength=5, frameon=False, fontsize=12
        )
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    paths = [_save(figure, directory / "panels")]
    for panel, found in panels:
        if found:
            figure, axis = plt.subplots(figsize=(5.6, 4.4))
            _draw(axis, panel, found, styles)
            axis.legend(fontsize=8, handlelength=4)
            figure.tight_layout()
            name = f"{panel['panel']}_{panel['game']}_{panel['measure']}_{data.PLAYERS[panel['player']]}"
            paths.append(_save(figure, directory / name))
    return paths


def _styles(algorithms: set[str]) -> dict:
    others = sorted(algorithms - _STYLES.keys())
    return _STYLES | {name: _OTHER_STYLES[at % len(_OTHER_STYLES)] for at, name in enumerate(others)}


def _draw(axis, panel: dict, found: dict[str, Curve], styles: dict) -> None:
    """Means against episodes, error bars of one standard error at a few markers."""
    player = data.PLAYERS[panel["player"]]
    axis.set_title(
        f"({panel['panel']}) {_TITLES[panel['game']]}, player {player}: {_AXES[panel['measure']]}", fontsize=11
    )
    axis.set(xlabel="episodes", ylabel=f"{_AXES[panel['measure']]} (utility)", xscale="log", yscale="log")
    if not found:
        axis.text(0.5, 0.5, "no stored runs", ha="center", va="center", transform=axis.transAxes, color="0.4")
        return
    floor = _SMALLEST_SHARE * max(curve.mean.max() for curve in found.values())
    for at, (algorithm, curve) in enumerate(found.items()):
        line, marker, colour = styles[algorithm]
        mean = np.maximum(curve.mean, floor)
        marked = _marked(curve, at / len(found))
        axis.plot(
            curve.episode,
            mean,
            linestyle=line,
            color=colour,
            linewidth=1.8 if colour == "black" else 1.3,
            marker=marker,
            markevery=marked,
            markersize=6,
            markerfacecolor="white",
            label=data.label(algorithm),
        )
        error = np.nan_to_num(curve.error[marked])
        below = np.minimum(error, mean[marked] - floor)
        axis.errorbar(
            curve.episode[marked], mean[marked], (below, error), fmt="none", color=colour, elinewidth=1, capsize=2
        )
    if any(curve.mean.min() < floor for curve in found.values()):
        axis.axhline(floor, color="0.8", linewidth=0.8, zorder=0)
        axis.annotate(
            "exactly 0", (0.01, floor), xycoords=("axes fraction", "data"), fontsize=7, color="0.4", va="bottom"
        )
    first, last = (max(curve.episode[end] for curve in found.values()) for end in (0, -1))
    axis.set_xlim(0.8 * first, 1.25 * last)
    axis.grid(alpha=0.25)


def _marked(curve: Curve, shift: float) -> list[int]:
    """Checkpoints for markers and bars, evenly spaced in the logarithm; shifted so that those of curves keep apart."""
    wanted = (np.arange(_BARS_PER_CURVE) + 0.15 + 0.7 * shift) / _BARS_PER_CURVE
    wanted = curve.episode[0] * np.exp(wanted * np.log(curve.episode[-1] / curve.episode[0]))
    return sorted({int(np.abs(np.log(curve.episode / each)).argmin()) for each in wanted})


def _save(figure, path: pathlib.Path) -> pathlib.Path:
    for suffix in (".pdf", ".png"):
        figure.savefig(path.with_suffix(suffix), dpi=150)
    plt.close(figure)
    return path.with_suffix(".png")
