"""Shared code of the learners that bet on estimates of policies: the answer, and plans that explore.

The bets are valid for any choice of these. docs/theory.md, section 11, "What is chosen freely", explains what makes a
choice good; the numbers in brackets refer to it.
"""

from __future__ import annotations

import abc
import collections
import math
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms.empirical_model import state_visits
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.bounds.policy_values import largest_total
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP, mixed_value, own_reach
from tmdp_spiel.trees.tree_shape import ranges_below

# Chosen on seeds from 1000, with Liar's dice and small starts of RBT beside poker games; docs/lab/identification.md.
# None affects a guarantee.
FIRST_LOOK = 16
_GROWTH = 0.03  # of the episodes between looks
_PASS_SHARE = 10  # and at least one episode for that many sequences, so that looks do not cost more than episodes
PRIOR_VISITS = 0.5
_PRIOR_CHANCE = 0.2  # visits that are added to every state
_PRIOR_VARIANCE = 0.5  # as a share of that of all returns
CAUTION = 2.0  # standard errors that are taken off a deficit
_TINY = 1e-12

# The state of a run in arrays, `progress` and `numbers`, so that compiled code can advance it.
EPISODES, NEXT_LOOK, LAST_LOOK, LOOKS, STOPPED = range(5)
RETURNS, SQUARES = 3, 4

# One entry per sequence: visits int64;  returns, squares, of the episodes that ended there, and answers, summed stakes
# times the reach of the answers, float64;  cover: the plan of largest least reach;  least_return, most_return: see
# InfostateTree;  lowest, highest: the range of all returns after a sequence.  progress: int64[5];  numbers: float64[7]
Seen = collections.namedtuple(
    "Seen",
    [
        "visits",
        "returns",
        "squares",
        "answers",
        "cover",
        "least_return",
        "most_return",
        "lowest",
        "highest",
        "progress",
        "numbers",
        "path",
    ],
)

# What is known before the next episodes. means, variances: of what follows each sequence;  chance: of its state;
# answer_reach: own reach of the answer;  gains: what a policy that plays a sequence is foreseen to gain by it
Outlook = collections.namedtuple("Outlook", ["means", "variances", "chance", "answer_reach", "gains"])

_entry = numba.njit(cache=True, no_cfunc_wrapper=True)
_inner = numba.njit(cache=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)  # called by compiled code alone


class BettingLearner(Learner):
    """Plays a mixed exploration, _memory.bet.mu, and bets on returns within the ranges that the rules allow."""

    _memory: typing.Any

    def plan(self) -> np.ndarray:
        """The exploration, a mixed plan."""
        return self._memory.bet.mu.copy()

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        """V of the exploration, alone in an array."""
        return np.array([mixed_value(self.tree.links, mdp.chances, self._memory.bet.mu)])

    def _return_within_rules(self, ended_on: int, value: float) -> float:
        """The return of an episode, up to rounding; an error if the rules do not allow it."""
        least, most = self._memory.seen.least_return[ended_on], self._memory.seen.most_return[ended_on]
        if not least - 1e-9 <= value <= most + 1e-9:
            raise ValueError(
                f"by the rules an episode that ends on sequence {ended_on} returns from {least} to {most}, not {value}"
            )
        return min(max(value, least), most)

    def check_same_environment(self, mdp: TreeMDP) -> bool:
        first = super().check_same_environment(mdp)
        if first:
            least, most = self._memory.seen.least_return, self._memory.seen.most_return
            ends_on = np.repeat(np.arange(len(least)), np.diff(mdp.first_outcome))
            if np.any((mdp.outcome_return < least[ends_on]) | (mdp.outcome_return > most[ends_on])):
                raise ValueError("this environment has returns outside the ranges that the learner's tree gives them")
        return first


