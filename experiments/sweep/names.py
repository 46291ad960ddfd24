"""The names of players and algorithms in tables, figures and paths."""

import re

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
