"""Runs what is missing in the store of a sweep, on this machine's cores or on a Dask cluster."""

import collections
import concurrent.futures
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Callable

import tqdm

import tmdp_spiel as ts
from experiments.sweep import run, store
from experiments.sweep.binary import Stopped
from experiments.sweep.configuration import Configuration
from experiments.sweep.result import Result, code
from tmdp_spiel.evaluation import executors
from tmdp_spiel.openspiel.games import enumeration_of

_NO_WORKERS = (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError)


class SweepStopped(Stopped):
    """The sweep was not completed; its finished runs are saved."""


def carry_out(
    configurations: list[Configuration],
    results: store.Store,
    *,
    processes: int = 1,
    scheduler: str | None = None,
    use_progress: bool = True,
    mix_code: bool = False,
    perform: Callable[[Configuration], Result] = run.perform,
) -> list[Result]:
    """The results of all configurations, in their order, from the store or else run now and stored.

    perform: from a configuration to its result, in a worker.
    """
    found = results.find_all(configurations)
    done = {result.configuration.key: result for result in found}
    wanted = {each.key: each for each in configurations}
    missing = [each for name, each in wanted.items() if name not in done]
    _check_continuation(list(done.values()), missing, mix_code)
    games = list(dict.fromkeys(each.game for each in missing))
    missing.sort(key=lambda each: (games.index(each.game), each.seed))
    silent = not use_progress or bool(os.environ.get("CI")) or not sys.stderr.isatty()
    bar = tqdm.tqdm(total=len(wanted), initial=len(done), unit="run", disable=silent, dynamic_ncols=True)
    with _saying_how_to_go_on(results, list(wanted.values())), bar:
        if scheduler is None:
            _fill_caches(missing)
        executor = _executor(min(processes, len(missing)), scheduler)
        failures = _run_all(missing, done, results, bar, executor, perform) if missing else []
    if failures:
        reasons = "\n".join(f"{reason} ({number} runs)" for reason, number in collections.Counter(failures).items())
        raise SweepStopped(f"some runs failed; all others are saved in {results.directory}:\n{reasons}")
    return [done[name] for name in wanted]


def _run_all(missing, done, results, bar, executor, perform) -> list[str]:
    """Runs what is missing, adds it to `done` and to the store as it arrives, and returns why some runs failed."""
    failures = []
    with executor as pool:
        waiting = {pool.submit(perform, each): each for each in missing}
        for future in concurrent.futures.as_completed(waiting):
            asked = waiting[future]
            try:
                result = done[asked.key] = future.result()
            except _NO_WORKERS:
                raise
            except Exception as error:
                failures.append(f"{asked.title}: {type(error).__name__}: {error}")
            else:
                results.keep(result)
                bar.update()
    return failures


def _check_continuation(found: list[Result], missing: list[Configuration], mix_code: bool) -> None:
    """Raises an error if the missing runs could not be averaged with the existing ones."""
    store.check_comparable(found, mix_code)
    begun = {each.kind for each in missing}
    for result in found:
        asked, made_by = result.configuration, result.code
        if asked.kind in begun and not mix_code and store.version(made_by) != store.version(code()):
            raise store.RefusedResult(
                f"some runs of {asked.title}, were made by other code (revision {made_by['git_revision'][:12]}) than "
                f"the missing ones would be ({code()['git_revision'][:12]}); {store.WHAT_TO_DO}"
            )


def _fill_caches(configurations: list[Configuration]) -> None:
    """Solves for opponents and builds the trees that games store, so that the workers only open files."""
    for problem in dict.fromkeys(each.problem for each in configurations):
        game = ts.load_game(problem.game)
        enumeration_of(game).tree_mdp(game, problem.player, run.fixed_opponent(game, problem))


@contextlib.contextmanager
def _saying_how_to_go_on(results: store.Store, configurations: list[Configuration]):
    """Turns Ctrl-C and the loss of the workers into a message: what is saved, and what to do."""
    try:
        yield
    except (KeyboardInterrupt, *_NO_WORKERS) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        kept = sum(results.path(each).exists() for each in configurations)
        raise SweepStopped(
            f"{'interrupted' if interrupted else 'the workers died, perhaps from lack of memory'}: {kept} of "
            f"{len(configurations)} runs are saved in {results.directory}; the same command continues with the rest"
            f"{'' if interrupted else ', with fewer --processes if it happens again'}"
        ) from None


@contextlib.contextmanager
def _executor(processes: int, scheduler: str | None):
    """A concurrent.futures executor; it ends at once on an exception."""
    if scheduler is not None:
        with _connect(scheduler) as client:
            yield client.get_executor(pure=False)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.sweep.run"])
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=context, initializer=_start_worker) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _start_worker() -> None:
    """Initialises a worker: it ignores Ctrl-C, which the parent handles, and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch():
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _connect(scheduler: str):
    try:
        return executors.connect(scheduler)
    except (ImportError, OSError) as error:
        raise SweepStopped(str(error)) from None
