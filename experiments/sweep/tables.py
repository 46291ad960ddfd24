"""Tables in Markdown, numbers in them, and the names of players and algorithms in tables, figures and paths."""

import re
from collections.abc import Iterable

import numpy as np

PLAYERS = ("x", "o")
_LABELS = {
    "LUCBT": "LUCB-T",
    "LUCBTUniform": "LUCB-T-Uniform",
    "UCBT": "UCB-T",
    "OutcomeSamplingMCCFR": "MCCFR",
    "BPIUCRL": "BPI-UCRL",
    "MDPGapE": "MDP-GapE",
    "ThompsonTree": "Thompson tree",
    "OpenSpielQLearner": "Q-learning",
    "ReferenceLimit": "*asymptotic reference*",
    "OpenSpielDQN": "DQN, SGD",
    "OpenSpielDQNAdam": "DQN, Adam",
    "OpenSpielISMCTS": "ISMCTS",
    "OurNetwork": "network responder",
    "OurSearch": "search responder",
    "OurPortfolio": "portfolio of responders",
}


def player_name(player: int) -> str:
    """x and o for the first two, as in the paper."""
    return PLAYERS[player] if player < len(PLAYERS) else str(player)


def label(algorithm: str) -> str:
    return _LABELS.get(algorithm, algorithm)


def as_path(text: str) -> str:
    """A game string as the name of a folder or file."""
    return re.sub(r"\W+", "_", text).strip("_")


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


def standard_error(values: np.ndarray) -> np.ndarray:
    """Over the first axis."""
    if len(values) < 2:
        return np.full(np.shape(values)[1:], np.nan)
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
