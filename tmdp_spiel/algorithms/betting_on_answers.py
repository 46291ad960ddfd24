"""Asks the others at their information states, and bounds the value of the best response from both sides.

This is for opponents that are functions of their information states and can be queried (docs/lab/theory_sharper.md,
section 9). It works in stages. At the beginning of a stage, all answers so far determine how often each state will be
asked. At its end, bets are placed on its answers (bounds/answer_values). The capitals of the stages multiply, so the
bounds hold after each of them.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from tmdp_spiel.algorithms.exploration import IntervalLearner, mixture
from tmdp_spiel.bounds.answer_values import asking_order, largest_reach, settle_answers
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.history_tree import CHANCE, END, OTHER, HistoryTree
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import own_reach

# None of these affects a guarantee.
_PRIOR_ANSWERS = 1.0  # of every state, that gave each answer equally often
_FIRST_STAGE = 2.0  # answers a state
_GROWTH = 0.25  # of the answers so far, that a stage has
_LEAST_AHEAD = 3.0  # of the answers so far, that stakes are set for
_TRUST = 0.3  # of the gaps of the model
_RISK = 0.4  # the most that theta times reach may be
_ROUNDS = 4
_SLACK = 2.0
STAKES, LOWER_TOTAL, STRANDS = range(3)
TINY = 1e-12


class BettingOnAnswers(IntervalLearner):
    """Bounds the value of the best response from both sides after every stage of questions.

    `episodes` counts answers. questions() returns how often each state of the others must still be asked in this stage.
    learn_answers() takes the answers, in any order. As for every learner, plan() and recommend() return plans of the
    player.

    rules: all histories of the game, for the player. planned: a number of answers.
    """

    learns_from = "answers: call learn_answers(counts)"

    def __init__(self, rules: HistoryTree, *, planned: int | None = None, delta: float = 0.05, seed: int = 0):
        super().__init__(rules.tree, planned, delta, seed)
        self.rules = rules
        self.order = asking_order(rules)
        first, sequences = rules.histories.first_answer, rules.tree.sequence_end
        if len(first) == 1:
            raise ValueError("the other players never decide anything in this game: there is nothing to ask")
        self._answers = np.zeros(first[-1])  # how often each was given, in the stages before
        self._given = np.zeros(first[-1])  # in this one
        self._totals = np.zeros(sequences)  # of the upper bound, see bounds/policy_values
        self._mixture = np.zeros(sequences)  # summed reaches of the plans of all stages
        self._numbers = np.zeros(3)
        self._expected = 0.0
        self._design()

    def questions(self) -> np.ndarray:
        """How often each state of the others must still be asked in this stage."""
        return self._asked - self._by_state(self._given).astype(np.int64)

    def expect(self, answers: float) -> None:
        """Sets the expected total number of answers, if none was planned; the stakes are chosen for it."""
        self._expected = float(answers)

    def learn_answers(self, answers: np.ndarray) -> None:
        """Updates on answers to questions().

        answers: their numbers, as the histories of the rules have them.
        """
        self._given += np.bincount(answers, minlength=len(self._given))
        self.episodes += len(answers)
        left = self.questions()
        if left.min() < 0:
            raise ValueError("a state was asked more often than questions() says")
        if left.max() == 0:
            self._settle()
            self._design()

    def _by_state(self, answers: np.ndarray) -> np.ndarray:
        return np.add.reduceat(answers, self.rules.histories.first_answer[:-1])

    def _settle(self) -> None:
        """Bets on the answers of the stage."""
        tree, histories, asked = self.tree, self.rules.histories, self._asked.astype(np.float64)
        shares = self._given / np.maximum(np.repeat(asked, np.diff(histories.first_answer)), 1.0)
        anything, below = np.ones(tree.sequence_end), np.zeros(tree.sequence_end)
        stage = histories, self.order, asked, shares, self._base
        settle_answers(*stage, anything, self._stake, 1.0, self._totals)
        settle_answers(*stage, self._plan, self._stake, -1.0, below)
        self._numbers += self._stake, -below.sum(), self._strands
        self._mixture += self._stake * own_reach(tree.links, self._plan)
        self._answers += self._given
        self._given = np.zeros_like(self._given)

    def _design(self) -> None:
        """Settles for the next stage how often each state is asked, B, the answer and the stake."""
        tree, histories = self.tree, self.rules.histories
        shares = _shares(histories.first_answer, self._answers)
        self._base, self._plan, reach, spread, gaps, moments = look_ahead(tree.links, histories, shares)
        largest = max(largest_reach(histories, self._base))
        needed, ahead = math.log(2.0 / self.delta), self._ahead()
        number = len(histories.first_answer) - 1
        strands, theta = self._numbers[STRANDS] + ahead, math.inf
        for _ in range(_ROUNDS):
            wanted = math.sqrt(2.0 * needed / (strands * max(spread[0], TINY)))
            theta = min(wanted, _RISK / max(largest, TINY))
            least = min(_SLACK * theta * largest, 1.0)
            each = questions_of_strand(tree.links, self.order, reach, gaps, moments, theta, least, _TRUST, number)
            strands = self._numbers[STRANDS] + ahead / each.sum()
        self._asked, self._strands = _whole(each, self._size_of_stage(int(np.count_nonzero(each))))
        self._stake = theta * self._strands

    def _ahead(self) -> float:
        """How many answers stakes are set for."""
        least = max(_FIRST_STAGE * (len(self.rules.histories.first_answer) - 1), _LEAST_AHEAD * self.episodes)
        planned = self._expected if self.planned is None else self.planned
        return least if planned == 0.0 else max(planned - self.episodes, 0.1 * least)

    def _size_of_stage(self, states: int) -> float:
        size = max(_FIRST_STAGE * states, _GROWTH * self.episodes)
        left = (self._expected if self.planned is None else self.planned) - self.episodes
        return left if 0.0 < left < 1.5 * size else size

    def plan(self) -> np.ndarray:
        return self._plan.copy()

    def recommend(self) -> np.ndarray:
        """The mixture of the answers so far, weighted by their stakes. The lower bound holds for it."""
        return mixture(self.tree.links, self._mixture, 0.0, self._plan)

    @property
    def _upper_bracket(self) -> tuple[np.ndarray, float]:
        return self._totals, self._numbers[STAKES]

    @property
    def _lower_bracket(self) -> tuple[float, float]:
        return self._numbers[LOWER_TOTAL], self._numbers[STAKES]


@numba.njit(cache=True)
def _shares(first, answers):
    """The share of each answer in the model."""
    shares = np.empty(len(answers))
    for state in range(len(first) - 1):
        number, total = first[state + 1] - first[state], _PRIOR_ANSWERS
        for each in range(first[state], first[state + 1]):
            total += answers[each]
        for each in range(first[state], first[state + 1]):
            shares[each] = (answers[each] + _PRIOR_ANSWERS / number) / total
    return shares


@numba.njit(cache=True)
def _back_up(histories, shares, base, spread, start, end):
    """B, and the sum of the variances of its moves by the others, of histories start .. end, none of them own nodes."""
    for h in range(end - 1, start - 1, -1):
        if histories.kind[h] == END:
            base[h] = histories.value[h]
            continue
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            p = histories.chance[child] if histories.kind[h] == CHANCE else shares[histories.move[child]]
            base[h] += p * base[child]
            spread[h] += p * spread[child]
        if histories.kind[h] == OTHER:
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                spread[h] += shares[histories.move[child]] * (base[child] - base[h]) ** 2


@numba.njit(cache=True)
def look_ahead(links, histories, shares):
    """By the model: B, its best response, reaches, spreads; by own sequence the gap and the second moment of X - x."""
    number, sequences, states = len(histories.kind), len(links.can_end), len(links.parent)
    base, spread, reach = np.zeros(number), np.zeros(number), np.ones(number)
    for h in range(number):
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            reach[child] = reach[h]
            if histories.kind[h] == CHANCE:
                reach[child] *= histories.chance[child]
            elif histories.kind[h] == OTHER:
                reach[child] *= shares[histories.move[child]]
    means, moments, gaps = np.zeros(sequences), np.zeros(sequences), np.zeros(sequences)
    chance, plan, end = np.zeros(states), np.zeros(sequences), number
    plan[ROOT] = 1.0
    for decisions in range(len(histories.own_first) - 1, -1, -1):
        first, last = histories.own_first[decisions], histories.own_end[decisions]
        if first == last:
            continue
        _back_up(histories, shares, base, spread, last, end)
        end = first
        for h in range(first, last):
            chance[histories.slot[h]] += reach[h]
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                means[histories.move[child]] += reach[h] * base[child]
        for state in range(histories.first_state[decisions], histories.first_state[decisions + 1]):
            best = links.first_sequence[state]
            for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
                if means[j] > means[best]:
                    best = j
            plan[best] = 1.0
            for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
                gaps[j] = (means[best] - means[j]) / max(chance[state], 1e-300)
        for h in range(first, last):
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                if plan[histories.move[child]] > 0.0:
                    base[h], spread[h] = base[child], spread[child]
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                j = histories.move[child]
                share = reach[h] / max(chance[histories.slot[h]], 1e-300)
                moments[j] += share * (spread[child] + (base[child] - base[h]) ** 2)
    _back_up(histories, shares, base, spread, 0, end)
    return base, plan, reach, spread, gaps, moments


@kernel
def part_of_strand(gap, penalty, least, trust):
    """With which part of the strands an own action is followed that loses a gap by the model, at least `least`.

    Its value may be estimated so much worse that the penalty, which is larger with fewer strands, makes up for the gap.
    """
    return max(1.0 / (1.0 + trust * 2.0 * gap / (penalty + TINY)), least)


@numba.njit(cache=True)
def questions_of_strand(links, order, reach, gaps, moments, theta, least, trust, states):
    """How often each state of the others is asked for a strand, which follows all own actions that matter."""
    sequences = len(links.can_end)
    needed, probability, most = np.ones(sequences), np.zeros(states), np.zeros(states)
    for state in range(len(links.parent)):
        above = needed[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            needed[j] = min(above, part_of_strand(gaps[j], theta * moments[j], least, trust))
    for h in order.others:
        state = order.state[h]
        probability[state] += reach[h]
        if reach[h] > 0.0:
            most[state] = max(most[state], needed[order.sequence[h]])
    return probability * most


def _whole(each: np.ndarray, size: float) -> tuple[np.ndarray, float]:
    """Whole numbers of questions, about size in all and at least one of every state that matters; and the strands."""
    strands, asked = size / each.sum(), each
    for _ in range(_ROUNDS):
        asked = np.where(each > 0.0, np.maximum(np.floor(strands * each), 1.0), 0.0)
        strands *= min(size / asked.sum(), 1.0)
    return asked.astype(np.int64), strands
