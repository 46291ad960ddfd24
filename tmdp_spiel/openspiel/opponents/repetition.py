"""Tests whether copies of a bot draw independent random numbers, by their answers in the same episodes.

A bot that draws the same random numbers whenever it is made repeats itself in every worker and in every resumed call,
and a response could be learned against draws that occur again. So every copy plays a few episodes whose chance events
are the same for all copies. If the answers vary between episodes, but in the same way for all copies, the copies are
not independent.
"""

from __future__ import annotations

import collections
import contextlib
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.opponents.episode import Episode, EpisodeTooLongError
from tmdp_spiel.openspiel.opponents.fixed import OpponentError
from tmdp_spiel.openspiel.opponents.live import LiveOpponents
from tmdp_spiel.openspiel.opponents.seeding import PROBES, derived_seed

# The answers: {player and history: {position in the sequence of questions: answer}}.
Transcript = dict[str, dict[str, str]]

REMEDY = (
    "If it makes its own generator, let its class or the function that makes it take `seed`, and mix the seed into "
    "the generator, as in np.random.default_rng([seed, episode])"
)
ENOUGH_ANSWERS = 12  # of a bot, to tell
ENOUGH_OF_WORKERS = 16  # of each of two copies of a coin, to tell that they repeat each other
_EPISODES, _MOST_ANSWERS, _MOST_FAILURES = 256, 1_000, 10
_SAME_EPISODES = 8  # in a row that have the same chance events, so that a history comes again in any game
_PERMUTATIONS = 9_999
_LEVEL = 1e-4  # the probability that independent copies are said to repeat each other
_DIFFERENT_LEVEL = 3e-4  # the probability that answers of the same bot are said to be different
_ENTRIES = 800


def place(player: int, history: Sequence[int]) -> str:
    """The name of a position in a transcript."""
    return f"player {player} after {list(history)}"


