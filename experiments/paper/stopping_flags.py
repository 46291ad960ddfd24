"""The flags of the stopping times: the paper's Tables 1 and 2, and whatever else can stop."""

from absl import flags

from experiments.paper import scale_flags, settings
from experiments.sweep import flags as sweep_flags
from experiments.sweep.configuration import configuration, hyper_parameters_of
from experiments.sweep.names import PLAYERS
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.spiel.load_game import GAME_STRINGS

_CAN_STOP = tuple(
    name
    for name, learner in catalogue().items()
    if learner.stopped is not Learner.stopped and {"epsilon", "delta"} <= hyper_parameters_of(name).keys()
)
_ALGORITHMS = sweep_flags.define_choice(
    "stopping_algorithms", _CAN_STOP, "Learners that stop", settings.STOPPING_ALGORITHMS
)
_GAMES = sweep_flags.define_choice(
    "stopping_games", tuple(GAME_STRINGS), "Games with stopping times", settings.STOPPING_GAMES
)
_UNIONS = sweep_flags.define_choice("unions", settings.UNIONS, "Union bounds of the learners that have a choice")
_TOLERANCES = flags.DEFINE_list("tolerances", None, "Values of epsilon = delta; as the scale says if not given.")
_LIMIT = flags.DEFINE_integer(
    "give_up_after", None, "Episodes after which a run is given up, its row says so; never if not given.", 1
)
flags.DEFINE_alias("kuhn_games", "stopping_games")


def _are_tolerances(chosen) -> bool:
    try:
        return chosen is None or all(0 < float(each) < 1 for each in chosen)
    except ValueError:
        return False


flags.register_validator("tolerances", _are_tolerances, "each must be a number strictly between 0 and 1")


def configurations() -> list[dict]:
    """Every run that the learner takes on: once per union where it has a choice."""
    size = scale_flags.size("stopping")
    tolerances = size["tolerances"] if _TOLERANCES.value is None else [float(each) for each in _TOLERANCES.value]
    wanted = [
        configuration(
            "stopping",
            game,
            player,
            algorithm,
            {"epsilon": tolerance, "delta": tolerance, **union},
            seed,
            _LIMIT.value,
            iterations=sweep_flags.iterations(),
        )
        for game in _GAMES.value
        for player in range(len(PLAYERS))
        for algorithm in _ALGORITHMS.value
        for union in ([{"union": each} for each in _UNIONS.value] if _has_union(algorithm) else [{}])
        for tolerance in tolerances
        for seed in range(size["runs"])
    ]
    return sweep_flags.without_refused(wanted)


def _has_union(algorithm: str) -> bool:
    return "union" in hyper_parameters_of(algorithm)
