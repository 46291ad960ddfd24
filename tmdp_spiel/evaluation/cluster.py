"""Connections to Dask schedulers, with a warning if the scheduler is not protected."""

from __future__ import annotations

import contextlib
import ipaddress
import typing
import warnings
from collections.abc import Iterator
from urllib.parse import urlsplit

SECONDS_TO_CONNECT = 20.0


class UnprotectedSchedulerWarning(UserWarning):
    """The scheduler is on another machine, and anybody who can reach its port can run code on it."""


def is_protected(address: str) -> bool:
    """Whether the connection is encrypted and needs a certificate, or stays on this machine."""
    parts = urlsplit(address)
    if parts.scheme in ("tls", "wss", "inproc"):
        return True
    host = parts.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def connect(address: str) -> typing.Any:
    """A distributed.Client. Certificates for tls:// come from Dask's own configuration (docs/lab/reliability.md).

    Raises:
        ImportError: Dask is not installed.
        OSError: no scheduler answers at the address.
    """
    try:
        import distributed
    except ImportError:
        raise ImportError("--scheduler needs Dask: pip install 'tmdp-spiel[cluster]'") from None
    if not is_protected(address):
        warnings.warn(
            f"the scheduler {address} is on another machine and not protected: whoever reaches its port can run code "
            "on it, on its workers and here; let it listen on 127.0.0.1 behind ssh -L, or use tls:// "
            "(docs/lab/reliability.md)",
            UnprotectedSchedulerWarning,
            stacklevel=2,
        )
    try:
        return distributed.Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise OSError(f"no Dask scheduler answers at {address}: {error}") from None


@contextlib.contextmanager
def local(workers: int) -> Iterator:
    """A distributed.Client of a new cluster of processes on this machine, which ends when the client is closed."""
    try:
        import distributed
    except ImportError:
        raise ImportError("a Dask cluster needs Dask: pip install 'tmdp-spiel[cluster]'") from None
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as here, distributed.Client(here, set_as_default=False) as client:
        yield client
