"""LUCB-T-Uniform (section 4.1 of the paper): LUCB-T that judges a policy on equally much data from each of its endings.

A policy pi with n(pi) = m is judged on the first m outcomes of each of its ending sequences only. The union over counts
is then over one number per policy, at the price of remembering every outcome and of an estimate that is not additive
over all policies: for each distinct count m, a pass over the tree for the policies whose endings all have at least m
plays, and one of them exactly m.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel import confidence, planning
from tmdp_spiel.algorithms.learner import Learner, choice, positive
from tmdp_spiel.algorithms.lucb_t import BATCH, PLANNED, PLAYED, STOPPED
from tmdp_spiel.algorithms.policy_arms import Policy, new_policy, policy_value
from tmdp_spiel.decision_tree import PLAN_DTYPE
from tmdp_spiel.kernels import kernel, tree_pass
from tmdp_spiel.tree_mdp import sample_deterministic

FULL = 4  # in the progress array, after LUCB-T's: a history has no room for another outcome

# The non-zero outcomes of each sequence, in order: entries start[j] .. start[j] + number[j], room up to start[j + 1].
# at: at which play of j the episode ended there;  total: the sum of returns up to then
History = collections.namedtuple("History", ["start", "number", "at", "total"])
Data = collections.namedtuple("Data", ["plays", "sum", "distinct", "forced", "work", "seed"])


class LUCBTUniform(Learner):
    """PAC identification; epsilon, delta, bound, c and union as for LUCBT. Memory grows with the episodes."""

    def __init__(
        self,
        tree,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        bound: str = "theory",
        c: float = 1.0,
        union: str = "tight",
        seed: int = 0,
    ):
        super().__init__(tree, seed)
        self.epsilon = confidence.check_probability("epsilon", epsilon)
        self.delta = confidence.check_probability("delta", delta)
        self.bound = choice("bound", bound, confidence.BOUNDS)
        self.union = choice("union", union, confidence.UNIONS)
        self.c = positive("c", c)
        if bound == "theory":
            self._schedule = confidence.uniform_schedule(tree, delta, union)
        else:
            self._schedule = confidence.simple_schedule(c, delta)
        sequences = tree.num_sequences
        self._data = Data(
            plays=np.zeros(sequences, np.int32),
            sum=np.zeros(sequences + 1),
            distinct=np.empty(sequences, np.int32),
            forced=np.full(tree.num_states, -1, PLAN_DTYPE),
            work=planning.new_workspace(tree.num_states, sequences),
            seed=self.seed,
        )
        room = np.concatenate([[0], np.cumsum(np.where(tree.can_end, 16, 0))])
        self._history = History(room, np.zeros(sequences, np.int32), np.empty(room[-1], np.int32), np.empty(room[-1]))
        self._first, self._second = new_policy(tree), new_policy(tree)
        self._progress = np.zeros(5, np.int64)

    @property
    def plays(self) -> np.ndarray:
        """n(j) per sequence."""
        return self._data.plays.copy()

    def plan(self) -> np.ndarray:
        """The batch's policies in turn: the empirically best one, and the other with the largest upper bound."""
        self._prepare()
        policy = self._second if self._progress[PLAYED] else self._first
        plan = np.zeros(self.tree.num_states, PLAN_DTYPE)
        reached = policy.reached[: policy.number[0]]
        plan[reached] = policy.plan[reached]
        return plan

    def recommend(self) -> np.ndarray:
        """The empirically best policy, each judged on the first n(pi) outcomes of its endings."""
        policy = new_policy(self.tree)
        _best_policy(self.tree.links, self._data, self._history, self.episodes, policy)
        plan = np.zeros(self.tree.num_states, PLAN_DTYPE)
        reached = policy.reached[: policy.number[0]]
        plan[reached] = policy.plan[reached]
        return plan

    @property
    def stopped(self) -> bool:
        self._prepare()
        return bool(self._progress[STOPPED])

    def _prepare(self):
        _prepare(
            self.tree.links,
            self._data,
            self._history,
            self._schedule,
            self.epsilon,
            self.episodes,
            self._first,
            self._second,
            self._progress,
        )

    def _update(self, ended_on, value):
        _take_in(
            self.tree.links, self._data, self._history, self._first, self._second, ended_on, value, self._progress
        )
        self._make_room()

    def _make_room(self) -> None:
        """Doubles the room of the sequences whose history is full."""
        if not self._progress[FULL]:
            return
        old = self._history
        room = np.diff(old.start)
        start = np.concatenate([[0], np.cumsum(np.where((old.number == room) & (room > 0), 2 * room, room))])
        new = History(start, old.number, np.empty(start[-1], np.int32), np.empty(start[-1]))
        for j in np.flatnonzero(old.number):
            for source, target in ((old.at, new.at), (old.total, new.total)):
                target[start[j] : start[j] + old.number[j]] = source[old.start[j] : old.start[j] + old.number[j]]
        self._history = new
        self._progress[FULL] = 0

    def _play(self, mdp, rng, episodes):
        done, value = 0, 0.0
        while done < episodes:
            played, total = _play(
                self.tree.links,
                mdp.chances,
                self._data,
                self._history,
                self._schedule,
                self.epsilon,
                self.episodes + done,
                self._first,
                self._second,
                self._progress,
                rng,
                episodes - done,
            )
            done += played
            value += total
            if self._progress[STOPPED]:
                break
            self._make_room()
        return done, value


