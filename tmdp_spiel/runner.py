"""Runs learners against a TreeMDP: regret and value gap in exact expectation, at chosen episodes."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time

import numpy as np
import tqdm

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.decision_tree import DecisionTree
from tmdp_spiel.tree_mdp import TreeMDP

_CHECKPOINTS_PER_DECADE = 20
_SECONDS_PER_CHUNK = 0.1


@dataclasses.dataclass
class Trace:
    """What a run saw, at its checkpoints; values in the game's utility units.

    episode:   episodes of this run so far
    regret:    the sum over the episodes of V(pi*) - V(pi^t), in exact expectation
    value_gap: V(pi*) - V(recommended policy), exactly
    seconds:   time spent so far
    """

    episode: np.ndarray
    regret: np.ndarray
    value_gap: np.ndarray
    seconds: np.ndarray
    interrupted: bool = False


@dataclasses.dataclass
class Result:
    """How a run until stopped ended. value and gap: the exact value of the plan, and how much a best response has more."""

    episodes: int
    plan: np.ndarray
    value: float
    gap: float
    stopped: bool
    seconds: float


def log_spaced(episodes: int) -> np.ndarray:
    """Checkpoints 1 .. episodes, evenly spaced in the logarithm."""
    number = int(_CHECKPOINTS_PER_DECADE * np.log10(max(episodes, 1))) + 2
    return np.unique(np.rint(np.geomspace(1, episodes, number)).astype(np.int64))


def run(
    learner: Learner,
    mdp: TreeMDP,
    episodes: int,
    *,
    checkpoints=None,
    rng: np.random.Generator | int | None = None,
    seconds: float | None = None,
    progress: bool = True,
) -> Trace:
    """Lets the learner play that many episodes, fewer if it stops, and measures it exactly.

    checkpoints: the episodes of this run to measure at; log-spaced if not given. rng: the environment's generator or
    its seed, the learner's seed if not given; with rng = numpy.random.default_rng(learner.seed), the loop of plan(),
    mdp.sample(plan, rng) and learn() gives the same episodes. seconds: end the run after about that long. progress: a
    bar, on a terminal. Ctrl-C returns what was done so far; the learner can go on from there, with the same rng object
    to go on identically.
    """
    check_same_tree(learner, mdp.tree)
    checkpoints = _checked_checkpoints(checkpoints, _whole_number("episodes", episodes))
    rng = _environment_rng(rng, learner)
    best = mdp.to_utility(mdp.scaled_best_value)
    rows, done, regret, start = [], 0, 0.0, time.perf_counter()
    name, play = type(learner).__name__, lambda number: learner.play(mdp, rng, number)
    with Interruptible() as interruption, progress_bar(name, int(checkpoints[-1]), progress) as bar:
        for played, gap_sum in chunks(play, checkpoints, interruption, bar):
            done += played
            regret += gap_sum
            late = seconds is not None and time.perf_counter() - start > seconds
            at_end = interruption.asked or learner.stopped or late
            if at_end or done in checkpoints:
                gap = max(best - learner.recommended_value(mdp), 0.0)
                rows.append((done, regret, gap, time.perf_counter() - start))
            if at_end:
                break
    columns = np.array(rows, np.float64).reshape(-1, 4).T
    return Trace(columns[0].astype(np.int64), *columns[1:], interrupted=interruption.asked)


def run_until_stopped(
    learner: Learner,
    mdp: TreeMDP,
    *,
    max_episodes: int | None = None,
    rng: np.random.Generator | int | None = None,
    progress: bool = True,
) -> Result:
    """Lets a PAC learner play until it stops, or until max_episodes or Ctrl-C."""
    check_same_tree(learner, mdp.tree)
    limit = np.iinfo(np.int32).max if max_episodes is None else _whole_number("max_episodes", max_episodes)
    rng = _environment_rng(rng, learner)
    done, start = 0, time.perf_counter()
    name, play = type(learner).__name__, lambda number: learner.play(mdp, rng, number)
    with Interruptible() as interruption, progress_bar(name, max_episodes, progress) as bar:
        if not learner.stopped:
            for played, _ in chunks(play, [limit], interruption, bar):
                done += played
                if interruption.asked or learner.stopped:
                    break
    plan = learner.recommend()
    value = mdp.value(plan)
    gap = max(mdp.best_response()[0] - value, 0.0)
    return Result(done, plan, value, gap, learner.stopped, time.perf_counter() - start)


def chunks(play, checkpoints, interruption, bar):
    """Plays up to each checkpoint in turn, in pieces short enough to show progress and to be interrupted.

    play(number) plays up to that many episodes and returns a tuple that begins with how many it played, fewer only if
    there is nothing more to play. The tuples are yielded one by one.
    """
    done, size = 0, 64
    for checkpoint in checkpoints:
        while done < checkpoint and not interruption.asked:
            start = time.perf_counter()
            piece = play(int(min(size, checkpoint - done)))
            spent = time.perf_counter() - start
            played = piece[0]
            if played == 0:
                return
            done += played
            bar.update(played)
            if spent < _SECONDS_PER_CHUNK / 2 and played == size:
                size *= 2
            elif spent > 2 * _SECONDS_PER_CHUNK:
                size = max(1, size // 2)
            yield piece


class Interruptible(contextlib.AbstractContextManager):
    """Turns Ctrl-C into a question that the loop answers between two chunks."""

    def __init__(self):
        self.asked = False

    def __enter__(self):
        self._in_main_thread = threading.current_thread() is threading.main_thread()
        if self._in_main_thread:
            self._previous = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, signum, frame):
        self.asked = True

    def __exit__(self, *exception):
        if self._in_main_thread:
            signal.signal(signal.SIGINT, self._previous)
        return None


def progress_bar(name: str, total: int | None, progress: bool) -> tqdm.tqdm:
    """A bar that counts episodes, on a terminal."""
    return tqdm.tqdm(
        total=total,
        desc=name,
        unit=" episodes",
        unit_scale=True,
        leave=False,
        disable=None if progress else True,
    )


def _environment_rng(rng, learner) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is not None:
        return np.random.default_rng(rng)
    return np.random.default_rng(learner.seed if learner.episodes == 0 else [learner.seed, learner.episodes])


def check_same_tree(learner: Learner, other: DecisionTree) -> None:
    """Raises an error if the learner was made for another tree."""
    tree = learner.tree
    same = tree is other or all(
        np.array_equal(getattr(tree, name), getattr(other, name)) for name in ("first_sequence", "first_child", "action")
    )
    if not same:
        raise ValueError(f"the learner was made for another tree: {tree!r}, not {other!r}")


def _whole_number(name: str, value: int) -> int:
    if isinstance(value, bool) or int(value) != value or not 1 <= value < 2**31:
        raise ValueError(f"{name} must be a whole number from 1 to 2^31 - 1, not {value}")
    return int(value)


def _checked_checkpoints(checkpoints, episodes: int) -> np.ndarray:
    if checkpoints is None:
        return log_spaced(episodes)
    checkpoints = np.unique(np.asarray(checkpoints, np.int64))
    if len(checkpoints) == 0 or checkpoints[0] < 1 or checkpoints[-1] > episodes:
        raise ValueError(f"checkpoints must be episodes from 1 to {episodes}")
    return checkpoints if checkpoints[-1] == episodes else np.append(checkpoints, episodes)
