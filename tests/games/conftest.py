"""Late starts make small games, which one thread plays through faster than two."""

import numba
import pytest


@pytest.fixture(autouse=True)
def one_thread():
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)
