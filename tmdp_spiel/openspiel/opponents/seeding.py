"""Independent random numbers for every part of a run: chance, each player's bot, each worker, each resumed call.

Certificates need independent episodes. Two parts with the same seed would repeat each other: a bot made with the seed
of chance, bots copied to several workers, or a bot that is made again when a run resumes.
"""

from __future__ import annotations

import os
import random
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

CHANCE, BOTS, POLICIES, WORKERS, RESUMED, PROBES = range(6)  # streams, for derived_seed
_MOST_OBJECTS = 20_000  # that are searched for generators
_BUILT_IN = (str, bytes, bytearray, int, float, complex, bool, type(None), np.ndarray, types.ModuleType)


def derived_seed(*numbers: int, bits: int = 63) -> int:
    """A seed that differs for every list of numbers, except with a probability of 2^-bits."""
    words = np.random.SeedSequence([number % 2**64 for number in numbers]).generate_state(1, np.uint64)
    return int(words[0]) >> (64 - bits)


def fresh_entropy() -> int:
    """A number that no other process or thread has."""
    return int.from_bytes(os.urandom(8), "little")


def advance_global_generators(seed: int) -> None:
    """Reseeds them depending on a seed and on what they would have drawn, so that no state comes again."""
    reseed_global_generators(derived_seed(seed, random.getrandbits(63), int(np.random.randint(2**62))))


def reseed_global_generators(seed: int) -> None:
    """Reseeds the generators of `random`, `numpy.random` and, if it is loaded, torch."""
    random.seed(seed)
    np.random.seed(derived_seed(seed, 1, bits=32))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(derived_seed(seed, 2))


def reseed(source, seed: int) -> int:
    """Reseeds all generators that an object, function or class holds or uses; returns how many there are.

    It finds generators of `random`, NumPy and torch in its attributes and in the objects that these hold, in the
    closures of functions, and among the names of the modules that define its class. It cannot find generators inside
    compiled objects.
    """
    number = 0
    for number, generator in enumerate(_generators(source), start=1):
        own = derived_seed(seed, number)
        if isinstance(generator, random.Random):
            generator.seed(own)
        elif isinstance(generator, np.random.RandomState):
            generator.seed(derived_seed(own, bits=32))
        elif isinstance(generator, np.random.Generator):
            bits = generator.bit_generator
            bits.state = type(bits)(own).state
        elif isinstance(generator, np.random.BitGenerator):
            generator.state = type(generator)(own).state
        else:
            generator.manual_seed(own)
    return number


def has_hidden_state(source) -> bool:
    """Whether it is, or holds, a C++ bot of OpenSpiel, whose generator cannot be accessed."""
    return any(type(each) is pyspiel.Bot or _is_cpp_bot(each) for each in _reachable(source))


def _is_cpp_bot(each) -> bool:
    return isinstance(each, pyspiel.Bot) and type(each).__module__ == pyspiel.Bot.__module__


def is_generator(each) -> bool:
    """Whether it is a random number generator that can be reseeded."""
    torch = sys.modules.get("torch")
    kinds = (random.Random, np.random.RandomState, np.random.Generator, np.random.BitGenerator)
    return isinstance(each, kinds) or (torch is not None and isinstance(each, torch.Generator))


def _generators(source) -> list:
    shared = {id(np.random.mtrand._rand), id(random._inst)}  # reseeded elsewhere
    return [each for each in _reachable(source) if is_generator(each) and id(each) not in shared]


def _reachable(source) -> list:
    """The objects reachable from it, in a fixed order, itself first."""
    found: list = []
    seen: set[int] = set()
    waiting: list = [source]
    while waiting and len(found) < _MOST_OBJECTS:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, _BUILT_IN):
            continue
        seen.add(id(each))
        found.append(each)
        if not is_generator(each):
            waiting += reversed(_held_by(each))
    return found


def _held_by(each) -> list:
    """The objects that an object holds or uses: attributes, items, closures, and names of its module."""
    if isinstance(each, Mapping):
        return list(each.values())
    if isinstance(each, (list, tuple, set, frozenset)):
        return list(each)
    if isinstance(each, types.MethodType):
        return [each.__self__, each.__func__]
    if isinstance(each, types.FunctionType):
        cells = [cell.cell_contents for cell in each.__closure__ or () if cell_is_set(cell)]
        own = str(each.__module__).startswith("tmdp_spiel.")  # our modules hold no generators
        used = [] if own else [each.__globals__[name] for name in each.__code__.co_names if name in each.__globals__]
        return [*cells, *(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values(), *used]
    if isinstance(each, type):
        if each.__module__ in ("builtins", pyspiel.Bot.__module__):
            return []
        names = vars(sys.modules.get(each.__module__, types.SimpleNamespace()))
        in_module = [value for value in list(names.values()) if is_generator(value)]
        return [*vars(each).values(), *each.__bases__, *in_module]
    held: list[Any] = [type(each)]
    attributes = getattr(each, "__dict__", {})
    held += attributes.values() if isinstance(attributes, Mapping) else ()
    for kind in type(each).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(each, slot):
                held.append(getattr(each, slot))
    held += [getattr(each, name) for name in ("func", "args", "keywords") if type(each).__name__ == "partial"]
    return held


def cell_is_set(cell: types.CellType) -> bool:
    """Whether a variable of a closure has a value."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def reseeded_game(game: pyspiel.Game, seed: int) -> pyspiel.Game:
    """The game with another seed, if it samples its chance events itself; other games unchanged."""
    if game.get_type().chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        return game
    parameters = game.get_parameters()
    inner = parameters.get("game") if isinstance(parameters.get("game"), dict) else None
    holder = parameters if inner is None else inner
    names = [name for name in ("rng_seed", "seed") if name in _specification(game, inner)]
    if not names:
        raise ValueError(
            f"{game} samples its chance events itself and takes no seed, so a resumed run would repeat them; run "
            "it in one call"
        )
    holder[names[0]] = derived_seed(seed, bits=31)
    return pyspiel.load_game(game.get_type().short_name, parameters)


def _specification(game: pyspiel.Game, inner: dict | None) -> dict:
    if inner is None:
        return game.get_type().parameter_specification
    return pyspiel.load_game(inner["name"]).get_type().parameter_specification
