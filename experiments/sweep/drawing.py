"""Draws curves that are legible in black and white."""

import pathlib

import matplotlib.pyplot as plt
import numpy as np

from experiments.sweep.curves import Curve
from experiments.sweep.tables import label
from tmdp_spiel.core import plotting

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
    "ThompsonTree": ("-", "d", "#cc0000"),
}
_OTHER_COLOURS = ("0.3", "#332288", "#117733", "#999933", "#aa4499", "#44aa99", "#661100", "0.55")
_OTHER_STYLES = tuple(((0, (2 + at, 2)), marker, _OTHER_COLOURS[at]) for at, marker in enumerate("p8H1234x"))
_BARS_PER_CURVE = 7
_GREY = "0.75"
_SMALLEST_SHARE = 1e-5  # of the panel's largest value: what is drawn for a mean of exactly zero


def styles_of(algorithms: set[str]) -> dict:
    """A line, a marker and a colour for each curve; learners with their own style have it in every figure."""
    others = sorted(algorithms - _STYLES.keys())
    return _STYLES | {name: _OTHER_STYLES[at % len(_OTHER_STYLES)] for at, name in enumerate(others)}


def draw_curves(axis, found: dict[str, Curve], styles: dict, highlighted: int = 5) -> None:
    """Means against episodes, both logarithmic; error bars of one standard error at a few markers.

    highlighted: how many curves, the smallest at the end, have a style and a label; the others are thin and grey.
    """
    axis.set(xlabel="episodes", xscale="log", yscale="log")
    if not found:
        axis.text(0.5, 0.5, "no stored runs", ha="center", va="center", transform=axis.transAxes, color="0.4")
        return
    floor = _SMALLEST_SHARE * max(curve.mean.max() for curve in found.values())
    best = sorted(found, key=lambda name: found[name].mean[-1])[:highlighted]
    ends = []
    for algorithm, curve in found.items():
        if algorithm not in best:
            axis.plot(curve.episode, np.maximum(curve.mean, floor), color=_GREY, linewidth=0.9, zorder=1)
    for at, algorithm in enumerate(best):
        curve, (line, marker, colour) = found[algorithm], styles[algorithm]
        mean = np.maximum(curve.mean, floor)
        ends.append((curve.episode[-1], mean[-1], label(algorithm), colour))
        marked = _marked(curve, at / len(best))
        axis.plot(
            curve.episode,
            mean,
            linestyle=line,
            color=colour,
            linewidth=1.8 if line == "-" or colour == "black" else 1.3,
            marker=marker,
            markevery=marked,
            markersize=6,
            markerfacecolor="white",
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
    axis.set_ylim(axis.get_ylim())  # labels must not move them
    plotting.label_ends(axis, ends)


def _marked(curve: Curve, shift: float) -> list[int]:
    """Checkpoints for markers and bars, evenly spaced in the logarithm, and shifted so that curves do not overlap."""
    wanted = (np.arange(_BARS_PER_CURVE) + 0.15 + 0.7 * shift) / _BARS_PER_CURVE
    wanted = curve.episode[0] * np.exp(wanted * np.log(curve.episode[-1] / curve.episode[0]))
    return sorted({int(np.abs(np.log(curve.episode / each)).argmin()) for each in wanted})


def save(figure, path: pathlib.Path) -> pathlib.Path:
    """Writes a figure as PDF and as PNG, and returns the path of the PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".pdf", ".png"):
        figure.savefig(path.with_suffix(suffix), dpi=150)
    plt.close(figure)
    return path.with_suffix(".png")
