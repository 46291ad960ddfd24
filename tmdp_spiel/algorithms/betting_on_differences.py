"""Identifies an epsilon-best response from few episodes, certified by bets on differences of policies.

The certificate is in bounds/differences; docs/theory.md, section 11, has the proof. It holds for any exploration,
answer, baseline and stake that are fixed before an episode. Here they are computed again from the data at *looks*,
whenever the number of episodes has grown by a few percent:

    the answer      plays each action with a probability that falls with its distance from the best, in standard errors;
    the baseline    is the empirical value of following the answer, raised where a return could cost too much;
    the exploration minimises the variance of the differences to the rivals that lag behind, in one pass, mixed with a
                    plan that reaches every ending as often as can be;
    the stake       makes the capital of the poorest rival grow fastest, as far as can be foreseen.

The recommendation is the mixture of the answers so far, weighted by their stakes.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.algorithms.exploration import (
    EPISODES,
    LAST_LOOK,
    STOPPED,
    BettingLearner,
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
)
from tmdp_spiel.bounds.differences import Bet, largest_difference, least_total, settle
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import mixed_value, own_reach

# Chosen as those of `exploration`; none affects the guarantee.
_SHARPNESS = 2.0  # of the answer, per standard error
_COVER = 0.3  # share of the exploration that covers all endings
_RISK = 0.8  # of the capital, the most that one episode can cost
_RAISED = 2.0  # how far a single return may go beyond what the stake allows before the baseline is raised
_TRUST = 0.5  # in the estimated deficits of rivals, where stakes and exploration are foreseen
_RAMP = 0.25  # stakes are smaller before this share of the foreseen episodes
_STEP = 0.8  # between stakes tried
_MOST_STEPS = 60
_TINY = 1e-12
_MOST_EPISODES = 2**31

WEIGHT, FULL_STAKE, LOG_CAPITAL = range(3)  # in `numbers`

# seen: see `exploration`;  log_capital: float64[J + 1];  estimates, weights: scratch
BettingOnDifferencesMemory = collections.namedtuple(
    "BettingOnDifferencesMemory", ["bet", "log_capital", "seen", "epsilon", "needed", "estimates", "weights"]
)


class BettingOnDifferences(BettingLearner):
    """PAC identification: stops with a policy that is worth at least V* - epsilon with probability at least 1 - delta.

    epsilon is on the [0, 1] scale of returns. The policy is a mixed plan. Rivals are refuted by their difference to it,
    so the bound does not depend on the number of policies. Where the rules restrict the returns to a narrow range,
    larger stakes are allowed.
    """

    def __init__(self, tree: InfostateTree, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, seed)
        self.epsilon = validation.probability("epsilon", epsilon)
        self.delta = validation.probability("delta", delta)
        cover, width = max_cover(tree.links)
        expected = foreseen_episodes(width, self.epsilon, self.delta)
        if expected >= _MOST_EPISODES:
            raise ValueError(
                f"epsilon = {self.epsilon} and delta = {self.delta} would take about {expected:.1e} episodes on this "
                f"tree, and a run has fewer than 2^31: ask for a larger epsilon"
            )
        sequences = tree.sequence_end
        self._memory = BettingOnDifferencesMemory(
            bet=Bet(cover.copy(), np.ones(sequences), np.zeros(sequences), np.zeros(1)),
            log_capital=np.zeros(sequences),
            seen=new_seen(tree, cover),
            epsilon=self.epsilon,
            needed=-math.log(self.delta),
            estimates=np.empty(tree.horizon + 1),
            weights=np.empty(tree.horizon + 1),
        )
        self._memory.seen.numbers[FULL_STAKE] = 1.0
        _redesign(tree.links, self._memory)

    def answer(self) -> np.ndarray:
        """The current answer, a mixed plan: one of those that recommend() mixes."""
        return self._memory.bet.hat.copy()

    def recommend(self) -> np.ndarray:
        """The mixture of the answers so far, weighted by their stakes. The certificate holds for it."""
        memory = self._memory
        weight = memory.bet.stake[0] * (memory.seen.progress[EPISODES] - memory.seen.progress[LAST_LOOK])
        return mixture(self.tree.links, memory.seen.answers, weight, memory.bet.hat)

    @property
    def stopped(self) -> bool:
        return bool(self._memory.seen.progress[STOPPED])

    @property
    def certainty(self) -> float:
        """ln of the least capital at the last look, as a share of ln(1 / delta): 1 stops."""
        return float(self._memory.seen.numbers[LOG_CAPITAL] / self._memory.needed)

    @property
    def status(self) -> str:
        return f"{max(self.certainty, 0.0):.0%} certain that none is {self.epsilon:g} better"

    def _update(self, ended_on, value):
        value = self._return_within_rules(ended_on, value)
        length = traversal.trace_back(self.tree.links, ended_on, self._memory.seen.path)
        if not self.stopped and _observe(self.tree.links, self._memory, length, value):
            self._look()

    def _play(self, mdp, values, rng, episodes):
        self.check_same_environment(mdp)
        played, total = 0, 0.0
        while played < episodes and not self.stopped:
            left = episodes - played
            more, total, due = _play(self.tree.links, mdp.chances, self._memory, values, rng, left, total)
            played += more
            if due:
                self._look()
                values[0] = mixed_value(self.tree.links, mdp.chances, self._memory.bet.mu)
        return played, total

    def _look(self) -> None:
        """Stops if every rival is refuted; otherwise prepares the episodes until the next look.

        This is called from Python, because compiled code would contain another copy of all of it.
        """
        _look(self.tree.links, self._memory)
        if not self.stopped:
            _redesign(self.tree.links, self._memory)


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _foresee(log_capital, gains, moments, ahead, stake, costs):
    """Sets costs to ln capital + ahead (lambda gain - lambda^2 / 2 moment): the expected outcome of the bets."""
    for j in range(len(costs)):
        costs[j] = log_capital[j] + ahead * stake * (gains[j] - 0.5 * stake * moments[j])


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _best_stake(links, log_capital, gains, moments, ahead, largest):
    """The stake that maximises the smallest capital of a rival expected in `ahead` episodes, and that capital.

    The capital is a concave function of the stake, so stakes are tried from the largest downwards.
    """
    costs = np.empty(len(log_capital))
    best, stake, most = largest, largest, -np.inf
    for _ in range(_MOST_STEPS):
        _foresee(log_capital, gains, moments, ahead, stake, costs)
        value = least_total(links, costs)
        if value < most:
            break
        best, most = stake, value
        stake *= _STEP
    return best, most


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _largest_stake(links, memory):
    """The stake at which the worst episode that the rules allow costs the share _RISK of a capital."""
    worst = largest_difference(links, memory.bet, memory.seen.least_return, memory.seen.most_return) - memory.epsilon
    return _RISK / max(worst, 1e-6)


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _explore(links, memory, outlook, ahead):
    """Sets mu: (2) the least variance of the differences to rivals, drawn by how poor they are foreseen to be."""
    bet, sequences, answer_reach = memory.bet, len(links.can_end), outlook.answer_reach
    moments = second_moments(links, outlook.chance, outlook.variances, answer_reach, own_reach(links, bet.mu))
    costs, apart = np.empty(sequences), np.zeros(sequences)
    _foresee(memory.log_capital, outlook.gains, moments, ahead, memory.seen.numbers[FULL_STAKE], costs)
    played = rivals(links, costs)
    for j in range(1, sequences):
        squared = played[j] * (1.0 - answer_reach[j]) ** 2 + (1.0 - played[j]) * answer_reach[j] ** 2
        apart[j] = outlook.chance[j] * outlook.variances[j] * squared
    mix(links, neyman(links, apart), memory.seen.cover, _COVER, bet.mu)


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _set_baseline(links, memory, outlook, ahead):
    """Sets Q: the means, raised where a return could cost more than the stake allows; returns E[D(pi)^2] then."""
    bet, reach = memory.bet, own_reach(links, memory.bet.mu)
    for j in range(len(reach)):
        bet.baseline[j] = outlook.means[j]
    moments = second_moments(links, outlook.chance, outlook.variances, outlook.answer_reach, reach)
    largest = max(2.0 * memory.seen.numbers[FULL_STAKE], _largest_stake(links, memory))
    stake, _ = _best_stake(links, memory.log_capital, outlook.gains, moments, ahead, largest)
    most_gain = _RAISED * _RISK / stake
    about = raised(links, memory.seen, bet.mu, reach, outlook.means, outlook.variances, most_gain, bet.baseline)
    return second_moments(links, outlook.chance, about, outlook.answer_reach, reach)


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _set_stake(links, memory, outlook, ahead, moments):
    """Sets lambda: (1) the poorest rival's capital grows fastest; less at the beginning of the foreseen episodes."""
    numbers, episodes, largest = memory.seen.numbers, memory.seen.progress[EPISODES], _largest_stake(links, memory)
    stake, _ = _best_stake(links, memory.log_capital, outlook.gains, moments, ahead, largest)
    _, growth = _best_stake(links, np.zeros(len(outlook.gains)), outlook.gains, moments, 1.0, largest)
    remaining = max(memory.needed - numbers[LOG_CAPITAL], 0.0) / max(growth, 1e-9)
    share = episodes / (episodes + remaining + _TINY)
    numbers[FULL_STAKE] = stake
    memory.bet.stake[0] = stake * min(1.0, share / _RAMP)


