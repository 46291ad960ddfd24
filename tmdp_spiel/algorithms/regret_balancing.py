"""Data-driven regret balancing: which of several ways to play has the next episode (docs/theory.md, section 10).

D3RB of Dann, Gentile and Pacchiano (2023), on the returns since the episodes last doubled. Each way has a guess of its
regret coefficient d, such that N episodes of it lose d sqrt(N); the guess is doubled when the returns refute it.
"""

import collections
import math

import numpy as np

from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel

_FIRST_RESTART = 64  # episodes
_LEAST_SPREAD = 0.02  # of the returns in [0, 1]: what looks certain is doubted all the same

# numbers, returns, guesses: float64[K], episodes, summed returns and guess of each way since the last restart;
# played: int64[K], its episodes in all;  overall: float64[4], all episodes, the sums of their returns and of the
# squares, and the episode of the next restart;  current: int64[1], who plays;  confidence, guess: as given
Balance = collections.namedtuple(
    "Balance", ["numbers", "returns", "guesses", "played", "overall", "current", "confidence", "guess"]
)


def new_balance(ways: int, confidence: float, guess: float) -> Balance:
    """confidence: the width of the intervals, guess: the first regret coefficient, both in units of sigma."""
    return Balance(
        numbers=np.zeros(ways),
        returns=np.zeros(ways),
        guesses=np.zeros(ways),
        played=np.zeros(ways, np.int64),
        overall=np.zeros(4),
        current=np.zeros(1, np.int64),
        confidence=validation.positive("confidence", confidence),
        guess=validation.positive("guess", guess),
    )


@kernel
def _spread(overall):
    """sigma: the standard deviation of the returns, that of a coin at first."""
    if overall[0] == 0.0:
        return 0.5
    mean = overall[1] / overall[0]
    return max(math.sqrt(max(overall[2] / overall[0] - mean * mean, 0.0) + 0.25 / overall[0]), _LEAST_SPREAD)


def spread_of(balance: Balance) -> float:
    """sigma."""
    return float(_spread(balance.overall))


def next_to_play(balance: Balance, number: int) -> list[int]:
    """Who would play each of the next episodes, if their returns refuted no guess."""
    numbers = balance.numbers.copy()
    guesses = balance.guesses if balance.guesses.any() else np.ones(len(numbers))
    ways = []
    for _ in range(number):
        way = int(np.argmin(guesses * np.sqrt(numbers + 1.0)))
        numbers[way] += 1.0
        ways.append(way)
    return ways


@kernel
def _restart(balance, spread):
    """Forgets the returns whenever the episodes have doubled."""
    if balance.overall[0] < balance.overall[3]:
        return
    balance.overall[3] = max(2.0 * balance.overall[0], _FIRST_RESTART)
    for way in range(len(balance.numbers)):
        balance.numbers[way], balance.returns[way], balance.guesses[way] = 0.0, 0.0, balance.guess * spread


@kernel
def weigh(balance, value):
    """Updates on the return of an episode and chooses who plays the next; returns sigma.

    With U the summed return of N episodes of a way, d its guess (first `guess` times sigma), and e = confidence times
    sigma sqrt(ln(20 K ln t) / N), the guess of the one that played is doubled if it is refuted,

        U / N + d / sqrt(N) + e < max over the ways of U / N - e,

    and the next to play is the one of the smallest d sqrt(N + 1).
    """
    overall, ways = balance.overall, len(balance.numbers)
    if overall[0] == 0.0:
        _restart(balance, _spread(overall))
    played = balance.current[0]
    overall[0] += 1.0
    overall[1] += value
    overall[2] += value * value
    spread = _spread(overall)
    balance.numbers[played] += 1.0
    balance.returns[played] += value
    balance.played[played] += 1
    width = balance.confidence * spread * math.sqrt(math.log(20.0 * ways * math.log(overall[0] + 2.0)))
    highest = -np.inf
    for way in range(ways):
        if balance.numbers[way] > 0.0:
            mean = balance.returns[way] / balance.numbers[way]
            highest = max(highest, mean - width / math.sqrt(balance.numbers[way]))
    mean, root = balance.returns[played] / balance.numbers[played], math.sqrt(balance.numbers[played])
    if mean + (balance.guesses[played] + width) / root < highest:
        balance.guesses[played] *= 2.0
    _restart(balance, spread)
    least = np.inf
    for way in range(ways):
        potential = balance.guesses[way] * math.sqrt(balance.numbers[way] + 1.0)
        if potential < least:
            least, balance.current[0] = potential, way
    return spread
