"""A learner's hyper-parameters: the arguments of its constructor, but for the tree and the seed, by their names there.

One way for flags, stored runs and files to know them, whatever the learner does with them.
"""

from __future__ import annotations

import inspect
import types
import typing


class HyperParameter(typing.NamedTuple):
    """default: what it is if not given;  types: what it may be, None aside: as annotated, or else as the default."""

    default: typing.Any
    types: tuple[type, ...]


def hyper_parameters_of(algorithm: type) -> dict[str, HyperParameter]:
    """The hyper-parameters of a learner class, in their order."""
    parameters = inspect.signature(algorithm).parameters
    named = {name: each for name, each in parameters.items() if each.kind != each.VAR_KEYWORD}
    try:
        hints = typing.get_type_hints(algorithm.__init__)  # type: ignore[misc]
    except NameError:  # an annotation with names that only a type checker imports
        hints = {}
    return {
        name: HyperParameter(each.default, _types(hints.get(name), each.default))
        for name, each in _without_tree_and_seed(parameters, named).items()
    }


def given_to(algorithm: type, arguments: tuple, keywords: dict) -> dict[str, typing.Any]:
    """The hyper-parameters that a learner made with these arguments has, those not given at their defaults."""
    signature = inspect.signature(algorithm)
    bound = signature.bind(*arguments, **keywords)
    bound.apply_defaults()
    return _without_tree_and_seed(signature.parameters, bound.arguments)


def _without_tree_and_seed(parameters, values) -> dict[str, typing.Any]:
    named: dict[str, typing.Any] = {}
    for name, value in values.items():
        named.update(value if parameters[name].kind == inspect.Parameter.VAR_KEYWORD else {name: value})
    return {name: value for name, value in named.items() if name not in (next(iter(parameters)), "seed")}


def _types(hint, default) -> tuple[type, ...]:
    if hint is None:
        return () if default is None else (type(default),)
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return tuple(each for each in (typing.get_args(hint) if union else (hint,)) if each is not types.NoneType)
