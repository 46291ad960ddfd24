"""Draws docs/images/reproduction.png, the paper's figure, from the stored runs: python docs/draw_reproduction.py."""

import pathlib
import shutil
import sys
import tempfile

import matplotlib
import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from experiments.paper import figures, settings  # noqa: E402
from experiments.sweep.curves import Curve  # noqa: E402

PICTURE = HERE / "images" / "reproduction.png"


def panels(stored: dict) -> list[tuple[settings.Panel, dict[str, Curve]]]:
    """Every panel of the figure with the curves of its algorithms.

    stored: what make_results.learning_curves returns.
    """
    found = []
    for panel in settings.PANELS:
        curves = {}
        for algorithm in panel.algorithms:
            runs = stored[panel.game, panel.player].get(algorithm)
            if runs:
                seeds = tuple(sorted(runs))
                values = np.array([runs[seed][panel.measure] for seed in seeds])
                curves[algorithm] = Curve(algorithm, np.array(runs[seeds[0]]["episode"]), values, seeds)
        found.append((panel, curves))
    return found


if __name__ == "__main__":
    from make_results import learning_curves

    matplotlib.use("Agg")
    with tempfile.TemporaryDirectory() as folder:
        figures.draw_all(panels(learning_curves()), folder, "panels")
        shutil.copy(pathlib.Path(folder) / "panels.png", PICTURE)
