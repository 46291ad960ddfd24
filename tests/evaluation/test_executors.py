"""Executors on a local cluster of each kind; a kind whose library is not installed is skipped."""

import concurrent.futures
import operator
import os
import threading

import pytest

from tmdp_spiel.evaluation.executors import DaskExecutor, RayExecutor, num_workers, open_executor, without_repeats
from tmdp_spiel.exploit.responders.portfolio import respond_with_portfolio

BEGUN, END = threading.Event(), threading.Event()  # of a task, in this process


def think():
    BEGUN.set()
    return END.wait(600)


def check(executor):
    """With functions of modules that every worker can import."""
    futures = [executor.submit(operator.mul, 2, each) for each in (1, 2, 3)]
    assert [future.result(600) for future in futures] == [2, 4, 6]
    assert "division by zero" in str(executor.submit(operator.truediv, 1, 0).exception(600))


def race(executor):
    found = respond_with_portfolio(
        "tic_tac_toe", "uniform", seconds=2.0, processes=2, executor=executor, clock="processor", progress=False
    )
    assert found.episodes > 0 and found.lower > -1


def test_a_dask_cluster():
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as here, here.get_client() as client:
        check(client.get_executor(pure=False))
        executor = without_repeats(client.get_executor(pure=False))
        assert isinstance(executor, DaskExecutor) and without_repeats(executor) is executor
        check(executor)
        race(executor)


def test_a_task_that_kills_its_dask_worker_is_lost_and_not_repeated(tmp_path):
    pytest.importorskip("distributed")
    with open_executor("dask", workers=1) as executor:
        assert num_workers(executor) == 1
        file = tmp_path / "begun"
        error = executor.submit(exec, f"import os; open({str(file)!r}, 'a').write('x'); os._exit(1)").exception(600)
        assert isinstance(error, concurrent.futures.BrokenExecutor)
        assert file.read_text() == "x"
        check(executor)  # on a worker in the place of the one that died


def test_answers_of_dask_that_are_cancelled_or_lost_with_the_scheduler_end(capfd):
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as here, distributed.Client(here, timeout=1) as client:
        executor = DaskExecutor(client)
        first = executor.submit(think)
        assert BEGUN.wait(600)
        others = [executor.submit(operator.mul, 2, each) for each in range(30)]
        assert all(other.cancel() for other in others)
        assert not concurrent.futures.wait(others, 600).not_done and not first.done()
        END.set()
        assert first.result(600)
        check(executor)
        END.clear()
        waiting = executor.submit(think)
        client.close()
        assert isinstance(waiting.exception(600), concurrent.futures.BrokenExecutor)
        with pytest.raises(concurrent.futures.BrokenExecutor):
            executor.submit(operator.mul, 2, 3)
        executor.shutdown()
        END.set()
    assert "Traceback" not in capfd.readouterr().err


def test_a_ray_cluster():
    pytest.importorskip("ray")
    with RayExecutor(num_cpus=1, include_dashboard=False) as executor:
        assert num_workers(executor) == 1
        check(executor)
        race(executor)
        assert isinstance(executor.submit(os._exit, 1).exception(600), concurrent.futures.BrokenExecutor)


def test_jobs_of_submitit():
    pytest.importorskip("submitit")
    with open_executor("local:timeout_min=5,workers=2", workers=7) as executor:
        assert num_workers(executor) == 2
        check(executor)
        assert isinstance(executor.submit(os._exit, 1).exception(600), concurrent.futures.BrokenExecutor)


@pytest.mark.parametrize("address", ["mpi://here", "ray:here", "", "dask:here"])
def test_other_clusters_are_refused(address):
    with pytest.raises(ValueError, match="a cluster is ray, "), open_executor(address):
        pass


def test_settings_are_pairs():
    with pytest.raises(ValueError, match="KEY=VALUE"), open_executor("slurm:partition"):
        pass


def test_the_number_of_workers():
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        assert num_workers(threads) == 3 and num_workers(5) == 5