@numba.njit(cache=True, no_cfunc_wrapper=True)
def _redesign(links, memory):
    """Sets answer, exploration, baseline and stake for the episodes until the next look."""
    outlook = look_ahead(links, memory.seen, _SHARPNESS, _TRUST, memory.bet.hat)
    for j in range(len(outlook.chance)):
        outlook.gains[j] = -outlook.gains[j]  # of bets against a policy
    outlook.gains[ROOT] = memory.epsilon
    ahead = max(float(memory.seen.progress[EPISODES]), 20.0)
    _explore(links, memory, outlook, ahead)
    moments = _set_baseline(links, memory, outlook, ahead)
    _set_stake(links, memory, outlook, ahead, moments)


@numba.njit(cache=True, no_cfunc_wrapper=True)
def _look(links, memory):
    """Adds the answer of the last episodes to the mixture; stops if every rival is refuted (Theorem 13)."""
    progress, numbers = memory.seen.progress, memory.seen.numbers
    weight = memory.bet.stake[0] * (progress[EPISODES] - progress[LAST_LOOK])
    add_answer(links, memory.seen, weight, memory.bet.hat)
    numbers[WEIGHT] += weight
    numbers[LOG_CAPITAL] = least_total(links, memory.log_capital)
    if numbers[LOG_CAPITAL] >= memory.needed:
        progress[STOPPED] = 1


@kernel
def _observe(links, memory, length, value):
    """Settles the bets of an episode and counts it; whether a look is due."""
    bet, path = memory.bet, memory.seen.path
    settle(links, bet, memory.epsilon, path, length, value, memory.estimates, memory.weights, memory.log_capital)
    return count(memory.seen, length, value)


@numba.njit(cache=True, no_cfunc_wrapper=True)
def _play(links, chances, memory, values, rng, number, total):
    """Plays until a look is due: how many episodes, the total plus the exploration's values, and whether one is."""
    for played in range(1, number + 1):
        total += values[0]
        length, outcome = follow_mixed(links, chances, memory.bet.mu, memory.seen.path, rng)
        if _observe(links, memory, length, chances.outcome_return[outcome]):
            return played, total, True
    return number, total, False
