"""Shared code of model-based learners: transition counts, and bounds on the best value below each sequence.

Only what an episode visits is counted, so only the bounds on its path change.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.algorithms.path_learner import DeterministicLearner
from tmdp_spiel.core import hash_rng
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree

# One entry per sequence. visits: int32, episodes through it;  returns, squares: float64, sums of
# the returns of the episodes that ended on it, and of their squares. A state's visits are the sum over its sequences.
Model = collections.namedtuple("Model", ["visits", "returns", "squares"])


def new_model(tree) -> Model:
    """Nothing seen yet. Zeros take no memory until they are written to."""
    sequences = tree.capacity.sequences
    return Model(np.zeros(sequences, np.int32), np.zeros(sequences), np.zeros(sequences))


class OptimisticLearner(DeterministicLearner):
    """Keeps a model and, per sequence, an upper and a lower bound on the best value below it, on the [0, 1] scale.

    If a learner never stops, the bounds of the root stay at 1 and 0. lower: whether it needs lower bounds.
    """

    def __init__(self, tree: InfostateTree, seed, lower: bool = True):
        super().__init__(tree, seed)
        self._model = new_model(tree)
        self._upper = np.ones(tree.capacity.sequences)
        self._lower = np.zeros(tree.capacity.sequences if lower else 0)

    def _recommend_at(self, states):
        """The plan that is played; for learners that minimise regret."""
        return self._plan[states]

    @property
    def visits(self) -> np.ndarray:
        """The episodes through each sequence."""
        return self._model.visits[: self.tree.sequence_end].copy()

    @property
    def upper(self) -> np.ndarray:
        """Per sequence: an upper bound on the expected return after it under the best play."""
        return self._upper[: self.tree.sequence_end].copy()

    @property
    def lower(self) -> np.ndarray:
        """Per sequence: a lower bound on the expected return after it under the best play."""
        sequences = self.tree.sequence_end
        return self._lower[:sequences].copy() if len(self._lower) else np.zeros(sequences)


@kernel
def record(links, model, path, length, value):
    """Counts an episode, at the root and at every sequence of its path."""
    last = np.int64(traversal.ROOT)
    model.visits[last] += 1
    for at in range(length):
        last = np.int64(path.sequences[at])
        model.visits[last] += 1
    model.returns[last] += value
    model.squares[last] += value * value


@kernel
def state_visits(links, visits, state):
    total = 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        total += visits[j]
    return total


@kernel
def state_bound(links, bound, state):
    """The largest bound of the state's sequences."""
    best = -np.inf
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        best = max(best, bound[j])
    return best


@kernel
def empirical_mean(links, model, bound, sequence):
    """The mean of what followed the sequence: returns where episodes ended, the state's bound where they continued.

    (R(j) + sum over child states c of visits(c) max over a of bound(c, a)) / visits(j)
    """
    total = model.returns[sequence]
    child, end = traversal.children(links, sequence)
    while child != end:
        total += state_visits(links, model.visits, child) * state_bound(links, bound, child)
        child = traversal.next_child(links, child)
    return total / model.visits[sequence]


@kernel
def empirical_moments(links, model, bound, sequence):
    """Mean and variance of what followed the sequence; see empirical_mean."""
    total, squares = model.returns[sequence], model.squares[sequence]
    child, end = traversal.children(links, sequence)
    while child != end:
        went_on, value = state_visits(links, model.visits, child), state_bound(links, bound, child)
        total += went_on * value
        squares += went_on * value * value
        child = traversal.next_child(links, child)
    mean = total / model.visits[sequence]
    return mean, max(squares / model.visits[sequence] - mean * mean, 0.0)


@kernel
def greedy_action(links, model, bound, state, seed):
    """The index of an action of the largest bound, ties at random."""
    time = state_visits(links, model.visits, state)
    first = links.first_sequence[state]
    return (
        hash_rng.argmax(bound, first, links.first_sequence[state + 1], seed, time, hash_rng.sequence_key(first)) - first
    )


@kernel
def choose_by(links, model, bound, plan, state, seed):
    """Sets the plan at a state to an action of the largest bound, ties at random."""
    plan[state] = greedy_action(links, model, bound, state, seed)


@numba.njit(cache=True)
def greedy_plan(links, model, bound, seed, states):
    """An action of the largest bound at each of these states, ties at random."""
    plan = np.empty(len(states), PLAN_DTYPE)
    for at, state in enumerate(states):
        plan[at] = greedy_action(links, model, bound, state, seed)
    return plan
