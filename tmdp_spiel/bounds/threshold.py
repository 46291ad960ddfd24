"""Is the exploitability above a threshold? A sequential test over intervals that hold at all times.

If every player's lower bound holds at all times with probability 1 - delta_p, and so does every upper one by itself,
the test stops the first time that the threshold is outside of the weighted sums of the bounds. It is then wrong with
probability at most the sum of the delta_p, however often it looked, because only one of the two answers is wrong for
the true value (docs/lab/theory_sharper.md, section 6).
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Sequence

from tmdp_spiel.core import validation


class AnytimeInterval(typing.Protocol):
    """A value that is bounded from both sides at all times, in utility units."""

    def play(self, episodes: int) -> int:
        """Plays the given number of further episodes, or fewer if it cannot continue; returns how many."""

    def interval(self) -> tuple[float, float]:
        """The bounds after the episodes so far."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """above: True if the value is above the threshold, False if it is not, None if this is not known yet.

    lower, upper: the bounds on the weighted sum when it was decided;  episodes: of each player
    """

    above: bool | None
    lower: float
    upper: float
    episodes: tuple[int, ...]


def decide_above(
    players: Sequence[AnytimeInterval],
    threshold: float,
    *,
    max_episodes: int,
    weights: Sequence[float] | None = None,
    first_look: int = 100,
    growth: float = 1.1,
    stop: Callable[[], bool] = lambda: False,
) -> Decision:
    """Plays until it is certain whether the weighted sum of the players' values is above the threshold.

    Args:
        players: one interval each. The next episodes are played where the weighted interval is widest.
        threshold: in utility units.
        max_episodes: the most episodes of all players together; then the answer may be None.
        weights: 1 / number of players each if not given, which makes the sum the exploitability of a zero-sum game.
        first_look: episodes of each player before the first look.
        growth: by which a player's episodes grow between looks.
        stop: called after each look; the test ends if it returns True.
    """
    if not players:
        raise ValueError("at least one player's interval is needed")
    if not (validation.is_number(threshold) and math.isfinite(threshold)):
        raise ValueError(f"threshold must be a finite number, not {threshold!r}")
    if not growth > 1:
        raise ValueError(f"growth must be above 1, not {growth!r}")
    shares = [1.0 / len(players)] * len(players) if weights is None else [float(weight) for weight in weights]
    if len(shares) != len(players) or min(shares) < 0:
        raise ValueError(f"weights must be {len(players)} numbers of at least 0, one a player, not {weights!r}")
    budget, episodes = validation.whole_number("max_episodes", max_episodes), [0] * len(players)
    first_look = validation.whole_number("first_look", first_look)
    while True:
        bounds = [player.interval() for player in players]
        lower = sum(share * low for share, (low, _) in zip(shares, bounds))
        upper = sum(share * high for share, (_, high) in zip(shares, bounds))
        above = True if lower > threshold else False if upper <= threshold else None
        if above is not None or sum(episodes) >= budget or stop():
            return Decision(above, lower, upper, tuple(episodes))
        widths = [
            math.inf if number < first_look else share * (high - low)
            for number, share, (low, high) in zip(episodes, shares, bounds)
        ]
        widest = widths.index(max(widths))
        step = max(first_look - episodes[widest], int((growth - 1) * episodes[widest]), 1)
        played = players[widest].play(min(step, budget - sum(episodes)))
        if played <= 0:
            return Decision(None, lower, upper, tuple(episodes))
        episodes[widest] += played
