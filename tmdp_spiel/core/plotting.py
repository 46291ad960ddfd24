"""One style for all pictures, and curves that are labelled where they end."""

from __future__ import annotations

import importlib.resources


def new_figure(columns: int = 1, rows: int = 1, width: float = 5.6, height: float = 3.6):
    """A matplotlib figure in the project's style and its axes, an array of rows and columns.

    The figure belongs to nobody but the caller: pyplot does not keep it, and it needs no display.
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    with matplotlib.style.context(str(importlib.resources.files("tmdp_spiel.core") / "tmdp.mplstyle")):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)


def label_end(axes, x: float, y: float, words: str, colour: str) -> None:
    """Writes beside the end of a curve what it is."""
    axes.annotate(words, (x, y), xytext=(5, 0), textcoords="offset points", color=colour, va="center", fontsize=9)
