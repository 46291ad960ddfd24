"""Distributions over the legal actions of a state, as agents give them."""

from __future__ import annotations

from collections.abc import Mapping

from tmdp_spiel.trees.infostate_tree import PROBABILITY_TOLERANCE

COARSE_TOLERANCE = 0.02  # of a sum of probabilities: a few of them in bfloat16; above it is an error


def read_distribution(given: Mapping[int, float], legal: list[int], where: str) -> tuple[list[float], float]:
    """The probability of every legal action, normalised to sum to 1, and the original sum.

    Args:
        given: probabilities by action; missing actions have probability 0.
        legal: the legal actions.
        where: the state and the player, for errors.
    """
    illegal = sorted(action for action, probability in given.items() if action not in legal and probability != 0)
    if illegal:
        raise ValueError(f"the policy plays illegal action(s) {illegal} {where}; legal are {legal}")
    row = [given.get(action, 0.0) for action in legal]
    total = sum(row)
    if not (abs(total - 1) <= COARSE_TOLERANCE and min(row) >= 0):
        raise ValueError(f"the probabilities {where} are not a distribution, sum {total}: {dict(given)}")
    return [probability / total for probability in row], total


def is_rounded(total: float) -> bool:
    """Whether a sum of probabilities differs from 1 by more than rounding in double precision can explain."""
    return abs(total - 1) > PROBABILITY_TOLERANCE