class IntervalLearner(Learner):
    """Bounds the value of the best response from both sides by betting; never stops by itself.

    planned: the number of episodes after which the bounds should be narrowest; None if it is not known.
    delta: of both bounds together, divided equally.
    """

    learns_from: typing.ClassVar[str] = ""  # what it learns from, if not from the ends of episodes, and by which method

    def __init__(self, tree: InfostateTree, planned: int | None, delta: float, seed: int):
        super().__init__(tree, seed)
        self.delta = validation.probability("delta", delta)
        self.planned = None if planned is None else validation.whole_number("planned", planned)

    @property
    @abc.abstractmethod
    def _upper_bracket(self) -> tuple[np.ndarray, float]:
        """By sequence the bracket of the upper bound, see bounds/policy_values, and the summed stakes."""

    @property
    @abc.abstractmethod
    def _lower_bracket(self) -> tuple[float, float]:
        """The bracket of the lower bound, and the summed stakes."""

    def _needed(self, delta: float | None) -> float:
        """ln(1 / delta), of one side."""
        return -math.log(self.delta / 2 if delta is None else validation.probability("delta", delta))

    def upper_bound(self, delta: float | None = None) -> float:
        """An upper bound on the value of every policy, with probability 1 - delta at all times.

        delta: half of the learner's delta if not given. The stakes are chosen for that.
        """
        totals, stakes = self._upper_bracket
        needed = self._needed(delta)
        return float(min((largest_total(self.tree.links, totals) + needed) / stakes, 1.0)) if stakes > 0.0 else 1.0

    def foreseen_upper_bound(self, delta: float, factor: float) -> float:
        """An estimate of upper_bound(delta) after `factor` times the episodes, if these are like those so far.

        Later stakes are better, so the estimate tends to be too large.
        """
        return self.upper_bound(math.exp(-self._needed(delta) / validation.positive("factor", factor)))

    def lower_bound(self, delta: float | None = None) -> float:
        """A lower bound on the value of recommend(), with probability 1 - delta at all times; see upper_bound."""
        total, stakes = self._lower_bracket
        return float(max((total - self._needed(delta)) / stakes, 0.0)) if stakes > 0.0 else 0.0

    @property
    def status(self) -> str:
        return f"the best response is worth {self.lower_bound():.3f} to {self.upper_bound():.3f} on the [0, 1] scale"

    def _update(self, ended_on, value):
        raise TypeError(f"{type(self).__name__} learns from {self.learns_from}")

    def _play(self, mdp, values, rng, episodes):
        what = self.learns_from.partition(":")[0]
        raise TypeError(f"{type(self).__name__} learns from {what}, which a TreeMDP does not have")


def new_seen(tree: InfostateTree, cover: np.ndarray) -> Seen:
    """Nothing seen yet. The ranges are copied because unpickled arrays are writable: kernels are then compiled once."""
    least, most = (each.copy() for each in tree.return_range)
    lowest, highest = ranges_below(tree)
    return Seen(
        visits=np.zeros(tree.sequence_end, np.int64),
        returns=np.zeros(tree.sequence_end),
        squares=np.zeros(tree.sequence_end),
        answers=np.zeros(tree.sequence_end),
        cover=cover,
        least_return=least,
        most_return=most,
        lowest=lowest,
        highest=highest,
        progress=np.zeros(5, np.int64),
        numbers=np.zeros(7),
        path=traversal.new_path(tree.horizon),
    )


def foreseen_episodes(width: float, epsilon: float, delta: float) -> float:
    """About how many episodes are needed, fitted to measurements; width: 1 / the largest least reach of an ending."""
    return 0.3 * width * math.log(1.0 / delta) / epsilon**2


@_entry
def max_cover(links):
    """The plan whose least reach of any ending is as large as can be, and 1 / that reach at the widest first state:

    G(s, a) = max(1, largest g of a child), g(s) = sum over a of G(s, a), action a with probability G(s, a) / g(s).
    """
    width = np.zeros(len(links.parent))
    plan = np.ones(len(links.can_end))
    widest = 1.0
    for state in range(len(width) - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = 1.0
            for child in range(links.first_child[j], links.first_child[j + 1]):
                plan[j] = max(plan[j], width[child])
            width[state] += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] /= width[state]
        widest = max(widest, width[state])
    return plan, widest


@kernel
def _observed(links, seen, value, error, j, overall, spread):
    """Mean and variance of what follows a sequence, and the squared standard error e(j) of the mean.

    Imagined visits are added, with the mean of the children or of all returns and a fraction of the variance of all
    returns, both within the range that the rules allow.
    """
    total, squares, below = seen.returns[j], seen.squares[j], 0.0
    guess, children = 0.0, links.first_child[j + 1] - links.first_child[j]
    for child in range(links.first_child[j], links.first_child[j + 1]):
        number = state_visits(links, seen.visits, child)
        total += number * value[child]
        squares += number * value[child] ** 2
        below += number * number * error[child]
        guess += value[child] / children
    if children == 0:
        guess = min(max(overall, seen.lowest[j]), seen.highest[j])
    unknown = min(spread, 0.25 * (seen.highest[j] - seen.lowest[j]) ** 2)
    visits, weight = seen.visits[j], seen.visits[j] + PRIOR_VISITS
    scatter = max(squares - total * total / max(visits, 1), 0.0)
    mean = (total + PRIOR_VISITS * guess) / weight
    variance = (scatter + PRIOR_VISITS * unknown) / weight
    return mean, variance, variance / weight + below / weight**2


