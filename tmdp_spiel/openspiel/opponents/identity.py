"""Is this the opponent of the earlier calls? What a run's file keeps to tell.

Of an opponent that can only be played with, three things are compared: the code that defines it (the bytes of its file
and the compiled functions of its class), its attributes, without its generators, and, where some of these cannot be
read, its answers at a few states.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import inspect
import json
import pathlib
import sys
import time
import types
import weakref
from collections.abc import Callable, Mapping

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.opponents.bots import as_bot, bot_name, first_decision
from tmdp_spiel.openspiel.opponents.seeding import cell_is_set, is_generator

_MOST_OBJECTS = 100_000
_PROBED_STATES, _ANSWERS, _SECONDS = 12, 8, 2.0
_PERMUTATIONS = 9_999
_REFUSED_BELOW = 0.001  # the probability that the answers of one and the same opponent are called different

# The states that an object was in at the beginning of a call: it is the same object, whatever it has learned since.
_SEEN: dict[int, tuple[weakref.ref, set[str]]] = {}


@dataclasses.dataclass
class Identity:
    """code, state: digests;  unread: what could not be read;  answers: {state: {action: how often it was answered}}."""

    code: str
    state: str
    unread: list[str]
    answers: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Identity:
        return cls(**json.loads(text))


def identify(source, probe: Callable[[], Mapping[int, object]] | None = None, game: pyspiel.Game | None = None):
    """The identity of an opponent as a user gave it; also for objects that play between two calls.

    probe: makes the bots to be asked, by player, if the attributes do not tell all.
    """
    reader = _Reader()
    state = _combined([reader.digest(source), *reader.held])
    found = Identity(code=_combined(sorted(set(reader.code))), state=state, unread=sorted(set(reader.unread)))
    if found.unread and probe is not None and game is not None:
        found.answers = answers(probe(), game)
    _remember(source, found.state)
    return found


def _remember(source, state: str) -> None:
    with contextlib.suppress(TypeError):  # what cannot be referred to weakly is not remembered
        key = id(source)
        known = _SEEN.get(key)
        if known is None or known[0]() is not source:
            known = _SEEN[key] = weakref.ref(source, lambda _: _SEEN.pop(key, None)), set()
        known[1].add(state)


def difference(before: Identity, now: Identity, source) -> str:
    """Why it is not the opponent of before, as a clause; empty if nothing speaks against it."""
    if before.code != now.code:
        return "the code that defines it has changed since"
    known = _SEEN.get(id(source))
    same_object = known is not None and known[0]() is source and before.state in known[1]
    if before.state != now.state and not same_object:
        return (
            "its attributes are not those that it had then; if it changes while it plays, give its class, or a "
            "function that makes it"
        )
    for state in before.answers.keys() & now.answers.keys():
        if _answers_differ(before.answers[state], now.answers[state]):
            return f"at {state!r} it answers {now.answers[state]} where it answered {before.answers[state]}"
    return ""


def cannot_be_told(now: Identity) -> str:
    """What could not be compared, as a clause; empty if all could."""
    if not now.unread:
        return ""
    asked = f"; it was asked at {len(now.answers)} states" if now.answers else ""
    return f"what is in {', '.join(now.unread[:3])}{' and others' if len(now.unread) > 3 else ''}{asked}"


class _Reader:
    """Digests an object: everything in it that can be read, and the code of its classes and functions."""

    def __init__(self):
        self.code: list[str] = []
        self.held: list[str] = []  # what the functions of classes hold
        self.unread: list[str] = []
        self._numbers: dict[int, int] = {}
        self._alive: list = []  # so that no two objects have one id
        self._classes: set[type] = set()

    def digest(self, each) -> str:
        if each is None or isinstance(each, (bool, int, float, complex, str, bytes)):
            return repr(each)
        if isinstance(each, pathlib.PurePath):
            each = str(each)
            path = pathlib.Path(each)
            return _combined([each, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""])
        if id(each) in self._numbers:
            return f"seen {self._numbers[id(each)]}"
        if len(self._numbers) > _MOST_OBJECTS:
            self.unread.append("more attributes than can be compared")
            return ""
        self._numbers[id(each)] = len(self._numbers)
        self._alive.append(each)
        return self._digest(each)

    def _digest(self, each) -> str:
        if is_generator(each):
            return "a generator"
        if isinstance(each, np.generic):
            return repr(each)
        if isinstance(each, np.ndarray) and not each.dtype.hasobject:
            return _combined([each.dtype.str, repr(each.shape), hashlib.sha256(each.tobytes()).hexdigest()])
        if isinstance(each, Mapping):
            return _combined(sorted(f"{self.digest(key)}: {self.digest(value)}" for key, value in each.items()))
        if isinstance(each, (set, frozenset)):
            return _combined(sorted(self.digest(value) for value in each))
        if isinstance(each, (list, tuple)):
            return _combined([type(each).__name__, *(self.digest(value) for value in each)])
        if isinstance(each, types.ModuleType):
            return f"module {each.__name__}"
        if isinstance(each, types.MethodType):
            return _combined([self.digest(each.__self__), self.digest(each.__func__)])
        if isinstance(each, types.FunctionType):
            self._read_file(each)
            cells = [cell.cell_contents for cell in each.__closure__ or () if cell_is_set(cell)]
            held = [*cells, *(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()]
            return _combined([_code_digest(each.__code__), *(self.digest(value) for value in held)])
        if isinstance(each, type):
            self._read_class(each)
            return f"class {each.__qualname__}"
        if isinstance(each, (pyspiel.Game, pyspiel.State)):
            return str(each)
        tensor = _as_array(each)
        if tensor is not None:
            return self._digest(tensor)
        return self._attributes(each)

    def _attributes(self, each) -> str:
        kind = type(each)
        self._read_class(kind)
        held = dict(getattr(each, "__dict__", {}))
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if hasattr(each, slot) and not slot.startswith("__"):
                    held[slot] = getattr(each, slot)
        in_python = getattr(kind, "__flags__", 0) & (1 << 9)  # a class that a `class` statement made
        if not in_python or (isinstance(each, pyspiel.Bot) and kind.__module__ == pyspiel.Bot.__module__):
            self.unread.append(f"a {kind.__module__}.{kind.__qualname__}")
        return _combined([kind.__qualname__, *(f"{name} = {self.digest(held[name])}" for name in sorted(held))])

    def _read_class(self, kind: type) -> None:
        for base in kind.__mro__:
            if base.__module__ in ("builtins", "abc", "typing", pyspiel.Bot.__module__) or base in self._classes:
                continue
            self._classes.add(base)
            self._read_file(base)
            for name, value in sorted(vars(base).items()):
                function = getattr(value, "__func__", value)
                if isinstance(function, types.FunctionType):
                    self.code.append(f"{base.__qualname__}.{name} {_code_digest(function.__code__)}")
                    self.held.append(self.digest(function))
                elif not name.startswith("__") and isinstance(value, (bool, int, float, str, tuple, np.ndarray)):
                    self.code.append(f"{base.__qualname__}.{name} {self.digest(value)}")

    def _read_file(self, each) -> None:
        path = getattr(sys.modules.get(each.__module__), "__file__", None)
        with contextlib.suppress(TypeError, OSError):
            path = path or inspect.getsourcefile(each)
        if path is not None and pathlib.Path(path).is_file():
            self.code.append(hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest())


def _as_array(each) -> np.ndarray | None:
    """A tensor of torch or JAX as an array."""
    if type(each).__module__.partition(".")[0] not in ("torch", "jax", "jaxlib") or not hasattr(each, "shape"):
        return None
    with contextlib.suppress(Exception):
        return np.asarray(each.detach().cpu() if hasattr(each, "detach") else each)
    return None


def _combined(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _code_digest(code: types.CodeType) -> str:
    constants = [_code_digest(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return _combined([code.co_code.hex(), *constants, *code.co_names, *code.co_varnames])


def answers(players: Mapping[int, object], game: pyspiel.Game) -> dict[str, dict[str, int]]:
    """What bots answer at a few states, each asked several times, for two seconds at most."""
    found: dict[str, dict[str, int]] = {}
    until = time.perf_counter() + _SECONDS
    for number in range(_PROBED_STATES):
        for player, source in players.items():
            bot = as_bot(source)
            for _ in range(_ANSWERS):
                if found and time.perf_counter() > until:
                    return found
                state = first_decision(game, player, bot, seed=number)
                if state is None:
                    break
                counts = found.setdefault(f"player {player} after {state.history()}", {})
                answer = str(bot.step(state))
                counts[answer] = counts.get(answer, 0) + 1
    return found


def copied(source):
    """A copy that can be asked without touching the original; None if it cannot be copied."""
    with contextlib.suppress(Exception):
        return copy.deepcopy(source)
    return None


def _answers_differ(before: dict[str, int], now: dict[str, int]) -> bool:
    """Whether two samples of answers differ by more than chance explains: a permutation test of the chi-square."""
    kinds = sorted(before.keys() | now.keys())
    labels = np.repeat(np.arange(len(kinds)), [before.get(kind, 0) + now.get(kind, 0) for kind in kinds])
    size = sum(before.values())
    expected = np.bincount(labels, minlength=len(kinds)) * size / len(labels)

    def distance(sample: np.ndarray) -> np.ndarray:
        counts = np.array([(sample == kind).sum(-1) for kind in range(len(kinds))])
        return (((counts.T - expected) ** 2) / np.maximum(expected, 1e-9)).sum(-1)

    seen = distance(np.repeat(np.arange(len(kinds)), [before.get(kind, 0) for kind in kinds]))
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(labels, (_PERMUTATIONS, 1)), axis=1)[:, :size]
    rare = (1 + (distance(shuffled) >= seen - 1e-9).sum()) / (1 + _PERMUTATIONS)
    return bool(rare < _REFUSED_BELOW)


def name_of(source) -> str:
    """What to call an opponent in a message."""
    return source if isinstance(source, str) else bot_name(source)
