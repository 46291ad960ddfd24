"""Runs learners against a TreeMDP: regret and value gap in exact expectation, at chosen episodes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
import typing

import numpy as np
from numpy.typing import ArrayLike

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.core import plotting, storage, validation
from tmdp_spiel.evaluation import checkpoint
from tmdp_spiel.evaluation.archive import read_header
from tmdp_spiel.evaluation.evaluator import Evaluator
from tmdp_spiel.evaluation.loop import GracefulInterrupt, chunks, progress_bar
from tmdp_spiel.trees.tree_mdp import TreeMDP

if typing.TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEASUREMENTS_PER_DECADE = 20
_MAX_EPISODES = 2**31 - 1


@dataclasses.dataclass(repr=False)
class Trace:
    """The measurements of a run, as arrays; values in the game's utility units, times in seconds.

    episode:   episodes of this run so far
    regret:    the sum over the episodes of V(pi*) - V(pi^t), in exact expectation
    value_gap: V(pi*) - V(recommended policy), exactly
    seconds:   time spent so far
    playing:   processor time spent on the episodes, including their exact regret
    measuring: processor time spent on value gaps
    """

    episode: np.ndarray
    regret: np.ndarray
    value_gap: np.ndarray
    seconds: np.ndarray
    playing: np.ndarray | None = None
    measuring: np.ndarray | None = None
    interrupted: bool = False

    def __repr__(self) -> str:
        if len(self.episode) == 0:
            return "<Trace of no episodes>"
        return (
            f"<Trace of {self.episode[-1]:,} episodes, measured {len(self.episode)} times: "
            f"regret {self.regret[-1]:.4g}, value gap {self.value_gap[-1]:.4g}>"
        )

    def _repr_html_(self) -> str:
        rows = sorted({*range(0, len(self.episode), max(len(self.episode) // 8, 1)), len(self.episode) - 1} - {-1})
        cells = "".join(
            f"<tr><td>{self.episode[at]:,}</td><td>{self.regret[at]:.4g}</td><td>{self.value_gap[at]:.4g}</td></tr>"
            for at in rows
        )
        heads = "<tr><th>episode</th><th>regret</th><th>value gap</th></tr>"
        return f"<table><thead>{heads}</thead><tbody>{cells}</tbody></table>"

    def plot(self) -> Figure:
        """Regret and value gap against episodes, as a matplotlib figure."""
        figure, axes = plotting.new_figure(columns=2)
        for panel, values, name in zip(axes[0], (self.regret, self.value_gap), ("regret", "value gap")):
            panel.plot(self.episode, values)
            panel.set(xscale="log", xlabel="episodes", title=f"{name}, in utility units")
        return figure


@dataclasses.dataclass
class Result:
    """How run_until_stopped ended.

    value, gap: the exact value of the plan, and how much more a best response wins, in the game's utility units.
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
    measure_at: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
    seconds: float | None = None,
    piece: int | None = None,
    play_on: bool = False,
    progress: bool = True,
    file: str | os.PathLike | None = None,
    save_every: float = 60.0,
) -> Trace:
    """Lets the learner play the given number of episodes, fewer if it stops, and measures it exactly.

    Ctrl-C returns what was done so far. The learner can resume from there; with the same rng object it resumes
    identically.

    Args:
      learner: made for the tree of mdp.
      mdp: the environment.
      episodes: how many to play.
      measure_at: the episodes of this run to measure at; log-spaced if not given. The last one is always measured.
      rng: the environment's generator or its seed, the learner's seed if not given; with
        numpy.random.default_rng(learner.seed), the loop of plan(), mdp.sample(plan, rng) and learn() gives the same
        episodes.
      seconds: end the run after about this time.
      piece: how many episodes to play at a time; if not given, this depends on the clock. Regret is summed piece by
        piece, so with a given `piece` the trace is bit-identical on every machine, except for the timings.
      play_on: after the learner has stopped, play its recommended policy to the end.
      progress: show a bar, on a terminal.
      file: where to save the learner, the generator and the trace, every save_every seconds, at Ctrl-C and at the end.
        If the file exists, the run resumes from it, even if the earlier process was killed. The trace is then the same
        as without the interruption, except for the timings and, without `piece`, the rounding of the summed regret. A
        file of another run is refused, and so is a learner that is neither new nor the one in the file. The file is
        tested before the first episode. If it cannot be written later, a warning is given and the run continues.
      save_every: seconds between two saves.

    Returns:
      The Trace, a row for every measurement, in the game's utility units.

    >>> import tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", 0, ts.uniform("kuhn"))
    >>> trace = ts.run(ts.UCT(mdp.tree), mdp, 1000, measure_at=[100], progress=False)
    >>> trace.episode.tolist(), bool(trace.value_gap[-1] <= trace.value_gap[0])
    ([100, 1000], True)
    """
    evaluator = Evaluator(learner, mdp)
    episodes = validation.whole_number("episodes", episodes)
    piece = None if piece is None else validation.whole_number("piece", piece)
    seconds = None if seconds is None else validation.positive("seconds", seconds)
    measure_at = _checked_measurements(measure_at, episodes)
    rng = _environment_rng(rng, learner)
    with contextlib.ExitStack() as until_the_end:
        run_file, at = None, checkpoint.RunState(rng=rng)
        if file is not None:
            run_file = until_the_end.enter_context(_RunFile(file, save_every, evaluator, rng))
            at = run_file.resume(measure_at)
        interruption = until_the_end.enter_context(GracefulInterrupt())
        bar = until_the_end.enter_context(progress_bar(type(learner).__name__, int(measure_at[-1]), progress, at.done))
        run_so_far = _Run(evaluator, at)
        for played, lost in chunks(run_so_far.play, measure_at, interruption, bar, at.done, piece):
            bar.set_postfix_str(learner.status, refresh=False)
            run_so_far.add(played, lost, measure=at.done + played in measure_at)
            if interruption.requested or learner.stopped or (seconds is not None and at.seconds > seconds):
                break
            if run_file is not None:
                run_file.save_if_due(lambda: at)
        if play_on and learner.stopped:
            run_so_far.play_recommendation(measure_at)
        if run_file is not None and at.done > run_file.resumed_at:
            run_file.save(lambda: at)
        return run_so_far.trace(interruption.requested)


