"""Checks whether an opponent is that of the earlier calls, by what a run's file stores about it.

For an opponent that can only be played against, these are compared: the code that defines it (the bytes of its file and
of the user's modules that it imports, and the compiled functions of its class); its attributes right after it was made
and the global names that its functions use, both without generators; and the answers of a copy of it.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import json
import pathlib
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.opponents import repetition
from tmdp_spiel.openspiel.opponents.digests import Digests, combined
from tmdp_spiel.openspiel.opponents.repetition import ENOUGH_ANSWERS, Transcript, number_of_answers

# The states of objects at the beginning and end of calls: they are the same objects, even if they have learned since.
SEEN: dict[tuple[int, ...], _Seen] = {}


@dataclasses.dataclass
class _Seen:
    objects: list[weakref.ref]
    states: list[dict[str, str]]


@dataclasses.dataclass
class Identity:
    """The identity of an opponent.

    code:    a digest of the code
    state:   digests by name, of attributes and of global names that its code uses
    unread:  what could not be read
    answers: what copies of it answered in test episodes
    """

    code: str
    state: dict[str, str]
    unread: list[str]
    answers: Transcript = dataclasses.field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Identity:
        return cls(**json.loads(text))

    def without(self, names: Iterable[str], why: str) -> Identity:
        """The same identity, without comparing these parts of the state."""
        gone = set(names)
        state = {name: digest for name, digest in self.state.items() if name not in gone}
        return dataclasses.replace(
            self, state=state, unread=sorted({*self.unread, *(f"{name} ({why})" for name in gone)})
        )


def identify(source, made: Mapping[int, object] | None = None) -> Identity:
    """The identity of an opponent as the user gave it, without its answers; also if it plays between two calls.

    made: by player, the bots that play: the objects that were given, or those that were made.
    """
    reader, state = Digests(), {}
    state["what makes it"] = combined([reader.digest(each) for each in _leaves(source) if not _is_object(each)])
    objects = {f"object {at}": each for at, each in enumerate(_leaves(source)) if _is_object(each)}
    given = list(objects.values())
    objects |= {f"player {at}": bot for at, bot in (made or {}).items() if not any(bot is each for each in given)}
    for whose, each in objects.items():
        attributes = reader.attributes(each)
        state[whose] = reader.begin(type(each) if attributes else each)
        state |= {f"{name} of {whose}": reader.begin(value) for name, value in attributes.items()}
    reader.follow()
    state |= {f"what its functions hold, {at}": digest for at, digest in enumerate(sorted(reader.held))}
    state |= reader.globals
    return Identity(code=combined(sorted(set(reader.code))), state=state, unread=sorted(set(reader.unread)))


def _leaves(source) -> list:
    if isinstance(source, Mapping) and all(isinstance(player, (int, np.integer)) for player in source):
        return list(source.values())
    return list(source) if isinstance(source, (list, tuple)) else [source]


def _is_object(each) -> bool:
    """Whether the object itself plays, and does not only make the bots that play."""
    return not isinstance(each, (str, type, pathlib.PurePath, functools.partial)) and not inspect.isroutine(each)


def remember(source, state: dict[str, str]) -> None:
    """Records the state of given objects at the beginning and end of a call."""
    with contextlib.suppress(TypeError):  # what cannot be referred to weakly is not remembered
        key = tuple(map(id, _leaves(source)))
        known = _seen(source)
        if known is None:
            drop = functools.partial(_forget, key)
            known = SEEN[key] = _Seen([weakref.ref(each, drop) for each in _leaves(source)], [])
        known.states.append(state)


def _forget(key: tuple[int, ...], _) -> None:
    SEEN.pop(key, None)


def _seen(source) -> _Seen | None:
    leaves = _leaves(source)
    known = SEEN.get(tuple(map(id, leaves)))
    same = known is not None and all(one() is other for one, other in zip(known.objects, leaves))
    return known if same else None


def last_state(source) -> dict[str, str] | None:
    """What was recorded last for given objects, if anything."""
    known = _seen(source)
    return None if known is None else known.states[-1]


def is_the_same_object(before: Identity, source) -> bool:
    """Whether it is still the same object in this process as at the beginning of the run."""
    known = _seen(source)
    return known is not None and before.state in known.states


def other_parts(before: Identity, now: Identity, source) -> list[str]:
    """The parts of its state that have changed since then or, for the same object, since the end of the last call."""
    then = before.state
    if is_the_same_object(before, source) and (known := _seen(source)) is not None:
        then = known.states[-1]
    return sorted(name for name in {*then, *now.state} if then.get(name) != now.state.get(name))


def difference(before: Identity, now: Identity, source) -> str:
    """Why it is not the earlier opponent, as a clause; empty if no difference was found."""
    if not isinstance(before.state, dict):
        return "its identity was recorded by an earlier version of this package"
    if before.code != now.code:
        return "the code that defines it has changed since"
    # What could be read at only one of the two times is not a difference; see cannot_be_told.
    then, here = ([each.rpartition(" (")[0] for each in which.unread if each.endswith(")")] for which in (before, now))
    if parts := [name for name in other_parts(before, now, source) if name not in (*then, *here)]:
        return (
            f"its attributes have changed since ({', '.join(parts[:3])}"
            f"{' and others' if len(parts) > 3 else ''}); if it changes while it plays, give its class, or a function "
            "that makes it"
        )
    return repetition.difference(before.answers, now.answers)


def cannot_be_told(now: Identity) -> str:
    """What could not be compared, as a clause; empty if everything was compared."""
    unread = list(now.unread)
    if number_of_answers(now.answers) < ENOUGH_ANSWERS:
        unread.append(f"its answers, of which there were {number_of_answers(now.answers)}")
    if not unread:
        return ""
    asked = f"; it was asked at {len(now.answers)} states" if now.answers else ""
    return f"what is in {', '.join(unread[:3])}{' and others' if len(unread) > 3 else ''}{asked}"


def copied(source):
    """A copy that can be queried without affecting the original; None if it cannot be copied."""
    with contextlib.suppress(Exception):
        kind: Any = type(source)
        if pyspiel.Bot in kind.__bases__ and kind.__module__ != pyspiel.Bot.__module__:  # which pickle cannot copy
            new = kind.__new__(kind)
            pyspiel.Bot.__init__(new)
            vars(new).update(copy.deepcopy(vars(source)))
            return new
        return copy.deepcopy(source)
    return None
