import concurrent.futures
import hashlib
import json
import multiprocessing
import os
import pickle
import shutil
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.core import storage


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


def resave(folder, name, value):
    """Puts an array or a document in place of a saved one, with a checksum that is right."""
    contents = {file.stem: np.load(file) for file in folder.glob("*.npy")}
    kept = {"checksums", "verified"}
    contents |= {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json") if file.stem not in kept}
    shutil.rmtree(folder)
    storage.save_directory(folder, {**contents, name: value})


@pytest.mark.parametrize(
    "game, name",
    [("leduc", "first_child"), ("leduc", "reach"), ("kuhn", "reach"), ("kuhn", "outcome_probability")],
)
def test_a_file_of_another_game_or_opponent_is_refused(saved, tmp_path, mdp_of, game, name):
    mdp_of(game, 0).save(tmp_path / "other")
    (tmp_path / "other" / f"{name}.npy").replace(saved / f"{name}.npy")
    with pytest.raises(ValueError, match=f"{name}.npy is damaged"):
        ts.TreeMDP.load(saved)


@pytest.mark.parametrize("kind", [ts.InfostateTree, ts.TreeMDP])
def test_no_flipped_byte_goes_unseen(saved, kind, monkeypatch):
    monkeypatch.setattr(storage, "_SETTLED_SECONDS", 0.02)
    rng = np.random.default_rng(1)
    kind.load(saved)
    files = [file for file in saved.iterdir() if kind is ts.TreeMDP or file.name in TREE_FILES]
    for _ in range(200):
        file = files[rng.integers(len(files))]
        content = file.read_bytes()
        at = int(rng.integers(len(content)))
        file.write_bytes(content[:at] + bytes([content[at] ^ 1 << int(rng.integers(8))]) + content[at + 1 :])
        if file.name == "verified.json":
            kind.load(saved)
        else:
            with pytest.raises(ValueError, match="damaged"):
                kind.load(saved)
        file.write_bytes(content)
    kind.load(saved)


TREE_FILES = [f"{name}.npy" for name in ts.InfostateTree._ARRAYS] + ["tree.json", "names.json", "checksums.json"]


NAN, HUGE = float("nan"), 2**31 - 1
CRAFTED = {
    "parent": [[0] * 6, [-5] * 6, [12] * 5 + [HUGE]],
    "first_sequence": [[0, 2, 4, 6, 8, 10, HUGE], [0, -2, 4, 6, 8, 10, 12], [1, 2, 4, 6, 8, 10, 12]],
    "first_child": [[HUGE] * 13, [-1] * 13, [3, 4, 3, 5, 4, 6, 6, 6, 6, 6, 6, 6, 6]],
    "can_end": [[False] * 12],
    "reach": [[NAN] * 6, [np.inf] * 6, [-1.0] * 6, [0.0] * 6],
    "first_outcome": [[0, HUGE, -(2**31), *[20] * 11]],
    "outcome_return": [[NAN] * 20, [2.0] * 20],
    "outcome_probability": [[NAN] * 20, [0.0] * 20],
    "tree": [[], {"player": "x"}, {"min_utility": NAN}, {"max_utility": 1e400}, {"surprise": 1}],
    "names": [[], ["0"] * 7, {"0": 1}, [1] * 6],
    "mdp": [[], {}, {"about": None, "queries": "many"}],
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in CRAFTED.items() for value in values])
def test_no_content_reaches_the_kernels_unchecked(saved, name, value):
    """Right checksums, wrong content: every kernel that runs on a tree could otherwise read beyond its arrays."""
    if name not in ("tree", "names", "mdp"):
        old = np.load(saved / f"{name}.npy")
        value = np.resize(np.array(value), len(old)).astype(old.dtype)
    elif isinstance(value, dict) and value and name == "tree":
        value = {**json.loads((saved / "tree.json").read_text()), **value}
    resave(saved, name, value)
    with pytest.raises(ValueError, match="does not hold a tree that can be used"):
        ts.TreeMDP.load(saved)


def test_arrays_of_another_kind_are_refused(saved):
    for name, value in [
        ("parent", np.zeros((6, 1), np.int32)),
        ("reach", np.zeros(6, "S8")),
        ("reach", np.zeros(6, complex)),
        ("can_end", np.full(12, 2, np.uint8).view(bool)),
        ("action", np.zeros(12)),
    ]:
        before = np.load(saved / f"{name}.npy")
        resave(saved, name, value)
        with pytest.raises(ValueError, match="is damaged|does not hold a tree"):
            ts.TreeMDP.load(saved)
        resave(saved, name, before)
    ts.TreeMDP.load(saved)


def test_nothing_is_unpickled(saved):
    """An array of objects would be a pickle; opening it must not run it."""
    value = np.array([Payload()] * 6, object)
    with pytest.raises(ValueError):
        storage.save_directory(saved.parent / "objects", {"reach": value})
    with open(saved / "reach.npy", "wb") as file:
        np.save(file, value, allow_pickle=True)
    checksums = storage.read_checked_json(saved / "checksums.json")
    checksums["reach.npy"] = hashlib.sha256((saved / "reach.npy").read_bytes()).hexdigest()
    storage.write_checked_json(saved / "checksums.json", checksums)
    with pytest.raises(ValueError, match="reach.npy is damaged"):
        ts.TreeMDP.load(saved)


class Payload:
    def __reduce__(self):
        return pytest.fail, ("a file ran code",)


def test_a_directory_of_an_earlier_version_is_refused(saved):
    (saved / "checksums.json").unlink()
    with pytest.raises(FileNotFoundError, match="saved by an earlier version"):
        ts.TreeMDP.load(saved)


