"""Learners, whole runs and agents on disk: written atomically, with a checksum, and without the tree.

A file (`archive`) holds what was learned (`state_dict`). The tree is not written, and the same tree must be given when
the file is opened. Only a lazy tree is saved with its learner.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import secrets
import time
import typing
import warnings
import weakref
from collections.abc import Iterator

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.algorithms.path_learner import PathLearner
from tmdp_spiel.core import storage
from tmdp_spiel.evaluation import state_dict
from tmdp_spiel.evaluation.archive import Path, read_archive, to_json, write_archive
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.lazy_tree import LazyTree
from tmdp_spiel.trees.tree_mdp import TreeMDP

_Checkpoint = typing.TypeVar("_Checkpoint", bound="RunCheckpoint")

# The saved state that a learner is in, and after how many episodes; not valid once the learner has learned again.
_SAVED_AS: weakref.WeakKeyDictionary[Learner, tuple[str, int]] = weakref.WeakKeyDictionary()


@dataclasses.dataclass
class RunState:
    """The progress of a run.

    rng: the environment's generator; rows: the measurements; values: the state of the Evaluator; the rest: see Trace.
    """

    rng: np.random.Generator
    done: int = 0
    regret: float = 0.0
    seconds: float = 0.0
    playing: float = 0.0
    measuring: float = 0.0
    rows: list = dataclasses.field(default_factory=list)
    values: object = None


def save_learner(learner: Learner, path: Path) -> None:
    """Writes a learner to a file atomically, at any point of a run; an older file is replaced.

    Args:
        learner: any of the algorithms; its tree is not written.
        path: the file.

    >>> import tempfile, tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", 0, ts.uniform("kuhn"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ts.save_learner(ts.UCT(mdp.tree, c=0.5), f"{folder}/uct.npz")
    ...     ts.load_learner(f"{folder}/uct.npz", mdp.tree)
    UCT(c=0.5, seed=0)
    """
    if not isinstance(learner, Learner):
        raise TypeError(f"save_learner takes a learner, not a {type(learner).__name__}")
    with storage.locked(path):
        save(path, identity(learner), learner)


def load_learner(path: Path, tree: InfostateTree) -> Learner:
    """The learner in a file that save_learner or `run` wrote, for the same tree; it resumes identically.

    A learner of your own class can be loaded once the class has been defined.

    Args:
        path: the file.
        tree: the tree that the learner was made for; another one is refused. A lazy tree is also in the file: give a
            new one from grow_tree, which is filled with its contents.

    Returns:
        The learner, in the state in which it was saved. See save_learner for an example.
    """
    if not isinstance(tree, InfostateTree):
        raise TypeError(f"load_learner takes the learner's InfostateTree (mdp.tree), not a {type(tree).__name__}")
    stored = _Stored(path, tree)
    learner = stored.new_learner()
    stored.load_state_dict(learner)
    return learner


def identity(learner: Learner) -> dict:
    """Identifies a learner by its class, hyper-parameters and tree, in JSON."""
    return {
        "tree": tree_identity(learner.tree),
        "algorithm": type(learner).__name__,
        "seed": learner.seed,
        **learner.hyper_parameters,
    }


def tree_identity(tree: InfostateTree) -> str:
    """Identifies the tree; for a lazy tree, which is in the file, only the game and the player."""
    if isinstance(tree, LazyTree):
        return f"{tree.game_string or 'a tree'} of player {tree.player}, grown"
    return f"{tree.game_string or 'a tree'} of player {tree.player}, {tree.num_states} states, {tree.fingerprint}"


def saved_as(learner: Learner) -> str | None:
    """The name of the saved state that the learner is in; None if it was never saved or has learned since."""
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
    """The differences between what is expected and what is stored, in words."""
    return [
        f"{name} is {stored.get(name)} in it and {value} here"
        for name, value in json.loads(to_json(expected)).items()
        if stored.get(name) != value
    ]


def _refuse_other(path: Path, what: str, different: list[str]) -> None:
    if different:
        raise ValueError(f"{path} was {what}: {'; '.join(different)}. Remove it or choose another path")


def refuse_other_run(path: Path, different: list[str]) -> None:
    """Raises an error if anything is different."""
    _refuse_other(path, "written by another run", different)


def check_savable(learner: Learner) -> None:
    """Raises an error if a file could not hold the learner."""
    state_dict.StateEncoder(learner.tree).document(state_dict.state_dict(learner), type(learner).__name__)


def save(path: Path, whose: dict, learner: Learner, beside: typing.Any = None) -> None:
    """Writes a learner, and what belongs to it, to a file atomically.

    beside: the RunState of its run, the generator of its agent, a dict of measurements of its responses, or None.
    """
    grown = None
    if isinstance(learner.tree, LazyTree):
        if isinstance(learner, PathLearner):
            learner.grow()
        grown = learner.tree.state_dict()
    holds = {RunState: "run", np.random.Generator: "agent", dict: "response"}.get(type(beside), "learner")
    parts = state_dict.StateEncoder(learner.tree)
    content = {
        "tree": parts.document(grown, "the tree"),
        "learner": parts.document(state_dict.state_dict(learner), type(learner).__name__),
        "beside": parts.document(vars(beside) if isinstance(beside, RunState) else beside),
    }
    name = secrets.token_hex(8)
    header = {**whose, "holds": holds, "class": _class_name(type(learner)), "state": name}
    header["hyper-parameters"] = learner.hyper_parameters
    if isinstance(beside, RunState):
        header["done"] = beside.done
    with storage.replacing(path, "w+b") as file:
        write_archive(file, header, content, parts.arrays)
    _SAVED_AS[learner] = name, learner.episodes


def _class_name(algorithm: type) -> str:
    return f"{algorithm.__module__}.{algorithm.__qualname__}"


class _Stored:
    """A file that was read, matches its checksum, and belongs to this tree."""

    def __init__(self, path: Path, tree: InfostateTree):
        self.path, self.tree = path, tree
        expected = {"tree": tree_identity(tree)}
        stored = read_archive(
            path, lambda header: _refuse_other(path, "made for another tree", differences(header, expected))
        )
        self.header, self.content, self.arrays = stored.header, stored.content, stored.arrays
        if isinstance(tree, LazyTree):
            self._regrow(tree)

    def _regrow(self, tree: LazyTree) -> None:
        """Copies the saved tree into the given one, which must be empty or the same."""
        with self.reading():
            kept = state_dict.StateDecoder(tree, self.arrays).value(self.content["tree"], None, "the tree")
            grown = LazyTree.from_state_dict(kept)
        if tree.num_states == 0:
            tree.copy_from(grown)
        elif tree.fingerprint != grown.fingerprint:
            raise ValueError(
                f"{self.path} holds another tree than {tree!r}: {grown!r}. Load it into a new one from grow_tree"
            )

    def new_learner(self) -> Learner:
        """A new learner with the class and hyper-parameters of the file, which has learned nothing yet."""
        name, parameters = self.header.get("class"), dict(self.header.get("hyper-parameters") or {})
        found = [each for each in _subclasses(Learner) if _class_name(each) == name]
        if not found:
            raise ValueError(f"{self.path} holds a {name}, which is not defined here; import its module first")
        try:
            return found[-1](self.tree, seed=self.header["seed"], **parameters)
        except (KeyError, TypeError, ValueError) as error:
            raise self._other_version(error) from error

    def load_state_dict(self, learner: Learner) -> None:
        """Restores a new learner from the file."""
        with self.reading():
            state_dict.load_state_dict(learner, self.content["learner"], self.arrays)
            _SAVED_AS[learner] = str(self.header["state"]), learner.episodes

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Reports arrays that do not fit as a file of another version."""
        try:
            yield
        except (state_dict.StateMismatchError, KeyError, TypeError) as error:
            raise self._other_version(error) from error

    def _other_version(self, error: Exception) -> ValueError:
        return ValueError(f"{self.path} was written by another version of its learner, or by another program: {error}")

    def beside(self, holds: str, like: typing.Any) -> typing.Any:
        """What was saved with the learner; it must be of the same kind as `like`."""
        if self.header.get("holds") != holds:
            raise ValueError(
                f"{self.path} is not the file of {_HOLDS[holds]}: it holds {_HOLDS.get(self.header['holds'])}"
            )
        with self.reading():
            return state_dict.StateDecoder(self.tree, self.arrays).value(self.content["beside"], like, holds)


