"""Clusters as concurrent.futures executors: Ray, Dask, and SLURM through submitit.

    with open_executor("ray://head:10001") as executor: ...
    with open_executor("dask") as executor: ...  # workers of this machine
    with open_executor("dask://127.0.0.1:8786") as executor: ...
    with open_executor("slurm:slurm_partition=cpu,timeout_min=60", workers=16) as executor: ...

If a worker is lost, its future raises concurrent.futures.BrokenExecutor, as that of a process pool does. No task is
repeated: a task may be lost because of what it does, and repeating such tasks until they succeed would bias the result.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ipaddress
import os
import pathlib
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tmdp_spiel.core import validation

FORMS = (
    "ray, ray://HOST:PORT, dask, dask://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT, slurm, slurm:KEY=VALUE,..., "
    "or local"
)
_SLURM_MINUTES = 60
SECONDS_TO_CONNECT = 20.0


class RayExecutor(concurrent.futures.Executor):
    """Tasks on the workers of a Ray cluster.

    Args:
        address: ray://HOST:PORT, "auto" for the cluster of this machine, or None for a new one here.
        options: of ray.init.
    """

    def __init__(self, address: str | None = None, **options):
        try:
            import ray
        except ImportError:
            raise ImportError("a Ray cluster needs Ray: pip install 'tmdp-spiel[ray]'") from None
        self._ray = ray
        ray.init(address=address, ignore_reinit_error=True, log_to_driver=False, **options)
        self.num_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._call = ray.remote(max_retries=0)(_call)

    def submit(self, function, /, *args, **kwargs) -> concurrent.futures.Future:
        inner = self._call.remote(function, args, kwargs).future()
        return _translated(inner, self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.RayTaskError)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._ray.shutdown()


class DaskExecutor(concurrent.futures.Executor):
    """Tasks on the workers of a Dask cluster.

    Args:
        client: a distributed.Client. Its scheduler is told not to repeat the tasks of a worker that died. Only a task
            that had ended is computed again, if its worker dies before the result was fetched.
    """

    def __init__(self, client):
        from distributed.scheduler import KilledWorker

        client.run_on_scheduler(_never_again)
        self.num_workers = max(1, len(client.scheduler_info()["workers"]))
        self._client, self._lost = client, KilledWorker
        self._unfinished: set[concurrent.futures.Future] = set()

    def submit(self, function, /, *args, **kwargs) -> concurrent.futures.Future:
        try:
            task = self._client.submit(function, *args, pure=False, retries=0, **kwargs)
        except Exception as error:  # Dask's own errors, which depend on how far the connection is closed
            if self._client.status == "running":
                raise
            raise concurrent.futures.BrokenExecutor(f"the scheduler is lost: {error!r}") from error
        answer: concurrent.futures.Future = concurrent.futures.Future()
        self._unfinished.add(answer)
        answer.add_done_callback(lambda answer: self._end(task, answer))
        self._client.loop.add_callback(self._follow, task, answer)
        return answer

    async def _follow(self, task, answer: concurrent.futures.Future) -> None:
        """Waits for a task. Dask's own executor can wait forever if an answer is lost after its task has ended."""
        result: Any = None
        failed: BaseException | None = None
        try:
            result = await self._client.gather(task, asynchronous=True)
        except self._lost as error:
            failed = concurrent.futures.BrokenExecutor(f"a worker was lost: {error}")
        except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
            failed = concurrent.futures.BrokenExecutor(f"the scheduler gave up a task: {error}")
        except BaseException as error:
            failed = error
        if answer.set_running_or_notify_cancel():
            answer.set_result(result) if failed is None else answer.set_exception(failed)

    def _end(self, task, answer: concurrent.futures.Future) -> None:
        self._unfinished.discard(answer)
        if answer.cancelled():
            self._client.loop.add_callback(self._client.cancel, [task], asynchronous=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        unfinished = list(self._unfinished)
        if cancel_futures or not wait:
            for answer in unfinished:
                answer.cancel()
        if wait:
            concurrent.futures.wait(unfinished)


def _never_again(dask_scheduler) -> None:
    dask_scheduler.allowed_failures = 0


class SubmititExecutor(concurrent.futures.Executor):
    """Tasks as jobs of SLURM, by submitit. Each task is a separate job, so tasks should take a long time.

    Args:
        cluster: "slurm", or "local" for processes of this machine.
        folder: for the files of the jobs, on a file system that all machines share.
        workers: how many jobs to submit at a time.
        parameters: of submitit, such as slurm_partition and timeout_min.
    """

    seconds_a_task = 60.0  # a job of SLURM takes seconds to begin

    def __init__(self, cluster: str, folder, workers: int = 2, **parameters):
        try:
            import submitit
        except ImportError:
            raise ImportError("SLURM needs submitit: pip install 'tmdp-spiel[slurm]'") from None
        self.num_workers = validation.whole_number("workers", workers)
        self._executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        self._executor.update_parameters(**{"timeout_min": _SLURM_MINUTES, **parameters})
        self._lost = submitit.core.utils.UncompletedJobError
        self._failed = submitit.core.utils.FailedJobError
        self._threads = concurrent.futures.ThreadPoolExecutor(max(2 * workers, 4))
        self._jobs: list = []

    def submit(self, function, /, *args, **kwargs) -> concurrent.futures.Future:
        job = self._executor.submit(function, *args, **kwargs)
        self._jobs.append(job)
        return _translated(self._threads.submit(job.result), self._lost, self._failed)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures or not wait:
            for job in self._jobs:
                job.cancel(check=False)
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)


