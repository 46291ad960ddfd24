"""BettingOnValues for enumerated rules, if everything that happened in an episode is known at its end.

The certificate is in bounds/history_values; docs/lab/theory_sharper.md, section 8, has the proof. Answer, exploration
and stakes are chosen as in BettingOnValues, but from a model, which also gives the baselines. The model consists of the
chances of the rules and of the answers of the others so far: at their information states and, with more visits, at each
history. A wrong model makes the bounds wider, but not wrong.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence

import numba
import numpy as np

from tmdp_spiel.algorithms.betting_on_values import (
    ANSWER_WEIGHT,
    FULL_STAKE,
    LEAST_AHEAD,
    LOWER_STAKES,
    LOWER_TOTAL,
    RAISED,
    RISK,
    SAYS_SOMETHING,
    SHARPNESS,
    TINY,
    TRUST,
    UPPER_STAKES,
    BettingOnValues,
    best_stake,
    explore,
    policy_moments,
)
from tmdp_spiel.algorithms.exploration import (
    CAUTION,
    EPISODES,
    LAST_LOOK,
    PRIOR_VISITS,
    IntervalLearner,
    Outlook,
    add_answer,
    answer_at,
    count,
    foreseen_episodes,
    max_cover,
    new_seen,
)
from tmdp_spiel.bounds.history_values import largest_after, largest_estimate, least_estimate, settle
from tmdp_spiel.bounds.policy_values import LOWER, UPPER, ValueBet
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.history_tree import CHANCE, END, OTHER, OWN, HistoryTree
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import own_reach

# Chosen on leduc_poker, seeds from 1000. Neither affects a guarantee.
_PRIOR_ANSWERS = 1.0  # visits of every state of the others that saw each answer equally often
_SAME_ANSWERS = 50.0  # visits of every history that saw what its state did
# Of the range of returns: no lower bound needs to be nearer to its mean. An early answer whose value has no variance,
# such as a uniform one, would otherwise be staked on so much that later answers hardly count.
PRECISION = 1e-3

# bet, totals, seen, needed, planned: as ValueMemory;  base, raised: float64[N], see history_values;
# visits: float64[N], of the histories;  nodes: int32[longest], scratch, the histories of an episode
HistoryMemory = collections.namedtuple(
    "HistoryMemory", ["bet", "totals", "seen", "needed", "planned", "base", "raised", "visits", "nodes"]
)
# Of the histories, before the next episodes. reach: their probability if own moves lead there;  answers: of the last
# move, if another player made it;  spread: the variance of B until the next own decision
_Model = collections.namedtuple("_Model", ["reach", "answers", "spread"])


class BettingOnHistories(BettingOnValues):
    """Bounds the value of the best response from both sides at all times; never stops by itself.

    As BettingOnValues, but it learns from the actions of all players: call learn_actions() instead of learn().

    rules: all histories of the game, for the player.
    """

    learns_from = "whole histories: call learn_actions(actions)"

    def __init__(self, rules: HistoryTree, *, planned: int | None = None, delta: float = 0.05, seed: int = 0):
        IntervalLearner.__init__(self, rules.tree, planned, delta, seed)
        self.rules, tree = rules, rules.tree
        cover, width = max_cover(tree.links)
        no_baseline = np.empty(0)
        bet = ValueBet(
            cover.copy(), np.ones(len(cover)), no_baseline, no_baseline, np.zeros(2), np.zeros(2), np.ones(2)
        )
        self._memory = HistoryMemory(
            bet=bet,
            totals=np.zeros(tree.sequence_end),
            seen=new_seen(tree, cover),
            needed=math.log(2.0 / self.delta),
            planned=foreseen_episodes(width, SAYS_SOMETHING, self.delta / 2) if planned is None else float(planned),
            base=np.zeros(len(rules)),
            raised=np.zeros(len(rules)),
            visits=np.zeros(len(rules)),
            nodes=np.zeros(rules.longest, np.int32),
        )
        _redesign(tree.links, rules.histories, self._memory)

    def learn_actions(self, actions: Sequence[int]) -> None:
        """Updates on an episode of plan(), given by the actions of all players and of chance."""
        nodes = self.rules.nodes_of(actions)
        self._memory.nodes[: len(nodes)] = nodes
        observe(self.tree.links, self.rules.histories, self._memory, len(nodes))
        self.episodes += 1

    _update, _play = IntervalLearner._update, IntervalLearner._play


@numba.njit(cache=True)
def _answers(histories, visits):
    """The estimated answers of the others, by history: those at the state and, with more visits, at the history."""
    first, answers = histories.first_answer, np.empty(len(visits))
    shares = np.zeros(first[-1])
    for h in range(len(visits)):
        if histories.kind[h] == OTHER:
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                shares[histories.move[histories.child[at]]] += visits[histories.child[at]]
    for state in range(len(first) - 1):
        number = first[state + 1] - first[state]
        total = shares[first[state] : first[state + 1]].sum() + _PRIOR_ANSWERS
        for each in range(first[state], first[state + 1]):
            shares[each] = (shares[each] + _PRIOR_ANSWERS / number) / total
    for h in range(len(visits)):
        if histories.kind[h] == OTHER:
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                seen = visits[child] + _SAME_ANSWERS * shares[histories.move[child]]
                answers[child] = seen / (visits[h] + _SAME_ANSWERS)
    return answers


@numba.njit(cache=True)
def model_of(histories, visits):
    """The model, without its spread."""
    answers, reach = _answers(histories, visits), np.ones(len(visits))
    for h in range(len(visits)):
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            reach[child] = reach[h] * histories.chance[child]
            if histories.kind[h] == OTHER:
                reach[child] *= answers[child]
    return _Model(reach, answers, np.zeros(len(visits)))


@numba.njit(cache=True)
def _back_up(histories, model, base, start, end):
    """B and its variance until the next own decision, of histories start .. end, none of which is an own node."""
    for h in range(end - 1, start - 1, -1):
        if histories.kind[h] == END:
            base[h] = histories.value[h]
            continue
        probabilities = histories.chance if histories.kind[h] == CHANCE else model.answers
        base[h] = 0.0
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            base[h] += probabilities[child] * base[child]
        for at in range(histories.first_move[h], histories.first_move[h + 1]):
            child = histories.child[at]
            model.spread[h] += probabilities[child] * model.spread[child]
            if histories.kind[h] == OTHER:
                model.spread[h] += probabilities[child] * (base[child] - base[h]) ** 2


@kernel
def _at_state(links, seen, state, chance, means, variances, errors, error, gains, answer):
    """Sets the answer at a state, and what its sequences are behind it, from sums over its histories."""
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        means[j] /= chance[state]
        variances[j] /= chance[state]
        errors[j] = variances[j] / (seen.visits[j] + PRIOR_VISITS)
        for child in range(links.first_child[j], links.first_child[j + 1]):
            errors[j] += (chance[child] / chance[state]) ** 2 * error[child]
    answer_at(links, state, means, errors, SHARPNESS, answer)
    value = 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        value += answer[j] * means[j]
        error[state] += answer[j] ** 2 * errors[j]
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        sure = value - means[j] - CAUTION * math.sqrt(errors[j] + error[state])
        gains[j] = -TRUST * chance[state] * max(sure, 0.0)


@numba.njit(cache=True)
def look_ahead(links, histories, seen, base, answer, model):
    """Sets the answer and B, and foresees what follows each sequence: by own decisions, the last ones first."""
    sequences, states = len(links.can_end), len(links.parent)
    chance, error = np.zeros(states), np.zeros(states)
    means, variances, errors = np.zeros(sequences), np.zeros(sequences), np.zeros(sequences)
    gains, end = np.zeros(sequences), len(base)
    for decisions in range(len(histories.own_first) - 1, -1, -1):
        first, last = histories.own_first[decisions], histories.own_end[decisions]
        if first == last:
            continue
        _back_up(histories, model, base, last, end)
        end = first
        for h in range(first, last):
            chance[histories.slot[h]] += model.reach[h]
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                means[histories.move[child]] += model.reach[h] * base[child]
                variances[histories.move[child]] += model.reach[h] * model.spread[child]
        for state in range(histories.first_state[decisions], histories.first_state[decisions + 1]):
            _at_state(links, seen, state, chance, means, variances, errors, error, gains, answer)
        for h in range(first, last):
            base[h] = 0.0
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                base[h] += answer[histories.move[histories.child[at]]] * base[histories.child[at]]
    _back_up(histories, model, base, 0, end)
    gains[ROOT] = base[0]
    by_sequence = np.ones(sequences)
    for state in range(states):
        by_sequence[links.first_sequence[state] : links.first_sequence[state + 1]] = chance[state]
    return Outlook(means, variances, by_sequence, own_reach(links, answer), gains)


@numba.njit(cache=True)
def _set_upper(links, histories, memory, model, outlook, ahead):
    """Sets the baseline and the stake of the upper bound: B, raised where a return could move an estimate too far."""
    bet, reach = memory.bet, own_reach(links, memory.bet.mu)
    memory.raised[:] = memory.base
    moments = policy_moments(links, outlook.chance, outlook.variances, reach)
    moments[ROOT] += model.spread[0]
    largest = max(2.0 * memory.seen.numbers[FULL_STAKE], _largest_stake(histories, memory))
    stake = best_stake(links, memory, outlook.gains, moments, ahead, largest)
    about = _raise(histories, memory, model, outlook.variances, reach, RAISED * RISK / stake)
    moments = policy_moments(links, outlook.chance, about, reach)
    moments[ROOT] += model.spread[0]
    stake = best_stake(links, memory, outlook.gains, moments, ahead, _largest_stake(histories, memory))
    memory.seen.numbers[FULL_STAKE] = stake
    bet.stakes[UPPER] = stake


@numba.njit(cache=True)
def _largest_stake(histories, memory):
    """The stake at which the largest estimate that the rules allow is worth the share RISK; sets the reach."""
    bet = memory.bet
    most = largest_estimate(histories, bet.mu, memory.base, memory.raised)
    bet.reaches[UPPER] = max(most - bet.centres[UPPER], 1e-6)
    return RISK / bet.reaches[UPPER]


@numba.njit(cache=True)
def _raise(histories, memory, model, variances, reach, most_gain):
    """Raises B after own moves until no single step gains more than most_gain; returns the variances about it."""
    base, raised, most = memory.base, memory.raised, np.empty(len(memory.base))
    about, weight = np.zeros(len(variances)), np.zeros(len(variances))
    weight[ROOT] = 1.0
    for h in range(len(base) - 1, -1, -1):
        if histories.kind[h] == OWN:
            for at in range(histories.first_move[h], histories.first_move[h + 1]):
                child = histories.child[at]
                j = histories.move[child]
                raised[child] = max(base[child], most[child] - most_gain * reach[j])
                about[j] += model.reach[h] * (raised[child] - base[child]) ** 2
                weight[j] += model.reach[h]
        most[h] = largest_after(histories, memory.bet.mu, base, raised, most, h)
    return variances + about / weight


@numba.njit(cache=True)
def _set_lower(histories, memory, model, outlook, reach, ahead):
    """Sets the stake of the lower bound: sqrt(2 ln(1 / delta) / (n Var)), within what is allowed and needed."""
    bet = memory.bet
    least = least_estimate(histories, bet.mu, bet.answer, memory.base)
    bet.reaches[LOWER] = max(bet.centres[LOWER] - least, 1e-6)
    variance = model.spread[0] + TINY
    for j in range(1, len(reach)):
        variance += outlook.chance[j] * outlook.variances[j] * outlook.answer_reach[j] ** 2 / reach[j]
    number = memory.seen.progress[EPISODES] + ahead
    wanted = min(math.sqrt(2.0 * memory.needed / (number * variance)), memory.needed / (number * PRECISION))
    bet.stakes[LOWER] = min(wanted, RISK / bet.reaches[LOWER])


@numba.njit(cache=True)
def _redesign(links, histories, memory):
    """Sets answer, exploration, baselines and stakes for the episodes until the next look."""
    episodes, model = memory.seen.progress[EPISODES], model_of(histories, memory.visits)
    outlook = look_ahead(links, histories, memory.seen, memory.base, memory.bet.answer, model)
    memory.bet.centres[:] = memory.base[0]
    ahead = max(memory.planned - episodes, LEAST_AHEAD * episodes)
    explore(links, memory, outlook, ahead)
    _set_upper(links, histories, memory, model, outlook, ahead)
    _set_lower(histories, memory, model, outlook, own_reach(links, memory.bet.mu), ahead)


@numba.njit(cache=True)
def observe(links, histories, memory, length):
    """Settles the bets of the episode in memory.nodes and counts it; whether all was designed again after it."""
    nodes, seen, bet = memory.nodes, memory.seen, memory.bet
    numbers, progress = seen.numbers, seen.progress
    numbers[LOWER_TOTAL] += settle(links, histories, bet, memory.base, memory.raised, nodes, length, memory.totals)
    numbers[UPPER_STAKES] += bet.stakes[UPPER]
    numbers[LOWER_STAKES] += bet.stakes[LOWER]
    decisions = 0
    for k in range(length):
        memory.visits[nodes[k]] += 1.0
        if histories.kind[nodes[k]] == OWN:
            seen.path.sequences[decisions] = histories.move[nodes[k + 1]]
            decisions += 1
    if not count(seen, decisions, histories.value[nodes[length - 1]]):
        return False
    weight = bet.stakes[LOWER] * (progress[EPISODES] - progress[LAST_LOOK])
    add_answer(links, seen, weight, bet.answer)
    numbers[ANSWER_WEIGHT] += weight
    _redesign(links, histories, memory)
    return True
