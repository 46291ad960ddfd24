"""The configuration of a run: everything that its result depends on, except the code."""

import dataclasses
import functools
import inspect
import json
import typing

import numpy as np

import tmdp_spiel as ts
from experiments.sweep.tables import player_name
from tmdp_spiel.algorithms import learner as learners_own
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.openspiel.equilibrium import DEFAULT_ITERATIONS
from tmdp_spiel.openspiel.games import enumeration_of

_DECADES = 4


@dataclasses.dataclass(frozen=True)
class Problem:
    """A game, the player that learns, and the fixed opponents.

    opponent: "cfr+" after the given number of iterations; "shipped", the game's own equilibrium; or "uniform".
    """

    game: str
    player: int
    opponent: str = "cfr+"
    iterations: int | None = DEFAULT_ITERATIONS


@dataclasses.dataclass(frozen=True)
class Configuration:
    """One run. In JSON, an object of these fields; see `configuration` for what they mean."""

    experiment: str
    game: str
    player: int
    opponent: str
    iterations: int | None
    algorithm: str
    hyper_parameters: dict[str, typing.Any]
    episodes: int | None
    seconds: float | None
    measured_per_decade: int
    seed: int

    @functools.cached_property
    def key(self) -> str:
        """A key that is the same for equal configurations, also after writing and reading JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @functools.cached_property
    def kind(self) -> str:
        """A key that is the same for runs that differ only in the seed."""
        return json.dumps({**dataclasses.asdict(self), "seed": None}, sort_keys=True)

    @property
    def problem(self) -> Problem:
        return Problem(self.game, self.player, self.opponent, self.iterations)

    @property
    def title(self) -> str:
        """The algorithm and the problem, in words."""
        return f"{self.algorithm} on {self.game}, player {player_name(self.player)}"


def configuration(
    experiment: str,
    game: str,
    player: int,
    algorithm: str,
    hyper_parameters: dict[str, typing.Any],
    seed: int,
    episodes: int | None = None,
    *,
    opponent: str = "cfr+",
    iterations: int | None = DEFAULT_ITERATIONS,
    per_decade: int = 10,
    seconds: float | None = None,
) -> Configuration:
    """Makes a configuration; hyper-parameters that are not given have their defaults.

    experiment: one of result.OUTCOMES: "learning", the given number of episodes with measurements; "stopping", until
    the learner stops, or `episodes` at most; "limit", only the asymptotic reference, without episodes; "responding",
    see the benchmarks.
    opponent: "cfr+", solved in the given number of iterations unless the game includes an equilibrium, or "uniform".
    per_decade: the number of measurements per tenfold increase of the episodes. seconds: the time limit, if any.
    """
    if opponent == "cfr+" and _ships_equilibrium(game):
        opponent = "shipped"
    return Configuration(
        experiment=experiment,
        game=game,
        player=player,
        opponent=opponent,
        iterations=iterations if opponent == "cfr+" else None,
        algorithm=algorithm,
        hyper_parameters=default_hyper_parameters(algorithm) | hyper_parameters,
        episodes=episodes,
        seconds=seconds,
        measured_per_decade=per_decade,
        seed=seed,
    )


def measured_at(episodes: int, per_decade: int) -> list[int]:
    """The episodes to measure at: the last decades, evenly spaced in the logarithm."""
    spaced = np.geomspace(max(1, episodes / 10**_DECADES), episodes, _DECADES * per_decade + 1)
    return np.unique(np.rint(spaced).astype(int)).tolist()


def hyper_parameters_of(algorithm: str) -> dict[str, learners_own.HyperParameter]:
    """The hyper-parameters of the learner with this name; none if it is not in the catalogue."""
    return learners_own.hyper_parameters_of(catalogue()[algorithm]) if algorithm in catalogue() else {}


def default_hyper_parameters(algorithm: str) -> dict[str, typing.Any]:
    parameters = hyper_parameters_of(algorithm)
    return {name: each.default for name, each in parameters.items() if each.default is not inspect.Parameter.empty}


@functools.cache
def _ships_equilibrium(game: str) -> bool:
    loaded = ts.load_game(game)
    return enumeration_of(loaded).equilibrium(loaded) is not None


# The further problems on which learners are compared.
_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel("
    "imp_info=True,num_cards=4,points_order=descending,returns_type=point_difference))"
)
_BATTLESHIP = (
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=3,allow_repeated_shots=False)"
)
_SHERIFF = "sheriff(item_penalty=1.0,item_value=5.0,max_bribe=2,max_items=3,num_rounds=1,sheriff_penalty=1.0)"
_DARK_HEX = "dark_hex(board_size=2,obstype=reveal-numturns)"  # states that see the number of moves
PROBLEMS = {
    "kuhn x, equilibrium": Problem("kuhn", 0, "cfr+", 1000),
    "kuhn o, equilibrium": Problem("kuhn", 1, "cfr+", 1000),
    "kuhn5 x, equilibrium": Problem("kuhn5", 0, "cfr+", 1000),
    "kuhn5 o, equilibrium": Problem("kuhn5", 1, "cfr+", 1000),
    "leduc x, weak": Problem("leduc", 0, "cfr+", 10),
    "leduc o, uniform": Problem("leduc", 1, "uniform", None),
    "liar's dice 4 sides x, near equilibrium": Problem("liars_dice(dice_sides=4)", 0, "cfr+", 100),
    "liar's dice 4 sides o, uniform": Problem("liars_dice(dice_sides=4)", 1, "uniform", None),
    "goofspiel 4 x, near equilibrium": Problem(_GOOFSPIEL, 0, "cfr+", 100),
    "battleship x, uniform": Problem(_BATTLESHIP, 0, "uniform", None),
    "battleship o, weak": Problem(_BATTLESHIP, 1, "cfr+", 10),
    "dark hex 2 x, uniform": Problem(_DARK_HEX, 0, "uniform", None),
    "dark hex 2 o, weak": Problem(_DARK_HEX, 1, "cfr+", 10),
    "auction x, uniform": Problem("first_sealed_auction(max_value=10)", 0, "uniform", None),
    "auction o, weak": Problem("first_sealed_auction(max_value=10)", 1, "cfr+", 10),
    "sheriff x, uniform": Problem(_SHERIFF, 0, "uniform", None),
    "sheriff o, uniform": Problem(_SHERIFF, 1, "uniform", None),
    "trade_comm 3 x, uniform": Problem("trade_comm(num_items=3)", 0, "uniform", None),
    "3-player kuhn, first, uniform": Problem("kuhn_poker(players=3)", 0, "uniform", None),
    "3-player kuhn, last, weak": Problem("kuhn_poker(players=3)", 2, "cfr+", 10),
    "3-player leduc, second, uniform": Problem("leduc_poker(players=3)", 1, "uniform", None),
}