_HOLDS = {"learner": "a learner alone", "run": "a run", "agent": "an agent", "response": "a learned response"}


def _subclasses(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [each for child in children for each in (child, *_subclasses(child))]


def load_run(path: Path, learner: Learner, mdp: TreeMDP) -> tuple[Learner, RunState]:
    """The learner in a run's file, which must be of the same kind as the given one, and the state of its run."""
    stored = _Stored(path, learner.tree)
    saved = type(learner)(learner.tree, seed=learner.seed, **learner.hyper_parameters)
    stored.load_state_dict(saved)
    like = RunState(rng=np.random.default_rng(0), values=saved.init_values(mdp))
    with stored.reading():
        found = RunState(**stored.beside("run", vars(like)))
    rows_fit = all(isinstance(row, list) and len(row) == 6 for row in found.rows)
    if found.done < 0 or not rows_fit or not isinstance(found.rng, np.random.Generator):
        raise ValueError(f"{path} does not hold a run that can continue")
    return saved, found


def copy_from(learner: Learner, saved: Learner) -> None:
    """Restores the saved state in the learner, so that it continues from there."""
    learner.copy_from(saved)
    _SAVED_AS[learner] = _SAVED_AS[saved]


def load_agent(path: Path, like: Learner) -> tuple[Learner, np.random.Generator]:
    """The learner and the generator in an agent's file, for the tree of the given learner."""
    stored = _Stored(path, like.tree)
    generator = stored.beside("agent", np.random.default_rng(0))
    learner = stored.new_learner()
    stored.load_state_dict(learner)
    return learner, generator


def load_response(path: Path, learner: Learner) -> dict:
    """Restores the state in the file to a new learner; returns what was saved with it."""
    stored = _Stored(path, learner.tree)
    beside = stored.beside("response", {})
    stored.load_state_dict(learner)
    return beside


class RunCheckpoint(contextlib.AbstractContextManager):
    """The file that a run is saved in, locked so that no other run can write to it.

    whose: what identifies this run, apart from the learner and its tree. every: seconds between two saves; more if
    saving would take more than a certain share of the time.
    """

    def __init__(self, path: Path, learner: Learner, whose: dict, every: float, share: float = 1.0):
        self.path, self.learner = pathlib.Path(path), learner
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a directory; `file` must name a file to save the run to")
        self.whose = {**identity(learner), **whose}
        self._every, self._share, self._due = every, share, time.perf_counter() + every
        self._lock = storage.locked(self.path)

    def __enter__(self: _Checkpoint) -> _Checkpoint:
        try:
            self._lock.__enter__()
        except storage.InUseError:
            raise
        except OSError as error:
            raise type(error)(f"{self.path} cannot be written: {error.strerror or error}") from None
        return self

    def __exit__(self, *exception: typing.Any) -> bool | None:
        return self._lock.__exit__(*exception)

    def save_if_due(self, beside: typing.Callable[[], typing.Any]) -> None:
        """Saves if the last save was long ago; beside(): what to save with the learner."""
        if time.perf_counter() > self._due:
            self.save(beside)

    def save(self, beside: typing.Callable[[], typing.Any]) -> bool:
        """Writes the file; returns whether that worked. If it cannot be written, warns, and the run continues."""
        start, saved = time.perf_counter(), True
        try:
            save(self.path, self.whose, self.learner, beside())
        except OSError as error:
            saved = False
            warnings.warn(
                f"the run could not be saved to {self.path} after {self.learner.episodes:,} episodes: {error}; the run "
                "continues",
                stacklevel=3,
            )
        now = time.perf_counter()
        self._due = now + max(self._every, (now - start) / self._share)
        return saved
