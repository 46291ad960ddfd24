"""Shared code of learners that keep several plans of one tree: a row for each level of optimism, and a recommended one.

Row k of state s is at s rows + k. A state that was never visited plays `first` in all rows. An episode takes time
proportional to its length, including the update of the exact value of every row.
"""

from __future__ import annotations

import abc
import collections
import typing
from collections.abc import Callable

import numba
import numpy as np

from tmdp_spiel.algorithms.path_learner import PathLearner
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.tree_mdp import TreeMDP

# first: float64[S + 1], true V(s) of the first plan, and V last;  rows: float64[(S + 1) rows], true V(s) of what each
# row plays where n(s) > 0 (elsewhere it is that of the first plan), and V last;  change: float64[rows], scratch
RowValues = collections.namedtuple("RowValues", ["first", "rows", "change"])


class LevelLearner(PathLearner):
    """Has the tables visits, state_visits, plans and first in _memory.tables, and recommends its last row."""

    plays_in_rounds = True
    _memory: typing.Any

    @property
    @abc.abstractmethod
    def _current(self) -> np.ndarray:
        """int64[1], the row of the next episode."""

    def _prepare(self, first):
        self._choose_any(self._memory.tables.first, first)

    @property
    def _rows(self) -> int:
        return len(self._memory.tables.plans) // len(self._memory.tables.first)

    def plan(self) -> np.ndarray:
        return self._row(int(self._current[0]))

    def recommend(self) -> np.ndarray:
        return self._row(self._rows - 1)

    def _row(self, row: int) -> np.ndarray:
        tables = self._memory.tables
        plan = np.where(tables.state_visits > 0, tables.plans[row :: self._rows], tables.first)
        return plan[: self.tree.num_states]

    def action_selector(self, draw: Callable[[], float]) -> Callable[[int], int]:
        tables, rows, current = self._memory.tables, self._rows, memoryview(self._current.data)
        visits, plans, first = (memoryview(each) for each in (tables.state_visits, tables.plans, tables.first))
        return lambda state: plans[state * rows + current[0]] if visits[state] > 0 else first[state]

    def recommended_value(self, mdp: TreeMDP, values: typing.Any) -> float:
        return mdp.to_utility(float(values.rows[-1]))


@kernel
def _true_sequence_value(links, chances, tables, values, sequence, row):
    """Q(j) = ending value of j + sum over child states c of V(c); V if j is the root."""
    total, rows = chances.ending_value[sequence], len(values.change)
    child, end = traversal.children(links, sequence)
    while child != end:
        seen = tables.state_visits[child] > 0
        total += values.rows[np.int64(child) * rows + row] if seen else values.first[child]
        child = traversal.next_child(links, child)
    return total


@numba.njit(cache=True)
def init_row_values(links, chances, tables, rows, first):
    """The true values of all rows, bottom-up over the visited states."""
    states = len(links.parent)
    values = RowValues(first, np.empty((states + 1) * rows), np.empty(rows))
    for state in range(states - 1, -1, -1):
        if tables.state_visits[state] > 0:
            for row in range(rows):
                cell = np.int64(state) * rows + row
                j = links.first_sequence[state] + tables.plans[cell]
                values.rows[cell] = _true_sequence_value(links, chances, tables, values, j, row)
    for row in range(rows):
        root_value = _true_sequence_value(links, chances, tables, values, traversal.root(links), row)
        values.rows[states * rows + row] = root_value
    return values


@kernel
def played_before(links, tables, cell, state):
    """The sequence that a row, whose cell of the state this is, played until the visit that was just counted."""
    new = tables.state_visits[state] == 1
    return links.first_sequence[state] + (tables.first[state] if new else tables.plans[cell])


@kernel
def rescore_row(links, chances, tables, values, path, at, length, row, before, lead):
    """Updates the true value of a row at a state of the path, where it plays `lead` and played `before`."""
    rows, state = len(values.change), np.int64(path.states[at])
    cell = state * rows + row
    old = values.first[state] if tables.state_visits[state] == 1 else values.rows[cell]
    if lead != before:
        values.rows[cell] = _true_sequence_value(links, chances, tables, values, lead, row)
    elif lead == path.sequences[at] and at < length - 1:
        values.rows[cell] = old + values.change[row]
    else:
        values.rows[cell] = old
    values.change[row] = values.rows[cell] - old
    if at == 0:
        values.rows[len(values.rows) - rows + row] += values.change[row]


@kernel
def follow_row(links, chances, tables, path, row, rows, uniform):
    """One episode of a row from one uniform draw: fills the path; returns (its length, outcome)."""
    j, rest, length = traversal.root(links), uniform, 0
    while True:
        state, outcome, rest = traversal.follow_chance(links, chances, j, rest)
        if outcome >= 0:
            return length, outcome
        action = tables.plans[np.int64(state) * rows + row] if tables.state_visits[state] > 0 else tables.first[state]
        j = np.int64(links.first_sequence[state] + action)
        path.states[length], path.sequences[length] = state, j
        length += 1
