"""The worked example of the documentation."""

import importlib.util
import pathlib
import re
import sys

import pytest

from twins.learners import check_pickling, check_steps, ends_at_once

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "new_algorithm.md"


@pytest.fixture(scope="module")
def blocks():
    return re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def example(blocks, tmp_path_factory):
    path = tmp_path_factory.mktemp("example") / "optimistic_greedy.py"
    path.write_text(blocks[0], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        yield module.OptimisticGreedy


def test_the_example_is_a_learner_like_the_others(example, mdp_of):
    for mdp in (mdp_of("kuhn", 0), mdp_of("leduc", 0), ends_at_once()):
        check_steps(lambda tree, seed: example(tree, seed=seed), mdp, 200)
    check_pickling(lambda tree, seed: example(tree, seed=seed), mdp_of("kuhn", 0), 300)
    with pytest.raises(ValueError, match="imagined must be"):
        example(mdp_of("kuhn", 0).tree, imagined=0)


def test_the_example_runs_as_printed(example, blocks, capsys):
    exec(compile(blocks[1], str(GUIDE), "exec"), {"OptimisticGreedy": example})
    assert 0 <= float(capsys.readouterr().out) < 0.2
