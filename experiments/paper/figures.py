"""The paper's eight panels in one figure, and each alone."""

import pathlib

import matplotlib.pyplot as plt

from experiments.paper import settings
from experiments.sweep.curves import Curve
from experiments.sweep.drawing import draw_curves, save, styles_of
from experiments.sweep.names import seat

_TITLES = {"leduc": "Leduc poker", "rbt": "RBT"}
_AXES = {"value_gap": "value gap", "regret": "regret"}


def draw_all(panels: list[tuple[dict, dict[str, Curve]]], directory) -> list[pathlib.Path]:
    """Writes the figure and its panels as PNG and PDF; panels: with their curves. Returns the paths of the PNGs."""
    directory = pathlib.Path(directory)
    by_letter = {panel["panel"]: (panel, found) for panel, found in panels}
    styles = styles_of({name for _, found in panels for name in found})
    figure, axes = plt.subplots(2, 4, figsize=(16, 8))
    for axis, panel in zip(axes.flat, settings.PANELS):
        _draw(axis, panel, by_letter.get(panel["panel"], (panel, {}))[1], styles)
    lines = {line.get_label(): line for axis in axes.flat for line in axis.get_legend_handles_labels()[0]}
    if lines:
        columns = -(-len(lines) // 2)
        figure.legend(
            lines.values(), lines, loc="lower center", ncol=columns, handlelength=5, frameon=False, fontsize=12
        )
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    paths = [save(figure, directory / "panels")]
    for panel, found in panels:
        if found:
            figure, axis = plt.subplots(figsize=(5.6, 4.4))
            _draw(axis, panel, found, styles)
            axis.legend(fontsize=8, handlelength=4)
            figure.tight_layout()
            name = f"{panel['panel']}_{panel['game']}_{panel['measure']}_{seat(panel['player'])}"
            paths.append(save(figure, directory / name))
    return paths


def _draw(axis, panel: dict, found: dict[str, Curve], styles: dict) -> None:
    measure = _AXES[panel["measure"]]
    title = f"({panel['panel']}) {_TITLES[panel['game']]}, player {seat(panel['player'])}: {measure}"
    axis.set_title(title, fontsize=11)
    axis.set_ylabel(f"{measure} (utility)")
    draw_curves(axis, found, styles)
