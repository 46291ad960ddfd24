"""Upper bounds on the best values, certified at all times, and a learner that plays greedily with respect to them.

UCRL on the tree (Auer, Jaksch and Ortner, NeurIPS 2008) with bounds by betting (Waudby-Smith and Ramdas, JRSS B, 2024);
proven in docs/theory.md, section 8. For a sequence j, let X be the return if the episode ends on it, and V*(c) if it
continues to state c. The mean of X is Q*(j). A gambler who bets that the mean is below m, with a fraction f of the
capital, has after n visits the capital

    K(m) = product over the visits of 1 + f (m - X) / (1 - m).

At m = Q*(j) it is a martingale, so it reaches 1 / delta with probability at most delta. K increases with m and
decreases with X, so upper bounds in place of V*(c) can only make it smaller. Therefore the smallest m that they refute
is above Q*(j).
"""

from __future__ import annotations

import collections
import math

import numpy as np

from tmdp_spiel.algorithms.empirical_model import (
    OptimisticLearner,
    choose_by,
    empirical_mean,
    greedy_plan,
    record,
    state_bound,
    state_visits,
)
from tmdp_spiel.algorithms.path_learner import compiled_loop
from tmdp_spiel.bounds.sequence_values import upper_values
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.lazy_tree import LazyTree

_STAKES = 14  # f = 0.9, 0.45, ...: one is near the best for every variance and up to 10^9 visits
_LARGEST_STAKE = 0.9
_GROWTH = 1.02  # a bound is recomputed when its visits have grown by this factor
# The part of its distance from the mean by which a bound may be larger than the least: one to play by, one to certify
_PLAYED, _CERTIFIED = 2.0**-9, 2.0**-26
_MOST_SHARED_BY_POLICY = 50_000  # sequences; on larger trees that would take too long

# confidence, left: see below;  refreshed: int32[J + 1], visits at the last refresh;
# means: float64[J + 1], the mean of what followed each sequence if the best is done afterwards, 0 if nothing is known;
# numbers, values: float64[most children], scratch, how often each child followed and its bound
BettingUCRLMemory = collections.namedtuple(
    "BettingUCRLMemory",
    [
        "model",
        "upper",
        "confidence",
        "left",
        "refreshed",
        "means",
        "numbers",
        "values",
        "seed",
        "plan",
        "path",
    ],
)
# How delta is spread. logarithm: ln(number of bounds / delta), or ln(1 / delta) if by_appearance
Confidence = collections.namedtuple("Confidence", ["logarithm", "by_appearance"])
# One entry per sequence, of a lazy tree. Episodes that left the tree after it: their number, and the sums of
# their returns and squared returns, which are in the model as well
Left = collections.namedtuple("Left", ["number", "returns", "squares"])


