"""Tables in Markdown, and numbers in them."""

from collections.abc import Iterable

import numpy as np

from experiments.sweep.curves import standard_error


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean_and_error(values) -> str:
    """mean ± standard error, to three digits of the mean."""
    mean, error = np.mean(values), standard_error(np.asarray(values))
    decimals = three_digits(mean)
    return f"{mean:,.{decimals}f}" + ("" if np.isnan(error) else f" ± {error:,.{decimals}f}")


def three_digits(number: float) -> int:
    """The decimals that show three digits of a number."""
    return max(0, 2 - int(np.floor(np.log10(number)))) if number > 0 else 0
