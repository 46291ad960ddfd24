"""Compares learners with each other and with OpenSpiel's solvers, on many problems or on one.

    python -m experiments.compare --runs=5
    python -m experiments.compare --problems=kuhn --algorithms=ThompsonTree,UCT --episodes=10000
    python -m experiments.compare --game=leduc --player=0 --algorithms=UCBT,UCT,OpenSpielOutcomeSampling

Without --game: a table of value gaps that ranks the default learner among the others, on games that were not used for
its tuning. A problem is a game, a player, and fixed opponents. With --game: tables of value gap, regret and speed on
that game, and a figure of value gap against episodes.

The constants are the paper's if there are any, otherwise the learners' defaults; --set UCBT.c=0.5 sets another value.
OpenSpiel's solvers are used unmodified; tmdp_spiel.openspiel.solvers explains what counts as one of their episodes.
With `pip install 'tmdp-spiel[torch]'`, OpenSpielDQN and OpenSpielDQNAdam can be named among the algorithms. Every run
is saved when it ends; if the command is started again, it continues with the missing runs.
"""

import pathlib

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from absl import app, flags, logging

import tmdp_spiel as ts
from experiments.paper import settings
from experiments.sweep import curves, flags as sweep_flags, set_flag
from experiments.sweep.binary import run_binary
from experiments.sweep.configuration import PROBLEMS, Configuration, Problem, configuration
from experiments.sweep.drawing import draw_curves, save, styles_of
from experiments.sweep.result import Learning, Result
from experiments.sweep.tables import as_path, label, markdown, mean_and_error
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.core import plotting
from tmdp_spiel.openspiel.opponents.fixed import check_player
from tmdp_spiel.openspiel.solvers import AGENTS, ALL_SOLVERS, SOLVERS

DEFAULT = "ThompsonTree"
OTHERS = ("UCT", "UCBT", "MVP", "OutcomeSamplingMCCFR", "PSRL", "BettingUCRL", "OpenSpielQLearner")
_CONSTANTS = {"PSRL": {"lazy": True}}
_FAMILIES = {
    "policies as arms": ("UCBT", "LUCBT", "LUCBTUniform", "LUCB"),
    "a bandit or regrets at every state": ("UCT", "OutcomeSamplingMCCFR", "OPF"),
    "to identify or certify": ("BettingUCRL", "CertifiedUCRL", "BettingOnDifferences", "BPIUCRL", "MDPGapE"),
    "a model, for low regret": ("MVP", "StrongEuler", "AMB", "PSRL"),
    "OpenSpiel's solvers": tuple(SOLVERS),
}
_REFERENCE = "UCBT"  # drawn in every panel

