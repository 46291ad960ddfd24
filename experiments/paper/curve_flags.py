"""The flags of the learning curves: which panels, which algorithms, and how long."""

import sys

from absl import flags

from experiments.paper import scale_flags, settings
from experiments.sweep import flags as sweep_flags, hyper_parameter_flags
from experiments.sweep.configuration import configuration
from experiments.sweep.names import PLAYERS
from tmdp_spiel.algorithms.catalogue import catalogue

_ALL = tuple(catalogue())
_GAMES = sweep_flags.define_choice("games", tuple(settings.LEFT_OUT), "Games")
_PLAYERS = sweep_flags.define_choice("players", PLAYERS, "Players that learn")
_EPISODES = flags.DEFINE_integer(
    "episodes", None, "Episodes of each run; as the scale says if not given.", lower_bound=1
)
_ALGORITHMS = flags.DEFINE_list("algorithms", None, f"Any of {', '.join(_ALL)}; those of each panel if not given.")
flags.register_validator(
    "algorithms",
    lambda chosen: chosen is None or (bool(chosen) and set(chosen) <= set(_ALL)),
    f"choose from {', '.join(_ALL)}",
)


def panels(measure: str | None = None) -> list[dict]:
    """The panels that the flags ask for, with the configurations of each algorithm; says what is left out, and why."""
    chosen, left_out = [], {}
    for panel in settings.PANELS:
        if panel["game"] not in _GAMES.value or PLAYERS[panel["player"]] not in _PLAYERS.value:
            continue
        if measure not in (None, panel["measure"]):
            continue
        names = _ALGORITHMS.value or panel["algorithms"]
        if _ALGORITHMS.value is None:
            left_out |= {
                (panel["game"], name): reason
                for name, reason in settings.LEFT_OUT[panel["game"]].items()
                if name in names
            }
            names = [name for name in names if name not in settings.LEFT_OUT[panel["game"]]]
        chosen.append({**panel, "curves": {name: _runs(panel["game"], panel["player"], name) for name in names}})
    for (game, algorithm), reason in left_out.items():
        print(f"left out on {game}: {algorithm}, because {reason}; --algorithms={algorithm} runs it", file=sys.stderr)
    sweep_flags.check_hyper_parameters(configurations(chosen))
    return chosen


def configurations(chosen: list[dict]) -> list[dict]:
    """All runs of the panels. A run that several panels show occurs once for each."""
    return [each for panel in chosen for runs in panel["curves"].values() for each in runs]


def _runs(game: str, player: int, algorithm: str) -> list[dict]:
    size = scale_flags.size(game)
    hyper_parameters = settings.constants(game, player, algorithm) | hyper_parameter_flags.given(algorithm)
    episodes = _EPISODES.value or size["episodes"]
    how = {"iterations": sweep_flags.iterations(), "per_decade": settings.PER_DECADE.get(game, 10)}
    return [
        configuration("learning", game, player, algorithm, hyper_parameters, seed, episodes, **how)
        for seed in range(size["runs"])
    ]
