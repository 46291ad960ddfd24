"""Edited kernels are recompiled, also those that are compiled into functions of other files."""

import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import pytest
from numba.core import caching

from tmdp_spiel.algorithms import path_learner
from tmdp_spiel.algorithms.baselines import amb, uct
from tmdp_spiel.core import numba_cache

ROOT = pathlib.Path(__file__).parents[2]
FIRST_PLAN = """
import numpy as np
from tmdp_spiel.algorithms import path_learner
from tmdp_spiel.trees.random_tree import random_tree_mdp
tree = random_tree_mdp(np.random.default_rng(0), max_states=8).tree
plan = path_learner.random_plan(tree.links, 5, 0)
print(sum(path_learner.random_plan.stats.cache_hits.values()), *plan)
"""


def run(checkout):
    environment = {**os.environ, "PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": ""}
    command = [sys.executable, "-c", FIRST_PLAN]
    hits, *plan = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=True
    ).stdout.split()
    return int(hits), plan


@pytest.mark.slow
def test_an_edited_kernel_of_another_file_is_recompiled(tmp_path):
    """random_plan calls hash_rng.uniform, which is in another file."""
    (tmp_path / "tmdp_spiel").mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for layer in ("core", "trees", "bounds", "planning", "algorithms"):
        shutil.copytree(ROOT / "tmdp_spiel" / layer, tmp_path / "tmdp_spiel" / layer, ignore=ignored)
    (tmp_path / "tmdp_spiel" / "__init__.py").touch()
    hits, plan = run(tmp_path)
    assert hits == 0 and any(index != "0" for index in plan)
    assert run(tmp_path) == (1, plan), "what has not changed is not compiled again"
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(tmp_path / "tmdp_spiel", elsewhere / "tmdp_spiel", copy_function=shutil.copyfile)
    assert run(elsewhere) == (1, plan), "nor what was written at another time, in another folder"
    hash_rng = tmp_path / "tmdp_spiel" / "core" / "hash_rng.py"
    lines = hash_rng.read_text(encoding="utf-8")
    edited = lines.replace("return np.float64(bits >> _11) *", "return 0.0 * np.float64(bits >> _11) *")
    assert edited != lines
    hash_rng.write_text(edited, encoding="utf-8")
    assert run(tmp_path) == (0, ["0"] * len(plan))


def test_imports_are_followed_through_all_ways_of_writing_them(tmp_path):
    file = tmp_path / "own_learner.py"
    file.write_text(
        "import tmdp_spiel.planning.full_pass\n"
        "from tmdp_spiel.core import (\n    hash_rng,\n    walk_that_is_not_there,\n)\n"
        "from tmdp_spiel.algorithms.baselines.uct import UCT  # hash_rng\n"
        "from tmdp_spiel.games.rbt import rules\n",
        encoding="utf-8",
    )
    found = {"/".join(each.parts[-2:]) for each in numba_cache.imported_files(file)}
    assert found == {"planning/full_pass.py", "core/hash_rng.py", "baselines/uct.py", "rbt/rules.py"}


def test_kept_code_that_names_a_class_of_older_sources_is_not_an_error(tmp_path):
    kept = caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    of_older_sources = b"ctmdp_spiel.trees.walk\nOfThatNameThereIsNothing\n."
    (tmp_path / "kernel.nbi").write_bytes(pickle.dumps(kept._version, -1) + of_older_sources)
    assert kept.load("any signature") is None
    kept.save("any signature", "machine code")
    assert kept.load("any signature") == "machine code"


def test_the_one_loop_is_kept_with_the_file_of_each_learner():
    """So an edit of a learner's kernel, or of the loop, recompiles it."""
    for module in (uct, amb):
        implementation = module._play._cache._impl
        assert implementation._locator.get_source_stamp() == numba_cache.digest(pathlib.Path(module.__file__))
        assert implementation.filename_base.startswith(module.__name__.rpartition(".")[2])
    assert pathlib.Path(path_learner.__file__) in numba_cache.imported_files(pathlib.Path(uct.__file__))
