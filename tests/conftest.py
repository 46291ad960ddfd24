"""Fixtures that the tests share."""

import ctypes
import gc
import os
import signal
import sys

import numba
import pytest

import tmdp_spiel as ts

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait sleep, also in the processes that tests start


@pytest.fixture(autouse=True)
def one_thread():
    """Most games of the tests are small: one thread plays through them faster than two."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


@pytest.fixture(scope="session", autouse=True)
def control_c():
    """Ctrl-C works in the tests and in what they start; a shell ignores it in what it starts in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory):
    """One cache for the session and all its workers, inherited by the processes that tests start; never the user's."""
    temporary = tmp_path_factory.getbasetemp()
    directory = (temporary.parent if "PYTEST_XDIST_WORKER" in os.environ else temporary) / "cache"
    directory.mkdir(exist_ok=True)
    os.environ["TMDP_SPIEL_CACHE"] = str(directory)
    return directory


@pytest.fixture(scope="module", autouse=True)
def free_memory():
    """Frees the trees of millions of states that the tests of a file loaded, which are kept for the next call."""
    yield
    for module, function in (("rbt.tree", "_enumeration"), ("phantom.form", "_form"), ("public_action", "_exact_game")):
        if loaded := sys.modules.get(f"tmdp_spiel.games.{module}"):
            getattr(loaded, function).cache_clear()
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(scope="session")
def leduc():
    return ts.load_game("leduc")


@pytest.fixture(scope="session")
def mdp_of(cache_directory):
    """The Tree MDP of a game and player against its CFR+ opponent, built once."""
    built = {}

    def build(name: str, player: int) -> ts.TreeMDP:
        if (name, player) not in built:
            game = ts.load_game(name)
            built[name, player] = ts.build_tree(game, player, ts.equilibrium(game, iterations=200))
        return built[name, player]

    return build
