"""What the parts of error_rates have in common."""

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from experiments.sweep import flags as sweep_flags

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Options:
    """Those of the command; None stands for the number of the part itself.

    runs: of each row; episodes: of each run; delta: promised probability of an error; rows: their first letters.
    """

    runs: int | None = None
    episodes: int | None = None
    delta: float | None = None
    rows: Sequence[str] | None = None

    def chosen(self, rows: dict[str, T]) -> dict[str, T]:
        """The rows whose names begin like one of `rows`."""
        return sweep_flags.named_like(rows, self.rows)
