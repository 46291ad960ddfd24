"""One run of a sweep, in whatever process it happens to be: a configuration in, a result out.

The same configuration gives the same result bit for bit, but for `timing`: episodes are played in pieces of a fixed
size, so that sums of floating-point numbers do not depend on how fast the machine is.
"""

import functools
import hashlib
import importlib.metadata
import inspect
import json
import pathlib
import platform
import socket
import subprocess
import time

import numpy as np

import tmdp_spiel as ts
from tmdp_spiel.algorithms import hyper_parameters as parameters
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.spiel.equilibrium import DEFAULT_ITERATIONS

_PIECE = 2**14  # episodes between two moments at which a worker can notice that it is not needed any more
_DECADES = 4
_PACKAGES = ("tmdp-spiel", "open_spiel", "numpy", "numba")


def configuration(
    experiment: str,
    game: str,
    player: int,
    algorithm: str,
    hyper_parameters: dict,
    seed: int,
    episodes: int | None = None,
    *,
    iterations: int = DEFAULT_ITERATIONS,
) -> dict:
    """Everything that a result depends on but the code. Hyper-parameters that are not given stand at their defaults.

    experiment: "learning", so many episodes measured on the way, or "stopping", as many as it takes. iterations: of
    CFR+, for the opponent; the one of RBT ships.
    """
    return {
        "experiment": experiment,
        "game": game,
        "player": player,
        "opponent": "shipped" if game == "rbt" else f"CFR+ after {iterations} iterations",
        "iterations": None if game == "rbt" else iterations,
        "algorithm": algorithm,
        "hyper_parameters": default_hyper_parameters(algorithm) | hyper_parameters,
        "episodes": episodes,
        "checkpoints_per_decade": 5 if game == "rbt" else 10,
        "seed": seed,
    }


def key(configuration: dict) -> str:
    """The same for equal configurations, also after a journey through JSON."""
    return json.dumps(configuration, sort_keys=True)


def kind(configuration: dict) -> str:
    """The same for runs that differ in the seed alone."""
    return key({**configuration, "seed": None})


def hyper_parameters_of(algorithm: str) -> dict[str, parameters.HyperParameter]:
    """The hyper-parameters of the algorithm of that name."""
    return parameters.hyper_parameters_of(find_algorithm(algorithm))


def default_hyper_parameters(algorithm: str) -> dict:
    return {name: each.default for name, each in hyper_parameters_of(algorithm).items()}


def perform(configuration: dict) -> dict:
    """Carries out one run: its configuration, what made it, the environment, the outcome and how long it took."""
    began = time.time()
    mdp, facts = environment(configuration["game"], configuration["player"], configuration["iterations"])
    make = find_algorithm(configuration["algorithm"])
    learner = make(mdp.tree, seed=configuration["seed"], **configuration["hyper_parameters"])
    start = time.perf_counter()
    if configuration["experiment"] == "learning":
        outcome = learn(learner, mdp, checkpoints(configuration["episodes"], configuration["checkpoints_per_decade"]))
    else:
        outcome = learn_until_stopped(learner, mdp)
    return {
        "configuration": configuration,
        "code": code(),
        "environment": facts,
        "outcome": outcome,
        "timing": {"seconds": time.perf_counter() - start, "began": began, "host": socket.gethostname()},
    }


def learn(learner: ts.Learner, mdp: ts.TreeMDP, measured_at: list[int]) -> dict:
    """Exact regret and value gap at those episodes, in the game's utility units.

    A learner that stops before the end plays what it recommends from then on.
    """
    trace = ts.run(learner, mdp, measured_at[-1], measure_at=measured_at, piece=_PIECE, play_on=True, progress=False)
    if trace.interrupted:
        raise KeyboardInterrupt
    return {name: getattr(trace, name).tolist() for name in ("episode", "regret", "value_gap")}


def checkpoints(episodes: int, per_decade: int) -> list[int]:
    """The episodes to measure at: the last decades, evenly spaced in the logarithm. On RBT measuring takes a second."""
    spaced = np.geomspace(max(1, episodes / 10**_DECADES), episodes, _DECADES * per_decade + 1)
    return np.unique(np.rint(spaced).astype(int)).tolist()


def learn_until_stopped(learner: ts.Learner, mdp: ts.TreeMDP) -> dict:
    """The episodes that it took, and the true gap of the policy on the [0, 1] scale that epsilon is on."""
    result = ts.run_until_stopped(learner, mdp, progress=False)
    if result.interrupted:
        raise KeyboardInterrupt
    gap = max(mdp.scaled_best_value - mdp.scaled_value(result.plan), 0.0)
    return {"episodes": result.episodes, "gap": gap}


@functools.lru_cache(maxsize=2)  # both players of one game: what RBT needs beside its memory-mapped arrays is large
def environment(game: str, player: int, iterations: int | None) -> tuple[ts.TreeMDP, dict]:
    """The Tree MDP, opened from the cache where there is a file of it, and what tells it apart from others."""
    loaded = ts.load_game(game)
    opponent = ts.equilibrium(loaded) if iterations is None else ts.equilibrium(loaded, iterations)
    mdp = ts.build_tree(loaded, player, opponent)
    digest = hashlib.sha256(str(loaded).encode())
    for array in (mdp.reach, mdp.outcome_return, mdp.outcome_probability):
        digest.update(array)
    facts = {
        "game_string": str(loaded),
        "num_states": mdp.tree.num_states,
        "best_value": float(mdp.to_utility(mdp.scaled_best_value)),
        "sha256": digest.hexdigest(),
    }
    return mdp, facts


@functools.cache
def code() -> dict:
    """The versions of all that computes, the revision of the checkout, and a digest of the source files."""
    library = pathlib.Path(ts.__file__).parent
    games = pathlib.Path(inspect.getfile(ts.games)).parent
    digest = hashlib.sha256(pathlib.Path(__file__).read_bytes())
    for directory in (library, library / "algorithms", games):
        for path in sorted(directory.glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return {
        "source": digest.hexdigest()[:16],
        "git_revision": _git_revision(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def _git_revision() -> str:
    def git(*arguments):
        command = ["git", "-C", str(pathlib.Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("-modified" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