_PROBLEMS = flags.DEFINE_list("problems", None, "Problems whose names begin like any of these; all if not given.")
_GAME = flags.DEFINE_string("game", None, "One game instead: kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "With --game, the player that learns.", lower_bound=0)
_OPPONENT = flags.DEFINE_enum("opponent", "cfr+", ["cfr+", "uniform"], "With --game, the fixed opponent.")
_EPISODES = flags.DEFINE_integer("episodes", 100_000, "Episodes of each run.", lower_bound=1)
_RUNS = flags.DEFINE_integer(
    "runs", None, "Runs of each algorithm; 5 if not given, with --game 3. Without it, OpenSpiel's agents get one.", 1
)
_SECONDS = flags.DEFINE_float("seconds", 60.0, "The time after which a run ends.", lower_bound=0.0)
_FIRST_SEED = flags.DEFINE_integer("first_seed", 0, "The first seed; those from 1000 on are for tuning.")
_ALGORITHMS = sweep_flags.define_choice(
    "algorithms",
    (*catalogue(), *ALL_SOLVERS),
    f"Learners and OpenSpiel's solvers, if not given {', '.join((DEFAULT, *OTHERS))}, with --game all without torch",
    None,
)
flags.DEFINE_alias("seeds", "runs")
for module in (sweep_flags, set_flag):
    flags.adopt_module_key_flags(module)


def algorithms() -> list[str]:
    return _ALGORITHMS.value or ([DEFAULT, *OTHERS] if _GAME.value is None else [*catalogue(), *SOLVERS])


def runs_of(problem: Problem, algorithm: str, runs: int, constants: dict, per_decade: int) -> list[Configuration]:
    """The configurations of one algorithm on one problem."""
    constants = settings.constants(problem.game, problem.player, algorithm) | constants | set_flag.given(algorithm)
    return [
        configuration(
            "learning",
            problem.game,
            problem.player,
            algorithm,
            constants,
            seed,
            _EPISODES.value,
            opponent=problem.opponent,
            iterations=problem.iterations,
            per_decade=per_decade,
            seconds=_SECONDS.value,
        )
        for seed in range(_FIRST_SEED.value, _FIRST_SEED.value + runs)
    ]


# Many problems ------------------------------------------------------------------------------------------------------


def gaps_after(results: list[Result[Learning]], episodes: int) -> list[float]:
    """The value gap of every run at its last measurement up to the given number of episodes."""
    outcomes = [each.outcome for each in results]
    return [each.value_gap[int(np.searchsorted(each.episode, episodes, side="right")) - 1] for each in outcomes]


def compared(gaps: dict[str, float]) -> tuple[str, float, int]:
    """The best of the others, the default's gap as a multiple of its gap, and the default's rank.

    Ties share the better rank. Gaps below a millionth count as zero, and the ratio of two zeros as 1.
    """
    rounded = {name: gap if gap >= 1e-6 else 0.0 for name, gap in gaps.items()}
    others = {name: gap for name, gap in rounded.items() if name != DEFAULT}
    best = min(others, key=lambda name: others[name])
    ours = rounded[DEFAULT]
    ratio = 1.0 if ours == others[best] else ours / others[best] if others[best] > 0 else float("inf")
    return best, ratio, 1 + sum(gap < ours for gap in others.values())


def rank_table(results: dict[str, dict[str, list[Result[Learning]]]], episodes: int) -> str:
    """One row per problem: the gaps of all algorithms after the given number of episodes, then the comparison."""
    rows, ranks = [], []
    for problem, of_problem in results.items():
        gaps = {name: float(np.mean(gaps_after(runs, episodes))) for name, runs in of_problem.items() if runs}
        if DEFAULT not in gaps or len(gaps) < 2:  # of stored runs, some may be missing
            continue
        best, ratio, rank = compared(gaps)
        ranks.append(rank)
        shown = {name: f"**{gap:.4f}**" if name in (best, DEFAULT) else f"{gap:.4f}" for name, gap in gaps.items()}
        cells = [shown.get(name, "—") for name in of_problem]
        rows.append([problem, *cells, "∞" if ratio == float("inf") else f"{ratio:.2f}", str(rank)])
    rows.append(["mean rank", *[""] * len(algorithms()), "", f"{np.mean(ranks):.1f}" if ranks else "—"])
    return markdown([f"after {episodes:,}", *map(label, algorithms()), "ratio to the best other", "rank"], rows)


def compare_ranks() -> None:
    """The default learner and the others on all problems."""
    if DEFAULT not in algorithms() or len(algorithms()) < 2:
        raise app.UsageError(f"--algorithms: {DEFAULT} is compared with at least one other; --game compares any")
    number = {name: 1 if name in AGENTS else _RUNS.value or 5 for name in algorithms()}  # agents are slow, in Python
    wanted = {
        problem: {name: runs_of(each, name, number[name], _CONSTANTS.get(name, {}), 1) for name in algorithms()}
        for problem, each in sweep_flags.named_like(PROBLEMS, _PROBLEMS.value).items()
    }
    every = [each for of in wanted.values() for runs in of.values() for each in runs]
    sweep_flags.check_hyper_parameters(every)
    found = {each.configuration.key: each for each in sweep_flags.carry_out(every)}
    results = {
        problem: {name: [found[each.key] for each in runs if each.key in found] for name, runs in of.items()}
        for problem, of in wanted.items()
    }
    for episodes in dict.fromkeys((max(1, _EPISODES.value // 10), _EPISODES.value)):
        print(rank_table(results, episodes), end="\n\n")


# One problem --------------------------------------------------------------------------------------------------------


def final_table(results: dict[str, list[Result[Learning]]]) -> str:
    """Means over the runs at their ends."""
    rows = []
    for name, runs in results.items():
        gaps, regrets, episodes = (
            [column[-1] for column in columns]
            for columns in zip(*((each.outcome.value_gap, each.outcome.regret, each.outcome.episode) for each in runs))
        )
        speed = np.mean(episodes) / np.mean([each.timing.measured_after[-1] for each in runs])
        regret = "—" if np.isnan(regrets).any() else mean_and_error(regrets)
        rows.append([label(name), mean_and_error(gaps), regret, f"{np.mean(episodes):,.0f}", f"{speed:,.0f}"])
    return markdown(["algorithm", "value gap", "regret", "episodes", "episodes / s"], rows)


def convergence_table(results: dict[str, list[Result[Learning]]], episodes: int) -> str:
    """The mean value gap at the first measurement after at least this number of episodes; a dash if a run ended."""
    columns = list(dict.fromkeys(max(1, round(episodes / 10**decades)) for decades in (3, 2, 1, 0)))
    rows = [[label(name), *(_gap_after(runs, column) for column in columns)] for name, runs in results.items()]
    return markdown(["value gap after episodes", *(f"{column:,}" for column in columns)], rows)


def _gap_after(runs: list[Result[Learning]], episodes: int) -> str:
    outcomes = [each.outcome for each in runs]
    later = [int(np.searchsorted(each.episode, episodes)) for each in outcomes]
    if any(at == len(each.episode) for at, each in zip(later, outcomes)):
        return "—"
    return mean_and_error([each.value_gap[at] for at, each in zip(later, outcomes)])


@plotting.styled
def draw(found: dict[str, curves.Curve], title: str, path: pathlib.Path) -> pathlib.Path:
    """A panel for each family of algorithms; the default learner is in all panels."""
    others = tuple(name for name in found if not any(name in family for family in _FAMILIES.values()))
    panels = {
        family: [name for name in names if name in found] for family, names in {**_FAMILIES, "others": others}.items()
    }
    panels = {family: names for family, names in panels.items() if names}
    styles = styles_of(set(found))
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(14, 0.6 + 3.8 * rows), sharex=True, sharey=True, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (family, names) in zip(axes.flat, panels.items()):
        shown = names if _REFERENCE in names or _REFERENCE not in found else [_REFERENCE, *names]
        draw_curves(axis, {name: found[name] for name in shown}, styles, highlighted=len(shown))
        axis.set(title=family, ylabel="value gap (utility)")
    figure.suptitle(title)
    return save(figure, path)


def compare_on(game: str) -> None:
    """All chosen algorithms on one game."""
    player = check_player(ts.load_game(game), _PLAYER.value)
    problem, runs = Problem(game, player, _OPPONENT.value, sweep_flags.iterations()), _RUNS.value or 3
    every = [each for name in algorithms() for each in runs_of(problem, name, runs, {}, 10)]
    sweep_flags.check_hyper_parameters(every)
    wanted, _ = sweep_flags.without_refused(every)
    against = wanted[0].opponent if wanted else _OPPONENT.value
    title = f"{game}, player {player} against {against}: up to {_EPISODES.value:,} episodes"
    print(f"{title}, {runs} runs\n", flush=True)
    results = sweep_flags.carry_out(wanted)
    names = dict.fromkeys(each.configuration.algorithm for each in results)
    measured = {name: [each for each in results if each.configuration.algorithm == name] for name in names}
    asked = {name: [each for each in wanted if each.algorithm == name] for name in names}
    print(final_table(measured), convergence_table(measured, _EPISODES.value), sep="\n\n")
    path = pathlib.Path(sweep_flags.output()) / f"compare_{as_path(game)}_player{player}"
    print(f"\nvalue gap against episodes: {draw(curves.of_runs('value_gap', asked, results), title, path)}")


def main() -> None:
    matplotlib.use("Agg")
    logging.set_verbosity(logging.WARNING)  # OpenSpiel announces every environment
    set_flag.check_used(algorithms())
    if _GAME.value is None:
        compare_ranks()
    else:
        compare_on(_GAME.value)


if __name__ == "__main__":
    run_binary(main)
