"""Bounds the value of the best response from both sides at all times, by bets on the values of all policies.

The certificate is in bounds/policy_values; docs/lab/theory_sharper.md, section 4, has the proof. It holds for any
exploration, answer, baselines and stakes that are fixed before an episode. As in BettingOnDifferences, they are
computed again from the data at *looks*, whenever the number of episodes has grown by a few percent:

    the answer      plays each action with a probability that falls with its distance from the best, in standard errors;
    the exploration minimises the variance of the estimates of the policies that still hold the bound up, mixed with the
                    answer, whose value is bounded from below, and with a plan that reaches every ending;
    the baselines   are empirical values, raised where a return could move an estimate too far;
    the stakes      make the bounds as narrow as can be foreseen at the planned number of episodes, later a little ahead
                    of those so far. Early episodes, played when little was known, are bet on with care.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence

import numba
import numpy as np

from tmdp_spiel.algorithms.exploration import (
    EPISODES,
    LAST_LOOK,
    BettingLearner,
    IntervalLearner,
    add_answer,
    count,
    follow_mixed,
    foreseen_episodes,
    look_ahead,
    max_cover,
    mix,
    mixture,
    new_seen,
    neyman,
    raised,
    rivals,
    second_moments,
    state_visits,
)
from tmdp_spiel.bounds.policy_values import (
    LOWER,
    UPPER,
    ValueBet,
    largest_estimate,
    largest_total,
    least_estimate,
    settle_failed,
    settle_lower,
    settle_upper,
)
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import mixed_value, own_reach

_COVER = 0.1  # share of the exploration that covers all endings
_ANSWER = 0.2  # share that plays the answer
TRUST = 0.5  # in the estimated deficits of policies, where stakes and exploration are foreseen
RISK = 0.8  # the most that stake times reach may be
RAISED = 2.0  # how far a single return may go beyond what the stake allows before the baseline is raised
_STEP = 0.8  # between stakes tried
_MOST_STEPS = 60
LEAST_AHEAD = 0.1  # of the episodes so far, that stakes are set for
SAYS_SOMETHING = 0.05  # on the [0, 1] scale: unless told, stakes are set for when bounds are about that far apart
TINY = 1e-12
SHARPNESS = 5.0  # of the answer, per standard error

# In `numbers`: summed stakes of both sides, the bracket of the lower bound, the weight of the answers, the stake
UPPER_STAKES, LOWER_STAKES, LOWER_TOTAL, ANSWER_WEIGHT, FULL_STAKE = 0, 1, 2, 5, 6

# seen: see `exploration`;  totals: float64[J + 1], the bracket of the upper bound
ValueMemory = collections.namedtuple("ValueMemory", ["bet", "totals", "seen", "needed", "planned"])


class BettingOnValues(IntervalLearner, BettingLearner):
    """Bounds the value of the best response from both sides at all times; never stops by itself.

    With probability at least 1 - delta, lower_bound() and upper_bound() hold together after every episode, on the [0,
    1] scale. The lower bound is on the value of recommend(), a mixed plan.

    planned: the number of episodes after which the bounds should be narrowest. None if unknown; then the stakes are
        chosen for all times from the one at which the bounds become informative.
    delta: divided equally between the two sides.
    """

    def __init__(self, tree: InfostateTree, *, planned: int | None = None, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, planned, delta, seed)
        cover, width = max_cover(tree.links)
        sequences = tree.sequence_end
        answer, upper, lower = np.ones(sequences), np.zeros(sequences), np.zeros(sequences)
        self._memory = ValueMemory(
            bet=ValueBet(cover.copy(), answer, upper, lower, np.zeros(2), np.zeros(2), np.ones(2)),
            totals=np.zeros(sequences),
            seen=new_seen(tree, cover),
            needed=math.log(2.0 / self.delta),
            planned=foreseen_episodes(width, SAYS_SOMETHING, self.delta / 2) if planned is None else float(planned),
        )
        _redesign(tree.links, self._memory)

    def answer(self) -> np.ndarray:
        """The current answer, a mixed plan: one of those that recommend() mixes."""
        return self._memory.bet.answer.copy()

    def recommend(self) -> np.ndarray:
        """The mixture of the answers so far, weighted by their stakes. The lower bound holds for it."""
        memory = self._memory
        weight = memory.bet.stakes[LOWER] * (memory.seen.progress[EPISODES] - memory.seen.progress[LAST_LOOK])
        return mixture(self.tree.links, memory.seen.answers, weight, memory.bet.answer)

    @property
    def _upper_bracket(self) -> tuple[np.ndarray, float]:
        return self._memory.totals, self._memory.seen.numbers[UPPER_STAKES]

    @property
    def _lower_bracket(self) -> tuple[float, float]:
        return self._memory.seen.numbers[LOWER_TOTAL], self._memory.seen.numbers[LOWER_STAKES]

    def _update(self, ended_on, value):
        value = self._return_within_rules(ended_on, value)
        length = traversal.trace_back(self.tree.links, ended_on, self._memory.seen.path)
        _observe(self.tree.links, self._memory, length, value)

    def observe_failed(self, ended_on: int) -> None:
        """Updates on an episode of plan() that failed after a sequence; it counts as the worst possible outcome."""
        self.observe_round([(ended_on, None)])

    def observe_round(self, episodes: Sequence[tuple[int, float | None]]) -> None:
        """Updates on several episodes that were all played by the current plan().

        Args:
            episodes: the sequence on which each ended and its return; None for one that failed after it.
        """
        links, memory, due = self.tree.links, self._memory, False
        for ended_on, value in episodes:
            if value is not None:
                ended_on, value = self._checked(ended_on, value)
                value = self._return_within_rules(ended_on, value)
            length = traversal.trace_back(links, ended_on, memory.seen.path)
            if value is None:
                due = _settle_failed(links, memory, length)
            else:
                due = _settle(links, memory, length, value)
            self.episodes += 1
        if due:
            _look(links, memory)

    def _play(self, mdp, values, rng, episodes):
        self.check_same_environment(mdp)
        return _play(self.tree.links, mdp.chances, self._memory, values, rng, episodes)


def foreseen_interval_episodes(tree: InfostateTree, delta: float) -> float:
    """About how many episodes the bounds of BettingOnValues need to become informative."""
    return foreseen_episodes(max_cover(tree.links)[1], SAYS_SOMETHING, delta / 2)


@numba.njit(cache=True)
def _first_value(links, memory, means, answer):
    """Mean and variance, over first states, of the value if the answer is followed."""
    total, squares, number = 0.0, 0.0, 0.0
    for state in range(links.first_child[ROOT + 1]):
        value = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            value += answer[j] * means[j]
        visits = state_visits(links, memory.seen.visits, state) + 0.2
        total, squares, number = total + visits * value, squares + visits * value * value, number + visits
    mean = total / number
    return mean, max(squares / number - mean * mean, 0.0)


@numba.njit(cache=True)
def best_stake(links, memory, gains, moments, ahead, largest):
    """The stake with which the bound is expected to be least, `ahead` episodes from now; tried downwards."""
    costs, summed = np.empty(len(gains)), memory.seen.numbers[UPPER_STAKES]
    best, stake, least = largest, largest, np.inf
    for _ in range(_MOST_STEPS):
        for j in range(len(costs)):
            costs[j] = memory.totals[j] + ahead * stake * (gains[j] + 0.5 * stake * moments[j])
        bound = (largest_total(links, costs) + memory.needed) / (summed + ahead * stake)
        if bound > least:
            break
        best, least = stake, bound
        stake *= _STEP
    return best


@numba.njit(cache=True)
def explore(links, memory, outlook, ahead):
    """Sets mu: the least variance of the policies that hold the upper bound up, mixed with the answer and the cover."""
    bet, sequences, stake = memory.bet, len(links.can_end), memory.seen.numbers[FULL_STAKE]
    moments = policy_moments(links, outlook.chance, outlook.variances, own_reach(links, bet.mu))
    costs, apart, mixed = np.empty(sequences), np.zeros(sequences), np.ones(sequences)
    for j in range(sequences):
        costs[j] = -(memory.totals[j] + ahead * stake * (outlook.gains[j] + 0.5 * stake * moments[j]))
    played = rivals(links, costs)
    for j in range(1, sequences):
        apart[j] = outlook.chance[j] * outlook.variances[j] * played[j]
    mix(links, neyman(links, apart), bet.answer, _ANSWER / (1.0 - _COVER), mixed)
    mix(links, mixed, memory.seen.cover, _COVER, bet.mu)


@numba.njit(cache=True)
def policy_moments(links, chance, variances, reach):
    """The variance of X(pi) as a sum over the sequences that pi plays."""
    return second_moments(links, chance, variances, np.zeros(len(chance)), reach)


@numba.njit(cache=True)
def _set_upper(links, memory, outlook, ahead, luck):
    """Sets the baseline and the stake of the upper bound: the means, raised where a return could move it too far."""
    bet, reach = memory.bet, own_reach(links, memory.bet.mu)
    bet.upper_baseline[:] = outlook.means
    moments = policy_moments(links, outlook.chance, outlook.variances, reach)
    moments[ROOT] += luck
    largest = max(2.0 * memory.seen.numbers[FULL_STAKE], _largest_stake(links, memory))
    stake = best_stake(links, memory, outlook.gains, moments, ahead, largest)
    most_gain = RAISED * RISK / stake
    about = raised(links, memory.seen, bet.mu, reach, outlook.means, outlook.variances, most_gain, bet.upper_baseline)
    moments = policy_moments(links, outlook.chance, about, reach)
    moments[ROOT] += luck
    stake = best_stake(links, memory, outlook.gains, moments, ahead, _largest_stake(links, memory))
    memory.seen.numbers[FULL_STAKE] = stake
    bet.stakes[UPPER] = stake


@numba.njit(cache=True)
def _set_lower(links, memory, outlook, ahead, luck):
    """Sets the baseline and the stake of the lower bound: sqrt(2 ln(1 / delta) / (n Var)), within what is allowed."""
    bet, reach = memory.bet, own_reach(links, memory.bet.mu)
    bet.lower_baseline[:] = outlook.means
    least = least_estimate(links, bet, memory.seen.least_return)
    bet.reaches[LOWER] = max(bet.centres[LOWER] - least, 1e-6)
    variance = luck + TINY
    for j in range(1, len(reach)):
        variance += outlook.chance[j] * outlook.variances[j] * outlook.answer_reach[j] ** 2 / reach[j]
    wanted = math.sqrt(2.0 * memory.needed / ((memory.seen.progress[EPISODES] + ahead) * variance))
    bet.stakes[LOWER] = min(wanted, RISK / bet.reaches[LOWER])


@numba.njit(cache=True)
def _redesign(links, memory):
    """Sets answer, exploration, baselines and stakes for the episodes until the next look."""
    bet, episodes = memory.bet, memory.seen.progress[EPISODES]
    outlook = look_ahead(links, memory.seen, SHARPNESS, TRUST, bet.answer)
    mean, luck = _first_value(links, memory, outlook.means, bet.answer)
    outlook.gains[ROOT] = mean
    bet.centres[:] = mean
    ahead = max(memory.planned - episodes, LEAST_AHEAD * episodes)
    explore(links, memory, outlook, ahead)
    _set_upper(links, memory, outlook, ahead, luck)
    _set_lower(links, memory, outlook, ahead, luck)


@numba.njit(cache=True)
def _largest_stake(links, memory):
    """The stake at which the largest estimate that the rules allow is worth the share RISK; sets the reach."""
    bet = memory.bet
    most = largest_estimate(links, bet, memory.seen.most_return)
    bet.reaches[UPPER] = max(most - bet.centres[UPPER], 1e-6)
    return RISK / bet.reaches[UPPER]


@numba.njit(cache=True)
def _settle(links, memory, length, value):
    """Settles the bets of an episode and counts it; whether a look is due."""
    path, numbers, bet = memory.seen.path, memory.seen.numbers, memory.bet
    settle_upper(links, bet, path, length, value, memory.totals)
    numbers[LOWER_TOTAL] += settle_lower(links, bet, path, length, value)
    numbers[UPPER_STAKES] += bet.stakes[UPPER]
    numbers[LOWER_STAKES] += bet.stakes[LOWER]
    return count(memory.seen, length, value)


@numba.njit(cache=True)
def _settle_failed(links, memory, length):
    """As _settle, for an episode that was cut short; what it is counted as affects only what is designed."""
    seen, numbers, bet = memory.seen, memory.seen.numbers, memory.bet
    numbers[LOWER_TOTAL] += settle_failed(
        links, bet, seen.path, length, seen.least_return, seen.most_return, memory.totals
    )
    numbers[UPPER_STAKES] += bet.stakes[UPPER]
    numbers[LOWER_STAKES] += bet.stakes[LOWER]
    last = seen.path.sequences[length - 1] if length > 0 else ROOT
    return count(seen, length, 0.5 * (seen.lowest[last] + seen.highest[last]))


@numba.njit(cache=True)
def _look(links, memory):
    """Designs everything again."""
    numbers, progress, bet = memory.seen.numbers, memory.seen.progress, memory.bet
    weight = bet.stakes[LOWER] * (progress[EPISODES] - progress[LAST_LOOK])
    add_answer(links, memory.seen, weight, bet.answer)
    numbers[ANSWER_WEIGHT] += weight
    _redesign(links, memory)


@numba.njit(cache=True)
def _observe(links, memory, length, value):
    """Settles the bets of an episode and counts it; returns whether this was followed by a look."""
    if not _settle(links, memory, length, value):
        return False
    _look(links, memory)
    return True


@numba.njit(cache=True)
def _play(links, chances, memory, values, rng, number):
    total = 0.0
    for _ in range(number):
        total += values[0]
        length, outcome = follow_mixed(links, chances, memory.bet.mu, memory.seen.path, rng)
        if _observe(links, memory, length, chances.outcome_return[outcome]):
            values[0] = mixed_value(links, chances, memory.bet.mu)
    return number, total