@kernel
def _first_outcomes(history, sequence, plays, number):
    """The sum of the returns of the first `number` plays of a sequence that has `plays`."""
    low, high = history.start[sequence], history.start[sequence] + history.number[sequence]
    if number >= plays:
        return history.total[high - 1] if high > low else 0.0
    first = low
    while low < high:
        middle = (low + high) // 2
        if history.at[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return history.total[low - 1] if low > first else 0.0


@tree_pass
def _losses(links, data, history, count):
    """V and d for the policies whose endings all have at least `count` plays, from the first `count` outcomes of each.

    Sequences that no such policy plays have an infinite d; V is minus infinity if there is no such policy.
    """
    value, local_loss = data.work.value, data.work.local_loss
    for state in range(len(links.parent) - 1, -1, -1):
        best = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total = 0.0
            if links.can_end[j]:
                total = _first_outcomes(history, j, data.plays[j], count) / count if data.plays[j] >= count else -np.inf
            for child in range(links.first_child[j], links.first_child[j + 1]):
                total += value[child]
            local_loss[j] = total
            best = max(best, total)
        value[state] = best
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            local_loss[j] = best - local_loss[j] if local_loss[j] > -np.inf else np.inf
    total = 0.0
    for state in range(links.first_child[0]):
        total += value[state]
    return total


@tree_pass
def _distinct_counts(links, data):
    """Lists the distinct numbers of plays of ending sequences, ascending; returns how many there are."""
    number = 0
    for j in range(len(links.can_end)):
        if not links.can_end[j]:
            continue
        at = number
        while at > 0 and data.distinct[at - 1] > data.plays[j]:
            at -= 1
        if at > 0 and data.distinct[at - 1] == data.plays[j]:
            continue
        for later in range(number, at, -1):
            data.distinct[later] = data.distinct[later - 1]
        data.distinct[at] = data.plays[j]
        number += 1
    return number


@tree_pass
def _plan_through(links, data, ending, deviation, episodes, policy):
    """The best policy under the current losses that plays the ending and, if it is not -1, the deviation."""
    planning.force_path(links, ending, data.forced)
    if deviation >= 0:
        planning.force_path(links, deviation, data.forced)
    policy.number[0] = planning.best_plan(
        links, data.work, data.forced, data.seed, episodes, policy.plan, policy.reached
    )
    planning.release_path(links, ending, data.forced)
    if deviation >= 0:
        planning.release_path(links, deviation, data.forced)


@tree_pass
def _best_policy(links, data, history, episodes, policy):
    """Fills in the best policy of all counts: (its count, its estimate). While a sequence is unplayed, the best through it.

    Leaves the losses of its count in the workspace.
    """
    number = _distinct_counts(links, data)
    if data.distinct[0] == 0:
        planning.counts_losses(links, data.plays, data.sum, data.work)
        ending, _, _ = planning.max_ucb_ending(links, data.work, data.plays, 0, 0.0, False, data.seed, episodes)
        _plan_through(links, data, ending, -1, episodes, policy)
        return np.int64(0), 0.0
    best_count, best_value = np.int64(0), -np.inf
    for at in range(number):
        count = np.int64(data.distinct[at])
        value = _losses(links, data, history, count)
        ending, loss, _ = planning.max_ucb_ending(links, data.work, data.plays, count, 0.0, False, data.seed, episodes)
        if ending >= 0 and value - loss > best_value:
            best_count, best_value = count, value - loss
    _losses(links, data, history, best_count)
    ending, _, _ = planning.max_ucb_ending(links, data.work, data.plays, best_count, 0.0, False, data.seed, episodes)
    _plan_through(links, data, ending, -1, episodes, policy)
    return best_count, best_value


@tree_pass
def _prepare(links, data, history, schedule, epsilon, episodes, first, second, progress):
    """The policies of the next batch, or the decision to stop."""
    if progress[PLANNED] > 0 or progress[STOPPED]:
        return
    progress[BATCH] += 1
    best_count, best_value = _best_policy(links, data, history, episodes, first)
    if best_count == 0:
        progress[PLANNED] = 1
        return
    lam = confidence.growth(schedule, progress[BATCH])
    # In the class of the first policy itself, the best of the others; the losses of that class are in place.
    value = 0.0
    for state in range(links.first_child[0]):
        value += data.work.value[state]
    planning.whole_best_plan(links, data.work, data.seed, episodes)
    for at in range(first.number[0]):
        data.work.plan[first.reached[at]] = first.plan[first.reached[at]]
    ending, deviation, loss, wide = planning.second_ending(
        links, data.work, data.plays, best_count, lam, False, data.seed, episodes
    )
    upper = -np.inf
    if ending >= 0:
        upper = value - loss + lam * wide
        _plan_through(links, data, ending, deviation, episodes, second)
    for at in range(_distinct_counts(links, data)):
        count = np.int64(data.distinct[at])
        if count == best_count:
            continue
        value = _losses(links, data, history, count)
        ending, loss, wide = planning.max_ucb_ending(
            links, data.work, data.plays, count, lam, False, data.seed, episodes
        )
        if ending >= 0 and value - loss + lam * wide > upper:
            upper = value - loss + lam * wide
            _plan_through(links, data, ending, -1, episodes, second)
    root = data.sum[len(links.can_end)] / episodes
    lower = min(best_value + root, 1.0) - lam * planning.width(best_count, False)
    if upper == -np.inf or lower >= upper + root - epsilon:
        progress[STOPPED] = 1
    else:
        progress[PLANNED] = 2


@kernel
def _take_in(links, data, history, first, second, ended_on, value, progress):
    policy = second if progress[PLAYED] else first
    for at in range(policy.number[0]):
        state = policy.reached[at]
        data.plays[links.first_sequence[state] + policy.plan[state]] += 1
    data.sum[ended_on] += value
    if ended_on < len(links.can_end) and value != 0.0:
        last = history.start[ended_on] + history.number[ended_on]
        history.at[last] = data.plays[ended_on]
        history.total[last] = data.sum[ended_on]
        history.number[ended_on] += 1
        if last + 1 == history.start[ended_on + 1]:
            progress[FULL] = 1
    progress[PLAYED] += 1
    if progress[PLAYED] == progress[PLANNED]:
        progress[PLAYED] = progress[PLANNED] = 0


@numba.njit(cache=True)
def _play(links, chances, data, history, schedule, epsilon, episodes, first, second, progress, rng, number):
    total = 0.0
    for played in range(number):
        _prepare(links, data, history, schedule, epsilon, episodes + played, first, second, progress)
        if progress[STOPPED] or progress[FULL]:
            return played, total
        policy = second if progress[PLAYED] else first
        total += policy_value(links, chances, policy)
        ended_on, outcome = sample_deterministic(links, chances, policy.plan, rng.random())
        _take_in(links, data, history, first, second, ended_on, chances.outcome_return[outcome], progress)
    return number, total
