"""The worked example of the documentation, followed to the end: written, exported, run in a sweep, resumed, drawn."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from reference.learners import check_pickling, check_steps, ends_at_once

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "new_algorithm.md"


def read_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def blocks():
    return read_blocks("python")


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


@pytest.fixture
def checkout(blocks, tmp_path):
    """A copy of the sources in which the guide was followed, with the compiled code of what it leaves alone."""
    ignored = shutil.ignore_patterns("*.pyc*", "*.tmp.*")
    for folder in ("tmdp_spiel", "experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copytree(ROOT / "games", tmp_path / "tmdp_spiel" / "games", ignore=ignored)
    (tmp_path / "tmdp_spiel" / "algorithms" / "optimistic_greedy.py").write_text(blocks[0], encoding="utf-8")
    namespace = tmp_path / "tmdp_spiel" / "__init__.py"
    exported = namespace.read_text(encoding="utf-8").replace(
        "__all__ = [", blocks[2] + '\n__all__ = [\n    "OptimisticGreedy",'
    )
    namespace.write_text(exported, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_guide_followed_to_the_end(checkout):
    def call(command):
        done = subprocess.run(
            [sys.executable, *command.split()[1:], "--iterations=5"], cwd=checkout, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stored():
        return {path: path.read_bytes() for path in checkout.rglob("seed_*.json") if "OptimisticGreedy" in path.parts}

    begin, go_on, draw, otherwise = read_blocks("shell")[0].replace("\\\n", " ").splitlines()
    assert "| OptimisticGreedy | " in call(begin)
    first = stored()
    assert "3 runs of 2,000 episodes" in call(go_on)
    assert len(first) == 2 and len(stored()) == 3 and first.items() <= stored().items()
    assert "e_leduc_regret_x.png" in call(draw)
    assert (checkout / "results" / "figures" / "e_leduc_regret_x.png").stat().st_size > 20_000
    call(otherwise)
    assert sum(b'"imagined": 20.0' in run for run in stored().values()) == 2
    assert sum(b'"imagined": 5.0' in run for run in stored().values()) == 3
