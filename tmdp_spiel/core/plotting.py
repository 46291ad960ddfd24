"""One style for all figures, and labels at the ends of curves."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Callable
from typing import Any

_STYLE = importlib.resources.files("tmdp_spiel.core") / "tmdp.mplstyle"
_LINE = 0.065  # the height of a label as a share of the axes


def styled(draw: Callable) -> Callable:
    """Decorates a drawing function to use the project's style."""

    @functools.wraps(draw)
    def wrapper(*arguments: Any, **options: Any):
        import matplotlib.style

        with matplotlib.style.context(str(_STYLE)):
            return draw(*arguments, **options)

    return wrapper


def new_figure(columns: int = 1, rows: int = 1, width: float = 5.6, height: float = 3.6):
    """A matplotlib figure in the project's style and its axes, an array of rows and columns.

    The figure is not registered with pyplot and needs no display.
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    with matplotlib.style.context(str(_STYLE)):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)


def label_end(axes, x: float, y: float, words: str, colour: str) -> None:
    """Writes a label beside the end of a curve."""
    axes.annotate(words, (x, y), xytext=(5, 0), textcoords="offset points", color=colour, va="center", fontsize=9)


def label_ends(axes, ends: list[tuple[float, float, str, Any]]) -> None:
    """Labels for several curves right of the axes, at the heights of their ends but without overlaps.

    ends: for each curve the end (x, y) in data coordinates, the words and the colour. The axes' limits are final.
    """
    heights = [axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[1] for x, y, _, _ in ends]
    order = sorted(range(len(ends)), key=heights.__getitem__)
    places: list[float] = []
    for at in order:
        places.append(max(heights[at], places[-1] + _LINE) if places else max(heights[at], 0.0))
    for at in range(len(places) - 1, -1, -1):
        places[at] = min(places[at], 1.0 if at == len(places) - 1 else places[at + 1] - _LINE)
    for place, at in zip(places, order):
        x, y, words, colour = ends[at]
        arrow = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0.0, 0.5)}  # to the left of the words
        axes.annotate(
            words, (x, y), xytext=(1.03, place), textcoords="axes fraction", color=colour, va="center",
            fontsize=9, arrowprops=arrow, annotation_clip=False,
        )  # fmt: skip
