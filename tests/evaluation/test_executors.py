"""Executors on a local cluster of each kind; a kind whose library is not installed is skipped."""

import concurrent.futures
import operator
import os

import pytest

from tmdp_spiel.evaluation.executors import RayExecutor, num_workers, open_executor
from tmdp_spiel.exploit.responders.portfolio import respond_with_portfolio


def check(executor):
    """With functions of modules that every worker can import."""
    futures = [executor.submit(operator.mul, 2, each) for each in (1, 2, 3)]
    assert [future.result(60) for future in futures] == [2, 4, 6]
    assert "division by zero" in str(executor.submit(operator.truediv, 1, 0).exception(60))


def race(executor):
    found = respond_with_portfolio(
        "tic_tac_toe", "uniform", seconds=2.0, processes=2, executor=executor, clock="processor", progress=False
    )
    assert found.episodes > 0 and found.lower > -1


def test_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as here, here.get_client() as client:
        executor = client.get_executor(pure=False)
        check(executor)
        race(executor)


def test_a_ray_cluster():
    pytest.importorskip("ray")
    with RayExecutor(num_cpus=1, include_dashboard=False) as executor:
        assert num_workers(executor) == 1
        check(executor)
        race(executor)
        assert isinstance(executor.submit(os._exit, 1).exception(120), concurrent.futures.BrokenExecutor)


def test_jobs_of_submitit():
    pytest.importorskip("submitit")
    with open_executor("local:timeout_min=5", workers=2) as executor:
        assert num_workers(executor) == 2
        check(executor)
        assert isinstance(executor.submit(os._exit, 1).exception(120), concurrent.futures.BrokenExecutor)


@pytest.mark.parametrize("address", ["mpi://here", "ray:here", "", "dask"])
def test_other_clusters_are_refused(address):
    with pytest.raises(ValueError, match="a cluster is ray, "), open_executor(address):
        pass


def test_settings_are_pairs():
    with pytest.raises(ValueError, match="KEY=VALUE"), open_executor("slurm:partition"):
        pass


def test_the_number_of_workers():
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        assert num_workers(threads) == 3 and num_workers(5) == 5
