"""Carries out the runs of a sweep that are missing from the store: on the cores of this machine, or on a Dask cluster."""

import collections
import concurrent.futures
import contextlib
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading

import tqdm

import tmdp_spiel as ts
from experiments.sweep import run, store
from experiments.sweep.data import PLAYERS

_SECONDS_TO_CONNECT = 20
_SECONDS_BETWEEN_UPDATES = 1.0


_NO_WORKERS = (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError)


class SweepStopped(RuntimeError):
    """The sweep did not get to its end; what it finished is kept."""


def carry_out(
    configurations: list[dict],
    results: store.Store,
    *,
    processes: int = 1,
    scheduler: str | None = None,
    use_progress: bool = True,
    mix_code: bool = False,
) -> list[dict]:
    """The results of all configurations, in their order, each found in the store or run now and kept there."""
    found = results.find_all(configurations)
    done = {_key(result["configuration"]): result for result in found}
    wanted = {_key(each): each for each in configurations}
    missing = [each for key, each in wanted.items() if key not in done]
    _check_continuation(list(done.values()), missing, mix_code)
    games = list(dict.fromkeys(each["game"] for each in missing))
    missing.sort(key=lambda each: (games.index(each["game"]), each["seed"]))
    progress = _Progress(list(done.values()), missing, use_progress)
    with progress, _saying_how_to_go_on(results, progress):
        failures = _run_all(missing, done, results, progress, processes, scheduler) if missing else []
    if failures:
        reasons = "\n".join(f"{reason} ({number} runs)" for reason, number in collections.Counter(failures).items())
        raise SweepStopped(f"some runs could not be done; all others are kept in {results.directory}:\n{reasons}")
    return [done[key] for key in wanted]


def _run_all(missing, done, results, progress, processes, scheduler) -> list[str]:
    """Runs what is missing, adds it to `done` and to the store as it arrives, and returns why some runs failed."""
    failures = []
    if scheduler is None:
        _fill_caches(missing)
    with _executor(min(processes, len(missing)), scheduler) as (pool, workers):
        progress.workers = workers
        waiting = {pool.submit(run.perform, each): each for each in missing}
        while waiting:
            finished, _ = concurrent.futures.wait(waiting, _SECONDS_BETWEEN_UPDATES, concurrent.futures.FIRST_COMPLETED)
            for future in finished:
                asked = waiting.pop(future)
                try:
                    result = done[_key(asked)] = future.result()
                except _NO_WORKERS:
                    raise
                except Exception as error:
                    failures.append(f"{_name(asked)}: {type(error).__name__}: {error}")
                    progress.failed(asked)
                else:
                    results.keep(result)
                    progress.kept(result)
            progress.show()
    return failures


def _key(configuration: dict) -> str:
    return json.dumps(configuration, sort_keys=True)


def _check_continuation(found: list[dict], missing: list[dict], mix_code: bool) -> None:
    """Refuses to begin runs that could not be averaged with those that are there."""
    curves = {_kind(each) for each in missing}
    begun = [each for each in found if _kind(each["configuration"]) in curves]
    store.check_comparable([*found, *({**each, "code": run.code()} for each in begun)], mix_code)


def _name(configuration: dict) -> str:
    return f"{configuration['algorithm']} on {configuration['game']}, player {PLAYERS[configuration['player']]}"


def _fill_caches(configurations: list[dict]) -> None:
    """Solves for opponents and builds large trees once, so that the workers open files instead."""
    for game, player, iterations in sorted(
        {(each["game"], each["player"], each["iterations"] or 0) for each in configurations}
    ):
        loaded = ts.load_game(game)
        opponent = ts.equilibrium(loaded, iterations) if iterations else ts.equilibrium(loaded)
        if game == "rbt":
            ts.build_tree(loaded, player, opponent)


@contextlib.contextmanager
def _saying_how_to_go_on(results: store.Store, progress: "_Progress"):
    """Turns Ctrl-C and the loss of the workers into a message: what is kept, and what to do."""
    try:
        yield
    except (KeyboardInterrupt, *_NO_WORKERS) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        raise SweepStopped(
            f"{'interrupted' if interrupted else 'a worker died, perhaps for want of memory'}: {progress.done} of "
            f"{progress.total} runs are kept in {results.directory}; the same command goes on with the rest"
            f"{'' if interrupted else ', with fewer --processes if it happens again'}"
        ) from None


@contextlib.contextmanager
def _executor(processes: int, scheduler: str | None):
    """A concurrent.futures executor and the number of runs that it does at a time; it ends at once on an exception."""
    if scheduler is not None:
        with _connect(scheduler) as client:
            yield client.get_executor(pure=False), max(1, sum(client.nthreads().values()))
        return
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=context, initializer=_start_worker) as pool:
        try:
            yield pool, processes
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _start_worker() -> None:
    """Ctrl-C is the parent's to handle; a worker whose parent is gone ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process().sentinel

    def watch():
        multiprocessing.connection.wait([parent])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _connect(scheduler: str):
    try:
        import distributed
    except ImportError:
        raise SweepStopped("--scheduler needs Dask: pip install 'tmdp-spiel[cluster]'") from None
    try:
        return distributed.Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SweepStopped(f"no Dask scheduler answers at {scheduler}: {error}") from None


class _Progress(contextlib.AbstractContextManager):
    """One bar for the sweep: runs done, running and left, and the time remaining.

    A run is expected to take as long as the mean of the finished ones that differ from it in the seed alone; while there
    is none, as long as the mean of these means.
    """

    def __init__(self, found: list[dict], missing: list[dict], use_progress: bool):
        self.total, self.done, self.workers = len(found) + len(missing), len(found), 1
        self._left = collections.Counter(_kind(each) for each in missing)
        self._seconds = collections.defaultdict(list)
        for result in found:
            self._seconds[_kind(result["configuration"])].append(result["timing"]["seconds"])
        silent = not use_progress or bool(os.environ.get("CI")) or not sys.stderr.isatty()
        layout = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs, {postfix} [{elapsed}]"
        self._bar = tqdm.tqdm(total=self.total, initial=self.done, bar_format=layout, disable=silent, dynamic_ncols=True)
        self.show()

    def kept(self, result: dict) -> None:
        kind = _kind(result["configuration"])
        self._left[kind] -= 1
        self._seconds[kind].append(result["timing"]["seconds"])
        self.done += 1
        self._bar.update()

    def failed(self, configuration: dict) -> None:
        self._left[_kind(configuration)] -= 1

    def show(self) -> None:
        left = sum(self._left.values())
        running = min(left, self.workers)
        self._bar.set_postfix_str(f"{running} running, {left - running} waiting, {self.remaining()} left")

    def remaining(self) -> str:
        """The time that what is left should take, in words."""
        means = {kind: sum(each) / len(each) for kind, each in self._seconds.items()}
        if not means:
            return "unknown time"
        typical = sum(means.values()) / len(means)
        seconds = sum(number * means.get(kind, typical) for kind, number in self._left.items()) / self.workers
        return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"

    def __exit__(self, *exception):
        self._bar.close()
        return None


def _kind(configuration: dict) -> str:
    """What runs have in common that take about as long as each other."""
    return _key({**configuration, "seed": None})
