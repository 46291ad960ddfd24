"""The flags of the paper's experiments: their scale, and which learning curves and stopping times to run."""

import dataclasses
import sys

from absl import flags

from experiments.paper import settings
from experiments.sweep import flags as sweep_flags, set_flag
from experiments.sweep.configuration import Configuration, configuration, hyper_parameters_of
from experiments.sweep.result import Measure
from experiments.sweep.tables import PLAYERS
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.openspiel.games import GAME_STRINGS

_SCALE = flags.DEFINE_string(
    "scale", "full", f"The scale: {', '.join(settings.SCALES)}, or a number in (0, 1], the fraction of full."
)
_RUNS = flags.DEFINE_integer(
    "runs", None, "Runs of each setting, with seeds 0, 1, ...; as for the scale if not given.", 1
)


def _parsed_scale(scale: str) -> settings.Scale | None:
    if scale in settings.SCALES:
        return settings.SCALES[scale]
    try:
        fraction = float(scale)
    except ValueError:
        return None
    return settings.scaled(fraction) if 0 < fraction <= 1 else None


flags.register_validator(
    "scale",
    lambda scale: _parsed_scale(scale) is not None,
    f"choose {', '.join(settings.SCALES)}, or a number in (0, 1]",
)


def _scale() -> settings.Scale:
    scale = _parsed_scale(_SCALE.value)
    assert scale is not None, "the validator has refused it"
    return scale


# Learning curves ----------------------------------------------------------------------------------------------------

_GAMES = sweep_flags.define_choice("games", tuple(settings.LEFT_OUT), "Games of the learning curves")
_PLAYERS = sweep_flags.define_choice("players", PLAYERS, "Learning players")
_EPISODES = flags.DEFINE_integer(
    "episodes", None, "Episodes of each learning curve; as for the scale if not given.", lower_bound=1
)
_ALGORITHMS = sweep_flags.define_choice(
    "algorithms", tuple(catalogue()), "Learners of the curves; those of each panel if not given", None
)


@dataclasses.dataclass(frozen=True)
class PanelRuns:
    """A panel and the configurations of each of its algorithms."""

    panel: settings.Panel
    runs: dict[str, list[Configuration]]


def panels(measures: set[Measure]) -> list[PanelRuns]:
    """The panels selected by the flags; prints what is left out, and why."""
    chosen: list[PanelRuns] = []
    left_out: dict[tuple[str, str], str] = {}
    for panel in settings.PANELS:
        if panel.game not in _GAMES.value or PLAYERS[panel.player] not in _PLAYERS.value:
            continue
        if panel.measure not in measures:
            continue
        names = _ALGORITHMS.value or panel.algorithms
        if _ALGORITHMS.value is None:
            reasons = settings.LEFT_OUT[panel.game]
            left_out |= {(panel.game, name): reason for name, reason in reasons.items() if name in names}
            names = [name for name in names if name not in reasons]
        chosen.append(PanelRuns(panel, {name: _runs(panel.game, panel.player, name) for name in names}))
    for (game, algorithm), reason in left_out.items():
        print(f"left out on {game}: {algorithm}, because {reason}; --algorithms={algorithm} runs it", file=sys.stderr)
    set_flag.check_used(dict.fromkeys(name for each in chosen for name in each.runs))
    sweep_flags.check_hyper_parameters(configurations(chosen))
    return chosen


def configurations(chosen: list[PanelRuns]) -> list[Configuration]:
    """All runs of the panels. A run in several panels occurs once for each."""
    return [each for panel in chosen for runs in panel.runs.values() for each in runs]


def _runs(game: str, player: int, algorithm: str) -> list[Configuration]:
    size, first = _scale().curves[game], settings.FIRST_SEED.get(algorithm, 0)
    return [
        configuration(
            "learning",
            game,
            player,
            algorithm,
            settings.constants(game, player, algorithm) | set_flag.given(algorithm),
            seed,
            _EPISODES.value or size.episodes,
            iterations=sweep_flags.iterations(),
            per_decade=settings.PER_DECADE.get(game, 10),
        )
        for seed in range(first, first + (_RUNS.value or size.runs))
    ]


# Stopping times -----------------------------------------------------------------------------------------------------

_CAN_STOP = tuple(
    name
    for name, learner in catalogue().items()
    if learner.stopped is not Learner.stopped and {"epsilon", "delta"} <= hyper_parameters_of(name).keys()
)
_STOPPING_ALGORITHMS = sweep_flags.define_choice(
    "stopping_algorithms", _CAN_STOP, "Learners with a stopping rule", settings.STOPPING_ALGORITHMS
)
_STOPPING_GAMES = sweep_flags.define_choice(
    "stopping_games", tuple(GAME_STRINGS), "Games of the stopping times; as for the scale if not given", None
)
_UNIONS = sweep_flags.define_choice(
    "unions", (*settings.UNIONS, settings.BEST_UNION), "Union bounds of the learners that have a choice"
)
_TOLERANCES = flags.DEFINE_list("tolerances", None, "Values of epsilon = delta; as for the scale if not given.")
_GIVE_UP_AFTER = flags.DEFINE_integer(
    "give_up_after",
    None,
    "Episodes after which any run is given up, as noted in its row; if not given, only runs that would take hours are.",
    1,
)
_REFERENCE = flags.DEFINE_bool("reference", True, "Show the asymptotic reference as a row, if it can be computed.")


def _are_tolerances(chosen) -> bool:
    try:
        return chosen is None or all(0 < float(each) < 1 for each in chosen)
    except ValueError:
        return False


flags.register_validator("tolerances", _are_tolerances, "each must be a number strictly between 0 and 1")


def stopping() -> tuple[list[Configuration], list[Configuration]]:
    """Every run, once per union if the learner has a choice, and the reference: those to do, and those refused."""
    size = _scale().stopping
    tolerances = size.tolerances if _TOLERANCES.value is None else [float(each) for each in _TOLERANCES.value]
    problems = [
        (game, player, {"epsilon": tolerance, "delta": tolerance})
        for game in _STOPPING_GAMES.value or size.games
        for player in range(len(PLAYERS))
        for tolerance in tolerances
    ]
    runs = [
        configuration(
            "stopping",
            game,
            player,
            algorithm,
            {**tolerance, **union},
            seed,
            _GIVE_UP_AFTER.value or settings.GIVE_UP_AFTER.get((game, algorithm)),
            iterations=sweep_flags.iterations(),
        )
        for game, player, tolerance in problems
        for algorithm in _STOPPING_ALGORITHMS.value
        for union in _unions(algorithm, game)
        for seed in range(_RUNS.value or size.runs)
    ]
    limits = [
        configuration("limit", game, player, "ReferenceLimit", tolerance, 0, iterations=sweep_flags.iterations())
        for game, player, tolerance in problems
        if _REFERENCE.value and game in settings.STOPPING_GAMES and tolerance["delta"] < 0.5
    ]
    return sweep_flags.without_refused([*runs, *limits])


def _unions(algorithm: str, game: str) -> list[dict[str, str]]:
    """The unions as settings: the printed one only if the paper has figures, unless it is the only one selected."""
    if "union" not in hyper_parameters_of(algorithm):
        return [{}]
    chosen = [each for each in _UNIONS.value if each != "paper" or game in settings.GAMES_OF_THE_PAPER]
    if algorithm != "LUCBT":
        chosen = [each for each in chosen if each != settings.BEST_UNION]
    return [{"union": each} for each in chosen or _UNIONS.value]
