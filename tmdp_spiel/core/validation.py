"""Arguments: returned if they are valid, else an error says what would be valid; and arrays that nobody changes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """Whether the value is a real number, of Python or NumPy; booleans are rejected."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether the value is a whole number, which includes floats such as 3.0; booleans are rejected."""
    return is_number(value) and math.isfinite(value) and int(value) == value


def probability(name: str, value: float) -> float:
    """The value, if it lies strictly between 0 and 1."""
    if not (is_number(value) and 0 < value < 1):
        raise ValueError(f"{name} must lie strictly between 0 and 1, not {value!r}")
    return float(value)


def positive(name: str, value: float) -> float:
    """The value, if it is a finite number above zero."""
    if not (is_number(value) and math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def choice(name: str, value: str, options: Collection[str]) -> str:
    """The value, if it is one of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, not {value!r}")
    return value


def whole_number(name: str, value: int) -> int:
    """The value, if it is a whole number from 1 to 2^31 - 1."""
    if not (is_whole(value) and 1 <= value < 2**31):
        raise ValueError(f"{name} must be a whole number from 1 to 2^31 - 1, not {value!r}")
    return int(value)


def seed(value: int) -> int:
    """The value, if it is a whole number from 0 to 2^63 - 1, which the kernels can store."""
    if not (is_whole(value) and 0 <= value < 2**63):
        raise ValueError(f"seed must be a whole number from 0 to 2^63 - 1, not {value!r}")
    return int(value)


def read_only(array: Any, dtype: Any = None) -> np.ndarray:
    """A contiguous, read-only view or copy: kernels are then compiled once for built and for memory-mapped arrays."""
    array = np.ascontiguousarray(array, dtype).view(np.ndarray).view()
    array.flags.writeable = False
    return array
