"""The paper's experiments as data: panels, constants, stopping times, sizes.

To add an algorithm to a panel, add its name to the panel's tuple; --algorithms runs any algorithm by name.
"""

import dataclasses
import typing

from experiments.sweep.result import Measure

# The eight panels of the paper's figure: the paper's algorithms first, then additional ones.
_DEFAULT = "ThompsonTree"
_OURS = ("BettingUCRL", _DEFAULT)
_LEDUC_GAP = ("LUCBT", "BPIUCRL", "MDPGapE", "LUCBTUniform", "UCBT", "UCT", "MVP", "PSRL", *_OURS)
_RBT_GAP = ("LUCBT", "UCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "BPIUCRL", "MDPGapE", "MVP", "PSRL", *_OURS)
_REGRET = ("UCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "MVP", "StrongEuler", "AMB", "PSRL", _DEFAULT)


@dataclasses.dataclass(frozen=True)
class Panel:
    """A panel of the paper's figure: the measure of these algorithms against episodes."""

    letter: str
    measure: Measure
    game: str
    player: int
    algorithms: tuple[str, ...]


PANELS = (
    *(Panel("ab"[player], "value_gap", "leduc", player, _LEDUC_GAP) for player in (0, 1)),
    *(Panel("cd"[player], "value_gap", "rbt", player, _RBT_GAP) for player in (0, 1)),
    *(Panel("ef"[player], "regret", "leduc", player, _REGRET) for player in (0, 1)),
    *(Panel("gh"[player], "regret", "rbt", player, _REGRET) for player in (0, 1)),
)

# What a panel leaves out unless it is selected by name, and why.
LEFT_OUT = {
    "leduc": {"LUCBTUniform": "an episode takes a pass over the tree for each distinct count, 0.6 ms and growing"},
    "rbt": {},
}

# Measurements per tenfold increase of the episodes, if not the usual number.
PER_DECADE = {"rbt": 5}  # measuring takes a second there

# The first seed of a learning curve, where it is not 0: seeds that had no part in tuning or in earlier reports.
FIRST_SEED = {"ThompsonTree": 70_000}

# The paper's constants by game and, where they differ, by player.
_Constants: typing.TypeAlias = dict[str, dict[str, typing.Any]]
_KUHN: _Constants = {
    "LUCBT": {"c": 0.1},
    "UCBT": {"c": 0.1},
    "UCT": {"c": 0.5},
    "OutcomeSamplingMCCFR": {"epsilon": 0.1},
    "OPF": {"k": 0.5},
}
_KUHN_BY_PLAYER = (_KUHN, {**_KUHN, "LUCBT": {"c": 1.0}})
_LAZY = {"PSRL": {"lazy": True}}  # else an episode costs a pass over the tree
_LEDUC: _Constants = {"UCT": {"c": 5.0}, "OutcomeSamplingMCCFR": {"epsilon": 0.1}, "OPF": {"k": 5.0}, **_LAZY}
_RBT: _Constants = {"UCT": {"c": 2.0}, "OutcomeSamplingMCCFR": {"epsilon": 0.2}, "OPF": {"k": 5.0}, **_LAZY}
_BY_GAME: dict[str, tuple[_Constants, _Constants]] = {
    "kuhn": _KUHN_BY_PLAYER,
    "kuhn5": _KUHN_BY_PLAYER,
    "leduc": (_LEDUC, _LEDUC),
    "rbt": (_RBT, _RBT),
}
# On every game: the simple bound, and an epsilon so small that learners with a stopping rule use all their episodes.
_ENDLESS = {"epsilon": 1e-6}
_EVERYWHERE: _Constants = {
    "LUCB": _ENDLESS,
    "LUCBT": {"bound": "simple", "c": 1.0, **_ENDLESS},
    "LUCBTUniform": {"bound": "simple", "c": 1.0, **_ENDLESS},
    "UCBT": {"bound": "simple", "c": 1.0},
    "BPIUCRL": _ENDLESS,
    "MDPGapE": _ENDLESS,
}


def constants(game: str, player: int, algorithm: str) -> dict:
    """The hyper-parameters of a learning curve that differ from the defaults; none for learners not in the paper."""
    of_game = _BY_GAME[game][player] if game in _BY_GAME else {}
    return _EVERYWHERE.get(algorithm, {}) | of_game.get(algorithm, {})


# Stopping times: the paper's Tables 1 and 2, then additional ones.
STOPPING_ALGORITHMS = (
    "LUCB",
    "LUCBT",
    "LUCBTUniform",
    "BPIUCRL",
    "MDPGapE",
    "MOCA",
    "CertifiedUCRL",
    "BettingOnDifferences",
)
STOPPING_GAMES = ("kuhn", "kuhn5", "leduc")
TOLERANCES = (0.05, 0.1)  # epsilon = delta
UNIONS = ("paper", "tight")
BEST_UNION = "best"  # LUCB-T alone has it

# After how many episodes a run that has not stopped is given up; elsewhere all of them stop.
GIVE_UP_AFTER = {
    ("leduc", "LUCBT"): 300_000,
    ("leduc", "LUCBTUniform"): 20_000,  # an episode costs a pass over the tree for each distinct count
    ("leduc", "BPIUCRL"): 1_000_000,
    ("leduc", "MDPGapE"): 1_000_000,
    # Its constants require more than 10^12 episodes before anything is eliminated.
    **{(game, "MOCA"): 5_000 for game in STOPPING_GAMES},
}

# The paper's figures: millions of episodes by (player, algorithm, game, tolerance), and the standard error in percent.
_PAPER_COLUMNS = (("kuhn", 0.05), ("kuhn", 0.1), ("kuhn5", 0.05), ("kuhn5", 0.1))
GAMES_OF_THE_PAPER = tuple(dict.fromkeys(game for game, _ in _PAPER_COLUMNS))
_PAPER_ROWS = {
    (0, "LUCB"): ((0.473, 5.8), (0.114, 7.3), (7.947, 2.3), (2.138, 2.2)),
    (0, "LUCBT"): ((2.170, 5.4), (0.531, 4.8), (3.637, 3.7), (0.942, 3.5)),
    (0, "LUCBTUniform"): ((2.117, 4.5), (0.508, 6.0), (4.880, 8.7), (1.194, 5.5)),
    (1, "LUCB"): ((0.163, 4.3), (0.057, 4.0), (3.154, 1.5), (1.291, 0.9)),
    (1, "LUCBT"): ((1.896, 2.4), (0.496, 4.1), (3.475, 4.4), (0.861, 4.5)),
    (1, "LUCBTUniform"): ((1.671, 1.5), (0.401, 4.1), (4.150, 7.1), (1.045, 6.4)),
}
PAPER_STOPPING_TIMES = {
    (*row, *column): figure for row, figures in _PAPER_ROWS.items() for column, figure in zip(_PAPER_COLUMNS, figures)
}


@dataclasses.dataclass(frozen=True)
class StoppingSize:
    """The scale of the stopping times: runs per setting, tolerances and games."""

    runs: int
    tolerances: tuple[float, ...]
    games: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class CurveSize:
    """The scale of the learning curves on a game: runs per algorithm, and episodes per run."""

    runs: int
    episodes: int


@dataclasses.dataclass(frozen=True)
class Scale:
    """The scale of all experiments; curves: by game."""

    stopping: StoppingSize
    curves: dict[str, CurveSize]


# The paper has 10 runs on Kuhn, 50 on Leduc and 25 on RBT.
SCALES = {
    "full": Scale(
        StoppingSize(10, TOLERANCES, STOPPING_GAMES),
        {"leduc": CurveSize(50, 1_000_000), "rbt": CurveSize(25, 1_000_000)},
    ),
    "medium": Scale(
        StoppingSize(10, (0.1,), GAMES_OF_THE_PAPER),
        {"leduc": CurveSize(10, 200_000), "rbt": CurveSize(6, 100_000)},
    ),
    "small": Scale(
        StoppingSize(2, (0.1,), GAMES_OF_THE_PAPER),
        {"leduc": CurveSize(6, 20_000), "rbt": CurveSize(2, 1_000)},
    ),
}


def scaled(fraction: float) -> Scale:
    """The given fraction of the runs of "full", at least 2, and of its episodes, at least 1,000."""

    def runs(number: int) -> int:
        return max(2, round(fraction * number))

    full = SCALES["full"]
    curves = {
        game: CurveSize(runs(size.runs), max(1000, round(fraction * size.episodes)))
        for game, size in full.curves.items()
    }
    return Scale(dataclasses.replace(full.stopping, runs=runs(full.stopping.runs)), curves)
