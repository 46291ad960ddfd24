"""Checks of what a caller gave: the value if it is right, else an error that names it and says what would be right."""

from __future__ import annotations

import math


def probability(name: str, value: float) -> float:
    """The value, if it lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, not {value}")
    return float(value)


def positive(name: str, value: float) -> float:
    """The value, if it is a finite number above zero."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, not {value}")
    return float(value)


def choice(name: str, value: str, options) -> str:
    """The value, if it is one of the options."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, not {value!r}")
    return value


def whole_number(name: str, value: int) -> int:
    """The value, if it is a whole number from 1 to 2^31 - 1."""
    if isinstance(value, bool) or int(value) != value or not 1 <= value < 2**31:
        raise ValueError(f"{name} must be a whole number from 1 to 2^31 - 1, not {value}")
    return int(value)
