"""A saved enumeration that was altered is refused, whatever its checksums say, before any pass walks it."""

import json
import shutil

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.core import storage
from tmdp_spiel.games.rbt import enumeration, tree
from tmdp_spiel.games.rbt.structure import Enumeration

START = (0, 1, 2, 3, 4)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "enumeration"
    enumeration.enumerate_game(START).save(path)
    return path


@pytest.fixture
def copied(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "copy")
    return tmp_path / "copy"


def test_no_flipped_byte_goes_unseen(copied):
    rng = np.random.default_rng(2)
    files = sorted(copied.iterdir())
    Enumeration.load(copied)
    for _ in range(100):
        file = files[rng.integers(len(files))]
        content = file.read_bytes()
        at = int(rng.integers(len(content)))
        file.write_bytes(content[:at] + bytes([content[at] ^ 1 << int(rng.integers(8))]) + content[at + 1 :])
        with pytest.raises(ValueError, match="damaged"):
            Enumeration.load(copied)
        file.write_bytes(content)
    Enumeration.load(copied)


@pytest.mark.parametrize(
    "name, change",
    [
        ("x_first_sequence", lambda a: a + 1),
        ("x_first_child", lambda a: a * 0 + (2**31 - 1)),
        ("o_parent", lambda a: a * 0 - 7),
        ("o_parent", lambda a: a.reshape(-1, 1)),
        ("x_parent", lambda a: a.astype(float)),
        ("x_action", lambda a: a * 0 + 100),
        ("o_action", lambda a: a * 0 - 3),
        ("o_endings", lambda a: a[:-1]),
        ("o_observation", lambda a: a[:-1]),
        ("x_level_start", lambda a: a[::-1]),
        ("x_level_start", lambda a: np.append(a[:-1], a[-1] + 100)),
        ("x_level_start", lambda a: a[[0, -1]]),
        ("ply0_next_position", lambda a: a * 0 + 10**6),
        ("ply0_next_position", lambda a: a[:, :8]),
        ("ply1_next_position", lambda a: a * 0 - 9),
        ("ply1_live", lambda a: a * 0 + 10**8),
        ("ply1_live", lambda a: a * 0 - 1),
        ("ply0_first_live", lambda a: a * 0 + 5),
        ("ply1_first_where", lambda a: a[::-1]),
        ("ply1_where", lambda a: a * 0 + 10**8),
        ("game", lambda facts: {**facts, "plies": []}),
        ("game", lambda facts: {**facts, "plies": [{"player": 7, "level": 0}] * len(facts["plies"])}),
        ("game", lambda facts: {**facts, "plies": [{**ply, "level": 99} for ply in facts["plies"]]}),
        ("game", lambda facts: {**facts, "plies": [{**ply, "level": "a"} for ply in facts["plies"]]}),
        ("game", lambda facts: []),
    ],
)
def test_no_content_reaches_the_passes_unchecked(copied, name, change):
    contents = {file.stem: np.load(file) for file in copied.glob("*.npy")}
    contents["game"] = json.loads((copied / "game.json").read_text())
    contents[name] = change(contents[name])
    shutil.rmtree(copied)
    storage.save_directory(copied, contents)
    with pytest.raises(ValueError, match="does not hold a tree that can be used"):
        Enumeration.load(copied)


def test_a_cache_that_cannot_be_opened_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("TMDP_SPIEL_CACHE", str(tmp_path))
    monkeypatch.setattr(tree, "_WORTH_A_FILE", 1)
    tree.forget_enumeration()
    game = ts.load_game("python_rbt(start=x4o0x8o2x1)")
    fingerprint = ts.build_tree(game, 0, ts.uniform(game)).fingerprint
    for name, file in (("rbt_mdp_*", "reach.npy"), ("rbt_enumeration_*", "x_parent.npy")):
        (folder,) = tmp_path.glob(name)
        (folder / file).unlink()
        (folder / file).write_bytes(b"nothing")
    tree.forget_enumeration()
    with pytest.warns(UserWarning, match="it is built again"):
        again = ts.build_tree(game, 0, ts.uniform(game))
    assert again.fingerprint == fingerprint
    tree.forget_enumeration()
