"""What a certificate presumes, as far as it can be checked.

Certified numbers hold for a learner that has learned from this opponent alone, in episodes that were played by the
rules, against an opponent that plays one policy in all of them. The last cannot be proven by playing; that it does not
hold can show.
"""

from __future__ import annotations

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.bounds import betting
from tmdp_spiel.trees.decision_tree import DecisionTree

FALSE_ALARM = 0.005


class OpponentChangesWarning(UserWarning):
    """The opponent seems to play otherwise than it did before; certified numbers presume that it does not."""


def check_new_learner(learner: Learner, tree: DecisionTree) -> None:
    """Refuses a learner of another tree or player, and one that has learned before: its bounds would be of that."""
    if not isinstance(learner, Learner):
        what = f"the class {learner.__name__}" if isinstance(learner, type) else f"a {type(learner).__name__}"
        raise TypeError(f"a response is learned by a learner, such as BettingUCRL(tree), not by {what}")
    if not learner.tree.has_the_states_of(tree):
        raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {tree!r}")
    if learner.episodes:
        raise ValueError(
            f"the learner has learned from {learner.episodes:,} episodes already, perhaps against another opponent: "
            "what it certifies would not be of this one; make a new learner"
        )


def seems_to_change(early: np.ndarray, late: np.ndarray, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether returns of one policy, early and late, differ by more than chance explains.

    The differences late - early, one by one, have mean 0 if nothing has changed. A betting interval around their mean
    that leaves out 0 is the alarm, which is false with probability at most `false_alarm`.
    """
    number = min(len(early), len(late))
    if number == 0:
        return False
    differences = np.subtract(late[:number], early[:number], dtype=np.float64)
    low, high = betting.interval((1.0 + differences) / 2.0, false_alarm)
    return not low <= 0.5 <= high
