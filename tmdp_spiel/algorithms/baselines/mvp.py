"""MVP (Zhang, Ji and Du, COLT 2021; Zhang, Chen, Lee and Du, COLT 2024, Settling the Sample Complexity of Online RL).

Optimism with an empirical-variance bonus on a model that is refreshed only when the visits of a sequence have doubled.
As in the first paper, the refreshed model has all episodes so far; in the second it has those since the last refresh.
"""

from __future__ import annotations

import collections

import numpy as np

from tmdp_spiel.algorithms.empirical_model import (
    OptimisticLearner,
    choose_by,
    new_model,
    record,
    state_bound,
    state_visits,
)
from tmdp_spiel.algorithms.path_learner import compiled_loop
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree

# The model as of the last refresh of each sequence. model: as in empirical_model;  went_on: int32[S], state visits
Snapshot = collections.namedtuple("Snapshot", ["model", "went_on"])
# The weights of the bonus; iota = ln(sequences / delta).
Bonus = collections.namedtuple("Bonus", ["c1", "c3", "iota"])
MVPMemory = collections.namedtuple("MVPMemory", ["model", "snapshot", "upper", "bonus", "seed", "plan", "path"])


class MVP(OptimisticLearner):
    """Regret minimisation.

    c1, c3: the constants of the bonus c1 sqrt(Var iota / n) + c3 iota / n, iota = ln(number of sequences / delta).
    The papers prove their bounds for c1 = 460/9 and c3 = 544/9, with which nothing is learned on Leduc in a million
    episodes. Changed: returns lie in [0, 1], so c3 has no factor H; an episode either ends or continues, so the
    variance is that of returns and values together, and the papers' separate c2 sqrt(Var of rewards iota / n), c2 = 2
    sqrt(2), is part of the first term; iota has no logarithm of the episodes.
    """

    def __init__(self, tree: InfostateTree, *, c1: float = 0.1, c3: float = 0.1, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, seed, lower=False)
        self.c1 = validation.positive("c1", c1)
        self.c3 = validation.positive("c3", c3)
        self.delta = validation.probability("delta", delta)
        self._memory = MVPMemory(
            model=self._model,
            snapshot=Snapshot(new_model(tree), np.zeros(tree.capacity.states, np.int32)),
            upper=self._upper,
            bonus=Bonus(self.c1, self.c3, np.log((tree.capacity.sequences - 1) / self.delta)),
            seed=self.seed,
            plan=self._plan,
            path=self._path,
        )

    def _compiled(self):
        return _observe, _play


@kernel
def _take_snapshot(links, model, snapshot, sequence):
    snapshot.model.visits[sequence] = model.visits[sequence]
    snapshot.model.returns[sequence] = model.returns[sequence]
    snapshot.model.squares[sequence] = model.squares[sequence]
    child, end = traversal.children(links, sequence)
    while child != end:
        snapshot.went_on[child] = state_visits(links, model.visits, child)
        child = traversal.next_child(links, child)


@kernel
def _optimistic(links, snapshot, upper, bonus, sequence):
    """U = min(1, p-hat . V + c1 sqrt(Var(p-hat, V) iota / n) + c3 iota / n), in the model of the last refresh."""
    visits = snapshot.model.visits[sequence]
    total, squares = snapshot.model.returns[sequence], snapshot.model.squares[sequence]
    child, end = traversal.children(links, sequence)
    while child != end:
        value = state_bound(links, upper, child)
        total += snapshot.went_on[child] * value
        squares += snapshot.went_on[child] * value * value
        child = traversal.next_child(links, child)
    mean = total / visits
    variance = max(squares / visits - mean * mean, 0.0)
    return min(1.0, mean + bonus.c1 * np.sqrt(variance * bonus.iota / visits) + bonus.c3 * bonus.iota / visits)


@kernel
def _observe(links, memory, length, value):
    """After an episode that doubled some count: refreshes the model there, and the bounds above."""
    model, path = memory.model, memory.path
    record(links, model, path, length, value)
    changed = False
    for at in range(length - 1, -1, -1):
        j = path.sequences[at]
        if model.visits[j] & (model.visits[j] - 1) == 0:
            _take_snapshot(links, model, memory.snapshot, j)
            changed = True
        if changed:
            memory.upper[j] = _optimistic(links, memory.snapshot, memory.upper, memory.bonus, j)
            choose_by(links, model, memory.upper, memory.plan, path.states[at], memory.seed)


_play = compiled_loop(_observe)
