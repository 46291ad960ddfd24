"""The algorithms by name: every learner in the package's top namespace."""

from __future__ import annotations

import difflib
import inspect

from tmdp_spiel.algorithms.learner import Learner


def catalogue() -> dict[str, type[Learner]]:
    """All learners under their own names, in the order in which the package lists them."""
    import tmdp_spiel  # the namespace is complete only once the package is loaded

    public = vars(tmdp_spiel).items()
    return {name: value for name, value in public if _is_algorithm(value) and name == value.__name__}


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
