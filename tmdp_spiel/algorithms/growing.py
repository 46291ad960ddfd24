"""How a learner grows with its tree.

All that a learner keeps lies in arrays whose sizes are those of tree.room. When the tree has more room than before, a
new learner is made as the old one was, and takes over what the old one holds: the front of every array. What the new
arrays have beyond that is as in a learner that has seen nothing.
"""

from __future__ import annotations

import numpy as np


def enlarge(learner) -> None:
    """Gives the learner the room of its tree."""
    fresh = type(learner)(learner.tree, seed=learner.seed, **learner.hyper_parameters)
    for name, value in vars(learner).items():
        if isinstance(value, (np.ndarray, tuple)):
            _copy(value, getattr(fresh, name))
        elif name not in ("tree", "room"):
            setattr(fresh, name, value)
    vars(learner).update(vars(fresh))


def _copy(old, new) -> None:
    """Copies arrays, and those in named tuples, into the front of larger ones."""
    if isinstance(old, np.ndarray):
        new[: len(old)] = old
    elif isinstance(old, tuple):
        for part, new_part in zip(old, new):
            _copy(part, new_part)
