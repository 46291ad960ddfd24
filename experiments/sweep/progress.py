"""The progress of a sweep: one bar, on a terminal."""

import collections
import contextlib
import os
import sys

import tqdm

from experiments.sweep.configuration import Configuration
from experiments.sweep.result import Result


class Progress(contextlib.AbstractContextManager):
    """One bar for the sweep: runs done, running and waiting, and the remaining time.

    The expected time of a run is the mean of the finished runs that differ from it only in the seed; if there is none,
    the mean of these means.
    """

    def __init__(self, found: list[Result], missing: list[Configuration], use_progress: bool):
        self.total, self.done, self.workers = len(found) + len(missing), len(found), 1
        self._left = collections.Counter(each.kind for each in missing)
        self._seconds = collections.defaultdict[str, list[float]](list)
        for result in found:
            self._seconds[result.configuration.kind].append(result.timing.seconds)
        silent = not use_progress or bool(os.environ.get("CI")) or not sys.stderr.isatty()
        layout = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs{postfix} [{elapsed}]"
        self._bar = tqdm.tqdm(
            total=self.total, initial=self.done, bar_format=layout, disable=silent, dynamic_ncols=True
        )
        self.show()

    def kept(self, result: Result) -> None:
        self._left[result.configuration.kind] -= 1
        self._seconds[result.configuration.kind].append(result.timing.seconds)
        self.done += 1
        self._bar.update()

    def failed(self, configuration: Configuration) -> None:
        self._left[configuration.kind] -= 1

    def show(self) -> None:
        left = sum(self._left.values())
        running = min(left, self.workers)
        self._bar.set_postfix_str(f"{running} running, {left - running} waiting, {self.remaining()} left")

    def remaining(self) -> str:
        """The expected remaining time, in words."""
        means = {like: sum(each) / len(each) for like, each in self._seconds.items()}
        if not means:
            return "unknown time"
        typical = sum(means.values()) / len(means)
        seconds = sum(number * means.get(like, typical) for like, number in self._left.items()) / self.workers
        return (
            f"{seconds:.0f} s"
            if seconds < 100
            else f"{seconds / 60:.0f} min"
            if seconds < 6000
            else f"{seconds / 3600:.1f} h"
        )

    def __exit__(self, *exception):
        self._bar.close()
        return None
