"""How fast the answer gets sharp: the certified interval around what a best response wins, as episodes go by.

    python -m experiments.interval --game=leduc --opponent=cfr+ --iterations=10

A learner plays a fixed opponent that it knows nothing about. Again and again, at episodes that grow by a factor, two
numbers are certified: what the response learned so far wins at least, measured on fresh episodes, and what no response
wins more than. The exact value of a best response, which the learner never sees, is drawn beside them.

All intervals hold together with probability 1 - delta. Half of delta goes to the upper bound, which holds after all
episodes at once; the i-th measurement has the 1 / (i (i + 1))-th part of the other half, and these parts add up to it.
The fresh episodes count as episodes.
"""

import dataclasses
import pathlib
from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from absl import app, flags
from matplotlib import ticker

import tmdp_spiel as ts
from tmdp_spiel.bounds import betting
from tmdp_spiel.trees import checks

_GAME = flags.DEFINE_string("game", "leduc", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The seat of the learner.", lower_bound=0)
_OPPONENT = flags.DEFINE_enum("opponent", "cfr+", ["uniform", "cfr+"], "Who plays the other seats.")
_ITERATIONS = flags.DEFINE_integer(
    "iterations", 10, "CFR+ iterations of the opponent cfr+: few make a weak one.", lower_bound=1
)
_EPISODES = flags.DEFINE_integer("episodes", 10_000_000, "Episodes in all, at least a thousand.", lower_bound=1_000)
_DELTA = flags.DEFINE_float("delta", 0.05, "All intervals hold together with probability 1 - delta.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the learner and of the episodes.", lower_bound=0)
_OUTPUT = flags.DEFINE_string("output", "results", "Where the picture goes.")

_FIRST_LOOK, _GROWTH = 1_000, 1.5
_FRESH_SHARE = 0.2  # of all episodes


@dataclasses.dataclass
class Interval:
    """After `episodes`: a best response wins between `lower` and `upper`, the learned one `learned`, in utility."""

    episodes: int
    lower: float
    upper: float
    learned: float


def looks(episodes: int) -> list[int]:
    """The episodes in all at which to certify, the last one included."""
    number = int(np.log(episodes / _FIRST_LOOK) / np.log(_GROWTH))
    return [round(episodes / _GROWTH**at) for at in range(number, -1, -1)]


def shrink(mdp: ts.TreeMDP, episodes: int, delta: float, seed: int) -> list[Interval]:
    """Learns and certifies in turn; a bound once certified stays, so the intervals only shrink."""
    learner, rng = ts.BettingUCRL(mdp.tree, delta=delta / 2, seed=seed), np.random.default_rng(seed)
    intervals, played, lower, upper = [], 0, mdp.tree.min_utility, mdp.tree.max_utility
    for look, until in enumerate(looks(episodes), start=1):
        fresh = round(_FRESH_SHARE * (until - played))
        ts.run(learner, mdp, until - played - fresh, rng=rng, progress=False)
        plan, played = learner.recommend(), until
        returns = rng.choice(mdp.outcome_return, fresh, p=mdp.terminal_reach(plan))
        share = delta / 2 / (look * (look + 1))
        lower = max(lower, float(mdp.to_utility(betting.lower_bound(returns, share))))
        upper = min(upper, float(mdp.to_utility(learner.upper_bound(delta / 2))))
        intervals.append(Interval(played, lower, upper, mdp.value(plan)))
    return intervals


def draw(intervals: list[Interval], best: float, highest: float, title: str, delta: float, path: pathlib.Path) -> None:
    """The intervals as a band, cut off at `highest`, with the learned response and the exact best one in it."""
    episodes = [interval.episodes for interval in intervals]
    lower, upper = [interval.lower for interval in intervals], [interval.upper for interval in intervals]
    figure, panel = plt.subplots(figsize=(8, 4.2))
    panel.fill_between(
        episodes, lower, upper, color="#bcd4ee", lw=0, label=f"a best response is in here ({1 - delta:.0%})"
    )
    panel.plot(episodes, upper, color="#1f5fa8", lw=1.6)
    panel.plot(episodes, lower, color="#1f5fa8", lw=1.6)
    panel.plot(
        episodes,
        [interval.learned for interval in intervals],
        color="#d1661a",
        lw=1.8,
        label="the learned response, exactly",
    )
    panel.axhline(best, color="#22303c", lw=1.3, ls="--", label="a best response, exactly")
    last = intervals[-1]
    for value, below in ((last.upper, False), (last.lower, True)):
        offset = (6, -4 if below else 4)
        panel.annotate(
            f"{value:+.2f}",
            (last.episodes, value),
            offset,
            textcoords="offset points",
            va="top" if below else "bottom",
            color="#1f5fa8",
            fontsize=10,
        )
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda number, _: f"{number:,.0f}"))
    panel.set_xlabel("episodes played")
    panel.set_ylabel("won an episode")
    panel.set_title(title, fontsize=12)
    panel.margins(x=0)
    panel.set_ylim(top=highest)
    panel.grid(alpha=0.25)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    panel.legend(frameon=False, loc="upper right")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    matplotlib.use("Agg")
    delta = checks.probability("--delta", _DELTA.value)
    try:
        game = ts.load_game(_GAME.value)
        uniform = _OPPONENT.value == "uniform"
        opponent = ts.uniform(game) if uniform else ts.equilibrium(game, _ITERATIONS.value)
        mdp = ts.build_tree(game, _PLAYER.value, opponent)
    except ValueError as error:
        raise app.UsageError(str(error)) from None
    intervals = shrink(mdp, _EPISODES.value, delta, _SEED.value)
    best, _ = mdp.best_response()
    name = game.get_type().short_name
    against = "an opponent that plays at random" if uniform else f"CFR+ after {_ITERATIONS.value} iterations"
    print(f"{name}, player {_PLAYER.value} against {against}: what a best response wins an episode")
    print(f"\n{'episodes':>10}{'at least':>12}{'exact':>12}{'at most':>12}{'learned':>12}")
    for interval in intervals:
        print(
            f"{interval.episodes:>10,}{interval.lower:>12.4f}{best:>12.4f}{interval.upper:>12.4f}{interval.learned:>12.4f}"
        )
    path = pathlib.Path(_OUTPUT.value) / f"interval_{name}.png"
    highest = best + mdp.tree.utility_range / 8
    draw(intervals, best, highest, f"{game.get_type().long_name}: how much can be won from {against}?", delta, path)
    print(f"\nAll intervals hold together with probability {1 - delta:g}. The picture: {path}")


if __name__ == "__main__":
    app.run(main)
