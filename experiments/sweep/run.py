"""One run of a sweep, in any process: from a configuration to a result.

The same configuration gives a bit-identical result, except for `timing`: episodes are played in pieces of a fixed size,
so that sums of floating-point numbers do not depend on the speed of the machine. Only a limit in seconds makes the end
of a run depend on it.
"""

import functools
import time
import typing

import tmdp_spiel as ts
from experiments.sweep.configuration import Configuration, Problem, measured_at
from experiments.sweep.result import Environment, Learning, Limit, Result, Stopping
from tmdp_spiel.algorithms.catalogue import catalogue, find_algorithm
from tmdp_spiel.bounds.characteristic_time.limit import asymptotic_sample_complexity
from tmdp_spiel.openspiel import solvers

# What the stored runs met on games that ship a better equilibrium now: an earlier one, by its iterations.
_STORED_RUNS_MET = {"rbt": 200}
_PIECE = 2**14  # episodes between two checks of whether a worker is still needed


def perform(configuration: Configuration) -> Result:
    """Executes one run."""
    mdp = environment(configuration.problem)
    if configuration.algorithm in catalogue():
        compile_ahead(configuration.algorithm)
    start = time.perf_counter()
    outcome, measured_after = _EXPERIMENTS[configuration.experiment](configuration, mdp)
    seconds = time.perf_counter() - start
    return Result.of(configuration, facts_of(mdp), outcome, seconds, measured_after=measured_after)


def facts_of(mdp: ts.TreeMDP) -> Environment:
    """The description of an environment for the store."""
    best_value = float(mdp.to_utility(mdp.scaled_best_value))
    return Environment(mdp.tree.game_string, best_value, mdp.fingerprint, mdp.tree.num_states)


def new_learner(configuration: Configuration, tree: ts.InfostateTree) -> ts.Learner:
    make = find_algorithm(configuration.algorithm)
    return make(tree, seed=configuration.seed, **configuration.hyper_parameters)


def _learn(configuration: Configuration, mdp: ts.TreeMDP) -> tuple[Learning, list[float]]:
    """The columns of the Trace; a learner that stops before the end plays its recommendation from then on."""
    algorithm, episodes = configuration.algorithm, configuration.episodes
    if episodes is None:
        raise ValueError("a learning curve needs a number of episodes")
    measure_at = measured_at(episodes, configuration.measured_per_decade)
    how: dict[str, typing.Any] = {"measure_at": measure_at, "seconds": configuration.seconds, "progress": False}
    if algorithm in solvers.ALL_SOLVERS:
        trace = solvers.run(algorithm, _problem(configuration.problem), episodes, seed=configuration.seed, **how)
    else:
        trace = ts.run(new_learner(configuration, mdp.tree), mdp, episodes, piece=_PIECE, play_on=True, **how)
    if trace.interrupted:
        raise KeyboardInterrupt
    outcome = Learning(trace.episode.tolist(), trace.regret.tolist(), trace.value_gap.tolist())
    return outcome, trace.seconds.tolist()


def _stop(configuration: Configuration, mdp: ts.TreeMDP) -> tuple[Stopping, list[float]]:
    learner = new_learner(configuration, mdp.tree)
    ended = ts.run_until_stopped(learner, mdp, max_episodes=configuration.episodes, progress=False)
    if ended.interrupted:
        raise KeyboardInterrupt
    gap = max(mdp.scaled_best_value - mdp.scaled_value(ended.plan), 0.0)
    width = None if ended.stopped else remaining_width(learner)
    return Stopping(ended.episodes, ended.stopped, gap, width), []


def _limit(configuration: Configuration, mdp: ts.TreeMDP) -> tuple[Limit, list[float]]:
    return Limit(**asymptotic_sample_complexity(mdp, **configuration.hyper_parameters)._asdict()), []


_EXPERIMENTS: dict = {"learning": _learn, "stopping": _stop, "limit": _limit}


def remaining_width(learner: ts.Learner) -> float | None:
    """The distance between the learner's bounds on the best value: its `width`, or that of its bounds at the root."""
    if hasattr(learner, "width"):
        return float(learner.width)
    if hasattr(learner, "upper") and hasattr(learner, "lower"):
        return float(learner.upper[learner.tree.root] - learner.lower[learner.tree.root])
    return None


def fixed_opponent(game, problem: Problem):
    if problem.opponent == "uniform":
        return ts.uniform(game)
    iterations = _STORED_RUNS_MET.get(problem.game) if problem.iterations is None else problem.iterations
    return ts.equilibrium(game) if iterations is None else ts.equilibrium(game, iterations)


@functools.lru_cache(maxsize=2)  # both players of one game: what RBT needs beside its memory-mapped arrays is large
def environment(problem: Problem) -> ts.TreeMDP:
    """The Tree MDP, opened from the cache if there is a file of it."""
    game = ts.load_game(problem.game)
    return ts.build_tree(game, problem.player, fixed_opponent(game, problem))


@functools.lru_cache(maxsize=1)
def _problem(problem: Problem) -> solvers.Problem:
    """The same for OpenSpiel's solvers."""
    game = ts.load_game(problem.game)
    return solvers.make_problem(game, problem.player, fixed_opponent(game, problem))


@functools.cache
def compile_ahead(algorithm: str) -> None:
    """Compiles on a small game, so that the time of a run is its own."""
    mdp = environment.__wrapped__(Problem("kuhn", 0, "uniform", None))
    ts.run(find_algorithm(algorithm)(mdp.tree, seed=0), mdp, 10, progress=False)
