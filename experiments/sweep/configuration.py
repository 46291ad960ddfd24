"""What a run is asked to be, as data in JSON: everything that its result depends on but the code."""

import functools
import inspect
import json

import numpy as np

import tmdp_spiel as ts
from tmdp_spiel.algorithms import hyper_parameters as learners_own
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.spiel.enumerations import enumeration_of
from tmdp_spiel.spiel.equilibrium import DEFAULT_ITERATIONS

_DECADES = 4


def configuration(
    experiment: str,
    game: str,
    player: int,
    algorithm: str,
    hyper_parameters: dict,
    seed: int,
    episodes: int | None = None,
    *,
    opponent: str = "cfr+",
    iterations: int = DEFAULT_ITERATIONS,
    per_decade: int = 10,
    seconds: float | None = None,
) -> dict:
    """Hyper-parameters that are not given stand at their defaults.

    experiment: "learning", so many episodes measured on the way; "stopping", as many as it takes, or `episodes` at
    most; "limit", no episodes but the asymptotic reference; or what the binary that carries it out calls it.
    opponent: "cfr+", solved in so many iterations unless the game ships an equilibrium, or "uniform". per_decade: how
    often a run is measured while its episodes grow tenfold. seconds: the longest that it may take, if not as long as
    it takes.
    """
    if opponent == "cfr+" and _ships_equilibrium(game):
        opponent = "shipped"
    return {
        "experiment": experiment,
        "game": game,
        "player": player,
        "opponent": opponent,
        "iterations": iterations if opponent == "cfr+" else None,
        "algorithm": algorithm,
        "hyper_parameters": default_hyper_parameters(algorithm) | hyper_parameters,
        "episodes": episodes,
        "seconds": seconds,
        "measured_per_decade": per_decade,
        "seed": seed,
    }


def key(configuration: dict) -> str:
    """The same for equal configurations, also after a journey through JSON."""
    return json.dumps(configuration, sort_keys=True)


def kind(configuration: dict) -> str:
    """The same for runs that differ in the seed alone."""
    return key({**configuration, "seed": None})


def measured_at(configuration: dict) -> list[int]:
    """The episodes to measure at: the last decades, evenly spaced in the logarithm."""
    episodes = configuration["episodes"]
    number = _DECADES * configuration["measured_per_decade"] + 1
    spaced = np.geomspace(max(1, episodes / 10**_DECADES), episodes, number)
    return np.unique(np.rint(spaced).astype(int)).tolist()


def hyper_parameters_of(algorithm: str) -> dict[str, learners_own.HyperParameter]:
    """Those of the learner of that name; none of what is not in the catalogue."""
    return learners_own.hyper_parameters_of(catalogue()[algorithm]) if algorithm in catalogue() else {}


def default_hyper_parameters(algorithm: str) -> dict:
    parameters = hyper_parameters_of(algorithm)
    return {name: each.default for name, each in parameters.items() if each.default is not inspect.Parameter.empty}


@functools.cache
def _ships_equilibrium(game: str) -> bool:
    loaded = ts.load_game(game)
    return enumeration_of(loaded).equilibrium(loaded) is not None
