"""The algorithms by name: every learner in the package's top namespace."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable

from tmdp_spiel.algorithms.learner import Learner


def catalogue() -> dict[str, type[Learner]]:
    """All learners under their own names, in alphabetical order."""
    import tmdp_spiel  # the namespace is complete only once the package is loaded

    public = sorted(vars(tmdp_spiel).items(), key=lambda item: item[0].lower())
    return {name: value for name, value in public if _is_algorithm(value) and name == value.__name__}


def names_of(condition: Callable[[type[Learner]], bool]) -> str:
    """The names of the learners that satisfy a condition, for a message."""
    return ", ".join(name for name, kind in catalogue().items() if condition(kind))


def _is_algorithm(value) -> bool:
    return isinstance(value, type) and issubclass(value, Learner) and not inspect.isabstract(value)


def find_algorithm(algorithm: str | type[Learner]) -> type[Learner]:
    """The learner class of that name, or the class itself."""
    if isinstance(algorithm, type) and issubclass(algorithm, Learner):
        return algorithm
    known = catalogue()
    if algorithm not in known:
        near = difflib.get_close_matches(str(algorithm), known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"no algorithm is called {algorithm!r}; {hint}There are: {', '.join(known)}")
    return known[algorithm]
