"""Keeps the tests away from the user's cache."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory):
    """One cache for the whole session, inherited by the processes that tests start."""
    directory = tmp_path_factory.mktemp("cache")
    os.environ["TMDP_SPIEL_CACHE"] = str(directory)
    return directory
