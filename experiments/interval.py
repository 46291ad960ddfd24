"""Draws how the certified interval of ts.exploit for one player narrows with the number of episodes.

python -m experiments.interval
python -m experiments.interval --game=kuhn --opponent=uniform --episodes=100000
"""

import pathlib
import sys

import matplotlib
import matplotlib.pyplot as plt
from absl import flags
from matplotlib import ticker

import tmdp_spiel as ts
from experiments.sweep.binary import run_binary
from experiments.sweep.drawing import save
from tmdp_spiel.core import plotting

_GAME = flags.DEFINE_string("game", "leduc", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that learns.", lower_bound=0)
_OPPONENT = flags.DEFINE_string("opponent", "cfr+", "The opponent; anything that tmdp-exploit takes.")
_ITERATIONS = flags.DEFINE_integer(
    "iterations", 10, "Iterations of cfr+; a small number gives a weak opponent.", lower_bound=1
)
_EPISODES = flags.DEFINE_integer("episodes", 10_000_000, "The total number of episodes.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", 0.05, "All intervals hold together with probability 1 - delta.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the learner and of the episodes.", lower_bound=0)
_OUTPUT = flags.DEFINE_string("output", "results", "The folder for the picture.")


@plotting.styled
def draw(looks, exact: float | None, highest: float, title: str, delta: float, path: pathlib.Path) -> None:
    """The intervals as a band, cut off at `highest`, with the exact best response in it."""
    episodes = [look.episodes for look in looks]
    lower, upper = [look.lower for look in looks], [look.upper for look in looks]
    figure, panel = plt.subplots(figsize=(8, 4.2))
    panel.fill_between(episodes, lower, upper, color="#0072B2", alpha=0.18, lw=0)
    for bound in (lower, upper):
        panel.plot(episodes, bound, color="#0072B2")
    if exact is not None:
        panel.axhline(exact, color="black", lw=1.3, ls="--")
        panel.annotate(
            f"a best response, exactly {exact:+.2f}", (0.02, exact), (0, 4), xycoords=("axes fraction", "data"),
            textcoords="offset points", fontsize=9,
        )  # fmt: skip
    middle = len(episodes) // 2
    panel.annotate(
        f"certified: no response wins more ({1 - delta:.0%})", (episodes[middle], upper[middle]), (8, 6),
        textcoords="offset points", color="#0072B2", fontsize=9, va="bottom",
    )  # fmt: skip
    panel.annotate(
        "certified: this response wins more", (episodes[middle], lower[middle]), (8, -6),
        textcoords="offset points", color="#0072B2", fontsize=9, va="top",
    )  # fmt: skip
    for bound, offset, side in ((upper, (6, 4), "bottom"), (lower, (6, -4), "top")):
        place = (episodes[-1], bound[-1])
        shown = f"{bound[-1]:+.2f}"
        panel.annotate(shown, place, offset, textcoords="offset points", va=side, color="#0072B2")
    panel.set(xscale="log", xlabel="episodes played", ylabel="won an episode", title=title)
    panel.set_ylim(top=highest)
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda number, _: f"{number:,.0f}"))
    panel.margins(x=0)
    save(figure, path)


def main() -> None:
    matplotlib.use("Agg")
    try:
        found = ts.exploit(
            _GAME.value,
            _OPPONENT.value,
            player=_PLAYER.value,
            iterations=_ITERATIONS.value,
            episodes=_EPISODES.value,
            delta=_DELTA.value,
            seed=_SEED.value,
        )
    except (ValueError, TypeError) as error:
        sys.exit(f"error: {error}")
    print(found)
    response, kind = found.seats[_PLAYER.value], found.game.get_type()
    print(f"\n{'episodes':>12}{'at least':>12}{'at most':>12}")
    for look in response.looks:
        print(f"{look.episodes:>12,}{look.lower:>12.4f}{look.upper:>12.4f}")
    path = pathlib.Path(_OUTPUT.value) / f"interval_{kind.short_name}.png"
    middle = response.lower if response.exact_best is None else response.exact_best
    highest = middle + response.tree.utility_range / 8
    title = f"{kind.long_name}: how much can be won from {found.opponent}?"
    draw(response.looks, response.exact_best, highest, title, _DELTA.value, path)
    print(f"\nAll intervals hold together with probability {1 - _DELTA.value:g}. The picture: {path}")


if __name__ == "__main__":
    run_binary(main)
