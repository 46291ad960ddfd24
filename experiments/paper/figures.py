"""The paper's eight panels in one figure, and each alone."""

import pathlib

import matplotlib.pyplot as plt

from experiments.paper import settings
from experiments.sweep.curves import Curve
from experiments.sweep.drawing import draw_curves, save, styles_of
from experiments.sweep.names import player_name

_TITLES = {"leduc": "Leduc poker", "rbt": "RBT"}
_AXES = {"value_gap": "value gap", "regret": "regret"}


def draw_all(panels: list[tuple[settings.Panel, dict[str, Curve]]], directory, name: str) -> list[pathlib.Path]:
    """Writes the figure, of that name, and its panels as PNG and PDF; a row of four for each measure.

    panels: with their curves. Returns the paths of the PNGs.
    """
    directory = pathlib.Path(directory)
    by_letter = {panel.letter: found for panel, found in panels}
    measures = {panel.measure for panel, _ in panels}
    styles = styles_of({name for _, found in panels for name in found})
    figure, axes = plt.subplots(len(measures), 4, figsize=(16, 4 * len(measures)))
    for axis, panel in zip(axes.flat, (panel for panel in settings.PANELS if panel.measure in measures)):
        _draw(axis, panel, by_letter.get(panel.letter, {}), styles)
    lines = {line.get_label(): line for axis in axes.flat for line in axis.get_legend_handles_labels()[0]}
    if lines:
        columns = -(-len(lines) // 2)
        figure.legend(
            lines.values(), lines, loc="lower center", ncol=columns, handlelength=5, frameon=False, fontsize=12
        )
    figure.tight_layout(rect=(0, 0.16 / len(measures), 1, 1))
    paths = [save(figure, directory / name)]
    for panel, found in panels:
        if found:
            figure, axis = plt.subplots(figsize=(5.6, 4.4))
            _draw(axis, panel, found, styles)
            axis.legend(fontsize=8, handlelength=4)
            figure.tight_layout()
            alone = f"{panel.letter}_{panel.game}_{panel.measure}_{player_name(panel.player)}"
            paths.append(save(figure, directory / alone))
    return paths


def _draw(axis, panel: settings.Panel, found: dict[str, Curve], styles: dict) -> None:
    measure = _AXES[panel.measure]
    title = f"({panel.letter}) {_TITLES[panel.game]}, player {player_name(panel.player)}: {measure}"
    axis.set_title(title, fontsize=11)
    axis.set_ylabel(f"{measure} (utility)")
    draw_curves(axis, found, styles)
