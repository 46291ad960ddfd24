"""One run of a sweep, in whatever process it happens to be: a configuration in, a result out.

The same configuration gives the same result bit for bit, but for `timing`: episodes are played in pieces of a fixed
size, so that sums of floating-point numbers do not depend on how fast the machine is. Only a limit in seconds makes
the end of a run depend on it.
"""

import functools
import socket
import time

import tmdp_spiel as ts
from experiments.sweep.configuration import measured_at
from experiments.sweep.provenance import code
from tmdp_spiel.algorithms.catalogue import catalogue, find_algorithm
from tmdp_spiel.bounds.reference_limit import reference_limit
from tmdp_spiel.spiel import solvers

_PIECE = 2**14  # episodes between two moments at which a worker can notice that it is not needed any more


def perform(configuration: dict) -> dict:
    """Carries out one run: its configuration, what made it, the environment, the outcome and how long it took."""
    mdp = environment(*problem_of(configuration))
    if configuration["algorithm"] in catalogue():
        warm_up(configuration["algorithm"])
    start = time.perf_counter()
    outcome, timing = _EXPERIMENTS[configuration["experiment"]](configuration, mdp)
    return result(configuration, facts_of(mdp), outcome, {"seconds": time.perf_counter() - start, **timing})


def facts_of(mdp: ts.TreeMDP) -> dict:
    """What the store keeps of an environment; runs are compared only if they met the same fingerprint."""
    return {
        "game_string": mdp.tree.game_string,
        "num_states": mdp.tree.num_states,
        "best_value": float(mdp.to_utility(mdp.scaled_best_value)),
        "fingerprint": mdp.fingerprint,
    }


def result(configuration: dict, facts: dict, outcome: dict, timing: dict) -> dict:
    """The one shape of what the store keeps."""
    timing = {**timing, "ended": time.time(), "host": socket.gethostname()}
    return {"configuration": configuration, "code": code(), "environment": facts, "outcome": outcome, "timing": timing}


def new_learner(configuration: dict, tree: ts.DecisionTree) -> ts.Learner:
    make = find_algorithm(configuration["algorithm"])
    return make(tree, seed=configuration["seed"], **configuration["hyper_parameters"])


def _learn(configuration: dict, mdp: ts.TreeMDP) -> tuple[dict, dict]:
    """The columns of the Trace; a learner that stops before the end plays what it recommends from then on."""
    algorithm, episodes, seed = (configuration[each] for each in ("algorithm", "episodes", "seed"))
    how = {"measure_at": measured_at(configuration), "seconds": configuration["seconds"], "progress": False}
    if algorithm in solvers.ALL_SOLVERS:
        trace = solvers.run(algorithm, _problem(*problem_of(configuration)), episodes, seed=seed, **how)
    else:
        trace = ts.run(new_learner(configuration, mdp.tree), mdp, episodes, piece=_PIECE, play_on=True, **how)
    if trace.interrupted:
        raise KeyboardInterrupt
    columns = {name: getattr(trace, name).tolist() for name in ("episode", "regret", "value_gap", "seconds")}
    return columns, {"measured_after": columns.pop("seconds")}


def _stop(configuration: dict, mdp: ts.TreeMDP) -> tuple[dict, dict]:
    """The episodes until it stopped or was given up, the true gap of its policy, and the width that remained.

    Gap and width are on the [0, 1] scale of epsilon.
    """
    learner = new_learner(configuration, mdp.tree)
    ended = ts.run_until_stopped(learner, mdp, max_episodes=configuration["episodes"], progress=False)
    if ended.interrupted:
        raise KeyboardInterrupt
    gap = max(mdp.scaled_best_value - mdp.scaled_value(ended.plan), 0.0)
    width = None if ended.stopped else remaining_width(learner)
    return {"episodes": ended.episodes, "stopped": ended.stopped, "gap": gap, "width": width}, {}


def _limit(configuration: dict, mdp: ts.TreeMDP) -> tuple[dict, dict]:
    """Between which two numbers of episodes the asymptotic reference lies, and for which answers."""
    return reference_limit(mdp, **configuration["hyper_parameters"])._asdict(), {}


_EXPERIMENTS = {"learning": _learn, "stopping": _stop, "limit": _limit}


def remaining_width(learner: ts.Learner) -> float | None:
    """How far apart its bounds on the best value still are: its own `width`, or that of its bounds at the root."""
    if hasattr(learner, "width"):
        return float(learner.width)
    if hasattr(learner, "upper") and hasattr(learner, "lower"):
        return float(learner.upper[-1] - learner.lower[-1])
    return None


def problem_of(configuration: dict) -> tuple[str, int, str, int | None]:
    """What tells the environments of runs apart."""
    return tuple(configuration[name] for name in ("game", "player", "opponent", "iterations"))


def fixed_opponent(game, opponent: str, iterations: int | None):
    if opponent == "uniform":
        return ts.uniform(game)
    return ts.equilibrium(game) if iterations is None else ts.equilibrium(game, iterations)


@functools.lru_cache(maxsize=2)  # both players of one game: what RBT needs beside its memory-mapped arrays is large
def environment(game: str, player: int, opponent: str, iterations: int | None) -> ts.TreeMDP:
    """The Tree MDP, opened from the cache where there is a file of it."""
    loaded = ts.load_game(game)
    return ts.build_tree(loaded, player, fixed_opponent(loaded, opponent, iterations))


@functools.lru_cache(maxsize=1)
def _problem(game: str, player: int, opponent: str, iterations: int | None) -> solvers.Problem:
    """The same for OpenSpiel's solvers."""
    loaded = ts.load_game(game)
    return solvers.make_problem(loaded, player, fixed_opponent(loaded, opponent, iterations))


@functools.cache
def warm_up(algorithm: str) -> None:
    """Compiles on a small game, so that the time of a run is its own."""
    mdp = environment.__wrapped__("kuhn", 0, "uniform", None)
    ts.run(find_algorithm(algorithm)(mdp.tree), mdp, 10, progress=False)