class BettingUCRL(OptimisticLearner):
    """Plays the largest upper bound at every state, recommends the empirically best plan.

    delta: the probability that any of the bounds is ever wrong; `upper_bound` also takes another delta. On a lazy tree,
        states that were never visited count as 1, and delta is divided among the sequences in the order in which they
        were added.
    """

    def __init__(self, tree: InfostateTree, *, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, seed, lower=False)
        self.delta = validation.probability("delta", delta)
        self._grows = isinstance(tree, LazyTree)
        self._shares_by_policy = not self._grows and tree.num_sequences <= _MOST_SHARED_BY_POLICY
        most_children = tree.capacity.children + 1
        could_leave = tree.capacity.sequences if self._grows else 0
        self._memory = BettingUCRLMemory(
            model=self._model,
            upper=self._upper,
            confidence=self._confidence(self.delta),
            left=Left(np.zeros(could_leave, np.int32), np.zeros(could_leave), np.zeros(could_leave)),
            refreshed=np.zeros(tree.capacity.sequences, np.int32),
            means=np.zeros(tree.capacity.sequences),
            numbers=np.empty(most_children),
            values=np.empty(most_children),
            seed=self.seed,
            plan=self._plan,
            path=self._path,
        )

    def _confidence(self, delta: float) -> Confidence:
        if self._grows:
            return Confidence(math.log(1 / delta), True)
        return Confidence(math.log((self.tree.num_sequences + 1) / delta), False)

    def _update_left(self, ended_on, value):
        """The value outside the tree may be the largest possible, so it counts as 1 in the bounds."""
        left = self._memory.left
        left.number[ended_on] += 1
        left.returns[ended_on] += value
        left.squares[ended_on] += value * value
        self._update(ended_on, value)

    def observe_failed(self, ended_on: int, left: bool = False) -> None:
        """The unknown return counts as the largest one, so that the bounds hold whatever it would have been."""
        self.observe(ended_on, 1.0, left)

    def upper_bound(self, delta: float) -> float:
        """An upper bound on the value of every policy, in [0, 1]; with probability 1 - delta, it holds at all times."""
        if self._shares_by_policy:
            model = self._model
            return float(upper_values(self.tree, model.visits, model.returns, model.squares, delta)[self.tree.root])
        confidence = self._confidence(validation.probability("delta", delta))
        apart = self._memory._replace(upper=np.ones_like(self._memory.upper), confidence=confidence)
        _bound_all(self.tree.links, apart)
        return float(apart.upper[self.tree.root])

    def foreseen_upper_bound(self, delta: float, factor: float) -> float:
        """An estimate of upper_bound(delta) after `factor` times the episodes, if these are like those so far.

        Capitals would be raised to that power, which is as if ln(1 / delta) were divided by it. Sequences that were
        never visited count as 1, as they do now.
        """
        if self._shares_by_policy:
            model = self._model
            found = upper_values(self.tree, model.visits, model.returns, model.squares, delta, foreseen=factor)
            return float(found[self.tree.root])
        confidence = self._confidence(validation.probability("delta", delta))
        confidence = confidence._replace(logarithm=confidence.logarithm / validation.positive("factor", factor))
        apart = self._memory._replace(upper=np.ones_like(self._memory.upper), confidence=confidence)
        _bound_all(self.tree.links, apart)
        return float(apart.upper[self.tree.root])

    def estimate(self) -> float:
        """The empirical value of the empirically best plan, in [0, 1]; usually too large, as the best of many."""
        return float(self._memory.means[self.tree.root])

    def _recommend_at(self, states):
        return greedy_plan(self.tree.links, self._model, self._memory.means, self.seed, states)

    def _compiled(self):
        return observe, _play


@kernel
def _log_capital(memory, children, ended, total, squares, stake, mean):
    """ln K(mean), at least. Of the returns of episodes that ended only mean r and variance v are known: among all in
    [0, 1] with these, the capital is least if a part v / (v + (1 - r)^2) is 1 and the rest r - v / (1 - r).
    """
    capital = 0.0
    for child in range(children):
        if memory.numbers[child] > 0.0:
            capital += memory.numbers[child] * np.log1p(stake * (mean - memory.values[child]) / (1.0 - mean))
    if ended > 0:
        average = min(total / ended, 1.0)
        variance = max(squares / ended - average * average, 0.0)
        ones, rest = 0.0, average
        if variance > 0.0 and average < 1.0:
            ones = variance / (variance + (1.0 - average) ** 2)
            rest = max(average - variance / (1.0 - average), 0.0)
        capital += ended * ones * np.log1p(-stake)
        capital += ended * (1.0 - ones) * np.log1p(stake * (mean - rest) / (1.0 - mean))
    return capital


@kernel
def _log_confidence(confidence, sequence):
    """ln(1 / delta'), delta' the share of one sequence.

    In a lazy tree, that of the j-th sequence to appear is delta / (2 (j + 1) (1 + ln(j + 1))^2), the root being
    the first, j = 0: all of them add up to at most delta, however many there will be.
    """
    if not confidence.by_appearance:
        return confidence.logarithm
    rank = sequence + 1.0
    return confidence.logarithm + np.log(2.0 * rank) + 2.0 * np.log1p(np.log(rank))


