"""Converts between the utilities of a game and the returns in [0, 1] that learners see."""

from __future__ import annotations

import typing

import numpy as np

from tmdp_spiel.core.jit import kernel

Amount = typing.TypeVar("Amount", float, np.ndarray)


class UtilityScale(typing.NamedTuple):
    """The utility of a return of 0, and the difference to the utility of a return of 1."""

    lowest: float
    span: float

    def to_utility(self, value: Amount) -> Amount:
        """The utility of a return, or of an array of them."""
        return self.lowest + self.span * value

    def to_return(self, utility: Amount) -> Amount:
        """The return of a utility, or of an array of them."""
        return (utility - self.lowest) / self.span


# For compiled code: to_utility(scale, value).
to_utility = kernel(UtilityScale.to_utility)
