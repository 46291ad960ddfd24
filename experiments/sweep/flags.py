"""The flags of every sweep: where its results are, and how its runs are carried out."""

import os
import sys
from collections.abc import Callable, Sequence

from absl import app, flags

from experiments.sweep import execution, run, store
from experiments.sweep.configuration import kind
from experiments.sweep.names import title
from tmdp_spiel import build_decision_tree
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.spiel.equilibrium import DEFAULT_ITERATIONS
from tmdp_spiel.trees import storage

_OUTPUT = flags.DEFINE_string("output", "results", "The directory of the results: runs/, figures/ and tables.")
_ARCHIVES = flags.DEFINE_list(
    "archive", [], "Files of experiments.archive: runs that are in one of them are not done again."
)
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
flags.register_validator(
    "scheduler", lambda address: address is None or "://" in address, "an address looks like tcp://localhost:8786"
)


def define_choice(name: str, options: Sequence[str], text: str, default: Sequence[str] | None = None):
    """A list flag whose values come from the options; all of them if nothing else is the default."""
    holder = flags.DEFINE_list(name, list(default or options), f"{text}: any of {', '.join(options)}.")
    flags.register_validator(
        name, lambda chosen: bool(chosen) and set(chosen) <= set(options), f"choose from {', '.join(options)}"
    )
    return holder


def iterations() -> int:
    return _ITERATIONS.value


def output() -> str:
    return _OUTPUT.value


def results() -> store.Store:
    return store.Store(os.path.join(_OUTPUT.value, "runs"), _ARCHIVES.value)


def stored(configurations: list[dict]) -> list[dict]:
    """The results that are in the store already."""
    found = results().find_all(configurations)
    _warn(found)
    return found


def carry_out(configurations: list[dict], perform: Callable[[dict], dict] = run.perform) -> list[dict]:
    """The results of all configurations; what is not in the store is run now, by perform."""
    storage.check_folder(_OUTPUT.value)
    done = execution.carry_out(
        configurations,
        results(),
        processes=_PROCESSES.value,
        scheduler=_SCHEDULER.value,
        use_progress=_USE_PROGRESS.value,
        mix_code=_MIX_CODE.value,
        perform=perform,
    )
    _warn(done)
    return done


def _warn(found: list[dict]) -> None:
    for warning in store.check_comparable(found, _MIX_CODE.value):
        print(f"note: {warning}", file=sys.stderr)


def check_hyper_parameters(configurations: list[dict]) -> None:
    """Refuses values that an algorithm does not take, before anything is run."""
    tree = build_decision_tree("kuhn", 0)
    for each in {kind(each): each for each in configurations}.values():
        algorithm = each["algorithm"]
        try:
            run.new_learner(each, tree)
        except (ValueError, TypeError) as error:
            raise app.UsageError(f"{algorithm}: {error}; see the flags --{algorithm}_...") from None


def without_refused(configurations: list[dict]) -> tuple[list[dict], list[dict]]:
    """Those whose algorithm takes on the tree of their game, and the others; says which these are, and why."""
    refusals = {}
    for each in configurations:
        of_its_kind = kind(each)
        if of_its_kind not in refusals:
            refusals[of_its_kind] = _refusal(each)
            if refusals[of_its_kind]:
                print(f"left out: {title(each)}: {refusals[of_its_kind]}", file=sys.stderr)
    taken = [each for each in configurations if not refusals[kind(each)]]
    return taken, [each for each in configurations if refusals[kind(each)]]


def _refusal(configuration: dict) -> str | None:
    if configuration["algorithm"] not in catalogue():
        return None
    try:
        run.new_learner(configuration, build_decision_tree(configuration["game"], configuration["player"]))
    except ValueError as error:
        return str(error)
    return None


def run_binary(main) -> None:
    """Runs a binary's main; mistakes in flags and stored results, and interruptions, end it with a message."""

    def guarded(argv):
        if len(argv) > 1:
            raise app.UsageError(f"unknown arguments: {argv[1:]}")
        try:
            main()
        except (ValueError, OSError, execution.SweepStopped) as error:
            sys.exit(f"error: {error}")

    app.run(guarded)
