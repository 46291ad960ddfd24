"""The paper's experiments as data. A new algorithm takes part once its name stands in the tuple of a panel."""

PLAYERS = ("x", "o")

LABELS = {
    "LUCBT": "LUCB-T",
    "LUCBTUniform": "LUCB-T-Uniform",
    "UCBT": "UCB-T",
    "OutcomeSamplingMCCFR": "MCCFR",
    "BPIUCRL": "BPI-UCRL",
    "MDPGapE": "MDP-GapE",
}

# The eight panels of the paper's figure: the paper's algorithms first, then those it does not show.
_LEDUC_GAP = ("LUCBT", "BPIUCRL", "MDPGapE", "LUCBTUniform", "UCBT", "UCT", "MVP", "PSRL")
_RBT_GAP = ("LUCBT", "UCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "BPIUCRL", "MDPGapE", "MVP", "PSRL")
_LEDUC_REGRET = ("UCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "MVP", "StrongEuler", "AMB", "PSRL")
_RBT_REGRET = ("UCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "MVP", "StrongEuler", "AMB", "PSRL")

PANELS = (
    {"panel": "a", "measure": "value_gap", "game": "leduc", "player": 0, "algorithms": _LEDUC_GAP},
    {"panel": "b", "measure": "value_gap", "game": "leduc", "player": 1, "algorithms": _LEDUC_GAP},
    {"panel": "c", "measure": "value_gap", "game": "rbt", "player": 0, "algorithms": _RBT_GAP},
    {"panel": "d", "measure": "value_gap", "game": "rbt", "player": 1, "algorithms": _RBT_GAP},
    {"panel": "e", "measure": "regret", "game": "leduc", "player": 0, "algorithms": _LEDUC_REGRET},
    {"panel": "f", "measure": "regret", "game": "leduc", "player": 1, "algorithms": _LEDUC_REGRET},
    {"panel": "g", "measure": "regret", "game": "rbt", "player": 0, "algorithms": _RBT_REGRET},
    {"panel": "h", "measure": "regret", "game": "rbt", "player": 1, "algorithms": _RBT_REGRET},
)

# What a panel leaves out unless it is asked for by name, and why.
LEFT_OUT = {
    "leduc": {"LUCBTUniform": "an episode costs a pass over the tree for each distinct count, 0.6 ms and growing"},
    "rbt": {},
}

# Algorithms that get a fraction of the episodes: one in so many.
FEWER_EPISODES = {
    ("leduc", "PSRL"): 10,  # its episodes cost a pass over the tree, 70 us
}

# The paper's constants; so small an epsilon that the learners that can stop use all their episodes.
CONSTANTS = {
    "leduc": {
        "LUCBT": {"bound": "simple", "c": 1.0, "epsilon": 1e-6},
        "LUCBTUniform": {"bound": "simple", "c": 1.0, "epsilon": 1e-6},
        "UCBT": {"bound": "simple", "c": 1.0},
        "UCT": {"c": 5.0},
        "OutcomeSamplingMCCFR": {"epsilon": 0.1},
        "OPF": {"k": 5.0},
        "BPIUCRL": {"epsilon": 1e-6},
        "MDPGapE": {"epsilon": 1e-6},
    },
    "rbt": {
        "LUCBT": {"bound": "simple", "c": 1.0, "epsilon": 1e-6},
        "UCBT": {"bound": "simple", "c": 1.0},
        "UCT": {"c": 2.0},
        "OutcomeSamplingMCCFR": {"epsilon": 0.2},
        "OPF": {"k": 5.0},
        "BPIUCRL": {"epsilon": 1e-6},
        "MDPGapE": {"epsilon": 1e-6},
        "PSRL": {"lazy": True},
    },
}

# Stopping times: the paper's Tables 1 and 2.
STOPPING_ALGORITHMS = ("LUCB", "LUCBT", "LUCBTUniform")
STOPPING_GAMES = ("kuhn", "kuhn5")
TOLERANCES = (0.05, 0.1)  # epsilon = delta
UNIONS = ("paper", "tight")

# Millions of episodes by (player, algorithm, game, tolerance), and the standard error in percent.
_PAPER_COLUMNS = (("kuhn", 0.05), ("kuhn", 0.1), ("kuhn5", 0.05), ("kuhn5", 0.1))
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

# How much of it: runs of a setting and episodes of a run. The paper has 10 runs on Kuhn, 50 on Leduc and 25 on RBT.
SCALES = {
    "full": {
        "kuhn": {"runs": 10, "tolerances": (0.05, 0.1)},
        "leduc": {"runs": 50, "episodes": 1_000_000},
        "rbt": {"runs": 25, "episodes": 1_000_000},
    },
    "medium": {
        "kuhn": {"runs": 10, "tolerances": (0.1,)},
        "leduc": {"runs": 10, "episodes": 200_000},
        "rbt": {"runs": 6, "episodes": 100_000},
    },
    "small": {
        "kuhn": {"runs": 2, "tolerances": (0.1,)},
        "leduc": {"runs": 6, "episodes": 20_000},
        "rbt": {"runs": 2, "episodes": 1_000},
    },
}


def scaled(fraction: float) -> dict:
    """That fraction of the runs of "full", at least 2, and of its episodes, at least 1,000."""
    sizes = {game: dict(size) for game, size in SCALES["full"].items()}
    for size in sizes.values():
        size["runs"] = max(2, round(fraction * size["runs"]))
        if "episodes" in size:
            size["episodes"] = max(1000, round(fraction * size["episodes"]))
    return sizes


def label(algorithm: str) -> str:
    return LABELS.get(algorithm, algorithm)
