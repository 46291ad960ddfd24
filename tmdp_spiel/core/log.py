"""Messages of the package: the logger `tmdp_spiel`, on stderr unless the program has set up logging of its own."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator

LOG = logging.getLogger("tmdp_spiel")
PATIENCE = 1.0  # seconds before something is said to take long


class _StderrUnlessConfigured(logging.Handler):
    """Prints messages where the root logger has no handlers; where it has, these get the messages."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            print(record.getMessage(), file=sys.stderr, flush=True)


LOG.addHandler(_StderrUnlessConfigured())
LOG.setLevel(logging.INFO)


@contextlib.contextmanager
def level(wanted: int | None) -> Iterator[None]:
    """Within the block, shows messages of this level and above; None leaves the level unchanged."""
    before = LOG.level
    LOG.setLevel(before if wanted is None else wanted)
    try:
        yield
    finally:
        LOG.setLevel(before)


@contextlib.contextmanager
def log_if_slow(message: str) -> Iterator[None]:
    """Logs the message if the block takes longer than a moment."""
    timer = threading.Timer(PATIENCE, LOG.info, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
