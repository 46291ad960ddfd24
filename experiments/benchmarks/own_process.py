"""Calls a function in a process of its own, so that its peak memory is its own."""

import concurrent.futures
import multiprocessing
import os
import resource
from collections.abc import Callable
from typing import Any


def call(function: Callable, *arguments: Any, **environment: str) -> tuple[Any, float]:
    """What the function returns, and the peak memory of its process in GiB. environment: variables to set there."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["experiments.sweep.run"])
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_measured, function, arguments, environment).result()


def _measured(function: Callable, arguments: tuple, environment: dict[str, str]) -> tuple[Any, float]:
    os.environ.update(environment)
    return function(*arguments), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
