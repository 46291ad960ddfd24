"""Runs learners against a TreeMDP: regret and value gap in exact expectation, at chosen episodes."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import time
import warnings

import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.running import files
from tmdp_spiel.running.pacing import Interruptible, chunks, progress_bar
from tmdp_spiel.running.score import Score
from tmdp_spiel.trees import checks, storage
from tmdp_spiel.trees.tree_mdp import TreeMDP

_MEASUREMENTS_PER_DECADE = 20
_MAX_EPISODES = 2**31 - 1


@dataclasses.dataclass
class Trace:
    """What a run saw, where it was measured; values in the game's utility units, times in seconds.

    episode:   episodes of this run so far
    regret:    the sum over the episodes of V(pi*) - V(pi^t), in exact expectation
    value_gap: V(pi*) - V(recommended policy), exactly
    seconds:   time spent so far
    playing:   processor time of it that went into the episodes, their exact regret included
    measuring: processor time of it that went into value gaps
    """

    episode: np.ndarray
    regret: np.ndarray
    value_gap: np.ndarray
    seconds: np.ndarray
    playing: np.ndarray | None = None
    measuring: np.ndarray | None = None
    interrupted: bool = False


@dataclasses.dataclass
class Result:
    """How a run until stopped ended.

    value, gap: the exact value of the plan, and how much more a best response has, in the game's utility units.
    """

    episodes: int
    plan: np.ndarray
    value: float
    gap: float
    stopped: bool
    seconds: float
    interrupted: bool = False


def log_spaced(episodes: int) -> np.ndarray:
    """Episodes 1 .. episodes to measure at, evenly spaced in the logarithm."""
    number = int(_MEASUREMENTS_PER_DECADE * np.log10(max(episodes, 1))) + 2
    return np.unique(np.rint(np.geomspace(1, episodes, number)).astype(np.int64))


def run(
    learner: Learner,
    mdp: TreeMDP,
    episodes: int,
    *,
    measure_at=None,
    rng: np.random.Generator | int | None = None,
    seconds: float | None = None,
    piece: int | None = None,
    play_on: bool = False,
    progress: bool = True,
    file=None,
    save_every: float = 60.0,
) -> Trace:
    """Lets the learner play that many episodes, fewer if it stops, and measures it exactly.

    Ctrl-C returns what was done so far; the learner can go on from there, with the same rng object to go on
    identically.

    Args:
      learner: made for the tree of mdp.
      mdp: the environment.
      episodes: how many to play.
      measure_at: the episodes of this run to measure at; log-spaced if not given. The last one is always measured.
      rng: the environment's generator or its seed, the learner's seed if not given; with
        numpy.random.default_rng(learner.seed), the loop of plan(), mdp.sample(plan, rng) and learn() gives the same
        episodes.
      seconds: end the run after about that long.
      piece: how many episodes to play at a time; if not given, that follows the clock. Regret is summed piece by piece,
        so with it the trace is the same to the last bit on every machine, the times aside.
      play_on: after the learner has stopped, the policy that it recommends is played to the end.
      progress: a bar, on a terminal.
      file: where to keep the learner, the generator and the trace, every save_every seconds, at Ctrl-C and at the end.
        If it is there already, the run goes on from it, even after a kill, to the trace that it would have had without
        the interruption, the times aside, and the rounding of the summed regret if no `piece` is given. A file of
        another run is refused, and so is a learner that is neither new nor the one in the file. It is tried before the
        first episode; if it cannot be written later, that is said, and the run goes on.
      save_every: in seconds.

    Returns:
      The Trace, a row for every measurement.
    """
    score = Score(learner, mdp)
    episodes = checks.whole_number("episodes", episodes)
    piece = None if piece is None else checks.whole_number("piece", piece)
    seconds = None if seconds is None else checks.positive("seconds", seconds)
    measure_at = _checked_measurements(measure_at, episodes)
    rng = _environment_rng(rng, learner)
    with contextlib.ExitStack() as until_the_end:
        kept = None if file is None else until_the_end.enter_context(_Kept(file, save_every, score, rng))
        at = files.RunState(rng=rng) if kept is None else kept.resume(measure_at)
        start = time.perf_counter() - at.seconds

        def play(number: int) -> tuple[int, float]:
            began = time.thread_time()
            played = score.play(at.rng, number)
            at.playing += time.thread_time() - began
            return played

        def gap() -> float:
            began = time.thread_time()
            measured = score.value_gap()
            at.measuring += time.thread_time() - began
            return measured

        def row(gap_now: float) -> tuple:
            return at.done, at.regret, gap_now, time.perf_counter() - start, at.playing, at.measuring

        interruption = until_the_end.enter_context(Interruptible())
        bar = until_the_end.enter_context(progress_bar(type(learner).__name__, int(measure_at[-1]), progress, at.done))
        for played, lost in chunks(play, measure_at, interruption, bar, at.done, piece):
            at.done += played
            at.regret += lost
            bar.set_postfix_str(learner.standing, refresh=False)
            if at.done in measure_at:
                at.rows.append(row(gap()))
            at.seconds = time.perf_counter() - start
            if interruption.asked or learner.stopped or (seconds is not None and at.seconds > seconds):
                break
            if kept is not None:
                kept.save_sometimes(at)
        if play_on and learner.stopped:
            for episode in measure_at[measure_at > at.done].tolist():
                lost_each = gap()
                at.regret += (episode - at.done) * lost_each
                at.done = episode
                at.rows.append(row(lost_each))
        if kept is not None:
            kept.save(at)
        rows = list(at.rows)
        if at.done > 0 and (not rows or rows[-1][0] != at.done):
            rows.append(row(gap()))
    episode, regret, value_gap, spent, playing, measuring = np.array(rows, np.float64).reshape(-1, 6).T
    return Trace(episode.astype(np.int64), regret, value_gap, spent, playing, measuring, interruption.asked)


class _Kept(contextlib.AbstractContextManager):
    """The file that a run is kept in, which no other run can write to meanwhile."""

    def __init__(self, path, every: float, score: Score, rng: np.random.Generator):
        self._path, self._every = pathlib.Path(path), checks.positive("save_every", every)
        self._learner, self._score, self._rng = score.learner, score, rng
        self._last, self._saved_at = time.perf_counter(), 0
        files.check_savable(self._learner)
        self._identity = {
            **files.identity(self._learner),
            "mdp": score.mdp.fingerprint,
            "episodes before": self._learner.episodes,
            "generator": storage.fingerprint(rng.bit_generator.state),
            "began as": files.note_state(self._learner) if self._learner.episodes else None,
        }

    def __enter__(self):
        if self._path.is_dir():
            raise IsADirectoryError(f"{self._path} is a directory; `file` must name a file to keep the run in")
        self._lock = storage.locked(self._path)
        try:
            self._lock.__enter__()
        except storage.InUseError:
            raise
        except OSError as error:
            raise type(error)(f"{self._path} cannot be written: {error.strerror or error}") from None
        return self

    def __exit__(self, *exception):
        return self._lock.__exit__(*exception)

    def resume(self, measure_at: np.ndarray) -> files.RunState:
        """Where the run of the file was, with learner and generator as they were then; the start without a file."""
        if not self._path.exists():
            return files.RunState(rng=self._rng)
        stored = files.read_identity(self._path)
        expected = dict(self._identity)
        if self._learner.episodes and files.saved_as(self._learner) == stored.get("state"):
            del expected["episodes before"], expected["generator"], expected["began as"]  # it goes on from there
        files.refuse_other_run(self._path, files.differences(stored, expected))
        saved, at = files.load_run(self._path, self._learner, self._score.mdp)
        measured = [row[0] for row in at.rows]
        if measured != measure_at[measure_at <= at.done].tolist() or at.done > measure_at[-1]:
            asked = f"{len(measure_at)} measurements up to episode {measure_at[-1]:,}"
            files.refuse_other_run(
                self._path, [f"its {at.done:,} episodes were not measured at those of this run, {asked}"]
            )
        self._identity = {name: stored[name] for name in self._identity}
        files.take_over(self._learner, saved)
        self._score.go_on_with(at.values)
        self._rng.bit_generator.state = at.rng.bit_generator.state
        at.rng, self._saved_at = self._rng, at.done
        return at

    def save_sometimes(self, at: files.RunState) -> None:
        if time.perf_counter() - self._last > self._every:
            self.save(at)

    def save(self, at: files.RunState) -> None:
        """Writes the file if there is news. A disk that is full costs the file, not the run."""
        if at.done > self._saved_at:
            at.values = self._score.values
            try:
                files.save(self._path, self._identity, self._learner, at)
                self._saved_at = at.done
            except OSError as error:
                warnings.warn(
                    f"the run could not be kept in {self._path} after {at.done:,} episodes: {error}; it goes on",
                    stacklevel=3,
                )
            self._last = time.perf_counter()


def run_until_stopped(
    learner: Learner,
    mdp: TreeMDP,
    *,
    max_episodes: int | None = None,
    rng: np.random.Generator | int | None = None,
    progress: bool = True,
) -> Result:
    """Lets a PAC learner play until it stops, or until max_episodes or Ctrl-C.

    Args:
      learner: made for the tree of mdp.
      mdp: the environment.
      max_episodes: the most to play; 2^31 - 1 if not given.
      rng: as for `run`.
      progress: a bar, on a terminal.

    Returns:
      The Result: how many episodes it took, and the exact value of the policy that the learner recommends.
    """
    score = Score(learner, mdp)
    if max_episodes is None and type(learner).stopped is Learner.stopped:
        raise ValueError(f"{type(learner).__name__} never stops by itself: give max_episodes, or use run")
    limit = _MAX_EPISODES if max_episodes is None else checks.whole_number("max_episodes", max_episodes)
    rng = _environment_rng(rng, learner)
    done, start = 0, time.perf_counter()
    with Interruptible() as interruption, progress_bar(type(learner).__name__, max_episodes, progress) as bar:
        if not learner.stopped:
            for played, _ in chunks(lambda number: score.play(rng, number), [limit], interruption, bar):
                done += played
                bar.set_postfix_str(learner.standing, refresh=False)
                if interruption.asked or learner.stopped:
                    break
    plan = learner.recommend()
    value = mdp.value(plan)
    gap, seconds = max(score.best_value - value, 0.0), time.perf_counter() - start
    return Result(done, plan, value, gap, learner.stopped, seconds, interruption.asked)


def _environment_rng(rng, learner) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is not None:
        try:
            return np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise ValueError(f"rng must be a numpy Generator or a seed, whole and not negative, not {rng!r}") from None
    return np.random.default_rng(learner.seed if learner.episodes == 0 else [learner.seed, learner.episodes])


def _checked_measurements(measure_at, episodes: int) -> np.ndarray:
    if measure_at is None:
        return log_spaced(episodes)
    given = np.asarray(measure_at)
    numbers = given.ndim == 1 and given.dtype.kind in "iuf" and bool(np.all(np.isfinite(given)))
    if not (
        numbers and len(given) and np.all(given == np.floor(given)) and 1 <= given.min() <= given.max() <= episodes
    ):
        raise ValueError(f"measure_at must hold episodes from 1 to {episodes}, not {measure_at!r}")
    measure_at = np.unique(given.astype(np.int64))
    return measure_at if measure_at[-1] == episodes else np.append(measure_at, episodes)
