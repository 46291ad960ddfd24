"""The uncertainty of ThompsonTree about its recommendation, by draws from a posterior of the visited tree.

In a draw, the mean of every tried action j is normal around its empirical mean. Its variance is that of what followed j
(the drawn values of the child states, and returns of deviation sigma(j) where episodes ended), with one imagined visit
of variance sigma(j)^2 added, over n(j). An untried action is normal with the mean and the deviation of the episodes of
first tries. Means are clipped to what the rules allow. The value of the recommended policy and that of the best one
follow bottom-up from the same draw, so the gap between them is never negative.

This is an estimate, not a certificate: the prior is the learner's own, unvisited states do not count, and nothing
corrects for the fact that the recommended actions were chosen from the same episodes. So the value is too high where
many actions are about equally good.
"""

from __future__ import annotations

import math
import typing

import numba
import numpy as np

from tmdp_spiel.core import validation
from tmdp_spiel.core.hash_rng import normal
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal

_ROOT_KEY = 1 << 40  # keys below are of sequences


class Estimate(typing.NamedTuple):
    """What a learner believes about its recommendation, in returns in [0, 1]. An estimate, not a certificate.

    value, lower, upper: the value of the recommended policy, and its interval.
    gap, largest_gap: how much more the best policy has, and the upper end of its one-sided interval.
    """

    value: float
    lower: float
    upper: float
    gap: float
    largest_gap: float


def estimate(tree, tables, ranges, new, root, seed: int, confidence: float, draws: int) -> Estimate:
    """The estimate of a ThompsonTree.

    Args:
        tree: of the learner.
        tables: ThompsonTables.
        ranges: the least and the most return after every sequence, empty if unknown.
        new: mean and deviation of the returns of episodes of first tries.
        root: the number of episodes, and the summed return of those that ended before an own decision.
        seed: of the draws.
        confidence: of the intervals.
        draws: how many.
    """
    confidence = validation.probability("confidence", confidence)
    draws = validation.whole_number("draws", draws)
    drawn = _draw(tree.links, tables, ranges, new, root, seed, tree.num_states, draws)
    recommended, gaps = drawn[0], drawn[1] - drawn[0]
    lower, upper = np.quantile(recommended, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(*map(float, (recommended.mean(), lower, upper, gaps.mean(), np.quantile(gaps, confidence))))


@kernel
def _range(ranges, sequence):
    if len(ranges[0]) == 0:
        return 0.0, 1.0
    return ranges[0][sequence], ranges[1][sequence]


@kernel
def own_deviation(tables, sequence):
    """The standard deviation of the returns after a sequence; 0 where untried."""
    number = max(tables.visits[sequence], 1)
    mean = tables.returns[sequence] / number
    return math.sqrt(max(tables.squares[sequence] / number - mean * mean, 0.0))


@numba.njit(cache=True)
def _draw(links, tables, ranges, new, root, seed, states, draws):
    """float64[2, draws]: the value of the recommended policy and of the best one, in each draw."""
    rows = len(tables.plans) // len(tables.first)
    values = np.empty((2, draws))
    mine, largest = np.zeros(states), np.zeros(states)  # of every state: of what is recommended, of what is best
    for draw in range(draws):
        for state in range(states - 1, -1, -1):
            if tables.state_visits[state] == 0:
                continue
            lead = links.first_sequence[state] + tables.plans[np.int64(state) * rows + rows - 1]
            largest[state] = -np.inf
            for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
                low, high = _range(ranges, j)
                deviation = min(max(new[1], own_deviation(tables, j)), 0.5 * (high - low))
                noise = normal(seed, draw, 2 * np.int64(j), 2 * np.int64(j) + 1)
                own = most = new[0] + deviation * noise
                if tables.visits[j] > 0:
                    own, most = _draw_tried(links, tables, rows, j, deviation, noise, mine, largest)
                largest[state] = max(largest[state], min(max(most, low), high))
                if j == lead:
                    mine[state] = min(max(own, low), high)
        noise = normal(seed, draw, 2 * _ROOT_KEY, 2 * _ROOT_KEY + 1)
        own, most = _draw_followed(links, tables, traversal.root(links), root[0], root[1], new[1], noise, mine, largest)
        values[0, draw], values[1, draw] = min(max(own, 0.0), 1.0), min(max(most, 0.0), 1.0)
    return values


@kernel
def _draw_tried(links, tables, rows, sequence, deviation, noise, mine, largest):
    """Of a tried sequence: the drawn means if the recommended, or the best, is played from there on."""
    ended_sum = tables.sums[np.int64(sequence) * rows + rows - 1]
    child, end = traversal.children(links, sequence)
    while child != end:
        ended_sum -= tables.state_visits[child] * tables.best[child * rows + rows - 1]
        child = traversal.next_child(links, child)
    number = tables.visits[sequence]
    return _draw_followed(links, tables, sequence, number, ended_sum, deviation, noise, mine, largest)


@kernel
def _draw_followed(links, tables, sequence, number, ended_sum, deviation, noise, mine, largest):
    """As _draw_tried, for a sequence or the root that was visited `number` times."""
    number, ended, own, most, squares = max(number, 1.0), float(number), ended_sum, ended_sum, 0.0
    child, end = traversal.children(links, sequence)
    while child != end:
        times = tables.state_visits[child]
        own, most, squares = (
            own + times * mine[child],
            most + times * largest[child],
            squares + times * mine[child] ** 2,
        )
        ended -= times
        child = traversal.next_child(links, child)
    if ended > 0.0:
        squares += ended * deviation**2 + ended_sum * ended_sum / ended
    variance = (max(squares - own * own / number, 0.0) + deviation**2) / (number + 1.0)
    error = noise * math.sqrt(variance / number)
    return own / number + error, most / number + error
