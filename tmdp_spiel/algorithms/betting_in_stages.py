"""Bounds for a black box on a deep tree: few stages, each solved as a game.

The upper bound is that of bounds/answer_values, in which every history where another player acts is a separate state,
with one answer for each of its visits in the stage (docs/lab/theory_sharper.md, section 9). In a stage, one mixed plan
is played: a mixture of what the upper bound needs and the answer of the model. The size of a stage is fixed before it
begins, from the planned or expected number of episodes, if that is known. A part of delta is for bounds at fixed points
within a stage, so that a run may end at any time. The lower bound is that of BettingOnHistories for these answers.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence

import numba
import numpy as np

from tmdp_spiel.algorithms.betting_on_answers import TINY, look_ahead, part_of_strand
from tmdp_spiel.algorithms.betting_on_histories import PRECISION, model_of
from tmdp_spiel.algorithms.exploration import IntervalLearner, mix, mixture
from tmdp_spiel.bounds.answer_values import (
    asking_order,
    every_history_apart,
    largest_reach,
    parents_of,
    settle_answers,
)
from tmdp_spiel.bounds.history_values import answer_estimate, least_estimate
from tmdp_spiel.bounds.policy_values import largest_total, penalty
from tmdp_spiel.core import validation
from tmdp_spiel.trees.history_tree import OTHER, OWN, HistoryTree
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import own_reach

# Chosen on liars_dice, seeds from 1000. None of these affects a guarantee.
_FIRST_STAGE = 200  # episodes
_GROWTH = 6.0  # of the episodes before a stage, that it has
_GROWTH_IF_UNKNOWN = 2.0  # the same where it is not known how many episodes there will be
_LAST = 1.5  # stages that would leave less than that share of one are the last
_ANSWER = 0.2  # of the plan
_TRUST = 0.15  # of the gaps of the model
_SLACK = 1.0  # of what the most could need, that every sequence has
_STAKE = 3.0  # times what the variance of the answer asks for
_RISK = 0.4  # the most that theta times the largest error may be
_LOWER_RISK = 0.8
_ROUNDS = 5
_POINTS = (0.35, 0.5, 0.7, 0.85)  # of a stage, after which there is a bound before it ends
_STAGES_WITH_POINTS = 16
_SHARE_OF_STAGES = 0.8  # of delta above; the rest is for the bounds within stages
UPPER_STAKES, LOWER_STAKES, LOWER_TOTAL = range(3)


# By the model: shares of the answers, B, its best response, and by history and own sequence as look_ahead gives them
_Outlook = collections.namedtuple("_Outlook", ["shares", "base", "answer", "reach", "spread", "gaps", "moments"])


class BettingInStages(IntervalLearner):
    """Bounds the value of the best response from both sides at all times.

    The upper bound changes when a stage ends, and a few times within it. It learns from the actions of all players:
    call learn_actions() instead of learn().

    rules: all histories of the game, for the player.
    """

    learns_from = "whole histories: call learn_actions(actions)"

    def __init__(self, rules: HistoryTree, *, planned: int | None = None, delta: float = 0.05, seed: int = 0):
        super().__init__(rules.tree, planned, delta, seed)
        self.rules = rules
        self._expected = 0.0
        self._apart = every_history_apart(rules)
        self.order, sequences = asking_order(self._apart), rules.tree.sequence_end
        self._visits, self._now = np.zeros(len(rules)), np.zeros(len(rules))  # before this stage, in it
        self._totals = np.zeros(sequences)  # of the upper bound, see bounds/policy_values
        self._mixture = np.zeros(sequences)  # summed reaches of the answers of the stages before
        self._numbers = np.zeros(3)
        self._mu = np.ones(sequences)
        self._stage, self._within = 0, np.zeros((_STAGES_WITH_POINTS * len(_POINTS), 2))  # totals and stakes
        self._design()

    def expect(self, episodes: float) -> None:
        """Says about how many episodes there will be in all, for the stages that have not begun."""
        self._expected = float(episodes)
        if self.episodes == self._began and self._size_of_stage() != self._size:
            self._design()

    def plan(self) -> np.ndarray:
        return self._mu.copy()

    def recommend(self) -> np.ndarray:
        """The mixture of the answers so far, weighted by their stakes. The lower bound holds for it."""
        weight = self._lower_stake * (self.episodes - self._began)
        return mixture(self.tree.links, self._mixture, weight, self._answer)

    def learn_actions(self, actions: Sequence[int]) -> None:
        """Updates on an episode of plan(), given by the actions of all players and of chance."""
        nodes = self.rules.nodes_of(actions)
        self._now[nodes] += 1.0
        x = answer_estimate(self.rules.histories, self._mu, self._answer, self._base, nodes)
        bracket = self._lower_stake * x - self._penalty * (x - self._base[0]) ** 2
        self._numbers[LOWER_STAKES] += self._lower_stake
        self._numbers[LOWER_TOTAL] += bracket
        self.episodes += 1
        done = self.episodes - self._began
        if done >= self._size:
            self._end_stage()
        elif done in self._points:
            self._bound_within(done)

    def _bound_within(self, done: int) -> None:
        """What the upper bound would be if the stage ended here."""
        totals, stake = self._totals.copy(), self._stake * done / self._size
        self._settle(stake, totals)
        at = self._stage * len(_POINTS) + self._points.index(done)
        self._within[at] = largest_total(self.tree.links, totals), self._numbers[UPPER_STAKES] + stake

    def _settle(self, stake: float, totals: np.ndarray) -> None:
        histories = self._apart.histories
        asked, shares = _answers(histories, self._now)
        anything = np.ones(self.tree.sequence_end)
        settle_answers(histories, self.order, asked, shares, self._base, anything, stake, 1.0, totals)

    def _end_stage(self) -> None:
        self._settle(self._stake, self._totals)
        self._numbers[UPPER_STAKES] += self._stake
        self._mixture += self._lower_stake * self._size * own_reach(self.tree.links, self._answer)
        self._visits += self._now
        self._now = np.zeros_like(self._now)
        self._stage += 1
        self._design()

    @property
    def _horizon(self) -> float:
        """About how many episodes there will be; 0 if that is not known, or if there were more."""
        known = [each for each in (self.planned, self._expected) if each]
        return min(known) if known and min(known) > self.episodes else 0.0

    def _size_of_stage(self) -> int:
        left = self._horizon - self.episodes
        size = max(_FIRST_STAGE, int((_GROWTH if left > 0 else _GROWTH_IF_UNKNOWN) * self.episodes))
        return max(int(left), 1) if 0 < left < _LAST * size else size

    def _design(self) -> None:
        """Settles the plan, B, the answer and the stakes of the next stage."""
        self._began = self.episodes
        self._size = self._size_of_stage()
        self._points = [int(point * self._size) for point in _POINTS] if self._stage < _STAGES_WITH_POINTS else []
        self._foreseen: dict[int, tuple[float, float]] = {}
        outlook = self._look_ahead(self._visits)
        self._base, self._answer = outlook.base, outlook.answer
        flow, self._stake, _ = self._explore(outlook, self._size)
        mix(self.tree.links, flow, self._answer, _ANSWER, self._mu)
        self._set_lower(outlook.spread[0], math.log(2.0 / self.delta))

    def _look_ahead(self, visits: np.ndarray) -> _Outlook:
        histories = self._apart.histories
        model = model_of(self.rules.histories, visits)
        shares = np.empty(histories.first_answer[-1])
        answered = np.flatnonzero(histories.kind[parents_of(histories)[1:]] == OTHER) + 1
        shares[histories.move[answered]] = model.answers[answered]
        return _Outlook(shares, *look_ahead(self.tree.links, histories, shares))

    def _explore(self, outlook: _Outlook, size: int) -> tuple[np.ndarray, float, float]:
        """For a stage of this size, the plan without the answer, the stake of the upper bound, and the strands."""
        histories, needed = self._apart.histories, math.log(2.0 / self.delta)
        largest, spread = max(largest_reach(histories, outlook.base)), max(outlook.spread[0], TINY)
        strands, theta, flow = size / 10.0, 0.0, np.empty(0)
        for _ in range(_ROUNDS):
            theta = min(math.sqrt(2.0 * needed / (strands * spread)), _RISK / max(largest, TINY))
            least = min(_SLACK * theta * largest, 1.0)
            flow, width = plan_of_strands(
                self.tree.links, histories, outlook.reach, outlook.gaps, outlook.moments, theta, least, _TRUST
            )
            strands = size / width
        return flow, _STAKE * theta * strands, strands

    def _set_lower(self, spread: float, needed: float) -> None:
        """Sets the stake of the lower bound: sqrt(2 ln(1 / delta) / (n Var)), within what is allowed and needed."""
        least = least_estimate(self.rules.histories, self._mu, self._answer, self._base)
        reach = max(float(self._base[0]) - least, 1e-6)
        number, variance = max(self._horizon, self._began + self._size), spread / _ANSWER + TINY
        wanted = min(math.sqrt(2.0 * needed / (number * variance)), needed / (number * PRECISION))
        self._lower_stake = min(wanted, _LOWER_RISK / reach)
        self._penalty = float(penalty(self._lower_stake, reach))

    def upper_bound(self, delta: float | None = None) -> float:
        """As for every IntervalLearner; the least of the bounds of all stages and of those within stages."""
        needed = self._needed(delta)
        found = super().upper_bound(_SHARE_OF_STAGES * math.exp(-needed))
        within = self._within[self._within[:, 1] > 0.0]
        if len(within):
            of_each = needed - math.log((1.0 - _SHARE_OF_STAGES) / len(self._within))
            found = min(((within[:, 0] + of_each) / within[:, 1]).min(), found)
        return float(found)

    @property
    def _upper_bracket(self) -> tuple[np.ndarray, float]:
        return self._totals, self._numbers[UPPER_STAKES]

    @property
    def _lower_bracket(self) -> tuple[float, float]:
        return self._numbers[LOWER_TOTAL], self._numbers[LOWER_STAKES]

    def foreseen_upper_bound(self, delta: float, factor: float) -> float:
        """An estimate of upper_bound(delta) after `factor` times the episodes, if they go as the model says."""
        size, needed = math.ceil(factor * max(self.episodes, 1)), -math.log(validation.probability("delta", delta))
        done = self.episodes - self._began
        if size < self._began + min(each for each in (*self._points, self._size) if each > done):
            return self.upper_bound(delta)  # it does not move before that
        total, stake = self._foreseen.get(size) or self._foresee(size)
        return min((total + needed - math.log(_SHARE_OF_STAGES)) / stake, self.upper_bound(delta))

    def _foresee(self, size: int) -> tuple[float, float]:
        """What a single stage of this size would add up to if all answers had the shares of the model; and its stake.

        Chance would make the largest of many totals larger; for that, only half of the episodes are counted.
        """
        outlook, histories, mu = (
            self._look_ahead(self._visits + self._now),
            self._apart.histories,
            np.ones_like(self._mu),
        )
        flow, stake, _ = self._explore(outlook, size)
        mix(self.tree.links, flow, outlook.answer, _ANSWER, mu)
        reach, asked = outlook.reach * _own_reach_of(histories, mu), np.zeros(len(histories.first_answer) - 1)
        acts = np.flatnonzero(histories.kind == OTHER)
        asked[self.order.state[acts]] = 0.5 * size * reach[acts]
        totals, anything = np.zeros(len(mu)), np.ones(len(mu))
        settle_answers(histories, self.order, asked, outlook.shares, outlook.base, anything, stake, 1.0, totals)
        self._foreseen[size] = found = float(largest_total(self.tree.links, totals)), stake
        return found


@numba.njit(cache=True)
def _answers(histories, visits):
    """How often each history of the others was reached, and the fraction of each answer."""
    first = histories.first_answer
    asked, shares = np.zeros(len(first) - 1), np.zeros(first[-1])
    state = 0
    for h in range(len(visits)):
        if histories.kind[h] == OTHER:
            asked[state] = visits[h]
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                shares[histories.move[child]] = visits[child] / max(visits[h], 1.0)
            state += 1
    return asked, shares


@numba.njit(cache=True)
def _own_reach_of(histories, mu):
    """The probability of the own moves on the way to each history."""
    reach = np.ones(len(histories.kind))
    for h in range(len(reach)):
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            reach[child] = reach[h] * (mu[histories.move[child]] if histories.kind[h] == OWN else 1.0)
    return reach


@numba.njit(cache=True)
def plan_of_strands(links, histories, reach, gaps, moments, theta, least, trust):
    """The plan that needs the fewest episodes for a given number of strands, and how many episodes a strand needs.

    A strand follows all own actions; see part_of_strand.
    """
    sequences, states = len(links.can_end), len(links.parent)
    wanted, flow, below = np.ones(sequences), np.ones(sequences), np.zeros(states)
    for state in range(states):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            wanted[j] = min(wanted[links.parent[state]], part_of_strand(gaps[j], theta * moments[j], least, trust))
    for state in range(states - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            flow[j] = wanted[j]
            for child in range(links.first_child[j], links.first_child[j + 1]):
                flow[j] = max(flow[j], below[child])
            below[state] += flow[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            flow[j] /= below[state]
    first, width, total = links.first_child[ROOT + 1], 0.0, 0.0
    for h in range(histories.own_first[0], histories.own_end[0]):
        if histories.slot[h] < first:
            width += reach[h] * below[histories.slot[h]]
            total += reach[h]
    return flow, width / total
