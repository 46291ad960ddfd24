"""Files of learners: they resume identically, and files that are damaged or of another kind are refused."""

import collections
import copy
import hashlib
import io
import json
import pathlib
import pickle
import zipfile

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.learners import LEARNERS, make
from tmdp_spiel.evaluation import checkpoint
from tmdp_spiel.evaluation.evaluator import Evaluator


@pytest.mark.parametrize("name", LEARNERS)
def test_a_saved_learner_resumes_identically(name, mdp_of, tmp_path):
    mdp = mdp_of("kuhn", 0)
    learner, rng = make(name, mdp.tree, 3), np.random.default_rng(3)
    evaluator = Evaluator(learner, mdp)
    evaluator.play(rng, 500)
    if not learner.stopped:
        learner.learn(*mdp.sample(learner.plan(), rng))
    ts.save_learner(learner, tmp_path / "learner")
    loaded, its_rng = ts.load_learner(tmp_path / "learner", mdp.tree), copy.deepcopy(rng)
    assert type(loaded) is type(learner) and loaded.tree is mdp.tree and loaded.episodes == learner.episodes
    played, regret = evaluator.play(rng, 300)
    assert Evaluator(loaded, mdp).play(its_rng, 300) == (played, pytest.approx(regret, abs=1e-9))
    np.testing.assert_array_equal(loaded.plan(), learner.plan())
    np.testing.assert_array_equal(loaded.recommend(), learner.recommend())


def test_the_tree_is_not_in_the_file(mdp_of, tmp_path):
    mdp = mdp_of("leduc", 0)
    learner = ts.UCT(mdp.tree)
    Evaluator(learner, mdp).play(np.random.default_rng(0), 1000)
    ts.save_learner(learner, tmp_path / "learner")
    memory = learner._memory
    own = sum(array.nbytes for array in (memory.visits, memory.returns, memory.plan))
    assert own < (tmp_path / "learner").stat().st_size < own + 5000
    assert mdp.tree.parent.tobytes() not in (tmp_path / "learner").read_bytes()


def test_every_parameter_of_a_learner_tells_it_apart(mdp_of):
    tree = mdp_of("kuhn", 0).tree
    for name in LEARNERS:
        learner = make(name, tree)
        assert set(type(learner).__init__.__kwdefaults__) <= set(checkpoint.identity(learner))


def test_a_parameter_that_the_learner_keeps_under_another_name_tells_it_apart(mdp_of, tmp_path):
    class Renamed(ts.UCT):
        def __init__(self, tree, *, boldness: float = 1.0, seed: int = 0):
            super().__init__(tree, c=boldness, seed=seed)

    mdp = mdp_of("kuhn", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "Renamed", Renamed)
        Renamed.__qualname__ = "Renamed"
        ts.run(Renamed(mdp.tree), mdp, 100, file=tmp_path / "run")
        with pytest.raises(ValueError, match="boldness is 1.0 in it and 2.0 here"):
            ts.run(Renamed(mdp.tree, boldness=2.0), mdp, 100, file=tmp_path / "run")
        loaded = ts.load_learner(tmp_path / "run", mdp.tree)
    assert loaded.hyper_parameters == {"boldness": 1.0}


@pytest.mark.parametrize("damage", ["short", "one byte short", "longer", "altered", "altered header", "empty", "other"])
def test_damaged_files_are_refused(damage, mdp_of, tmp_path):
    path = tmp_path / "learner"
    mdp = mdp_of("kuhn", 0)
    ts.save_learner(ts.UCBT(mdp.tree), path)
    content = path.read_bytes()
    damaged = {
        "short": content[:300],
        "one byte short": content[:-1],
        "longer": content + b"x",
        "altered": content[:-100] + bytes([content[-100] ^ 1]) + content[-99:],
        "altered header": content.replace(b'"c": 1.0', b'"c": 2.0'),
        "empty": b"",
        "other": b"something else\n" + content,
    }[damage]
    path.write_bytes(damaged)
    message = "is not a checkpoint" if damage in ("empty", "other") else "is damaged"
    with pytest.raises(ValueError, match=message):
        ts.load_learner(path, mdp.tree)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        ts.load_learner(tmp_path / "nothing", mdp.tree)


def test_a_learner_of_another_tree_is_refused(mdp_of, tmp_path):
    ts.save_learner(ts.UCT(mdp_of("kuhn", 0).tree), tmp_path / "learner")
    with pytest.raises(ValueError, match="made for another tree.*of player 0.* in it and .*of player 1.* here"):
        ts.load_learner(tmp_path / "learner", mdp_of("kuhn", 1).tree)


