"""Compares responses by OpenSpiel's agents with those by our learners, in one table.

    python -m experiments.benchmarks.responders
    python -m experiments.benchmarks.responders --problems=leduc --algorithms=OpenSpielDQNAdam,UCT --runs=2

Every responder gets the same opponent, and the same number of episodes or the same processor time. Every run is saved
when it ends; if the command is started again, it continues with the missing runs. DQN needs torch: pip install
'tmdp-spiel[torch]'.

- OpenSpielDQN: as in OpenSpiel's examples/rl_response.py, in PyTorch; OpenSpielDQNAdam: with Adam instead of SGD.
- OpenSpielQLearner: the tabular Q-learner at its defaults.
- OpenSpielISMCTS: information-set Monte Carlo tree search (MCTS where information is perfect). It knows the rules and
  replans at every move, for an opponent who searches as it does and rolls out at random; it learns nothing from
  episodes. Only games that can resample a state from what a player knows.
- OurNetwork, OurSearch, OurPortfolio: the responders of ts.exploit for large games. The network learns by playing; the
  search (1,000 simulations a move) knows the rules and the opponent's policy and learns nothing from episodes; the
  portfolio races both and the tree, within processor time only.
- Our learners, with the paper's constants if there are any, otherwise their defaults: compiled on the enumerated tree
  if there is one, otherwise live on a lazy tree.

A response is evaluated exactly if the tree is enumerated, otherwise on fresh episodes.
"""

import collections
import dataclasses

import numpy as np
from absl import flags, logging

from experiments.benchmarks import responding
from experiments.benchmarks.responding import LEARNERS, NOT_GROWN, PLAYER, RESPONDERS, SEARCH, Valuation
from experiments.paper import settings
from experiments.sweep import flags as sweep_flags
from experiments.sweep.binary import run_binary
from experiments.sweep.configuration import Configuration, configuration
from experiments.sweep.result import Responding, Result
from experiments.sweep.tables import label, markdown, standard_error
from tmdp_spiel.openspiel.solvers import IN_TORCH, dqn_in_torch


@dataclasses.dataclass(frozen=True)
class Problem:
    """A game for player 0, the fixed opponents, and the numbers of episodes after which responses are evaluated."""

    game: str
    opponent: str = "uniform"
    iterations: int | None = None
    enumerated: bool = True
    marks: tuple[int, ...] = (10_000,)


PROBLEMS = {
    "leduc, uniform": Problem("leduc", marks=(10_000, 45_000)),
    "leduc, CFR+ after 10": Problem("leduc", "cfr+", 10),
    "leduc, CFR+ after 1000": Problem("leduc", "cfr+", 1000),
    "liars_dice": Problem("liars_dice"),
    "goofspiel 6": Problem("goofspiel(imp_info=True,num_cards=6,points_order=descending)"),
    "phantom_ttt": Problem("phantom_ttt", enumerated=False),
    "liars_dice(numdice=2)": Problem("liars_dice(numdice=2)", enumerated=False),
    "dark_hex(board_size=3)": Problem("dark_hex(board_size=3)", enumerated=False),
    "connect_four": Problem("connect_four", enumerated=False),
}
_PROBLEMS = flags.DEFINE_list("problems", None, "Problems whose names begin like any of these; all if not given.")
_RUNS = flags.DEFINE_integer("runs", 5, "Runs of each responder.", lower_bound=1)
_EPISODES = flags.DEFINE_list(
    "episodes", None, "Episodes after which responses are evaluated; those of the problem if not given."
)
_SECONDS = flags.DEFINE_float("seconds", 10.0, "Processor time after which they are evaluated.", lower_bound=0.0)
_MEASURED = flags.DEFINE_integer("measured", 2_000, "Fresh episodes to evaluate a response.", lower_bound=2)
_ALGORITHMS = sweep_flags.define_choice("algorithms", tuple(RESPONDERS), "Responders")
flags.adopt_module_key_flags(sweep_flags)


def can_respond(problem: Problem, name: str) -> bool:
    """Whether the responder can play the game."""
    if name in NOT_GROWN:
        return problem.enumerated
    return name not in SEARCH or problem.game in ("leduc", "connect_four")  # the others cannot resample


def runs_of(problem: Problem, name: str) -> list[Configuration]:
    marks = [int(each) for each in _EPISODES.value] if _EPISODES.value else list(problem.marks)
    how = dataclasses.asdict(Valuation(problem.enumerated, _MEASURED.value, marks))
    constants = settings.constants(problem.game, PLAYER, name) if name in LEARNERS else {}
    return [
        configuration(
            "responding",
            problem.game,
            PLAYER,
            name,
            constants | RESPONDERS[name] | how,
            seed,
            max(marks),
            opponent=problem.opponent,
            iterations=problem.iterations,
            seconds=_SECONDS.value,
        )
        for seed in range(_RUNS.value)
        if can_respond(problem, name)
    ]


def table(results: dict[str, list[Result[Responding]]], mark: str, title: str) -> str | None:
    """One row per problem: the mean over the runs, and its standard error; the largest mean is bold."""
    rows = []
    for name, found in results.items():
        values = collections.defaultdict(list)
        for each in found:
            if mark in each.outcome.values:
                values[each.configuration.algorithm].append(each.outcome.values[mark].mean)
        if values:
            best = found[0].environment.best_value
            most = max(float(np.mean(each)) for each in values.values())
            cells = [_cell(values.get(algorithm), most) for algorithm in _ALGORITHMS.value]
            rows.append([name, "" if best is None else f"{best:.3f}", *cells])
    return markdown([title, "best", *map(label, _ALGORITHMS.value)], rows) if rows else None


def _cell(values: list[float] | None, most: float) -> str:
    if not values:
        return "—"
    mean = f"{np.mean(values):.3f}"
    error = f" ± {standard_error(np.array(values)):.3f}" if len(values) > 1 else ""
    return (f"**{mean}**" if np.mean(values) == most else mean) + error


def main() -> None:
    logging.set_verbosity(logging.WARNING)
    wanted = {
        name: [each for algorithm in _ALGORITHMS.value for each in runs_of(problem, algorithm)]
        for name, problem in sweep_flags.named_like(PROBLEMS, _PROBLEMS.value).items()
    }
    every = [each for of in wanted.values() for each in of]
    if not flags.FLAGS.stored and any(each.algorithm in IN_TORCH for each in every):
        dqn_in_torch()  # says at once what to install
    found = {each.configuration.key: each for each in sweep_flags.carry_out(every, responding.perform)}
    results = {name: [found[each.key] for each in of if each.key in found] for name, of in wanted.items()}
    marks = sorted({int(mark) for each in found.values() for mark in each.outcome.values if mark != "seconds"})
    for mark in marks:
        print(table(results, str(mark), f"after {mark:,} episodes"), end="\n\n")
    print(table(results, "seconds", f"after {_SECONDS.value:g} s of processor time"))


if __name__ == "__main__":
    run_binary(main)
