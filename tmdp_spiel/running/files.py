"""Learners, whole runs and agents on disk: whole or not there, checked, and without the tree they were made for.

A file holds a line that says what it is, a line of JSON that says whose it is, a line of JSON with what was learned
(`state`), the raw bytes of the arrays in it, and the SHA-256 of all that. The tree and its arrays are references to the
tree that is at hand when the file is opened, which must be the same one. Only a tree that grows is kept together with
its learner. Nothing is unpickled: no file can run code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import secrets
import weakref

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.algorithms.path_learner import PathLearner
from tmdp_spiel.running import state
from tmdp_spiel.trees import storage
from tmdp_spiel.trees.decision_tree import DecisionTree
from tmdp_spiel.trees.grown_tree import GrownTree
from tmdp_spiel.trees.tree_mdp import TreeMDP

_MAGIC = b"tmdp-spiel checkpoint 3\n"
_PIECE = 1 << 24  # bytes hashed or read at a time
# By name, so that no name of a file is given to NumPy, which reads some of them as programs.
_KINDS = {dtype.str: dtype for dtype in map(np.dtype, ("?", *"bhiqBHIQefd"))}

# Which saved state a learner is in, and after how many episodes; it is in no other once it has learned again.
_SAVED_AS: weakref.WeakKeyDictionary[Learner, tuple[str, int]] = weakref.WeakKeyDictionary()


@dataclasses.dataclass
class RunState:
    """How far a run has come.

    rng: the environment's generator; rows: what was measured; values: what the Score keeps up to date; the rest: see
    Trace.
    """

    rng: np.random.Generator
    done: int = 0
    regret: float = 0.0
    seconds: float = 0.0
    playing: float = 0.0
    measuring: float = 0.0
    rows: list = dataclasses.field(default_factory=list)
    values: object = None


def save_learner(learner: Learner, path) -> None:
    """Writes a learner to a file, at any point of a run, whole or not at all; it takes the place of an older file.

    Args:
        learner: any of the algorithms; its tree is not written.
        path: where to.
    """
    if not isinstance(learner, Learner):
        raise TypeError(f"save_learner takes a learner, not a {type(learner).__name__}")
    with storage.locked(path):
        save(path, identity(learner), learner)


def load_learner(path, tree: DecisionTree) -> Learner:
    """The learner of a file that save_learner or `run` wrote, for the same tree; it goes on identically.

    A learner of an algorithm of one's own is found if its class has been defined.

    Args:
        path: the file.
        tree: the tree that the learner was made for; another one is refused. A tree that grows is in the file as well:
            give a new one from grow_tree, which becomes it.
    """
    if not isinstance(tree, DecisionTree):
        raise TypeError(f"load_learner takes the learner's DecisionTree (mdp.tree), not a {type(tree).__name__}")
    stored = _Stored(path, tree)
    learner = stored.new_learner()
    stored.relearn(learner)
    return learner


def identity(learner: Learner) -> dict:
    """What tells learners of different kinds, parameters or trees apart, in JSON."""
    return {
        "tree": tree_identity(learner.tree),
        "algorithm": type(learner).__name__,
        "seed": learner.seed,
        **learner.hyper_parameters,
    }


def tree_identity(tree: DecisionTree) -> str:
    """A tree that grows is kept in the file, so it is the game that has to be the same."""
    if isinstance(tree, GrownTree):
        return f"{tree.game_string or 'a tree'} of player {tree.player}, grown"
    return f"{tree.game_string or 'a tree'} of player {tree.player}, {tree.num_states} states, {tree.fingerprint}"


def saved_as(learner: Learner) -> str | None:
    """The name of the saved state that the learner is in; None if it has learned since, or was never saved."""
    name, episodes = _SAVED_AS.get(learner, (None, -1))
    return name if episodes == learner.episodes else None


def note_state(learner: Learner) -> str:
    """The name of the state that the learner is in, a new one if it has none."""
    name = saved_as(learner)
    if name is None:
        name = secrets.token_hex(8)
        _SAVED_AS[learner] = name, learner.episodes
    return name


def differences(stored: dict, expected: dict) -> list[str]:
    """What is expected to be otherwise than stored, in words."""
    return [
        f"{name} is {stored.get(name)} in it and {value} here"
        for name, value in json.loads(_to_json(expected)).items()
        if stored.get(name) != value
    ]


def _to_json(document: dict) -> str:
    return json.dumps(document, default=repr)


def _refuse_other(path, what: str, different: list[str]) -> None:
    if different:
        raise ValueError(f"{path} was {what}: {'; '.join(different)}. Remove it or choose another path")


def refuse_other_run(path, different: list[str]) -> None:
    """Raises an error if anything is different."""
    _refuse_other(path, "written by another run", different)


class _Hashing:
    """A file that hashes what goes through it."""

    def __init__(self, file):
        self._file, self.hash = file, hashlib.sha256()

    def write(self, data) -> int:
        self.hash.update(data)
        return self._file.write(data)

    def readline(self) -> bytes:
        line = self._file.readline()
        self.hash.update(line)
        return line

    def read(self, number: int) -> np.ndarray:
        """So many bytes, as an array that can be written to."""
        data = np.empty(number, np.uint8)
        for start in range(0, number, _PIECE):
            piece = memoryview(data.data)[start : start + _PIECE]
            if self._file.readinto(piece) != len(piece):
                raise EOFError
            self.hash.update(piece)
        return data


def check_savable(learner: Learner) -> None:
    """Raises an error if a file could not hold the learner."""
    state.TakenApart(learner.tree).document(state.learned(learner), type(learner).__name__)


def save(path, whose: dict, learner: Learner, beside=None) -> None:
    """Writes a learner, and what goes with it, to a file that replaces an older one only when it is complete.

    beside: the RunState of its run, the generator of its agent, a dict of what was measured of its responses, or None.
    """
    grown = None
    if isinstance(learner.tree, GrownTree):
        if isinstance(learner, PathLearner):
            learner.grow()
        grown = learner.tree.grown()
    holds = {RunState: "run", np.random.Generator: "agent", dict: "response"}.get(type(beside), "learner")
    parts = state.TakenApart(learner.tree)
    content = {
        "tree": parts.document(grown, "the tree"),
        "learner": parts.document(state.learned(learner), type(learner).__name__),
        "beside": parts.document(vars(beside) if isinstance(beside, RunState) else beside),
        "arrays": [[array.dtype.str, list(array.shape)] for array in parts.arrays],
    }
    name = secrets.token_hex(8)
    header = {**whose, "holds": holds, "class": _class_name(type(learner)), "state": name}
    if isinstance(beside, RunState):
        header["done"] = beside.done
    header["hyper-parameters"] = learner.hyper_parameters
    with storage.replacing(path, "wb") as plain:
        file = _Hashing(plain)
        file.write(_MAGIC)
        file.write(_to_json(header).encode() + b"\n")
        file.write(json.dumps(content).encode() + b"\n")
        for array in parts.arrays:
            if array.size:
                file.write(array.reshape(-1).view(np.uint8))
        file.write(file.hash.digest())
    _SAVED_AS[learner] = name, learner.episodes


def _class_name(algorithm: type) -> str:
    return f"{algorithm.__module__}.{algorithm.__qualname__}"


@contextlib.contextmanager
def _opened(path):
    try:
        with open(path, "rb") as file:
            yield file
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no checkpoint {path}") from None
    except OSError as error:
        raise type(error)(f"the checkpoint {path} cannot be read: {error.strerror or error}") from None


def _read_header(file: _Hashing, path) -> dict:
    if file.readline() != _MAGIC:
        raise ValueError(f"{path} is not a checkpoint of this version of tmdp-spiel")
    header = _read_json(file, path)
    if not isinstance(header, dict):
        raise _damaged(path)
    return header


def _read_json(file: _Hashing, path):
    try:
        return json.loads(file.readline())
    except (ValueError, RecursionError):
        raise _damaged(path) from None


def _damaged(path) -> ValueError:
    return ValueError(f"the checkpoint {path} is damaged: truncated, or altered since it was written")


def read_identity(path) -> dict:
    """Whose file it is, without reading the rest."""
    with _opened(path) as file:
        return _read_header(_Hashing(file), path)


class _Stored:
    """A file that was read whole, agrees with its checksum, and belongs to this tree."""

    def __init__(self, path, tree: DecisionTree):
        self.path, self.tree = path, tree
        with _opened(path) as plain:
            file = _Hashing(plain)
            self.header = _read_header(file, path)
            _refuse_other(path, "made for another tree", differences(self.header, {"tree": tree_identity(tree)}))
            content = _read_json(file, path)
            try:
                kinds = [(_KINDS[name], tuple(shape)) for name, shape in content["arrays"]]
                sizes = [_size(dtype, shape) for dtype, shape in kinds]
                if sum(sizes) > os.fstat(plain.fileno()).st_size:
                    raise EOFError
                raw = [file.read(size) for size in sizes]
            except (EOFError, KeyError, TypeError, ValueError):
                raise _damaged(path) from None
            if plain.read() != file.hash.digest():
                raise _damaged(path)
        self.content = content
        self.arrays = [bytes_.view(dtype).reshape(shape) for bytes_, (dtype, shape) in zip(raw, kinds)]
        if any(array.dtype == bool and array.size and array.view(np.uint8).max() > 1 for array in self.arrays):
            raise _damaged(path)
        if isinstance(tree, GrownTree):
            self._regrow(tree)

    def _regrow(self, tree: GrownTree) -> None:
        """The tree at hand, if nothing is in it yet, becomes the one that the learner grew."""
        with self.reading():
            kept = state.PutTogether(tree, self.arrays).value(self.content["tree"], None, "the tree")
            grown = GrownTree.regrown(kept)
        if tree.num_states == 0:
            tree.take_over(grown)
        elif tree.fingerprint != grown.fingerprint:
            raise ValueError(
                f"{self.path} holds another tree than {tree!r}: {grown!r}. Load it into a new one from grow_tree"
            )

    def new_learner(self) -> Learner:
        """A learner of the class and with the hyper-parameters of the file, which has learned nothing."""
        name, parameters = self.header.get("class"), dict(self.header.get("hyper-parameters") or {})
        found = [each for each in _subclasses(Learner) if _class_name(each) == name]
        if not found:
            raise ValueError(f"{self.path} holds a {name}, which is not defined here; import its module first")
        try:
            return found[-1](self.tree, seed=self.header["seed"], **parameters)
        except (KeyError, TypeError, ValueError) as error:
            raise self._other_version(error) from error

    def relearn(self, learner: Learner) -> None:
        """Brings a learner that has learned nothing to where that of the file was."""
        with self.reading():
            state.relearn(learner, self.content["learner"], self.arrays)
            _SAVED_AS[learner] = str(self.header["state"]), learner.episodes

    @contextlib.contextmanager
    def reading(self):
        """Says of what does not fit that the file is another's."""
        try:
            yield
        except (state.NotOfThisKind, KeyError, TypeError) as error:
            raise self._other_version(error) from error

    def _other_version(self, error) -> ValueError:
        return ValueError(f"{self.path} was written by another version of its learner, or by something else: {error}")

    def beside(self, holds: str, like):
        """What was saved beside the learner, of the kind that `like` is."""
        if self.header.get("holds") != holds:
            raise ValueError(
                f"{self.path} is not the file of {_HOLDS[holds]}: it holds {_HOLDS.get(self.header['holds'])}"
            )
        with self.reading():
            return state.PutTogether(self.tree, self.arrays).value(self.content["beside"], like, holds)


