"""The flags that say which runs of a sweep, and where and how they are carried out."""

import os
import sys

from absl import app, flags

from experiments.sweep import data, execution, store
from tmdp_spiel import build_decision_tree
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.spiel.equilibrium import DEFAULT_ITERATIONS

_OUTPUT = flags.DEFINE_string("output", "results", "The directory of the results: runs/, figures/ and tables.")
_PROCESSES = flags.DEFINE_integer(
    "processes", os.cpu_count(), "Runs at a time; one on RBT needs up to 3 GiB.", lower_bound=1
)
_SCHEDULER = flags.DEFINE_string(
    "scheduler", None, "The address of a Dask scheduler, tcp://...; instead of --processes."
)
_USE_PROGRESS = flags.DEFINE_bool("use_progress", True, "A bar for the sweep, on a terminal.")
_MIX_CODE = flags.DEFINE_bool(
    "mix_code", False, "Average runs even if they were made by different versions of the code."
)
_ITERATIONS = flags.DEFINE_integer(
    "iterations", DEFAULT_ITERATIONS, "CFR+ iterations of the opponent; the one of RBT ships.", lower_bound=1
)
_SCALE = flags.DEFINE_string(
    "scale", "full", f"How much of it: {', '.join(data.SCALES)}, or a number in (0, 1], the fraction of full."
)
_RUNS = flags.DEFINE_integer(
    "runs", None, "Runs of each setting, with seeds 0, 1, ...; as the scale says if not given.", 1
)


def _parsed_scale(scale: str) -> dict | None:
    if scale in data.SCALES:
        return data.SCALES[scale]
    try:
        fraction = float(scale)
    except ValueError:
        return None
    return data.scaled(fraction) if 0 < fraction <= 1 else None


flags.register_validator(
    "scale", lambda scale: _parsed_scale(scale) is not None, f"choose {', '.join(data.SCALES)}, or a number in (0, 1]"
)
flags.register_validator(
    "scheduler", lambda address: address is None or "://" in address, "an address looks like tcp://localhost:8786"
)


def define_choice(name: str, options: tuple[str, ...], help_text: str) -> flags.FlagHolder:
    """A list flag whose values come from the options; all of them if not given."""
    holder = flags.DEFINE_list(name, list(options), f"{help_text}: any of {', '.join(options)}.")
    flags.register_validator(
        name, lambda chosen: bool(chosen) and set(chosen) <= set(options), f"choose from {', '.join(options)}"
    )
    return holder


def size(game: str) -> dict:
    """How many runs of how many episodes the flags ask for on that game; kuhn stands for kuhn5 as well."""
    chosen = dict(_parsed_scale(_SCALE.value)["kuhn" if game == "kuhn5" else game])
    if _RUNS.value is not None:
        chosen["runs"] = _RUNS.value
    return chosen


def iterations() -> int:
    return _ITERATIONS.value


def output() -> str:
    return _OUTPUT.value


def results() -> store.Store:
    return store.Store(os.path.join(_OUTPUT.value, "runs"))


def stored(configurations: list[dict]) -> list[dict]:
    """The results that are in the store already."""
    found = results().find_all(configurations)
    _warn(found)
    return found


def carry_out(configurations: list[dict]) -> list[dict]:
    """The results of all configurations; what is not in the store is run now."""
    done = execution.carry_out(
        configurations,
        results(),
        processes=_PROCESSES.value,
        scheduler=_SCHEDULER.value,
        use_progress=_USE_PROGRESS.value,
        mix_code=_MIX_CODE.value,
    )
    _warn(done)
    return done


def _warn(found: list[dict]) -> None:
    for warning in store.check_comparable(found, _MIX_CODE.value):
        print(f"note: {warning}", file=sys.stderr)


def check_hyper_parameters(configurations: list[dict]) -> None:
    """Refuses values that an algorithm does not take, before anything is run."""
    tree = build_decision_tree("kuhn", 0)
    for algorithm, chosen in {(each["algorithm"], tuple(each["hyper_parameters"].items())) for each in configurations}:
        try:
            find_algorithm(algorithm)(tree, **dict(chosen))
        except ValueError as error:
            raise app.UsageError(f"{algorithm}: {error}; see the flags --{algorithm}_...") from None


def run_binary(main) -> None:
    """Runs a binary's main; mistakes in flags and stored results, and interruptions, end it with a message."""

    def guarded(argv):
        if len(argv) > 1:
            raise app.UsageError(f"unknown arguments: {argv[1:]}")
        try:
            main()
        except (store.RefusedResult, execution.SweepStopped) as error:
            sys.exit(f"error: {error}")

    app.run(guarded)
