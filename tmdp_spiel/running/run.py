"""Runs learners against a TreeMDP: regret and value gap in exact expectation, at chosen episodes."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import signal
import threading
import time

import numpy as np
import tqdm

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.running.files import Progress, differences, identity, load, read_identity, refuse_other_run, save
from tmdp_spiel.trees import checks, storage
from tmdp_spiel.trees.decision_tree import DecisionTree
from tmdp_spiel.trees.tree_mdp import TreeMDP

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
    checkpoint=None,
    checkpoint_every: float = 60.0,
) -> Trace:
    """Lets the learner play that many episodes, fewer if it stops, and measures it exactly.

    checkpoints: the episodes of this run to measure at; log-spaced if not given. rng: the environment's generator or
    its seed, the learner's seed if not given; with rng = numpy.random.default_rng(learner.seed), the loop of plan(),
    mdp.sample(plan, rng) and learn() gives the same episodes. seconds: end the run after about that long. progress: a
    bar, on a terminal. Ctrl-C returns what was done so far; the learner can go on from there, with the same rng object
    to go on identically.

    checkpoint: a file to keep the learner, the generator and the trace in, written every checkpoint_every seconds, at
    Ctrl-C and at the end. If it is there already, the run goes on from it, even after a kill, to the trace that it would
    have had without the interruption (the seconds and the rounding of the summed regret aside); a file of another run
    is refused. See `checkpoints`.
    """
    check_same_tree(learner, mdp.tree)
    episodes = checks.whole_number("episodes", episodes)
    checkpoints = _checked_checkpoints(checkpoints, episodes)
    rng = _environment_rng(rng, learner)
    best = mdp.to_utility(mdp.scaled_best_value)
    kept = _Kept(checkpoint, checkpoint_every, learner, mdp, rng)
    at = kept.resume(checkpoints)
    start = time.perf_counter() - at.seconds

    def measure():
        gap = max(best - learner.recommended_value(mdp), 0.0)
        return at.done, at.regret, gap, time.perf_counter() - start

    name, play = type(learner).__name__, lambda number: learner.play(mdp, at.rng, number)
    with Interruptible() as interruption, progress_bar(name, int(checkpoints[-1]), progress, at.done) as bar:
        for played, gap_sum in chunks(play, checkpoints, interruption, bar, at.done):
            at.done += played
            at.regret += gap_sum
            if at.done in checkpoints:
                at.rows.append(measure())
            at.seconds = time.perf_counter() - start
            if interruption.asked or learner.stopped or (seconds is not None and at.seconds > seconds):
                break
            kept.save_sometimes(at)
        kept.save(at)
    rows = list(at.rows)
    if at.done > 0 and (not rows or rows[-1][0] != at.done):
        rows.append(measure())
    columns = np.array(rows, np.float64).reshape(-1, 4).T
    return Trace(columns[0].astype(np.int64), *columns[1:], interrupted=interruption.asked)


class _Kept:
    """The file that a run is kept in, if any."""

    def __init__(self, path, every: float, learner: Learner, mdp: TreeMDP, rng: np.random.Generator):
        self._path = None if path is None else pathlib.Path(path)
        self._every, self._learner, self._rng = checks.positive("checkpoint_every", every), learner, rng
        self._last, self._saved_at = time.perf_counter(), 0
        if self._path is not None:
            self._identity = {
                **identity(learner),
                "mdp": mdp.fingerprint,
                "episodes before": learner.episodes,
                "generator": storage.fingerprint(rng.bit_generator.state),
            }

    def resume(self, checkpoints: np.ndarray) -> Progress:
        """Where the run of the file was, with learner and generator as they were then; the start if there is no file."""
        if self._path is None or not self._path.exists():
            return Progress(done=0, regret=0.0, seconds=0.0, rows=[], rng=self._rng)
        stored = read_identity(self._path)
        expected = dict(self._identity)
        if self._learner.episodes == stored.get("episodes after"):  # the learner itself, after an interruption
            del expected["episodes before"], expected["generator"]
        refuse_other_run(self._path, differences(stored, expected))
        learner, at = load(self._path, self._learner.tree)
        measured = [row[0] for row in at.rows]
        if measured != checkpoints[checkpoints <= at.done].tolist() or at.done > checkpoints[-1]:
            asked = f"{len(checkpoints)} checkpoints up to episode {checkpoints[-1]:,}"
            refuse_other_run(self._path, [f"its {at.done:,} episodes were not measured at those of this run, {asked}"])
        self._identity = {name: stored[name] for name in self._identity}
        self._learner.__dict__.update(learner.__dict__)
        self._rng.bit_generator.state = at.rng.bit_generator.state
        at.rng, self._saved_at = self._rng, at.done
        return at

    def save_sometimes(self, at: Progress) -> None:
        if time.perf_counter() - self._last > self._every:
            self.save(at)

    def save(self, at: Progress) -> None:
        if self._path is not None and at.done > self._saved_at:
            save(self._path, {**self._identity, "episodes after": self._learner.episodes}, self._learner, at)
            self._last, self._saved_at = time.perf_counter(), at.done


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
    limit = np.iinfo(np.int32).max if max_episodes is None else checks.whole_number("max_episodes", max_episodes)
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
    gap = max(mdp.to_utility(mdp.scaled_best_value) - value, 0.0)
    return Result(done, plan, value, gap, learner.stopped, time.perf_counter() - start)


def chunks(play, checkpoints, interruption, bar, done: int = 0):
    """Plays up to each checkpoint in turn, in pieces short enough to show progress and to be interrupted.

    play(number) plays up to that many episodes and returns a tuple that begins with how many it played, fewer only if
    there is nothing more to play. The tuples are yielded one by one. done: the episodes played before.
    """
    size = 64
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


def progress_bar(name: str, total: int | None, progress: bool, done: int = 0) -> tqdm.tqdm:
    """A bar that counts episodes, on a terminal."""
    return tqdm.tqdm(
        total=total,
        initial=done,
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
        np.array_equal(getattr(tree, name), getattr(other, name))
        for name in ("first_sequence", "first_child", "action")
    )
    if not same:
        raise ValueError(f"the learner was made for another tree: {tree!r}, not {other!r}")


def _checked_checkpoints(checkpoints, episodes: int) -> np.ndarray:
    if checkpoints is None:
        return log_spaced(episodes)
    checkpoints = np.unique(np.asarray(checkpoints, np.int64))
    if len(checkpoints) == 0 or checkpoints[0] < 1 or checkpoints[-1] > episodes:
        raise ValueError(f"checkpoints must be episodes from 1 to {episodes}")
    return checkpoints if checkpoints[-1] == episodes else np.append(checkpoints, episodes)
