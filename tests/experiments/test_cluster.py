"""A real Dask scheduler with two worker processes, one of which is killed half-way."""

import pathlib
import socket
import subprocess
import sys
import time

import pytest

from experiments.sweep import execution, run, store
from experiments.sweep.configuration import configuration
from tmdp_spiel.evaluation import executors

ROOT = pathlib.Path(__file__).parents[2]


def dask(*arguments):
    command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return f"tcp://127.0.0.1:{port}"


@pytest.mark.slow
def test_a_worker_dies_and_all_results_arrive_and_equal_the_local_ones(tmp_path, address):
    flags = ["--games=leduc", "--players=x", "--iterations=5", "--algorithms=MVP,UCT", "--runs=6", "--episodes=600000"]
    sweep = [
        sys.executable,
        "-m",
        "experiments.reproduce",
        "--only=regret",
        "--nofigures",
        *flags,
        f"--scheduler={address}",
        f"--output={tmp_path}",
    ]
    host, port = address.removeprefix("tcp://").split(":")
    processes = [dask("scheduler", "--host", host, "--port", port)]
    try:
        processes += [dask("worker", address, "--nthreads=1", "--no-nanny") for _ in range(2)]
        cluster = subprocess.Popen(sweep, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        processes.append(cluster)
        while cluster.poll() is None and not list(tmp_path.rglob("seed_*.json")):
            time.sleep(0.02)
        assert len(list(tmp_path.rglob("seed_*.json"))) < 12
        processes[1].kill()
        _, errors = cluster.communicate(timeout=600)
        assert cluster.returncode == 0, errors
    finally:
        for process in processes:
            process.kill()
            process.wait()
    configurations = [
        configuration("learning", "leduc", 0, algorithm, constants, seed, 600_000, iterations=5)
        for algorithm, constants in (("MVP", {}), ("UCT", {"c": 5.0}))
        for seed in range(6)
    ]
    remote = store.Store(tmp_path / "runs").find_all(configurations)
    local = [run.perform(each) for each in configurations]
    for there, here in zip(remote, local, strict=True):
        for part in ("configuration", "environment", "outcome"):
            assert getattr(there, part) == getattr(here, part)


def test_a_scheduler_that_does_not_answer_is_named(tmp_path, address, monkeypatch):
    monkeypatch.setattr(executors, "SECONDS_TO_CONNECT", 0.5)
    asked = configuration("learning", "leduc", 0, "UCT", {}, 0, 10, iterations=5)
    with pytest.raises(execution.SweepStopped, match=f"no Dask scheduler answers at {address}"):
        execution.carry_out([asked], store.Store(tmp_path), scheduler=address)