def _call(function, args, kwargs):
    return function(*args, **kwargs)


def _translated(inner: concurrent.futures.Future, lost: type, failed: type | tuple[()]) -> concurrent.futures.Future:
    """A future that raises BrokenExecutor for `lost`; for `failed`, an error of the function, it raises the cause."""
    outer: concurrent.futures.Future = concurrent.futures.Future()

    def done(future: concurrent.futures.Future) -> None:
        if future.cancelled():
            outer.cancel()
        if not outer.set_running_or_notify_cancel():
            return
        error = future.exception()
        if error is None:
            outer.set_result(future.result())
        elif isinstance(error, failed):
            cause = getattr(error, "cause", None)
            outer.set_exception(cause if isinstance(cause, Exception) else error)
        elif isinstance(error, lost):
            outer.set_exception(concurrent.futures.BrokenExecutor(f"a worker was lost: {error}"))
        else:
            outer.set_exception(error)

    inner.add_done_callback(done)
    return outer


def without_repeats(executor):
    """The executor; Dask's own executor as a DaskExecutor, which does not repeat the tasks of a lost worker."""
    client = getattr(executor, "_client", None)
    return DaskExecutor(client) if type(executor).__module__ == "distributed.cfexecutor" else executor


def num_workers(executor) -> int:
    """How many tasks an executor, or a number of processes, runs at once."""
    if isinstance(executor, int):
        return executor
    known = getattr(executor, "num_workers", None) or getattr(executor, "_max_workers", None)
    return int(known) if known else os.cpu_count() or 1


@contextlib.contextmanager
def open_executor(address: str, workers: int = 2) -> Iterator[concurrent.futures.Executor]:
    """An executor on the cluster with an address.

    Args:
        address: see FORMS. "ray" is the Ray cluster of this machine, or a new one; "dask" a new one of this machine;
            "local" submitit without SLURM.
        workers: jobs at a time for SLURM, processes for "dask". For SLURM also as a setting, slurm:workers=16.

    Raises:
        ImportError: the library is not installed.
        OSError: no cluster answers at the address, or it has no workers.
        ValueError: the address has another form.
    """
    kind, _, rest = address.partition(":")
    if kind in ("dask", "tcp", "tls") and rest.startswith("//"):
        with connect(f"tcp:{rest}" if kind == "dask" else address) as client, _dask(client) as executor:
            yield executor
    elif address == "dask":
        with _local_dask(workers) as client, _dask(client) as executor:
            yield executor
    elif address == "ray" or (kind == "ray" and rest.startswith("//")):
        with _ray(None if address == "ray" else address) as executor:
            yield executor
    elif kind in ("slurm", "local"):
        parameters = _parameters(address, rest)
        workers = validation.whole_number("workers", parameters.pop("workers", workers))
        if kind == "slurm":  # SLURM may be configured to repeat jobs whose machine failed
            extra = {"slurm_additional_parameters": {"no-requeue": True}}
            parameters = {**extra, **parameters}
        shared = pathlib.Path.cwd() if kind == "slurm" else None  # the working folder is one that machines share
        with (
            tempfile.TemporaryDirectory(prefix="jobs_", dir=shared) as folder,
            SubmititExecutor(kind, folder, workers, **parameters) as executor,
        ):
            yield executor
    else:
        raise ValueError(f"a cluster is {FORMS}, not {address!r}")


def _parameters(address: str, text: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, separator, value = part.partition("=")
        if not (name and separator and value):
            raise ValueError(f"settings of a cluster are KEY=VALUE, separated by commas, not {part!r} in {address!r}")
        parameters[name] = int(value) if value.isdigit() else value
    return parameters


@contextlib.contextmanager
def _ray(address: str | None) -> Iterator[concurrent.futures.Executor]:
    try:
        executor = RayExecutor(address)
    except (ConnectionError, RuntimeError, TimeoutError) as error:
        raise OSError(f"no Ray cluster answers at {address or 'this machine'}: {error}") from None
    with executor:
        yield executor


@contextlib.contextmanager
def _dask(client) -> Iterator[concurrent.futures.Executor]:
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
    except TimeoutError:
        raise OSError(f"the scheduler {client.scheduler.address} has no workers") from None
    with DaskExecutor(client) as executor:
        yield executor


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


def connect(address: str) -> Any:
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
def _local_dask(workers: int) -> Iterator:
    """A distributed.Client of a new cluster of processes on this machine, which ends when the client is closed."""
    try:
        import distributed
    except ImportError:
        raise ImportError("a Dask cluster needs Dask: pip install 'tmdp-spiel[cluster]'") from None
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as here, distributed.Client(here, set_as_default=False) as client:
        yield client
