import concurrent.futures
import multiprocessing
import pickle

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.trees import storage


@pytest.fixture
def saved(tmp_path):
    ts.build_tree("kuhn", 0, ts.uniform(ts.load_game("kuhn"))).save(tmp_path / "kuhn")
    return tmp_path / "kuhn"


def test_nothing_is_overwritten(saved):
    mdp = ts.TreeMDP.load(saved)
    with pytest.raises(FileExistsError, match="exists already"):
        mdp.save(saved)


def test_a_failed_save_leaves_nothing_behind(tmp_path):
    with pytest.raises(TypeError):
        storage.save_directory(tmp_path / "new", {"array": np.arange(3), "document": object()})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["first_sequence.npy", "reach.npy", "tree.json"])
def test_missing_files(saved, name):
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"not a saved tree: {name} is missing"):
        ts.TreeMDP.load(saved)


@pytest.mark.parametrize("name", ["first_sequence.npy", "reach.npy", "tree.json", "names.json"])
@pytest.mark.parametrize("keep", [0, 0.5, 0.98])
def test_truncated_files(saved, name, keep):
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: int(keep * len(content))])
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        ts.TreeMDP.load(saved)


def test_arrays_that_do_not_belong_together(saved, tmp_path):
    ts.build_tree("leduc", 0, ts.uniform(ts.load_game("leduc"))).save(tmp_path / "leduc")
    (tmp_path / "leduc" / "first_child.npy").replace(saved / "first_child.npy")
    with pytest.raises(ValueError, match="first_child 13"):
        ts.TreeMDP.load(saved)


@pytest.mark.parametrize("name", ["reach", "first_outcome", "outcome_return", "outcome_probability"])
def test_chances_that_do_not_belong_to_the_tree(saved, name):
    np.save(saved / f"{name}.npy", np.load(saved / f"{name}.npy")[:-1])
    with pytest.raises(ValueError, match=name):
        ts.TreeMDP.load(saved)


def test_what_was_opened_is_pickled_as_its_path(saved, monkeypatch):
    mdp = ts.TreeMDP.load(saved)
    monkeypatch.chdir("/")
    content = pickle.dumps((ts.UCT(mdp.tree), mdp, mdp.tree))
    learner, again, tree = pickle.loads(content)
    assert learner.tree is again.tree is tree
    assert is_mapped(again.reach) and is_mapped(tree.parent) and not is_mapped(learner._plan)
    assert again.value(again.best_response()[1]) == mdp.best_response()[0]
    assert tree.state_string(0) == mdp.tree.state_string(0)
    assert len(pickle.dumps(mdp)) < len(pickle.dumps(ts.build_tree("kuhn", 0, ts.uniform(ts.load_game("kuhn"))))) / 3


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


def test_a_pickled_path_that_is_gone(saved, tmp_path):
    mdp = ts.TreeMDP.load(saved)
    content = pickle.dumps(mdp)
    saved.rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match="kuhn is pickled as that path, not as a copy, and it is gone"):
        pickle.loads(content)
    ts.build_tree("leduc", 0, ts.uniform(ts.load_game("leduc"))).save(saved)
    with pytest.raises(ValueError, match="not the saved tree that it was"):
        pickle.loads(content)


def opened_value(mdp):
    return is_mapped(mdp.reach), mdp.best_response()[0]


def test_worker_processes_open_the_same_files(saved):
    mdp = ts.TreeMDP.load(saved)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(opened_value, mdp).result() == (True, mdp.best_response()[0])


def test_the_cache_directory_is_chosen_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TMDP_SPIEL_CACHE", str(tmp_path))
    assert storage.cache_directory() == tmp_path
    monkeypatch.delenv("TMDP_SPIEL_CACHE")
    assert storage.cache_directory().parts[-2:] == (".cache", "tmdp_spiel")


def test_checked_documents(tmp_path):
    path = tmp_path / "folder" / "document.json"
    assert storage.read_checked_json(path) is None
    storage.write_checked_json(path, {"a": [1, 2.5, "ü"]})
    assert storage.read_checked_json(path) == {"a": [1, 2.5, "ü"]}
    assert [file.name for file in path.parent.iterdir()] == ["document.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:10],
        lambda content: content[:-1],
        lambda content: content + b" ",
        lambda content: content.replace(b"1", b"2"),
        lambda content: b"\xff" + content,
    ],
    ids=["empty", "short", "one byte short", "longer", "altered", "not text"],
)
def test_damaged_documents_are_not_read(tmp_path, damage):
    path = tmp_path / "document.json"
    storage.write_checked_json(path, [1, 1, 1])
    path.write_bytes(damage(path.read_bytes()))
    assert storage.read_checked_json(path) is None


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "document.json").mkdir()
    with pytest.raises(OSError):
        storage.write_checked_json(tmp_path / "document.json", [1])
    assert [file.name for file in tmp_path.iterdir()] == ["document.json"]
