"""Runs long loops in pieces, with a progress bar, so that Ctrl-C ends them between two pieces."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
import time

from tqdm import auto as tqdm

_SECONDS_PER_CHUNK = 0.1
_FIRST_CHUNK = 64


def chunks(
    play,
    marks,
    interruption: GracefulInterrupt,
    bar: tqdm.tqdm,
    done: int = 0,
    piece: int | None = None,
    first: int = _FIRST_CHUNK,
    least: int = 1,
):
    """Plays up to each of the marks in turn, in pieces short enough to show progress and to be interrupted.

    play(number) plays up to the given number of episodes and returns a tuple that begins with how many it played; fewer
    only if there is nothing more to play. The tuples are yielded one by one. done: the episodes played before. piece:
    the number of episodes in a piece; if not given, as many as take about a tenth of a second on this machine, `first`
    in the first piece and never fewer than `least`.
    """
    size = max(first, least) if piece is None else piece
    for mark in marks:
        while done < mark and not interruption.requested:
            start = time.perf_counter()
            result = play(int(min(size, mark - done)))
            spent = time.perf_counter() - start
            played = result[0]
            if played == 0:
                return
            done += played
            bar.update(played)
            if piece is None:
                size = max(_next_size(size, played, spent), least)
            yield result


def _next_size(size: int, played: int, spent: float) -> int:
    if spent < _SECONDS_PER_CHUNK / 2 and played == size:
        return size * 2
    if spent > 2 * _SECONDS_PER_CHUNK:
        return max(1, size // 2)
    return size


class GracefulInterrupt(contextlib.AbstractContextManager):
    """Defers Ctrl-C until the current piece has been played.

    It has no effect in a worker process, where the parent process handles Ctrl-C.
    """

    def __init__(self):
        self.requested = False
        self._handles_ctrl_c = False

    def __enter__(self):
        in_main_thread = threading.current_thread() is threading.main_thread()
        self._handles_ctrl_c = in_main_thread and multiprocessing.parent_process() is None
        if self._handles_ctrl_c:
            self._previous = signal.signal(signal.SIGINT, self._request)
        return self

    def _request(self, signum, frame):
        self.requested = True

    def __exit__(self, *exception):
        if self._handles_ctrl_c:
            signal.signal(signal.SIGINT, self._previous)
        return None


def progress_bar(name: str, total: int | None, progress: bool, done: int = 0) -> tqdm.tqdm:
    """A bar that counts episodes, on a terminal."""
    return tqdm.tqdm(
        total=total,
        initial=done,
        desc=name,
        unit=" episodes",
        unit_scale=True,
        leave=False,
        disable=None if progress else True,
    )
