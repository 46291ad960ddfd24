"""Draws docs/images/cell.png: which histories of the two players fit together on one cell of a phantom game.

python docs/draw_cell.py
"""

import pathlib

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt

ROUNDS = 4
INK, FITS, NOT = "#22303c", "#8fb4dc", "#f4f4f1"


def fits(placed_by: int, placed: int, bumped: int | None) -> bool:
    """Whether a stone placed in a round fits what the other player found on the cell.

    Args:
        placed_by: the player whose stone it is; player 0 moves first in a round.
        placed: the round.
        bumped: the round in which the other tried the cell and found it taken; None if it did not try it.
    """
    if bumped is None:
        return True
    return bumped >= placed if placed_by == 0 else bumped > placed


def table(placed_by: int) -> np.ndarray:
    """bool[round of the stone, round of the bump]: the first column is no bump."""
    rounds = range(1, ROUNDS + 1)
    return np.array([[fits(placed_by, placed, bumped) for bumped in (None, *rounds)] for placed in rounds])


def draw(path: pathlib.Path) -> None:
    """Draws both tables side by side."""
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.6))
    for player, panel in enumerate(panels):
        cells = table(player)
        panel.imshow(cells, cmap=matplotlib.colors.ListedColormap([NOT, FITS]), vmin=0, vmax=1)
        for (row, column), fit in np.ndenumerate(cells):
            panel.text(column, row, "1" if fit else "0", ha="center", va="center", color=INK, fontsize=12)
        panel.set_xticks(range(ROUNDS + 1), ["no try", *map(str, range(1, ROUNDS + 1))])
        panel.set_yticks(range(ROUNDS), range(1, ROUNDS + 1))
        panel.set_xticks(np.arange(-0.5, ROUNDS + 1), minor=True)
        panel.set_yticks(np.arange(-0.5, ROUNDS), minor=True)
        panel.grid(which="minor", color="white", lw=2)
        panel.tick_params(which="both", length=0)
        panel.set_title(f"a stone of player {player}", color=INK)
        panel.set_xlabel(f"round in which player {1 - player} bumps into it")
        panel.set_ylabel("round in which it is placed")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(pathlib.Path(__file__).parent / "images" / "cell.png")
