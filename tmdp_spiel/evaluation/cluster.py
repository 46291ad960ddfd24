"""Dask schedulers: how to connect, and a warning where anybody could."""

from __future__ import annotations

import contextlib
import ipaddress
import warnings
from collections.abc import Iterator
from urllib.parse import urlsplit

SECONDS_TO_CONNECT = 20.0


class UnprotectedSchedulerWarning(UserWarning):
    """A scheduler on another machine that anybody who reaches its port can run code on."""


def is_protected(address: str) -> bool:
    """Whether the connection is encrypted and asks for a certificate, or does not leave this machine."""
    parts = urlsplit(address)
    if parts.scheme in ("tls", "wss", "inproc"):
        return True
    host = parts.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def connect(address: str):
    """A distributed.Client. Certificates for tls:// come from Dask's own configuration (docs/lab/reliability.md).

    Raises:
        ImportError: Dask is not installed.
        OSError: nobody answers there.
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
    """A distributed.Client of a new cluster of processes of this machine, which ends with it."""
    try:
        import distributed
    except ImportError:
        raise ImportError("a Dask cluster needs Dask: pip install 'tmdp-spiel[cluster]'") from None
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as here, distributed.Client(here, set_as_default=False) as client:
        yield client