@kernel
def answer_at(links, state, means, errors, sharpness, answer):
    """Sets the answer: a in proportion to exp(-sharpness (best mean - mean(s, a)) / sqrt(e(best) + e(s, a)))."""
    best, total = links.first_sequence[state], 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        if means[j] > means[best]:
            best = j
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        behind = (means[best] - means[j]) / math.sqrt(errors[j] + errors[best] + _TINY)
        answer[j] = math.exp(-sharpness * behind)
        total += answer[j]
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        answer[j] /= total


@_inner
def estimate(links, seen, sharpness, answer, means, variances, deficits):
    """Sets the answer, the mean of what follows each sequence if the answer is followed, its variance, and how far the
    mean is behind that of the state for sure, bottom-up.
    """
    episodes = seen.progress[EPISODES]
    overall = (2.0 + seen.numbers[RETURNS]) / (4.0 + episodes)
    spread = seen.numbers[SQUARES] - seen.numbers[RETURNS] ** 2 / max(episodes, 1)
    spread = _PRIOR_VARIANCE * (0.4 + max(spread, 0.0)) / (4.0 + episodes)
    states = len(links.parent)
    value, error, errors = np.zeros(states), np.zeros(states), np.empty(len(links.can_end))
    for state in range(states - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            means[j], variances[j], errors[j] = _observed(links, seen, value, error, j, overall, spread)
        answer_at(links, state, means, errors, sharpness, answer)
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            value[state] += answer[j] * means[j]
            error[state] += answer[j] ** 2 * errors[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            sure = value[state] - means[j] - CAUTION * math.sqrt(errors[j] + error[state])
            deficits[j] = max(sure, 0.0)


@_inner
def chance_reach(links, seen):
    """Per sequence: the estimated probability of its state if the own actions on the path are taken, top-down."""
    reach = np.ones(len(links.can_end))
    for state in range(len(links.parent)):
        number, above = state_visits(links, seen.visits, state) + _PRIOR_CHANCE, links.parent[state]
        siblings = links.first_child[above + 1] - links.first_child[above]
        if above == traversal.ROOT:
            share = number / (seen.progress[EPISODES] + _PRIOR_CHANCE * siblings)
        else:
            share = reach[above] * number / (seen.visits[above] + _PRIOR_CHANCE * (siblings + 1))
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            reach[j] = share
    return reach


@_inner
def look_ahead(links, seen, sharpness, trust, answer):
    """Sets the answer, and estimates what each sequence is behind it: trust times the deficit for sure, negative."""
    sequences = len(links.can_end)
    means, variances, gains = np.zeros(sequences), np.zeros(sequences), np.zeros(sequences)
    estimate(links, seen, sharpness, answer, means, variances, gains)
    chance = chance_reach(links, seen)
    for j in range(sequences):
        gains[j] *= -trust * chance[j]
    return Outlook(means, variances, chance, own_reach(links, answer), gains)


@_entry
def rivals(links, costs):
    """Per sequence: the probability that a pure policy plays it that is drawn in proportion to exp(-its costs)."""
    states = len(links.parent)
    plan, log_sum = np.ones(len(links.can_end)), np.empty(states)
    for state in range(states - 1, -1, -1):
        most = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = -costs[j]
            for child in range(links.first_child[j], links.first_child[j + 1]):
                plan[j] += log_sum[child]
            most = max(most, plan[j])
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = math.exp(plan[j] - most)
            total += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] /= total
        log_sum[state] = most + math.log(total)
    return own_reach(links, plan)


@_entry
def neyman(links, costs):
    """The plan mu that minimises the sum over sequences of costs(j) / (own reach of j under mu), bottom-up:

    F(s) = (sum over a of sqrt(G(s, a)))^2, G(j) = costs(j) + sum over children c of F(c), mu in proportion to sqrt(G).
    """
    plan, least = np.ones(len(links.can_end)), np.empty(len(links.parent))
    for state in range(len(links.parent) - 1, -1, -1):
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            cost = costs[j] + _TINY
            for child in range(links.first_child[j], links.first_child[j + 1]):
                cost += least[child]
            plan[j] = math.sqrt(cost)
            total += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] /= total
        least[state] = total * total
    return plan


