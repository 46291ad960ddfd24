"""The paper's eight panels in one figure, and each panel separately."""

import pathlib

import matplotlib.pyplot as plt

from experiments.paper import settings
from experiments.sweep.curves import Curve
from experiments.sweep.drawing import draw_curves, save, styles_of
from experiments.sweep.tables import player_name
from tmdp_spiel.core import plotting

_TITLES = {"leduc": "Leduc poker", "rbt": "RBT"}
_AXES = {"value_gap": "value gap", "regret": "regret"}


@plotting.styled
def draw_all(panels: list[tuple[settings.Panel, dict[str, Curve]]], directory, name: str) -> list[pathlib.Path]:
    """Writes the figure with this name and its panels as PNG and PDF; a row of four for each measure.

    panels: with their curves. Returns the paths of the PNGs.
    """
    directory = pathlib.Path(directory)
    by_letter = {panel.letter: found for panel, found in panels}
    measures = {panel.measure for panel, _ in panels}
    styles = styles_of({name for _, found in panels for name in found})
    figure, axes = plt.subplots(len(measures), 4, figsize=(20, 4 * len(measures)))
    for axis, panel in zip(axes.flat, (panel for panel in settings.PANELS if panel.measure in measures)):
        _draw(axis, panel, by_letter.get(panel.letter, {}), styles)
    scale = scale_of(panels)
    figure.supxlabel(
        f"{scale} Coloured: the five smallest means at the end of each panel. Grey: all others.", fontsize=12
    )
    paths = [save(figure, directory / name)]
    for panel, found in panels:
        if found:
            figure, axis = plt.subplots(figsize=(6.8, 4.6))
            _draw(axis, panel, found, styles)
            figure.supxlabel(scale_of([(panel, found)]), fontsize=9)
            alone = f"{panel.letter}_{panel.game}_{panel.measure}_{player_name(panel.player)}"
            paths.append(save(figure, directory / alone))
    return paths


def scale_of(panels: list[tuple[settings.Panel, dict[str, Curve]]]) -> str:
    """The size of the runs of a figure, in words; mentions it if they are smaller than the paper's."""
    small, parts = False, []
    for game in dict.fromkeys(panel.game for panel, found in panels if found):
        curves = [curve for panel, found in panels if panel.game == game for curve in found.values()]
        runs, episodes = min(len(each.seeds) for each in curves), min(int(each.episode[-1]) for each in curves)
        full = settings.SCALES["full"].curves[game]
        small |= runs < full.runs or episodes < full.episodes
        parts.append(f"{_TITLES[game]} {runs} runs of {episodes:,} episodes")
    return f"{'Small-scale reproduction' if small else 'Reproduction'}: {'; '.join(parts)}."


def _draw(axis, panel: settings.Panel, found: dict[str, Curve], styles: dict) -> None:
    measure = _AXES[panel.measure]
    title = f"({panel.letter}) {_TITLES[panel.game]}, player {player_name(panel.player)}: {measure}"
    axis.set_title(title)
    axis.set_ylabel(f"{measure} (utility)")
    draw_curves(axis, found, styles)
