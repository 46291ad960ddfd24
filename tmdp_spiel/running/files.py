"""Learners, and whole runs, on disk: whole or not there, checked, and without the tree they were made for.

A file holds a line that says what it is, a line of JSON that says whose it is, a pickle (protocol 5), the raw bytes of
the arrays in it, and the SHA-256 of all that. The tree and its arrays are references, resolved to the tree that is at
hand when the file is opened, which must be the same one. Only a tree that grows is kept together with its learner.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import pickle

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.trees import storage
from tmdp_spiel.trees.decision_tree import DecisionTree
from tmdp_spiel.trees.grown_tree import GrownTree

_MAGIC = b"tmdp-spiel checkpoint 2\n"
_PIECE = 1 << 24  # bytes hashed or read at a time


@dataclasses.dataclass
class RunState:
    """How far a run has come. rng: the environment's generator; rows: what was measured; the rest: see Trace."""

    rng: np.random.Generator
    done: int = 0
    regret: float = 0.0
    seconds: float = 0.0
    playing: float = 0.0
    measuring: float = 0.0
    rows: list = dataclasses.field(default_factory=list)


def save_learner(learner: Learner, path) -> None:
    """Writes a learner to a file, at any point of a run, whole or not at all; it takes the place of an older file.

    Args:
        learner: any of the algorithms; its tree is not written.
        path: where to.
    """
    save(path, identity(learner), learner, None)


def load_learner(path, tree: DecisionTree) -> Learner:
    """The learner of a file that save_learner or `run` wrote, for the same tree; it goes on identically.

    A file holds a pickle, so it must be trusted like a program.

    Args:
        path: the file.
        tree: the tree that the learner was made for; another one is refused. A tree that grows is in the file as well:
            give a new one from grow_tree, which becomes it.
    """
    return load(path, tree)[0]


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


class _Pickler(pickle.Pickler):
    def __init__(self, file, tree, buffers):
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._name_of = {}
        if not isinstance(tree, GrownTree):
            parts = {"tree": tree, "links": tree.links, **{name: getattr(tree, name) for name in tree.links._fields}}
            self._name_of = {id(part): name for name, part in parts.items()}

    def persistent_id(self, part):
        return self._name_of.get(id(part))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, tree, buffers):
        super().__init__(file, buffers=buffers)
        self._tree = tree

    def persistent_load(self, name):
        return self._tree if name == "tree" else getattr(self._tree, name)


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


def save(path, whose: dict, learner: Learner, beside) -> None:
    """Writes a learner, and what goes with it, to a file that replaces an older one only when it is complete.

    beside: the RunState of its run, the generator of its agent, or None.
    """
    storage.remove_unfinished(path)
    with storage.replacing(path, "wb") as file:
        _write(_Hashing(file), whose, learner, beside)


def _write(file: _Hashing, whose: dict, learner: Learner, beside) -> None:
    body, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    _Pickler(body, learner.tree, buffers).dump((learner, beside))
    parts = [body.getbuffer(), *(buffer.raw() for buffer in buffers)]
    header = {**whose, "sizes": [part.nbytes for part in parts]}
    file.write(_MAGIC)
    file.write(_to_json(header).encode() + b"\n")
    for part in parts:
        file.write(part)
    file.write(file.hash.digest())


def _open(path):
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no checkpoint {path}") from None


def _read_header(file: _Hashing, path) -> dict:
    if file.readline() != _MAGIC:
        raise ValueError(f"{path} is not a checkpoint of this version of tmdp-spiel")
    try:
        return json.loads(file.readline())
    except ValueError:
        raise _damaged(path) from None


def _damaged(path) -> ValueError:
    return ValueError(f"the checkpoint {path} is damaged: truncated, or altered since it was written")


def read_identity(path) -> dict:
    """Whose file it is, without reading the rest."""
    with _open(path) as file:
        return _read_header(_Hashing(file), path)


def load_run(path, tree: DecisionTree) -> tuple[Learner, RunState]:
    """The learner and the state of its run, from a file that `run` wrote."""
    learner, at = load(path, tree)
    if not isinstance(at, RunState):
        raise ValueError(f"{path} is not the file of a run: it holds a learner alone, or that of an agent")
    return learner, at


def load(path, tree: DecisionTree) -> tuple[Learner, object]:
    """The learner that save wrote, which must have been made for this tree, and what was saved beside it."""
    _refuse_other(path, "made for another tree", differences(read_identity(path), {"tree": tree_identity(tree)}))
    with _open(path) as plain:
        file = _Hashing(plain)
        try:
            sizes = _read_header(file, path)["sizes"]
            if sum(sizes) > os.fstat(plain.fileno()).st_size:
                raise EOFError
            body, *arrays = [file.read(size) for size in sizes]
        except (EOFError, KeyError, TypeError):
            raise _damaged(path) from None
        if plain.read() != file.hash.digest():
            raise _damaged(path)
    try:
        learner, beside = _Unpickler(io.BytesIO(body.data), tree, arrays).load()
    except (AttributeError, ImportError, TypeError) as error:
        raise ValueError(f"{path} was written by another version of its learner: {error}") from error
    if isinstance(tree, GrownTree):
        _take_over(tree, learner, path)
    return learner, beside


def _take_over(tree: GrownTree, learner: Learner, path) -> None:
    """The tree at hand, if nothing is in it yet, becomes the one that the learner grew."""
    grown = learner.tree
    if tree.num_states == 0 and isinstance(grown, GrownTree):
        tree.take_over(grown)
    elif tree.fingerprint != grown.fingerprint:
        raise ValueError(
            f"{path} holds another tree than {tree!r}: {learner.tree!r}. Load it into a new one from grow_tree"
        )
    learner.tree = tree