def test_a_file_is_hashed_once_and_not_once_per_process(saved, monkeypatch):
    hashed = []
    monkeypatch.setattr(storage, "_SETTLED_SECONDS", 0.05)
    time.sleep(0.1)
    ts.TreeMDP.load(saved)
    real = hashlib.sha256

    def counting(*content):
        hashed.append(sum(map(len, content)))
        return real(*content)

    monkeypatch.setattr(storage.hashlib, "sha256", counting)
    ts.TreeMDP.load(saved)
    assert 0 not in hashed  # sha256() without content is how a file's hash begins; documents are hashed in one piece
    (saved / "reach.npy").touch()
    ts.TreeMDP.load(saved)
    assert hashed.count(0) == 1


def test_a_file_that_has_just_changed_is_hashed_again(saved):
    """Within the resolution of its times, a file could change once more and look the same."""
    ts.TreeMDP.load(saved)
    assert not (saved / "verified.json").exists()


def test_what_is_asked_for_must_be_what_was_saved(mdp_of, tmp_path):
    mdp_of("kuhn", 0).save(tmp_path / "one", about="kuhn against one")
    assert ts.TreeMDP.load(tmp_path / "one", about="kuhn against one").num_terminals
    with pytest.raises(ValueError, match="saved as 'kuhn against one', and 'kuhn against another' is asked for"):
        ts.TreeMDP.load(tmp_path / "one", about="kuhn against another")


def test_chances_that_lead_nowhere_are_refused():
    """Within the tolerance of rounding, but an episode that came there could not continue."""
    tree = ts.InfostateTree(
        first_sequence=[1, 2, 3], first_child=[0, 1, 2, 2], parent=[0, 1], action=[0, 0, 0], can_end=[False, True, True]
    )
    with pytest.raises(ValueError, match="everything that follows it has probability zero"):
        ts.TreeMDP(tree, [1.0, 5e-10], [0, 0, 1, 2], [1.0, 1.0], [1 - 5e-10, 0.0])


def test_unreadable_is_not_damaged(saved, monkeypatch):
    real = open

    def refusing(file, *arguments, **options):
        if str(file).endswith("reach.npy"):
            raise PermissionError(13, "Permission denied")
        return real(file, *arguments, **options)

    monkeypatch.setattr("builtins.open", refusing)
    with pytest.raises(PermissionError, match="reach.npy cannot be read: Permission denied"):
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
    with pytest.raises(
        FileNotFoundError, match="kuhn is pickled as this path, not as a copy, but the files are missing"
    ):
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


def test_other_peoples_files_are_left_alone(tmp_path):
    names = [".env.local", ".env.production", ".env.0123456789abcdef", ".env.1.0123456789abcdef.tmdp-spiel", "env"]
    for name in names:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".env.d").mkdir()
    for path in (tmp_path / "env", tmp_path / "*", tmp_path / ".env"):
        storage.remove_unfinished(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*names, ".env.d"])


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    path = tmp_path / "run"
    leftover, folder = (tmp_path / f".run.{digit * 16}.tmdp-spiel" for digit in "ab")
    leftover.write_text("half")
    folder.mkdir()
    (folder / "reach.npy").write_text("half")
    with storage.replacing(path) as file:
        file.write("whole")
        storage.remove_unfinished(path)
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_one_process_at_a_time(tmp_path):
    path = tmp_path / "run"
    code = "import sys; from tmdp_spiel.core import storage\nwith storage.locked(sys.argv[1]): pass"
    command = [sys.executable, "-c", code, path]
    with storage.locked(path):
        message = f"in use by process {os.getpid()}; wait for it"
        with pytest.raises(storage.InUseError, match=message), storage.locked(path):
            pass
        refused = subprocess.run(command, capture_output=True, text=True)
        assert refused.returncode != 0 and "InUseError" in refused.stderr
        with storage.locked(tmp_path / "run.1"), storage.replacing(tmp_path / "run.1") as file:
            storage.remove_unfinished(path)
            file.write("whole")
    subprocess.run(command, check=True)
    assert [file.name for file in tmp_path.iterdir()] == ["run.1"]


def test_a_killed_process_leaves_no_lock(tmp_path):
    code = "import os, sys; from tmdp_spiel.core import storage\n"
    code += "with storage.locked(sys.argv[1]): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"])
    assert list(tmp_path.iterdir())
    with storage.locked(tmp_path / "run"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o002])
def test_permissions_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        storage.write_checked_json(tmp_path / "file", [])
        storage.save_directory(tmp_path / "folder", {"document": []})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o777 & ~umask
    assert stat.S_IMODE((tmp_path / "folder" / "document.json").stat().st_mode) == 0o666 & ~umask
    (tmp_path / "file").chmod(0o600)
    storage.write_checked_json(tmp_path / "file", [1])
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    for document in ([1], [2]):
        storage.write_checked_json(tmp_path / "link", document)
    assert (tmp_path / "link").is_symlink() and storage.read_checked_json(tmp_path / "there" / "file") == [2]


def test_contents_are_on_the_disk_before_a_name_is(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "rename", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(storage.os, name, lambda *given, name=name, real=real: (done.append(name), real(*given)))
    storage.save_directory(tmp_path / "folder", {"a": np.arange(3), "b": []})
    assert done == ["fsync", "fsync", "fsync", "replace", "fsync", "rename", "fsync"]


def test_a_folder_is_tried_before_any_work_is_done(tmp_path):
    storage.check_folder(tmp_path / "new" / "folder")
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="cannot write to .*file"):
        storage.check_folder(tmp_path / "file" / "below")
