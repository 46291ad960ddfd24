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
_GAMES = flags.DEFINE_list("stopping_games", None, f"Any of {', '.join(GAME_STRINGS)}; as the scale says if not given.")
flags.register_validator(
    "stopping_games",
    lambda chosen: chosen is None or (bool(chosen) and set(chosen) <= set(GAME_STRINGS)),
    f"choose from {', '.join(GAME_STRINGS)}",
)
_UNIONS = sweep_flags.define_choice("unions", settings.UNIONS, "Union bounds of the learners that have a choice")
_TOLERANCES = flags.DEFINE_list("tolerances", None, "Values of epsilon = delta; as the scale says if not given.")
_GIVE_UP_AFTER = flags.DEFINE_integer(
    "give_up_after",
    None,
    "Episodes after which any run is given up, its row says so; if not given, only those that would take hours.",
    1,
)
_REFERENCE = flags.DEFINE_bool("reference", True, "The asymptotic reference as a row, where it can be computed.")
flags.DEFINE_alias("kuhn_games", "stopping_games")


def _are_tolerances(chosen) -> bool:
    try:
        return chosen is None or all(0 < float(each) < 1 for each in chosen)
    except ValueError:
        return False


flags.register_validator("tolerances", _are_tolerances, "each must be a number strictly between 0 and 1")


def configurations() -> tuple[list[dict], list[dict]]:
    """Every run, once per union where the learner has a choice, and the reference: what is done, what is refused."""
    size = scale_flags.size("stopping")
    tolerances = size["tolerances"] if _TOLERANCES.value is None else [float(each) for each in _TOLERANCES.value]
    games = _GAMES.value or size["games"]
    runs = [
        configuration(
            "stopping",
            game,
            player,
            algorithm,
            {"epsilon": tolerance, "delta": tolerance, **union},
            seed,
            _GIVE_UP_AFTER.value or settings.GIVE_UP_AFTER.get((game, algorithm)),
            iterations=sweep_flags.iterations(),
        )
        for game in games
        for player in range(len(PLAYERS))
        for algorithm in _ALGORITHMS.value
        for union in _unions(algorithm, game)
        for tolerance in tolerances
        for seed in range(size["runs"])
    ]
    limits = [
        configuration(
            "limit",
            game,
            player,
            "ReferenceLimit",
            {"epsilon": tolerance, "delta": tolerance},
            seed=0,
            iterations=sweep_flags.iterations(),
        )
        for game in games
        for player in range(len(PLAYERS))
        for tolerance in tolerances
        if _REFERENCE.value and game in settings.STOPPING_GAMES and tolerance < 0.5
    ]
    return sweep_flags.without_refused([*runs, *limits])


def _unions(algorithm: str, game: str) -> list[dict]:
    """The unions as settings: the printed one only where the paper has figures, unless no other was asked for."""
    if "union" not in hyper_parameters_of(algorithm):
        return [{}]
    chosen = [each for each in _UNIONS.value if each == "tight" or game in settings.GAMES_OF_THE_PAPER]
    return [{"union": each} for each in chosen or _UNIONS.value]