def test_a_failed_save_keeps_the_older_file(mdp_of, tmp_path, monkeypatch):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "learner"
    ts.save_learner(ts.UCT(mdp.tree), path)
    older = path.read_bytes()
    learner = ts.UCT(mdp.tree)
    learner._cannot_be_held = lambda: None
    with pytest.raises(TypeError, match="UCT.*_cannot_be_held.* is a function, which cannot be saved"):
        ts.save_learner(learner, path)
    assert path.read_bytes() == older and list(tmp_path.iterdir()) == [path]


def test_an_unreadable_file_is_not_called_damaged(mdp_of, tmp_path, monkeypatch):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "run"
    ts.run(ts.UCT(mdp.tree), mdp, 100, file=path)
    real = open

    def refusing(file, *arguments, **options):
        if file == path:
            raise PermissionError(13, "Permission denied")
        return real(file, *arguments, **options)

    monkeypatch.setattr("builtins.open", refusing)
    for read in (lambda: ts.load_learner(path, mdp.tree), lambda: ts.run(ts.UCT(mdp.tree), mdp, 100, file=path)):
        with pytest.raises(PermissionError, match="run cannot be read: Permission denied"):
            read()


class Payload:
    """Unpickling it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def old_format(magic: bytes, payload: bytes) -> bytes:
    """A checkpoint as earlier versions wrote it: a line, a line of JSON, a pickle, and the SHA-256 of all that."""
    content = magic + json.dumps({"sizes": [len(payload)], "tree": "a tree"}).encode() + b"\n" + payload
    return content + hashlib.sha256(content).digest()


def rewrite(path, change) -> None:
    """Changes the members of a checkpoint, {name: bytes}, and gives it the checksum that is right then."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
        archive.comment = b"0" * 64
    body = content.getvalue()[:-64]
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())


def npy(kind: str, payload: bytes) -> bytes:
    """A member with one number of that kind, as it says itself."""
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': (1,)}}\n".encode()
    return np.lib.format.magic(1, 0) + len(header).to_bytes(2, "little") + header + payload


@pytest.mark.parametrize("form", ["agent", "checkpoint 1", "checkpoint 2", "checkpoint 3", "npy", "npz"])
def test_no_file_runs_code(form, mdp_of, tmp_path):
    mdp, path, mark = mdp_of("kuhn", 0), tmp_path / "file", tmp_path / "ran"
    payload = pickle.dumps((Payload(mark), None), protocol=5)
    if form == "agent":
        path.write_bytes(payload)
    elif form == "npy":
        np.save(tmp_path / "objects.npy", np.array([Payload(mark)], object), allow_pickle=True)
        (tmp_path / "objects.npy").rename(path)
    elif form == "npz":
        ts.save_learner(ts.UCT(mdp.tree), path)
        rewrite(path, lambda members: members.update({"0.npy": npy("|O", payload)}))
    else:
        path.write_bytes(old_format(f"tmdp-spiel {form}\n".encode(), payload))
    agent = ts.agent.TreeAgent(0, "kuhn", "UCT")
    message = {
        "npz": "is damaged|written by another run",
        "checkpoint 3": "is not a .* format 3, which an earlier version wrote",
    }
    for read in (
        lambda: ts.load_learner(path, mdp.tree),
        lambda: ts.run(ts.UCT(mdp.tree), mdp, 10, file=path),
        lambda: agent.restore(path),
    ):
        with pytest.raises(ValueError, match=message.get(form, "is not a checkpoint")):
            read()
    assert not mark.exists()
    pickle.loads(payload)
    assert mark.exists()


def test_a_checkpoint_of_another_format_names_the_version_that_wrote_it(mdp_of, tmp_path):
    path, tree = tmp_path / "learner", mdp_of("kuhn", 0).tree
    ts.save_learner(ts.UCT(tree), path)
    header = {"format": 9, "version": "7.1"}
    rewrite(path, lambda members: members.update({"header.json": json.dumps(header).encode()}))
    with pytest.raises(ValueError, match="is not a checkpoint .* format 9, which version 7.1 wrote"):
        ts.load_learner(path, tree)


