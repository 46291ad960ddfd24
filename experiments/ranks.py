"""How the default learner ranks beside the others on games that had no part in its tuning: a table of value gaps.

    python -m experiments.ranks --runs=5
    python -m experiments.ranks --problems=kuhn --algorithms=BalancedLevels,UCT --episodes=10000

Every run is kept as it ends; started again, the command goes on with the runs that are missing. The constants are the
paper's where it has any, else the learners' defaults. A problem is a game, a player, and what the others are fixed at.
With `pip install 'tmdp-spiel[torch]'`, OpenSpielDQN and OpenSpielDQNAdam can be named among the algorithms.
"""

import collections

import numpy as np
from absl import flags, logging

from experiments.paper import settings
from experiments.sweep import flags as sweep_flags
from experiments.sweep.configuration import configuration
from experiments.sweep.names import label
from experiments.sweep.tables import markdown
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.spiel.rl_agents import AGENTS
from tmdp_spiel.spiel.solvers import ALL_SOLVERS

Problem = collections.namedtuple("Problem", ["game", "player", "opponent", "iterations"])

_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel("
    "imp_info=True,num_cards=4,points_order=descending,returns_type=point_difference))"
)
_BATTLESHIP = (
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=3,allow_repeated_shots=False)"
)
_SHERIFF = "sheriff(item_penalty=1.0,item_value=5.0,max_bribe=2,max_items=3,num_rounds=1,sheriff_penalty=1.0)"
PROBLEMS = {
    "kuhn x, equilibrium": Problem("kuhn", 0, "cfr+", 1000),
    "kuhn o, equilibrium": Problem("kuhn", 1, "cfr+", 1000),
    "kuhn5 x, equilibrium": Problem("kuhn5", 0, "cfr+", 1000),
    "kuhn5 o, equilibrium": Problem("kuhn5", 1, "cfr+", 1000),
    "leduc x, weak": Problem("leduc", 0, "cfr+", 10),
    "leduc o, uniform": Problem("leduc", 1, "uniform", 1000),
    "liar's dice 4 sides x, near equilibrium": Problem("liars_dice(dice_sides=4)", 0, "cfr+", 100),
    "liar's dice 4 sides o, uniform": Problem("liars_dice(dice_sides=4)", 1, "uniform", 1000),
    "goofspiel 4 x, near equilibrium": Problem(_GOOFSPIEL, 0, "cfr+", 100),
    "battleship x, uniform": Problem(_BATTLESHIP, 0, "uniform", 1000),
    "battleship o, weak": Problem(_BATTLESHIP, 1, "cfr+", 10),
    "dark hex 2 x, uniform": Problem("dark_hex(board_size=2)", 0, "uniform", 1000),
    "dark hex 2 o, weak": Problem("dark_hex(board_size=2)", 1, "cfr+", 10),
    "auction x, uniform": Problem("first_sealed_auction(max_value=10)", 0, "uniform", 1000),
    "auction o, weak": Problem("first_sealed_auction(max_value=10)", 1, "cfr+", 10),
    "sheriff x, uniform": Problem(_SHERIFF, 0, "uniform", 1000),
    "sheriff o, uniform": Problem(_SHERIFF, 1, "uniform", 1000),
    "trade_comm 3 x, uniform": Problem("trade_comm(num_items=3)", 0, "uniform", 1000),
    "3-player kuhn, first, uniform": Problem("kuhn_poker(players=3)", 0, "uniform", 1000),
    "3-player kuhn, last, weak": Problem("kuhn_poker(players=3)", 2, "cfr+", 10),
    "3-player leduc, second, uniform": Problem("leduc_poker(players=3)", 1, "uniform", 1000),
}
DEFAULT = "BalancedLevels"
OTHERS = ("UCT", "UCBT", "MVP", "OutcomeSamplingMCCFR", "PSRL", "BettingUCRL", "OpenSpielQLearner")
_CONSTANTS = {"PSRL": {"lazy": True}}
_FEWER_RUNS = dict.fromkeys(AGENTS, 1)  # slow, in Python

