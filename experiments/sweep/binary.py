"""Starts and ends the commands of experiments/."""

import sys
from collections.abc import Callable, Sequence

from absl import app


class Stopped(RuntimeError):
    """Ends a command with a message."""


def run_binary(main: Callable[[], None]) -> None:
    """Parses the flags and runs a command's main; errors in flags and files, and interruptions, end with a message."""

    def guarded(argv: Sequence[str]) -> None:
        if len(argv) > 1:
            raise app.UsageError(f"unknown arguments: {argv[1:]}")
        try:
            main()
        except (ValueError, OSError, Stopped) as error:
            sys.exit(f"error: {error}")

    app.run(guarded)
