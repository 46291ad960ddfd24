"""BPI-UCRL (Kaufmann et al., ALT 2021, Adaptive Reward-Free Exploration; Tirinzoni, Al-Marjani and Kaufmann, ALT 2023).

This is the simplified form of the paper's experiments. Returns lie in [0, 1] and come only at the end of an episode, so
the width at a sequence has no factor for the horizon.
"""

from __future__ import annotations

import collections

import numpy as np

from tmdp_spiel.algorithms.empirical_model import OptimisticLearner, choose_by, empirical_mean, greedy_plan, record
from tmdp_spiel.algorithms.path_learner import compiled_loop
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree

BPIUCRLMemory = collections.namedtuple(
    "BPIUCRLMemory", ["model", "upper", "lower", "epsilon", "delta", "seed", "plan", "path"]
)


class BPIUCRL(OptimisticLearner):
    """PAC identification by optimism.

    Plays the largest upper bound at every state, recommends the largest lower bound, and stops when the two are within
    epsilon at the root, on the [0, 1] scale of returns. delta: the chance that the interval of one sequence may ever
    fail; the simplified widths have no union over the sequences.
    """

    def __init__(self, tree: InfostateTree, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, seed)
        self.epsilon = validation.probability("epsilon", epsilon)
        self.delta = validation.probability("delta", delta)
        self._memory = BPIUCRLMemory(
            model=self._model,
            upper=self._upper,
            lower=self._lower,
            epsilon=self.epsilon,
            delta=self.delta,
            seed=self.seed,
            plan=self._plan,
            path=self._path,
        )

    @property
    def stopped(self) -> bool:
        return bool(_has_stopped(self.tree.links, self._memory))

    def _recommend_at(self, states):
        return greedy_plan(self.tree.links, self._model, self._lower, self.seed, states)

    def _compiled(self):
        return _observe, _play


@kernel
def _has_stopped(links, memory):
    return memory.upper[traversal.ROOT] - memory.lower[traversal.ROOT] <= memory.epsilon


@kernel
def _refresh(links, memory, sequence):
    """U = min(1, mean of what followed + b), L = max(0, the same with L - b),
    b = sqrt((ln(1/delta) + ln(e (1 + n))) / (2n)).
    """
    model, upper, lower = memory.model, memory.upper, memory.lower
    visits = model.visits[sequence]
    width = np.sqrt((1.0 - np.log(memory.delta) + np.log1p(visits)) / (2.0 * visits))
    upper[sequence] = min(1.0, empirical_mean(links, model, upper, sequence) + width)
    lower[sequence] = max(0.0, empirical_mean(links, model, lower, sequence) - width)


@kernel
def _observe(links, memory, length, value):
    record(links, memory.model, memory.path, length, value)
    for at in range(length - 1, -1, -1):
        _refresh(links, memory, memory.path.sequences[at])
        choose_by(links, memory.model, memory.upper, memory.plan, memory.path.states[at], memory.seed)
    _refresh(links, memory, traversal.ROOT)


_play = compiled_loop(_observe, _has_stopped)
