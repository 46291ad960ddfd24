"""The state of a learner as numbers and arrays: encoded for a file, and decoded into a new learner.

A file does not say which classes to construct. They come from a new learner made from the hyper-parameters, and the
file only fills in numbers, strings and arrays of the kinds that this learner has. So opening a file runs no code.
"""

from __future__ import annotations

import numbers
import sys
import typing
from collections.abc import Mapping

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.core.jit import Direct
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.lazy_tree import LazyTree

_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_FROM_CONSTRUCTOR = ("tree", "rules", "order", "_apart", "_foreseen", "seed", "_hyper_parameters")


class StateMismatchError(ValueError):
    """The contents of a file do not fit the learner: they were written by another version or another program."""


def _parts_of(tree: InfostateTree) -> dict:
    """The parts of a tree that learners may hold, by name; of a lazy tree, only the tree itself."""
    if isinstance(tree, LazyTree):
        return {"tree": tree}
    return {"tree": tree, "links": tree.links, **tree.links._asdict()}


class StateEncoder:
    """Encodes a structure of namedtuples, tuples, lists, dicts, numbers, strings, arrays and generators for a file.

    document: the structure in JSON, with arrays referred to by number; arrays: the arrays, each once. Parts of the tree
    are written as their names.
    """

    def __init__(self, tree: InfostateTree):
        self.arrays: list[np.ndarray] = []
        self._tree_parts = {id(part): name for name, part in _parts_of(tree).items()}
        self._alive: list = []  # so that an id stays that of one object

    def document(self, value: typing.Any, where: str = "") -> typing.Any:
        """The value in JSON."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (np.bool_, np.integer, np.floating)):
            return value.item()
        if id(value) in self._tree_parts:
            return {"of tree": self._tree_parts[id(value)]}
        if isinstance(value, np.ndarray):
            return {"array": self._number_of(value, where)}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            fields = {name: self.document(getattr(value, name), f"{where}.{name}") for name in value._fields}
            return {"fields": fields, "kind": type(value).__name__}
        if isinstance(value, (tuple, list)):
            return {"list": [self.document(each, f"{where}[{at}]") for at, each in enumerate(value)]}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.document(each, f"{where}[{key!r}]") for key, each in value.items()}}
        if isinstance(value, np.random.Generator) and type(value.bit_generator).__name__ in _GENERATORS:
            return {"generator": self.document(dict(value.bit_generator.state), where)}
        if hasattr(value, "__dict__") and not callable(value):
            held = {name: each for name, each in vars(value).items() if not isinstance(each, Direct)}
            return {"object": {name: self.document(each, f"{where}.{name}") for name, each in held.items()}}
        raise TypeError(
            f"{where} is a {type(value).__name__}, which cannot be saved: only numbers, strings, arrays of numbers, "
            "NumPy generators, and (named) tuples, lists and dicts of these can be"
        )

    def _number_of(self, array: np.ndarray, where: str) -> int:
        if array.dtype.kind not in "biuf" or not array.flags.c_contiguous:
            raise TypeError(
                f"{where} is an array of {array.dtype} that cannot be saved: only arrays of numbers in C order can be"
            )
        for number, other in enumerate(self.arrays):
            if _same_memory(array, other):
                return number
            if array.size and other.size and np.may_share_memory(array, other):
                raise TypeError(
                    f"{where} overlaps with another array of the learner: store only one, and make views when needed"
                )
        self.arrays.append(array)
        return len(self.arrays) - 1


def _plain_kind(value: typing.Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    return "number" if isinstance(value, numbers.Real) else type(value).__name__


def _same_memory(one: np.ndarray, other: np.ndarray) -> bool:
    if one is other:
        return True
    return one.size > 0 and one.__array_interface__ == other.__array_interface__


def state_dict(learner: Learner) -> dict:
    """Everything that a learner holds, except what it is constructed from."""
    return {
        name: value
        for name, value in vars(learner).items()
        if name not in _FROM_CONSTRUCTOR and not isinstance(value, Direct)
    }


class StateDecoder:
    """Reads what StateEncoder wrote, into a structure of the same kind."""

    def __init__(
        self, tree: InfostateTree, arrays: list[np.ndarray], growing: tuple[str, ...] = (), kinds: typing.Any = None
    ):
        self._parts, self._arrays = _parts_of(tree), arrays
        self._growing, self._kinds = growing, kinds or {}

    def value(self, document: typing.Any, like: typing.Any, where: str = "") -> typing.Any:
        """The decoded document, of the same kind as `like`; if that is None, anything that needs no class."""
        if not isinstance(document, dict):
            return self._plain(document, like, where)
        if set(document) == {"fields", "kind"}:
            return self._fields(document["fields"], document["kind"], like, where)
        ((form, content),) = document.items() if len(document) == 1 else (("", None),)
        if form == "of tree" and content in self._parts:
            return self._parts[content]
        if form == "array":
            return self._array(content, like, where)
        if form == "list" and isinstance(content, list):
            places = list(like) if isinstance(like, (tuple, list)) else []
            places += [None] * (len(content) - len(places))
            made = [self.value(each, places[at], f"{where}[{at}]") for at, each in enumerate(content)]
            return tuple(made) if isinstance(like, tuple) else made
        if form == "dict" and isinstance(content, dict):
            named = like if isinstance(like, Mapping) else {}
            return {key: self.value(each, named.get(key), f"{where}[{key!r}]") for key, each in content.items()}
        if form == "generator":
            return self._generator(content, like, where)
        if form == "object" and isinstance(content, dict) and hasattr(like, "__dict__"):
            own = vars(like)
            own.update({name: self.value(each, own.get(name), f"{where}.{name}") for name, each in content.items()})
            return like
        raise StateMismatchError(f"{where} cannot be read")

    def _plain(self, document: typing.Any, like: typing.Any, where: str) -> typing.Any:
        if isinstance(document, list):
            raise StateMismatchError(f"{where} cannot be read")
        if document is not None and like is not None and _plain_kind(document) != _plain_kind(like):
            raise StateMismatchError(f"{where} is {document!r}, but should be a {type(like).__name__}")
        return document

    def _fields(self, content: typing.Any, kind: typing.Any, like: typing.Any, where: str) -> typing.Any:
        maker = type(like) if hasattr(like, "_fields") else self._kinds.get(kind)
        if maker is None or not isinstance(content, dict) or list(content) != list(maker._fields):
            raise StateMismatchError(f"{where} is a {kind}, which is not known here or has other fields")
        places = like if hasattr(like, "_fields") else maker(*[None] * len(maker._fields))
        return maker(*(self.value(content[name], getattr(places, name), f"{where}.{name}") for name in maker._fields))

    def _array(self, number: typing.Any, like: typing.Any, where: str) -> typing.Any:
        if type(number) is not int or not 0 <= number < len(self._arrays):
            raise StateMismatchError(f"{where} is an array that is not in the file")
        array = self._arrays[number]
        if isinstance(like, np.ndarray):
            grows = where.rpartition(".")[2] in self._growing and array.size >= like.size
            if array.dtype != like.dtype or array.ndim != like.ndim or (array.shape != like.shape and not grows):
                raise StateMismatchError(
                    f"{where} is {array.dtype} of shape {array.shape}, and should be {like.dtype} of {like.shape}"
                )
            array.flags.writeable = like.flags.writeable
        elif like is not None:
            raise StateMismatchError(f"{where} is an array, but should be a {type(like).__name__}")
        return array

    def _generator(self, content: typing.Any, like: typing.Any, where: str) -> np.random.Generator:
        state = self.value(content, None, where)
        name = state.get("bit_generator") if isinstance(state, dict) else None
        if name not in _GENERATORS or not (like is None or isinstance(like, np.random.Generator)):
            raise StateMismatchError(f"{where} is not a generator that can be read")
        generator = np.random.Generator(getattr(np.random, name)())
        try:
            generator.bit_generator.state = state
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StateMismatchError(f"{where} is not a generator that can be read: {error!r}") from None
        return generator


def load_state_dict(learner: Learner, document: typing.Any, arrays: list[np.ndarray]) -> None:
    """Fills a new learner with what another one has learned."""
    if not isinstance(document, dict) or set(document) != {"dict"}:
        raise StateMismatchError("there is no learner in it")
    reader = StateDecoder(learner.tree, arrays, learner.growing_arrays, _named_tuples(type(learner)))
    content = reader.value(document, state_dict(learner))
    episodes = content.get("episodes")
    if type(episodes) is not int or episodes < 0 or set(content) & set(_FROM_CONSTRUCTOR):
        raise StateMismatchError("it does not say how many episodes were learned from")
    vars(learner).update(content)


def _named_tuples(algorithm: type) -> dict[str, type]:
    """The namedtuples in an algorithm's modules, by name: for attributes that are None in a new learner."""
    modules = [sys.modules[each.__module__] for each in algorithm.__mro__ if each.__module__ in sys.modules]
    found = [each for module in modules for each in vars(module).values()]
    return {each.__name__: each for each in found if isinstance(each, type) and hasattr(each, "_fields")}