def test_numpy_reads_the_arrays_of_a_checkpoint(mdp_of, tmp_path):
    learner = ts.UCT(mdp_of("kuhn", 0).tree)
    ts.save_learner(learner, tmp_path / "learner")
    with np.load(tmp_path / "learner", allow_pickle=False) as archive:
        kept = [archive[name] for name in archive.files if not name.endswith(".json")]
    assert any(array.tobytes() == learner._memory.plan.tobytes() for array in kept)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda content: content.update(learner=5), "there is no learner"),
        (lambda content: content["learner"]["dict"].update(episodes=-1), "how many episodes"),
        (lambda content: content["learner"]["dict"].update(episodes="many"), "should be a int|how many"),
        (lambda content: content["learner"]["dict"].update(_memory=None) or content.update(learner={}), "no learner"),
        (lambda content: content["learner"]["dict"]["_memory"].update(kind=1, fields={}), "has other fields"),
        (lambda content: content["learner"]["dict"]["_memory"]["fields"].update(plan={"array": 99}), "not in the file"),
        (
            lambda content: content["learner"]["dict"]["_memory"]["fields"].update(plan={"import": "os"}),
            "cannot be read",
        ),
        (lambda content: content["learner"]["dict"].update(tree={"of tree": "tree"}), "how many episodes"),
        (lambda content: content["learner"]["dict"].update(_plan={"array": 1}), "should be"),
    ],
)
def test_content_of_another_shape_is_refused(change, message, mdp_of, tmp_path):
    """With a checksum that is right."""
    mdp, path = mdp_of("kuhn", 0), tmp_path / "learner"
    learner = ts.UCT(mdp.tree)
    Evaluator(learner, mdp).play(np.random.default_rng(0), 100)
    ts.save_learner(learner, path)

    def changed(members):
        content = json.loads(members["state.json"])
        change(content)
        members["state.json"] = json.dumps(content).encode()

    rewrite(path, changed)
    with pytest.raises(ValueError, match=f"another version of its learner, or by another program: .*{message}"):
        ts.load_learner(path, mdp.tree)


def test_every_flipped_byte_is_detected(mdp_of, tmp_path):
    mdp, path, rng = mdp_of("kuhn", 0), tmp_path / "run", np.random.default_rng(3)
    ts.run(ts.UCBT(mdp.tree), mdp, 100, file=path)
    content = path.read_bytes()
    for at in rng.integers(len(content), size=200).tolist():
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << int(rng.integers(8))]) + content[at + 1 :])
        with pytest.raises(ValueError):
            ts.load_learner(path, mdp.tree)


@pytest.mark.parametrize("name", ["<,8", "f8,O", "|O", "<M8[s]", ">f8", "", "__import__('os')"])
def test_invalid_array_types_are_refused(name, mdp_of, tmp_path):
    """NumPy reads some of them as programs, and says SyntaxError."""
    path, tree = tmp_path / "learner", mdp_of("kuhn", 0).tree
    ts.save_learner(ts.UCT(tree), path)
    rewrite(path, lambda members: members.update({"0.npy": npy(name, bytes(8))}))
    with pytest.raises(ValueError, match="is damaged"):
        ts.load_learner(path, tree)


class Nested(ts.UCT):
    """A learner of one's own, with all that a learner may hold."""

    Epoch = collections.namedtuple("Epoch", ["start", "rates"])

    def __init__(self, tree, *, levels: tuple = (0.2, 0.5), seed: int = 0):
        super().__init__(tree, seed=seed)
        self._rng = np.random.default_rng(seed)
        self._twister = np.random.Generator(np.random.MT19937(seed))
        self._levels = [EPOCH(0, np.zeros(3))]
        self._last = None
        self._found = {"best": np.float64(0.5), "seen": (1, np.arange(2))}
        self._same = self._found["seen"][1]

    def _update(self, ended_on, value):
        super()._update(ended_on, value)
        self._levels.append(EPOCH(self.episodes, self._rng.random(3)))
        self._last = EPOCH(1, self._twister.random(2))
        self._same += 1


EPOCH = Nested.Epoch


def test_a_new_learner_gets_its_file_for_nothing(mdp_of, tmp_path):
    mdp = mdp_of("kuhn", 0)
    learner = Nested(mdp.tree, levels=(0.1, 0.9), seed=4)
    for _ in range(5):
        learner.learn(*mdp.sample(learner.plan(), np.random.default_rng(2)))
    ts.save_learner(learner, tmp_path / "learner")
    loaded = ts.load_learner(tmp_path / "learner", mdp.tree)
    assert loaded.hyper_parameters == {"levels": [0.1, 0.9]}
    assert loaded._rng.random() == learner._rng.random() and loaded._twister.random() == learner._twister.random()
    assert type(loaded._last) is EPOCH and type(loaded._levels[-1]) is EPOCH and len(loaded._levels) == 6
    np.testing.assert_array_equal(loaded._levels[-1].rates, learner._levels[-1].rates)
    assert loaded._same is loaded._found["seen"][1] and isinstance(loaded._found["seen"], tuple)
    assert loaded._memory.plan is loaded._plan


def test_a_learner_that_is_not_defined_here(mdp_of, tmp_path):
    tree, path = mdp_of("kuhn", 0).tree, tmp_path / "learner"
    ts.save_learner(Nested(tree), path)
    rewrite(path, lambda members: members.update({"header.json": members["header.json"].replace(b"Nested", b"Hidden")}))
    with pytest.raises(ValueError, match="Hidden, which is not defined here; import its module first"):
        ts.load_learner(path, tree)


def test_overlapping_arrays_are_refused(mdp_of, tmp_path):
    learner = ts.UCT(mdp_of("kuhn", 0).tree)
    learner._half = learner._memory.visits[:3]
    with pytest.raises(TypeError, match="overlaps with another array"):
        ts.save_learner(learner, tmp_path / "learner")