def play_alone(bots: Mapping[int, object], game: pyspiel.Game, *, seconds: float, least: int) -> Transcript:
    """The bots' answers in a few episodes in which the others, and chance, draw the same in every call.

    seconds: the test ends after this time, once there are `least` answers. It also ends if a bot fails often.
    """
    found: Transcript = {}
    until, asked, failures = time.perf_counter() + seconds, 0, 0
    everyone = LiveOpponents(game, None, bots, check_players=False)
    for number in range(_EPISODES):
        draw = random.Random(derived_seed(PROBES, number // _SAME_EPISODES)).random
        state = game.new_initial_state()
        try:
            everyone.restart(state)
            episode = Episode(state, draw, everyone.inform)
            for actor in episode:
                if actor not in bots:
                    legal = state.legal_actions()
                    episode.action = legal[int(draw() * len(legal))]
                    continue
                if asked >= least and (asked >= _MOST_ANSWERS or time.perf_counter() > until):
                    return found
                episode.action = everyone.move(state, draw())
                found.setdefault(place(actor, state.history()), {})[f"episode {number}"] = str(episode.action)
                asked += 1
        except (OpponentError, EpisodeTooLongError):
            failures += 1
            if failures == _MOST_FAILURES:
                return found
    return found


def number_of_answers(transcript: Transcript) -> int:
    """The number of answers."""
    return sum(map(len, transcript.values()))


def repeats(transcripts: Sequence[Transcript], level: float = _LEVEL) -> bool:
    """Whether copies agree more than independent ones, a permutation test over the answers at each position.

    level: the probability of this answer for independent copies. Also False for copies whose answers do not vary.
    """
    entries = _aligned(transcripts)
    if entries is None:
        return False
    groups, strata, codes = entries
    if len(transcripts) == 2 and _all_agree(groups, codes):
        return _chance_of_agreement(strata, codes) < level
    number = int(codes.max()) + 1
    seen, rng, others = _agreements(groups, codes, number), np.random.default_rng(0), []
    for shuffled in _shuffles(codes, strata, rng):
        others.append(_agreements(groups, shuffled, number))
        if others[-1] >= seen:
            return False
    return bool(seen - np.mean(others) >= 5 * np.std(others))


def _shuffles(values: np.ndarray, strata: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The values in random orders, exchanged only within strata."""
    order = np.argsort(strata, kind="stable")
    for _ in range(_PERMUTATIONS):
        shuffled = np.empty_like(values)
        shuffled[order] = values[np.lexsort((rng.random(len(strata)), strata))]
        yield shuffled


def _aligned(transcripts: Sequence[Transcript]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Answers that several copies gave at the same position and place: the place, the copy, and the answer."""
    together: dict[tuple[str, str], list[tuple[int, str]]] = collections.defaultdict(list)
    for copy, transcript in enumerate(transcripts):
        for position, answers in transcript.items():
            for where, answer in answers.items():
                together[position, where].append((copy, answer))
    kinds: dict[str, set[str]] = collections.defaultdict(set)
    shared = {key: each for key, each in together.items() if len(each) > 1}
    for (position, _), each in shared.items():
        kinds[position].update(answer for _, answer in each)
    groups: list[int] = []
    strata: list[int] = []
    codes: list[int] = []
    numbers: dict[tuple[str, int] | str, int] = {}
    for at, ((position, _), each) in enumerate(shared.items()):
        if len(kinds[position]) < 2:
            continue
        for copy, answer in each:
            groups.append(at)
            strata.append(numbers.setdefault((position, copy), len(numbers)))
            codes.append(numbers.setdefault(answer, len(numbers)))
        if len(codes) > _ENTRIES:
            break
    if not codes:
        return None
    _, compact = np.unique(codes, return_inverse=True)
    return np.array(groups), np.array(strata), compact


def _agreements(groups: np.ndarray, codes: np.ndarray, number: int) -> int:
    """The number of pairs of equal answers in one group."""
    counts = np.bincount(groups * number + codes)
    return int((counts * (counts - 1)).sum() // 2)


def _all_agree(groups: np.ndarray, codes: np.ndarray) -> bool:
    return len({(group, code) for group, code in zip(groups.tolist(), codes.tolist())}) == len(set(groups.tolist()))


def _chance_of_agreement(strata: np.ndarray, codes: np.ndarray) -> float:
    """The probability that a random order of the answers of one of two copies agrees everywhere."""
    orders: list[float] = []
    for stratum in np.unique(strata):
        counts = np.bincount(codes[strata == stratum])
        orders.append(math.lgamma(counts.sum() + 1) - sum(math.lgamma(count + 1) for count in counts))
    return math.exp(-sum(orders) / 2)  # both copies have the same orders


def difference(before: Transcript, now: Transcript) -> str:
    """Where two transcripts differ by more than chance can explain, as a clause; empty if they do not."""
    shared = [position for position in before if position in now]
    both = [(list(before[position].values()), list(now[position].values())) for position in shared]
    strata = np.repeat(np.arange(len(both)), [len(one) + len(other) for one, other in both])
    if not len(strata):
        return ""
    is_now = np.concatenate([np.repeat([False, True], [len(one), len(other)]) for one, other in both])
    kinds = {
        answer: code for code, answer in enumerate(sorted({each for pair in both for ones in pair for each in ones}))
    }
    codes = np.array([kinds[each] for one, other in both for each in (*one, *other)])
    cells = len(both) * len(kinds)
    cell = strata * len(kinds) + codes
    totals = np.bincount(cell, minlength=cells)
    sizes = np.bincount(strata)
    share = np.bincount(strata, is_now) / sizes
    expected = totals * np.repeat(share, len(kinds))

    def distances(which: np.ndarray) -> np.ndarray:
        squares = (np.bincount(cell, which, minlength=cells) - expected) ** 2 / np.maximum(expected, 1e-9)
        return squares.reshape(len(both), -1).sum(1)

    seen, rng = distances(is_now), np.random.default_rng(0)
    allowed = int(_DIFFERENT_LEVEL * (_PERMUTATIONS + 1)) - 1
    for statistic in (np.sum, np.max):
        as_large = 0
        for shuffled in _shuffles(is_now, strata, rng):
            as_large += statistic(distances(shuffled)) >= statistic(seen) - 1e-9
            if as_large > allowed:
                break
        if as_large <= allowed:
            worst = int(np.argmax(seen))
            counts = [dict(sorted(collections.Counter(answers).items())) for answers in both[worst]]
            return f"at {shared[worst]!r} it answers {counts[1]} where it answered {counts[0]}"
    return ""


@contextlib.contextmanager
def global_generators_kept() -> Iterator[None]:
    """Restores the generators of `random`, NumPy and torch afterwards. Not safe with several threads."""
    torch = sys.modules.get("torch")
    before, numpy_before = random.getstate(), np.random.get_state()
    torch_before = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)
        if torch is not None and torch_before is not None:
            torch.set_rng_state(torch_before)


class Copies:
    """Compares the answers of the workers of an executor as they arrive.

    fail(message): makes the error that is raised if they repeat each other.
    """

    def __init__(self, fail: Callable[[str], Exception]):
        self._fail = fail
        self._transcripts: dict[str, Transcript] = {}
        self._answers, self._next_check = 0, 32

    def add(self, worker: str, number: int, position: str, answer: str, alone: Transcript | None) -> None:
        """Adds one answer of a worker, with its number; alone: the worker's answers in its test episodes."""
        is_new = worker not in self._transcripts
        theirs = self._transcripts.setdefault(worker, {})
        if alone is not None:
            theirs.update({f"alone, {key}": each for key, each in alone.items()})
        self._answers += 1
        if self._answers <= _ENTRIES:
            theirs.setdefault(position, {})[str(number)] = answer
        if is_new or self._answers >= self._next_check:
            self._next_check = max(self._next_check, 2 * self._answers)
            self.check()

    def check(self) -> None:
        """Compares the answers so far."""
        if len(self._transcripts) > 1 and repeats(list(self._transcripts.values())):
            raise self._fail(
                "copies of the opponent in several workers repeat each other's random answers, although each of them "
                f"was given its own seed. So episodes are not independent, and nothing can be certified. "
                f"{REMEDY}; or play in one process"
            )

    @property
    def too_few(self) -> bool:
        """Whether some worker gave too few answers to be compared with the others."""
        return (
            len(self._transcripts) > 1 and min(map(number_of_answers, self._transcripts.values())) < ENOUGH_OF_WORKERS
        )