class _Run:
    """A run in progress, with its measurements and timings."""

    def __init__(self, evaluator: Evaluator, at: checkpoint.RunState):
        self._evaluator, self._at = evaluator, at
        self._start = time.perf_counter() - at.seconds

    def play(self, number: int) -> tuple[int, float]:
        """Plays the given number of episodes, or fewer if the learner stops: how many, and their summed regret."""
        began = time.thread_time()
        played = self._evaluator.play(self._at.rng, number)
        self._at.playing += time.thread_time() - began
        return played

    def add(self, played: int, lost: float, measure: bool) -> None:
        """Adds episodes that were played and, if wanted, measures the value gap after them."""
        self._at.values = self._evaluator.values
        self._at.done += played
        self._at.regret += lost
        if measure:
            self._at.rows.append(self._row(self._gap()))
        self._at.seconds = time.perf_counter() - self._start

    def play_recommendation(self, measure_at: np.ndarray) -> None:
        """Plays the recommendation of a stopped learner up to the last measurement; each episode adds its gap."""
        for episode in measure_at[measure_at > self._at.done].tolist():
            gap = self._gap()
            self._at.regret += (episode - self._at.done) * gap
            self._at.done = episode
            self._at.rows.append(self._row(gap))

    def trace(self, interrupted: bool) -> Trace:
        """All rows, and one for where the run ended."""
        rows = list(self._at.rows)
        if self._at.done > 0 and (not rows or rows[-1][0] != self._at.done):
            rows.append(self._row(self._gap()))
        episode, regret, value_gap, spent, playing, measuring = np.array(rows, np.float64).reshape(-1, 6).T
        return Trace(episode.astype(np.int64), regret, value_gap, spent, playing, measuring, interrupted)

    def _gap(self) -> float:
        began = time.thread_time()
        gap = self._evaluator.value_gap()
        self._at.measuring += time.thread_time() - began
        return gap

    def _row(self, gap: float) -> tuple:
        at = self._at
        return at.done, at.regret, gap, time.perf_counter() - self._start, at.playing, at.measuring


