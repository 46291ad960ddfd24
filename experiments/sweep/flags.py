"""The flags of every sweep: where its results are, and how its runs are executed."""

import collections
import os
import sys
import typing
from collections.abc import Callable, Sequence

from absl import app, flags

from experiments.sweep import execution, run, store
from experiments.sweep.configuration import Configuration
from experiments.sweep.result import Result
from tmdp_spiel import build_infostate_tree
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.core import storage
from tmdp_spiel.openspiel.equilibrium import DEFAULT_ITERATIONS

T = typing.TypeVar("T")
_OUTPUT = flags.DEFINE_string("output", "results", "The directory of the results: runs/, figures/ and tables.")
_ARCHIVES = flags.DEFINE_list("archive", [], "Files written by --pack; runs in one of them are not done again.")
_PACK = flags.DEFINE_string("pack", None, "A file for all runs that the command used, small enough to share.")
_STORED = flags.DEFINE_bool("stored", False, "Run nothing; make tables and figures of the stored runs.")
_PROCESSES = flags.DEFINE_integer(
    "processes", os.cpu_count() or 1, "Runs at a time; one on RBT needs up to 3 GiB.", lower_bound=1
)
_SCHEDULER = flags.DEFINE_string(
    "scheduler", None, "The address of a Dask scheduler, tcp://...; instead of --processes."
)
_USE_PROGRESS = flags.DEFINE_bool("use_progress", True, "Show a bar for the sweep, on a terminal.")
_MIX_CODE = flags.DEFINE_bool(
    "mix_code", False, "Average runs even if they were made by different versions of the code."
)
_ITERATIONS = flags.DEFINE_integer(
    "iterations", DEFAULT_ITERATIONS, "CFR+ iterations of the opponent; RBT includes an equilibrium.", lower_bound=1
)
flags.register_validator(
    "scheduler", lambda address: address is None or "://" in address, "an address looks like tcp://localhost:8786"
)


def define_choice(name: str, options: Sequence[str], text: str, default: Sequence[str] | None = ()):
    """A list flag whose values come from the options; by default all of them, or None if that is the default."""
    chosen = list(default or options) if default is not None else None
    holder = flags.DEFINE_list(name, chosen, f"{text}: any of {', '.join(options)}.")
    flags.register_validator(
        name,
        lambda chosen: chosen is None or (bool(chosen) and set(chosen) <= set(options)),
        f"choose from {', '.join(options)}",
    )
    return holder


def named_like(options: dict[str, T], beginnings: Sequence[str] | None) -> dict[str, T]:
    """The options whose names begin with any of these; all if None."""
    found = {name: each for name, each in options.items() if beginnings is None or name.startswith(tuple(beginnings))}
    if not found:
        raise app.UsageError(f"no name begins with {', '.join(beginnings or ())}; there are {'; '.join(options)}")
    return found


def iterations() -> int:
    return _ITERATIONS.value


def output() -> str:
    return _OUTPUT.value


def results() -> store.Store:
    return store.Store(os.path.join(_OUTPUT.value, "runs"), _ARCHIVES.value)


def carry_out(
    configurations: list[Configuration], perform: Callable[[Configuration], Result] = run.perform
) -> list[Result]:
    """The results of all configurations; missing ones are run now, by `perform`. With --stored, only existing ones."""
    if _STORED.value:
        done = _stored(configurations)
    else:
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
    for warning in store.check_comparable(done, _MIX_CODE.value):
        print(f"note: {warning}", file=sys.stderr)
    if _PACK.value is not None:
        number = store.pack(done, _PACK.value)
        print(f"{number} runs in {_PACK.value}, {os.path.getsize(_PACK.value):,} bytes", file=sys.stderr)
    return done


def _stored(configurations: list[Configuration]) -> list[Result]:
    """The results in the store; prints a note if there are fewer than the flags select."""
    found = results().find_all({each.key: each for each in configurations}.values())
    if not found:
        raise ValueError(f"none of the runs selected by the flags is in {results().directory}")
    asked = collections.Counter(each.title for each in {each.key: each for each in configurations}.values())
    there = collections.Counter(each.configuration.title for each in found)
    for title, number in asked.items():
        if there[title] < number:
            print(f"note: {there[title]} of {number} runs of {title}, are stored", file=sys.stderr)
    return found


def check_hyper_parameters(configurations: list[Configuration]) -> None:
    """Raises an error for values that an algorithm does not accept, before anything is run."""
    tree = build_infostate_tree("kuhn", 0)
    for each in {each.kind: each for each in configurations if each.algorithm in catalogue()}.values():
        try:
            run.new_learner(each, tree)
        except (ValueError, TypeError) as error:
            raise app.UsageError(f"{each.algorithm}: {error}") from None


def without_refused(configurations: list[Configuration]) -> tuple[list[Configuration], list[Configuration]]:
    """The configurations whose algorithm accepts the tree of their game, and the others; prints these, and why."""
    refusals: dict[str, str | None] = {}
    for each in configurations:
        if each.kind not in refusals:
            refusals[each.kind] = _refusal(each)
            if refusals[each.kind]:
                print(f"left out: {each.title}: {refusals[each.kind]}", file=sys.stderr)
    taken = [each for each in configurations if not refusals[each.kind]]
    return taken, [each for each in configurations if refusals[each.kind]]


def _refusal(configuration: Configuration) -> str | None:
    if configuration.algorithm not in catalogue():
        return None
    try:
        run.new_learner(configuration, build_infostate_tree(configuration.game, configuration.player))
    except ValueError as error:
        return str(error)
    return None