_PROBLEMS = flags.DEFINE_list("problems", None, "Problems whose names begin like any of these; all if not given.")
_EPISODES = flags.DEFINE_integer("episodes", 100_000, "Episodes of each run.", lower_bound=10)
_RUNS = flags.DEFINE_integer("runs", 5, "Runs of each algorithm; Q-learning and DQN get one.", lower_bound=1)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "The longest that one run may take; it then ends.", lower_bound=0.0)
_FIRST_SEED = flags.DEFINE_integer("first_seed", 0, "Seeds from here on; those from 1000 on are for tuning.")
_ALGORITHMS = sweep_flags.define_choice(
    "algorithms", (*catalogue(), *ALL_SOLVERS), "Learners and OpenSpiel's solvers", (DEFAULT, *OTHERS)
)
flags.register_validator(
    "algorithms", lambda chosen: DEFAULT in chosen and len(chosen) > 1, f"{DEFAULT} is compared with at least one other"
)
flags.adopt_module_key_flags(sweep_flags)


def problems() -> dict[str, Problem]:
    asked = _PROBLEMS.value
    return {name: each for name, each in PROBLEMS.items() if asked is None or name.startswith(tuple(asked))}


def runs_of(problem: Problem, algorithm: str) -> list[dict]:
    """The configurations of one algorithm on one problem."""
    constants = settings.constants(problem.game, problem.player, algorithm) | _CONSTANTS.get(algorithm, {})
    how = {"opponent": problem.opponent, "iterations": problem.iterations, "per_decade": 1, "seconds": _SECONDS.value}
    seeds = range(_FIRST_SEED.value, _FIRST_SEED.value + _FEWER_RUNS.get(algorithm, _RUNS.value))
    return [
        configuration("learning", problem.game, problem.player, algorithm, constants, seed, _EPISODES.value, **how)
        for seed in seeds
    ]


def gaps_after(results: list[dict], episodes: int) -> list[float]:
    """The value gap of every run at its last measurement up to so many episodes."""
    return [
        each["outcome"]["value_gap"][int(np.searchsorted(each["outcome"]["episode"], episodes, side="right")) - 1]
        for each in results
    ]


def compared(gaps: dict[str, float]) -> tuple[str, float, int]:
    """The best of the others, the default's gap as a multiple of its, and the default's rank; ties share the better.

    Gaps below a millionth count as none, and none against none as 1.
    """
    rounded = {name: gap if gap >= 1e-6 else 0.0 for name, gap in gaps.items()}
    others = {name: gap for name, gap in rounded.items() if name != DEFAULT}
    best = min(others, key=others.get)
    ours = rounded[DEFAULT]
    ratio = 1.0 if ours == others[best] else ours / others[best] if others[best] > 0 else float("inf")
    return best, ratio, 1 + sum(gap < ours for gap in others.values())


def table(results: dict[str, dict[str, list[dict]]], episodes: int) -> str:
    """A row a problem: the gaps of all algorithms after so many episodes, then the comparison."""
    algorithms = list(next(iter(results.values())))
    rows, ranks = [], []
    for problem, of_problem in results.items():
        gaps = {name: float(np.mean(gaps_after(runs, episodes))) for name, runs in of_problem.items()}
        best, ratio, rank = compared(gaps)
        ranks.append(rank)
        shown = [f"**{gap:.4f}**" if name in (best, DEFAULT) else f"{gap:.4f}" for name, gap in gaps.items()]
        rows.append([problem, *shown, "∞" if ratio == float("inf") else f"{ratio:.2f}", str(rank)])
    rows.append(["mean rank", *[""] * len(algorithms), "", f"{np.mean(ranks):.1f}"])
    return markdown([f"after {episodes:,}", *map(label, algorithms), "ratio to the best other", "rank"], rows)


def main() -> None:
    logging.set_verbosity(logging.WARNING)  # OpenSpiel announces every environment
    wanted = {
        name: {algorithm: runs_of(problem, algorithm) for algorithm in _ALGORITHMS.value}
        for name, problem in problems().items()
    }
    found = iter(sweep_flags.carry_out([each for of in wanted.values() for runs in of.values() for each in runs]))
    results = {
        name: {algorithm: [next(found) for _ in runs] for algorithm, runs in of.items()} for name, of in wanted.items()
    }
    for episodes in (_EPISODES.value // 10, _EPISODES.value):
        print(table(results, episodes), end="\n\n")


if __name__ == "__main__":
    sweep_flags.run_binary(main)