class _RunFile(checkpoint.RunCheckpoint):
    """The file of a run."""

    def __init__(self, path: str | os.PathLike, every: float, evaluator: Evaluator, rng: np.random.Generator):
        learner = evaluator.learner
        checkpoint.check_savable(learner)
        whose = {
            "mdp": evaluator.mdp.fingerprint,
            "episodes before": learner.episodes,
            "generator": storage.fingerprint(rng.bit_generator.state),
            "began as": checkpoint.note_state(learner) if learner.episodes else None,
        }
        super().__init__(path, learner, whose, validation.positive("save_every", every))
        self._evaluator, self._rng, self.resumed_at = evaluator, rng, 0

    def resume(self, measure_at: np.ndarray) -> checkpoint.RunState:
        """The saved state of the run, with learner and generator restored; the start of the run without a file."""
        if not self.path.exists():
            return checkpoint.RunState(rng=self._rng)
        stored = read_header(self.path)
        expected = dict(self.whose)
        if self.learner.episodes and checkpoint.saved_as(self.learner) == stored.get("state"):
            del expected["episodes before"], expected["generator"], expected["began as"]  # it resumes from there
        checkpoint.refuse_other_run(self.path, checkpoint.differences(stored, expected))
        saved, at = checkpoint.load_run(self.path, self.learner, self._evaluator.mdp)
        measured = [row[0] for row in at.rows]
        if measured != measure_at[measure_at <= at.done].tolist() or at.done > measure_at[-1]:
            asked = f"{len(measure_at)} measurements up to episode {measure_at[-1]:,}"
            checkpoint.refuse_other_run(
                self.path, [f"its {at.done:,} episodes were not measured where this run measures, {asked}"]
            )
        self.whose = {name: stored[name] for name in self.whose}
        checkpoint.copy_from(self.learner, saved)
        self._evaluator.set_values(at.values)
        self._rng.bit_generator.state = at.rng.bit_generator.state
        at.rng, self.resumed_at = self._rng, at.done
        return at


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
      The Result: how many episodes it took, and the exact value of the policy that the learner recommends, in the
      game's utility units.

    >>> import tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", 0, ts.uniform("kuhn"))
    >>> result = ts.run_until_stopped(ts.certified_learner(mdp.tree, epsilon=0.2), mdp, progress=False)
    >>> result.stopped, result.gap <= 0.2
    (True, True)
    """
    evaluator = Evaluator(learner, mdp)
    if max_episodes is None and type(learner).stopped is Learner.stopped:
        raise ValueError(f"{type(learner).__name__} has no stopping rule: give max_episodes, or use run")
    limit = _MAX_EPISODES if max_episodes is None else validation.whole_number("max_episodes", max_episodes)
    rng = _environment_rng(rng, learner)
    done, start = 0, time.perf_counter()
    with GracefulInterrupt() as interruption, progress_bar(type(learner).__name__, max_episodes, progress) as bar:
        if not learner.stopped:
            for played, _ in chunks(lambda number: evaluator.play(rng, number), [limit], interruption, bar):
                done += played
                bar.set_postfix_str(learner.status, refresh=False)
                if interruption.requested or learner.stopped:
                    break
    plan = learner.recommend()
    value = mdp.value(plan)
    gap, seconds = max(evaluator.best_value - value, 0.0), time.perf_counter() - start
    return Result(done, plan, value, gap, learner.stopped, seconds, interruption.requested)


def _environment_rng(rng: np.random.Generator | int | None, learner: Learner) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is not None:
        try:
            return np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise ValueError(
                f"rng must be a numpy Generator or a seed (a non-negative whole number), not {rng!r}"
            ) from None
    return np.random.default_rng(learner.seed if learner.episodes == 0 else [learner.seed, learner.episodes])


def _checked_measurements(measure_at: ArrayLike | None, episodes: int) -> np.ndarray:
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