@_entry
def mix(links, one, other, share, mixed):
    """Sets `mixed` to `other` with probability `share` for a whole episode, else `one`, as one plan."""
    first, second = own_reach(links, one), own_reach(links, other)
    for state in range(len(links.parent)):
        parent = links.parent[state]
        above = (1.0 - share) * first[parent] + share * second[parent]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            mixed[j] = ((1.0 - share) * first[j] + share * second[j]) / above


@_inner
def raised(links, seen, mu, reach, means, variances, most_gain, baseline):
    """Raises the baseline above the means until no single step of an estimate gains more than most_gain, bottom-up.

    A step from j gains at most (largest X after j - Q(j)) / (own reach of j). Returns the variances about the baseline.
    """
    highest = np.empty(len(links.parent))
    about = np.zeros(len(links.can_end))
    for state in range(len(links.parent) - 1, -1, -1):
        highest[state] = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            after = seen.most_return[j] if links.can_end[j] else -np.inf
            for child in range(links.first_child[j], links.first_child[j + 1]):
                after = max(after, highest[child])
            baseline[j] = max(means[j], after - most_gain * reach[j])
            about[j] = variances[j] + (baseline[j] - means[j]) ** 2
            highest[state] = max(highest[state], baseline[j] + max(after - baseline[j], 0.0) / mu[j])
    return about


@_inner
def second_moments(links, chance, variances, hat_reach, reach):
    """The variance of D(pi) as a sum over the sequences that pi plays; what all pay is at the root.

    It is the sum over j of chance(j) variance(j) (pi(j) - hat(j))^2 / reach(j), pi(j) and hat(j) being own reaches.
    """
    moments = np.zeros(len(chance))
    for j in range(1, len(chance)):
        moment = chance[j] * variances[j] / reach[j]
        moments[j] = moment * (1.0 - 2.0 * hat_reach[j])
        moments[traversal.ROOT] += moment * hat_reach[j] ** 2
    return moments


@_entry
def mixture(links, answers, weight, answer):
    """The plan that reaches sequences as `answers`, summed reaches, and `weight` answers do; else the answer."""
    reach = own_reach(links, answer)
    plan = np.ones(len(reach))
    for state in range(len(links.parent)):
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = answers[j] + weight * reach[j]
            total += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = plan[j] / total if total > 0.0 else answer[j]
    return plan


@_inner
def add_answer(links, seen, weight, answer):
    """Adds the answer of the last episodes to the mixture, and sets when the next look is due."""
    progress, reach = seen.progress, own_reach(links, answer)
    for j in range(len(reach)):
        seen.answers[j] += weight * reach[j]
    progress[LAST_LOOK] = progress[EPISODES]
    progress[LOOKS] += 1
    progress[NEXT_LOOK] = progress[EPISODES] + max(
        int(_GROWTH * progress[EPISODES]), (len(reach) - 1) // _PASS_SHARE, 1
    )


@kernel
def count(seen, length, value):
    """Counts an episode; whether a look is due."""
    progress, path = seen.progress, seen.path
    last = traversal.ROOT
    for at in range(length):
        last = path.sequences[at]
        seen.visits[last] += 1
    seen.returns[last] += value
    seen.squares[last] += value * value
    seen.numbers[RETURNS] += value
    seen.numbers[SQUARES] += value * value
    progress[EPISODES] += 1
    return progress[EPISODES] >= max(progress[NEXT_LOOK], FIRST_LOOK)


@kernel
def follow_mixed(links, chances, plan, path, rng):
    """One episode of a mixed plan, as sample_mixed draws it: fills the path; returns (its length, outcome)."""
    j, rest, length = np.int64(traversal.ROOT), rng.random(), np.int64(0)
    while True:
        state, outcome, rest = traversal.follow_chance(links, chances, j, rest)
        if outcome >= 0:
            return length, outcome
        j = np.int64(traversal.draw_sequence(links, plan, state, rng.random()))
        path.states[length], path.sequences[length] = state, j
        length += 1