@kernel
def _refutes(memory, children, ended, total, squares, needed, mean, at):
    """Whether any of the stakes refutes a mean, and the best one, looked for from the at-th on.

    ln K is concave in the stake, so among stakes in order it rises up to the best one and falls after it.
    """
    if mean >= 1.0:
        return False, at
    capital = _log_capital(memory, children, ended, total, squares, _LARGEST_STAKE / 2.0**at, mean)
    step, turns = 1, True
    while capital < needed:
        other = -np.inf
        if 0 <= at + step < _STAKES:
            other = _log_capital(memory, children, ended, total, squares, _LARGEST_STAKE / 2.0 ** (at + step), mean)
        if other > capital:
            at, capital, turns = at + step, other, False
        elif step == 1 and turns:
            step = -1
        else:
            return False, at
    return True, at


@tree_pass
def _bound(links, memory, sequence, above, precision):
    """The least mean found to be refuted at the sequence's share of delta, by a stake at 1 / _STAKES of it.

    above: what was refuted before, or 1. The result is a refuted mean, or `above`. It exceeds the least refuted mean by
    at most that fraction of its distance from the empirical mean.
    """
    model, upper = memory.model, memory.upper
    ended, followers = np.int64(model.visits[sequence]), 0
    child, end = traversal.children(links, sequence)
    while child != end:
        number = state_visits(links, model.visits, child)
        memory.numbers[followers], memory.values[followers] = number, state_bound(links, upper, child)
        ended -= number
        followers += 1
        child = traversal.next_child(links, child)
    total, squares = model.returns[sequence], model.squares[sequence]
    if len(memory.left.number) and memory.left.number[sequence] > 0:
        left = np.int64(memory.left.number[sequence])
        memory.numbers[followers], memory.values[followers] = left, 1.0
        total -= memory.left.returns[sequence]
        squares -= memory.left.squares[sequence]
        ended -= left
        followers += 1
    needed = _log_confidence(memory.confidence, sequence) + np.log(_STAKES)
    mean, stake, step = empirical_mean(links, model, upper, sequence), 0, precision
    below = mean
    while above > below:  # from above in growing steps, as it is most often where it was
        middle = above - step * (above - mean)
        refuted, stake = _refutes(memory, followers, ended, total, squares, needed, max(middle, below), stake)
        if not refuted:
            below = max(middle, below)
            break
        above, step = max(middle, below), min(4.0 * step, 1.0)
    while above - below > precision * (above - mean):
        middle = (below + above) / 2.0
        if not below < middle < above:
            break
        refuted, stake = _refutes(memory, followers, ended, total, squares, needed, middle, stake)
        if refuted:
            above = middle
        else:
            below = middle
    return above


@tree_pass
def _bound_all(links, memory):
    """The bounds of all sequences from the leaves up; memory.upper must be 1 everywhere before."""
    for state in range(len(links.parent) - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if memory.model.visits[j] > 0:
                memory.upper[j] = _bound(links, memory, np.int64(j), 1.0, _CERTIFIED)
    root = np.int64(traversal.ROOT)
    if memory.model.visits[root] > 0:
        memory.upper[root] = _bound(links, memory, root, 1.0, _CERTIFIED)


@kernel
def _refresh(links, memory, sequence):
    """The bounds of all times hold together, so the smallest one so far is also a bound."""
    visits = memory.model.visits[sequence]
    memory.means[sequence] = empirical_mean(links, memory.model, memory.means, sequence)
    if visits >= _GROWTH * memory.refreshed[sequence]:
        memory.refreshed[sequence] = visits
        memory.upper[sequence] = _bound(links, memory, sequence, memory.upper[sequence], _PLAYED)


@kernel
def observe(links, memory, length, value):
    record(links, memory.model, memory.path, length, value)
    for at in range(length - 1, -1, -1):
        _refresh(links, memory, np.int64(memory.path.sequences[at]))
        choose_by(links, memory.model, memory.upper, memory.plan, memory.path.states[at], memory.seed)
    _refresh(links, memory, np.int64(traversal.ROOT))


_play = compiled_loop(observe)
