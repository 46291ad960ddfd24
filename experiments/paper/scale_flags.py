"""The flags that say how much of the paper's experiments: runs of a setting, and episodes of a run."""

from absl import flags

from experiments.paper import settings

_SCALE = flags.DEFINE_string(
    "scale", "full", f"How much of it: {', '.join(settings.SCALES)}, or a number in (0, 1], the fraction of full."
)
_RUNS = flags.DEFINE_integer(
    "runs", None, "Runs of each setting, with seeds 0, 1, ...; as the scale says if not given.", 1
)


def _parsed_scale(scale: str) -> dict | None:
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


def size(name: str) -> dict:
    """What the flags ask for of the curves on a game, or of "stopping"."""
    chosen = dict(_parsed_scale(_SCALE.value)[name])
    return chosen if _RUNS.value is None else {**chosen, "runs": _RUNS.value}
