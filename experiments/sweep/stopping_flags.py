"""The flags of the stopping times: the paper's Tables 1 and 2."""

from absl import flags

from experiments.sweep import data, flags as sweep_flags, run

_UNIONS = sweep_flags.define_choice("unions", data.UNIONS, "Union bounds of the tree learners")
_GAMES = sweep_flags.define_choice("kuhn_games", data.STOPPING_GAMES, "Games with stopping times")
_TOLERANCES = flags.DEFINE_list("tolerances", None, "Values of epsilon = delta; as the scale says if not given.")


def _are_tolerances(chosen) -> bool:
    try:
        return chosen is None or all(0 < float(each) < 1 for each in chosen)
    except ValueError:
        return False


flags.register_validator("tolerances", _are_tolerances, "each must be a number strictly between 0 and 1")


def configurations() -> list[dict]:
    """Every run. LUCB has no union bound over counts: it is run once, not once per union."""
    size = sweep_flags.size("kuhn")
    tolerances = size["tolerances"] if _TOLERANCES.value is None else [float(each) for each in _TOLERANCES.value]
    return [
        run.configuration(
            "stopping",
            game,
            player,
            algorithm,
            {"epsilon": tolerance, "delta": tolerance, **union},
            seed,
            iterations=sweep_flags.iterations(),
        )
        for game in _GAMES.value
        for player in range(len(data.PLAYERS))
        for algorithm in data.STOPPING_ALGORITHMS
        for union in ([{}] if algorithm == "LUCB" else [{"union": each} for each in _UNIONS.value])
        for tolerance in tolerances
        for seed in range(size["runs"])
    ]