_HOLDS = {"learner": "a learner alone", "run": "a run", "agent": "an agent", "response": "a response that is learned"}


def _size(dtype: np.dtype, shape: tuple) -> int:
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError
    return math.prod(shape) * dtype.itemsize


def _subclasses(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [each for child in children for each in (child, *_subclasses(child))]


def load_run(path, learner: Learner, mdp: TreeMDP) -> tuple[Learner, RunState]:
    """The learner of a run's file, which must be of the kind of the one at hand, and the state of its run."""
    stored = _Stored(path, learner.tree)
    saved = type(learner)(learner.tree, seed=learner.seed, **learner.hyper_parameters)
    stored.relearn(saved)
    like = RunState(rng=np.random.default_rng(0), values=saved.new_values(mdp))
    with stored.reading():
        found = RunState(**stored.beside("run", vars(like)))
    rows_fit = all(isinstance(row, list) and len(row) == 6 for row in found.rows)
    if found.done < 0 or not rows_fit or not isinstance(found.rng, np.random.Generator):
        raise ValueError(f"{path} does not hold a run that can go on")
    return saved, found


def take_over(learner: Learner, saved: Learner) -> None:
    """Lets the learner go on as the saved one, in the state that it was saved in."""
    learner.take_over(saved)
    _SAVED_AS[learner] = _SAVED_AS[saved]


def load_agent(path, like: Learner) -> tuple[Learner, np.random.Generator]:
    """The learner and the generator of an agent's file, for the tree of the learner at hand."""
    stored = _Stored(path, like.tree)
    generator = stored.beside("agent", np.random.default_rng(0))
    learner = stored.new_learner()
    stored.relearn(learner)
    return learner, generator


def load_response(path, learner: Learner) -> dict:
    """Brings a new learner to where that of the file was; returns what was kept beside it."""
    stored = _Stored(path, learner.tree)
    beside = stored.beside("response", {})
    stored.relearn(learner)
    return beside
