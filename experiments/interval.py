"""How a certified interval closes in on what could be won: ts.exploit on one player, drawn against episodes.

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

_GAME = flags.DEFINE_string("game", "leduc", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that learns.", lower_bound=0)
_OPPONENT = flags.DEFINE_string("opponent", "cfr+", "Who plays the other players; anything that tmdp-exploit takes.")
_ITERATIONS = flags.DEFINE_integer(
    "iterations", 10, "CFR+ iterations of cfr+: few make a weak opponent.", lower_bound=1
)
_EPISODES = flags.DEFINE_integer("episodes", 10_000_000, "Episodes in all.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", 0.05, "All intervals hold together with probability 1 - delta.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the learner and of the episodes.", lower_bound=0)
_OUTPUT = flags.DEFINE_string("output", "results", "The folder for the picture.")


def draw(looks, exact: float | None, highest: float, title: str, delta: float, path: pathlib.Path) -> None:
    """The intervals as a band, cut off at `highest`, with the exact best response in it."""
    episodes = [look.episodes for look in looks]
    lower, upper = [look.lower for look in looks], [look.upper for look in looks]
    figure, panel = plt.subplots(figsize=(8, 4.2))
    inside = f"a best response is in here ({1 - delta:.0%})"
    panel.fill_between(episodes, lower, upper, color="#bcd4ee", lw=0, label=inside)
    for bound in (lower, upper):
        panel.plot(episodes, bound, color="#1f5fa8", lw=1.6)
    if exact is not None:
        panel.axhline(exact, color="#22303c", lw=1.3, ls="--", label="a best response, exactly")
    for bound, offset, side in ((upper, (6, 4), "bottom"), (lower, (6, -4), "top")):
        place = (episodes[-1], bound[-1])
        shown = f"{bound[-1]:+.2f}"
        panel.annotate(shown, place, offset, textcoords="offset points", va=side, color="#1f5fa8")
    panel.set(xscale="log", xlabel="episodes played", ylabel="won an episode", title=title)
    panel.set_ylim(top=highest)
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda number, _: f"{number:,.0f}"))
    panel.margins(x=0)
    panel.grid(alpha=0.25)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    panel.legend(frameon=False, loc="upper right")
    figure.tight_layout()
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
