"""StrongEuler (Simchowitz and Jamieson, NeurIPS 2019) and its relatives: optimism with a bonus for empirical variance.

EULER (Zanette and Brunskill, ICML 2019) and UCBVI-BF (Azar, Osband and Munos, ICML 2017) share the bonus for the
variance of the next value. A correction is added because that value is itself an upper bound; the three differ in the
correction and in the logarithms.
"""

from __future__ import annotations

import collections

import numpy as np

from tmdp_spiel.algorithms.empirical_model import (
    OptimisticLearner,
    choose_by,
    empirical_mean,
    empirical_moments,
    record,
    state_bound,
    state_visits,
)
from tmdp_spiel.algorithms.path_learner import compiled_loop
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree

VARIANTS = ("strong_euler", "euler", "ucbvi_bf")
STRONG_EULER, EULER, UCBVI_BF = range(3)

# variant: index of VARIANTS;  log_confidence: ln of what the variant puts over delta, without its n
Bonus = collections.namedtuple("Bonus", ["variant", "c", "log_confidence"])
StrongEulerMemory = collections.namedtuple(
    "StrongEulerMemory", ["model", "upper", "lower", "bonus", "seed", "plan", "path"]
)


class StrongEuler(OptimisticLearner):
    """Regret minimisation.

    variant: "strong_euler", "euler" or "ucbvi_bf". c: a factor for the whole bonus; 1 is that of the analyses, with
    these changes. Returns lie in [0, 1], which replaces the factors H. An episode either ends or continues, so one
    bonus with the variance of returns and values together replaces the two for rewards and transitions. The logarithms
    omit the number of steps. The lower bound of a state is the largest of its actions instead of that of the played
    one, which is also a bound, and narrower. delta: the probability of a mistake that the analyses allow.
    """

    def __init__(
        self, tree: InfostateTree, *, variant: str = "strong_euler", c: float = 0.03, delta: float = 0.05, seed: int = 0
    ):
        super().__init__(tree, seed, lower=variant != "ucbvi_bf")
        self.variant = validation.choice("variant", variant, VARIANTS)
        self.c = validation.positive("c", c)
        self.delta = validation.probability("delta", delta)
        sequences = float(tree.capacity.sequences - 1)
        over_delta = {"strong_euler": 10.0 * sequences**2, "euler": 28.0 * sequences, "ucbvi_bf": 5.0 * sequences}
        self._memory = StrongEulerMemory(
            model=self._model,
            upper=self._upper,
            lower=self._lower,
            bonus=Bonus(VARIANTS.index(variant), self.c, np.log(over_delta[variant] / self.delta)),
            seed=self.seed,
            plan=self._plan,
            path=self._path,
        )

    def _compiled(self):
        return _observe, _play


@kernel
def _squared_doubt(links, model, upper, lower, bonus, sequence, log):
    """How far the next value may be above the truth, squared, in the empirical mean.

    UCBVI-BF: sum p-hat(c) min(1, ln^2 / n(c)), without the factor 100^2 S^2 A of the source, which would make it
    always 1; the others: sum p-hat(c) (U(c) - L(c))^2.
    """
    total = 0.0
    child, end = traversal.children(links, sequence)
    while child != end:
        visits = state_visits(links, model.visits, child)
        if visits > 0 and bonus.variant == UCBVI_BF:
            total += visits * min(1.0, log * log / visits)
        elif visits > 0:
            total += visits * (state_bound(links, upper, child) - state_bound(links, lower, child)) ** 2
        child = traversal.next_child(links, child)
    return total / model.visits[sequence]


@kernel
def _width(links, model, upper, lower, bonus, sequence, variance):
    """With J sequences, m things that can follow, and ln the logarithm of the term in brackets:

    StrongEuler: sqrt(2 Var ln / n) + 8 ln / 3n + sqrt(m doubt ln / n) + 8 m ln / 3n   (10 J^2 n / delta)
    EULER:       sqrt(2 Var ln / n) + 5 ln / 3n + sqrt(2 ln) / n + sqrt(2 doubt ln / n)   (4 J / (delta / 7))
    UCBVI-BF:    sqrt(8 Var ln / n) + 14 ln / 3n + sqrt(8 doubt / n)                           (5 J / delta)
    """
    visits = model.visits[sequence]
    log = bonus.log_confidence + (np.log(visits) if bonus.variant == STRONG_EULER else 0.0)
    doubt = _squared_doubt(links, model, upper, lower, bonus, sequence, log)
    if bonus.variant == STRONG_EULER:
        followers = traversal.num_children(links, sequence) + links.can_end[sequence]
        width = np.sqrt(2.0 * variance * log / visits) + np.sqrt(followers * doubt * log / visits)
        return bonus.c * (width + 8.0 * (1.0 + followers) * log / (3.0 * visits))
    if bonus.variant == EULER:
        width = np.sqrt(2.0 * variance * log / visits) + np.sqrt(2.0 * doubt * log / visits)
        return bonus.c * (width + (5.0 / 3.0 * log + np.sqrt(2.0 * log)) / visits)
    width = np.sqrt(8.0 * variance * log / visits) + np.sqrt(8.0 * doubt / visits)
    return bonus.c * (width + 14.0 * log / (3.0 * visits))


@kernel
def _refresh(links, memory, sequence):
    """U = min(1, p-hat . U + width), L = max(0, p-hat . L - width)."""
    model, upper, lower, bonus = memory.model, memory.upper, memory.lower, memory.bonus
    mean, variance = empirical_moments(links, model, upper, sequence)
    width = _width(links, model, upper, lower, bonus, sequence, variance)
    upper[sequence] = min(1.0, mean + width)
    if bonus.variant != UCBVI_BF:
        lower[sequence] = max(0.0, empirical_mean(links, model, lower, sequence) - width)


@kernel
def _observe(links, memory, length, value):
    record(links, memory.model, memory.path, length, value)
    for at in range(length - 1, -1, -1):
        _refresh(links, memory, memory.path.sequences[at])
        choose_by(links, memory.model, memory.upper, memory.plan, memory.path.states[at], memory.seed)


_play = compiled_loop(_observe)
