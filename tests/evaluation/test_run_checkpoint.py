"""Runs that are saved and resumed."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.control_c import press_in_piece
from reference.learners import make
from tmdp_spiel.core import storage
from tmdp_spiel.evaluation.archive import read_header


def same_trace(one, other):
    """The same but for the seconds, and for the rounding of sums that were interrupted at other episodes."""
    np.testing.assert_array_equal(one.episode, other.episode)
    np.testing.assert_allclose(one.regret, other.regret, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(one.value_gap, other.value_gap, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["UCBT", "UCBT adaptive", "OutcomeSamplingMCCFR", "PSRL, lazy"])
def test_an_interrupted_run_resumes_to_the_same_trace(name, mdp_of, tmp_path):
    mdp, path = mdp_of("leduc", 0), tmp_path / "run"
    whole = ts.run(make(name, mdp.tree, 2), mdp, 20_000, rng=7)
    late = ts.run(make(name, mdp.tree, 2), mdp, 20_000, rng=7, file=path, seconds=1e-9)
    assert late.episode[-1] < 20_000
    learner, rng = make(name, mdp.tree, 2), np.random.default_rng(7)
    trace = ts.run(learner, mdp, 20_000, rng=rng, file=path)
    same_trace(trace, whole)
    assert learner.episodes == 20_000 and np.all(np.diff(trace.seconds) >= 0)
    after = np.random.default_rng(7)
    ts.run(make(name, mdp.tree, 2), mdp, 20_000, rng=after)
    assert rng.bit_generator.state == after.bit_generator.state
    same_trace(ts.run(make(name, mdp.tree, 2), mdp, 20_000, rng=7, file=path), whole)


def test_the_interrupted_learner_itself_can_resume(mdp_of, tmp_path, monkeypatch):
    mdp = mdp_of("leduc", 1)
    whole = ts.run(ts.UCBT(mdp.tree), mdp, 100_000, measure_at=[10, 50_000])
    learner = ts.UCBT(mdp.tree)
    press_in_piece(4, monkeypatch)
    first = ts.run(learner, mdp, 100_000, measure_at=[10, 50_000], file=tmp_path / "run")
    trace = ts.run(learner, mdp, 100_000, measure_at=[10, 50_000], file=tmp_path / "run")
    assert first.interrupted and not trace.interrupted
    same_trace(trace, whole)


def test_a_learner_that_stopped_is_not_played_again(mdp_of, tmp_path):
    mdp = mdp_of("kuhn", 0)
    traces = [ts.run(ts.LUCB(mdp.tree, epsilon=0.3), mdp, 10**6, file=tmp_path / "run") for _ in range(2)]
    same_trace(*traces)
    assert traces[0].episode[-1] < 10**6


def test_more_episodes_measured_at_the_same_places(mdp_of, tmp_path):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "run"
    ts.run(ts.UCT(mdp.tree), mdp, 1000, measure_at=[10, 1000], file=path)
    trace = ts.run(ts.UCT(mdp.tree), mdp, 3000, measure_at=[10, 1000, 2000], file=path)
    same_trace(trace, ts.run(ts.UCT(mdp.tree), mdp, 3000, measure_at=[10, 1000, 2000]))


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(learner=lambda tree: ts.UCT(tree, c=3.0)), "c is None in it and 3.0 here"),
        (dict(learner=lambda tree: ts.UCT(tree, seed=4)), "seed is 0 in it and 4 here"),
        (dict(learner=ts.AMB), "algorithm is UCT in it and AMB here"),
        (dict(rng=5), "generator is .* in it and .* here"),
        (dict(measure_at=[7]), "were not measured where this run measures"),
        (dict(episodes=500), "were not measured where this run measures"),
        (dict(player=1), "tree is .*player 0.* in it and .*player 1.* here"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(change, message, mdp_of, tmp_path):
    path = tmp_path / "run"

    def run(learner=ts.UCT, player=0, episodes=1000, **options):
        mdp = mdp_of("kuhn", player)
        return ts.run(learner(mdp.tree), mdp, episodes, file=path, **options)

    run()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"written by another run: .*{message}"):
        run(**change)
    assert path.read_bytes() == before


def test_another_opponent_is_another_run(mdp_of, tmp_path):
    mdp, other = mdp_of("kuhn", 0), ts.build_tree("kuhn", 0, ts.uniform(ts.load_game("kuhn")))
    ts.run(ts.UCT(mdp.tree), mdp, 100, file=tmp_path / "run")
    with pytest.raises(ValueError, match="mdp is"):
        ts.run(ts.UCT(other.tree), other, 100, file=tmp_path / "run")


@pytest.mark.parametrize("name", ["UCBT", "UCT", "PSRL, lazy", "BettingUCRL"])
def test_a_run_that_was_interrupted_is_the_same_to_the_last_bit(name, mdp_of, tmp_path):
    """In pieces of a fixed size: the values that the sums are made of are kept as well."""
    mdp, options = mdp_of("leduc", 0), dict(rng=7, piece=97, progress=False)
    learner, interrupted = make(name, mdp.tree, 2), make(name, mdp.tree, 2)
    whole = ts.run(learner, mdp, 5000, **options)
    for _ in range(200):
        trace = ts.run(interrupted, mdp, 5000, file=tmp_path / "run", seconds=1e-9, **options)
        interrupted = make(name, mdp.tree, 2)
        if trace.episode[-1] == 5000:
            break
    trace = ts.run(interrupted, mdp, 5000, file=tmp_path / "run", **options)
    for column in ("episode", "regret", "value_gap"):
        assert getattr(trace, column).tobytes() == getattr(whole, column).tobytes()
    np.testing.assert_array_equal(interrupted.plan(), learner.plan())
    np.testing.assert_array_equal(interrupted.recommend(), learner.recommend())


def test_a_learner_that_is_neither_new_nor_the_one_of_the_file_is_refused(mdp_of, tmp_path):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "run"
    ours, other = ts.UCT(mdp.tree), ts.UCT(mdp.tree)
    ts.run(ours, mdp, 500, measure_at=[500], file=path)
    ts.run(other, mdp, 500, rng=5)
    plan = other.plan()
    with pytest.raises(ValueError, match="written by another run"):
        ts.run(other, mdp, 1000, measure_at=[500], file=path)
    assert other.episodes == 500 and np.array_equal(other.plan(), plan)
    ts.run(ours, mdp, 1000, measure_at=[500], file=path)
    assert ours.episodes == 1000


def test_a_learner_that_had_learned_before_the_run(mdp_of, tmp_path):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "run"
    started, other = ts.UCT(mdp.tree), ts.UCT(mdp.tree)
    for learner, seed in ((started, 1), (other, 2)):
        ts.run(learner, mdp, 300, rng=seed)
    ts.save_learner(started, tmp_path / "before")
    ts.run(started, mdp, 500, rng=3, file=path)
    with pytest.raises(ValueError, match="began as"):
        ts.run(other, mdp, 500, rng=3, file=path)
    again = ts.load_learner(tmp_path / "before", mdp.tree)
    ts.run(again, mdp, 500, rng=3, file=path)
    assert again.episodes == 800
    assert ts.load_learner(path, mdp.tree).episodes == 800


def test_two_runs_on_one_file_are_refused(mdp_of, tmp_path):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "run"
    with storage.locked(path):
        with pytest.raises(storage.InUseError, match="run is in use by process"):
            ts.run(ts.UCT(mdp.tree), mdp, 100, file=path)
        with pytest.raises(storage.InUseError, match="run is in use by process"):
            ts.save_learner(ts.UCT(mdp.tree), path)


def test_the_file_is_tried_before_the_first_episode(mdp_of, tmp_path):
    mdp, learner = mdp_of("kuhn", 0), ts.UCT(mdp_of("kuhn", 0).tree)
    (tmp_path / "in the way").write_text("")
    with pytest.raises(OSError, match="cannot be written"):
        ts.run(learner, mdp, 100, file=tmp_path / "in the way" / "run")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        ts.run(learner, mdp, 100, file=tmp_path)
    learner._odd = object
    with pytest.raises(TypeError, match="_odd.* is a type, which cannot be saved"):
        ts.run(learner, mdp, 100, file=tmp_path / "run")
    assert learner.episodes == 0


def test_a_save_that_fails_does_not_lose_the_run(mdp_of, tmp_path, monkeypatch):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "run"
    whole = ts.run(ts.UCT(mdp.tree), mdp, 5000, piece=100)

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="could not be saved to .*run after .*: .*No space left on device"):
        trace = ts.run(ts.UCT(mdp.tree), mdp, 5000, piece=100, file=path, save_every=1e-9)
    np.testing.assert_array_equal(trace.regret, whole.regret)
    assert list(tmp_path.iterdir()) == []


RUN = """
import sys
import tmdp_spiel as ts
game = ts.load_game("leduc")
mdp = ts.build_tree(game, 1, ts.equilibrium(game, iterations=200))
learner = ts.UCBT(mdp.tree, seed=6)
trace = ts.run(learner, mdp, int(sys.argv[2]), piece=1000, file=sys.argv[1], save_every=0.05, progress=False)
print(trace.episode.tobytes().hex(), trace.regret.tobytes().hex(), trace.value_gap.tobytes().hex())
"""


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_trace(mdp_of, tmp_path):
    path, episodes = tmp_path / "run", 400_000
    done = kills = 0
    while done < episodes and kills < 3:
        process = subprocess.Popen([sys.executable, "-c", RUN, path, str(episodes)])
        while process.poll() is None and done_in(path) <= done:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done, kills = done_in(path), kills + 1
    assert kills == 3 and 0 < done < episodes
    finished = subprocess.run(
        [sys.executable, "-c", RUN, path, str(episodes)], check=True, capture_output=True, text=True
    ).stdout.split()
    learner = ts.UCBT(mdp_of("leduc", 1).tree, seed=6)
    whole = ts.run(learner, mdp_of("leduc", 1), episodes, piece=1000, progress=False)
    assert finished == [column.tobytes().hex() for column in (whole.episode, whole.regret, whole.value_gap)]
    resumed = ts.load_learner(path, learner.tree)
    np.testing.assert_array_equal(resumed.plays, learner.plays)
    assert resumed.totals.tobytes() == learner.totals.tobytes()


def done_in(path: pathlib.Path) -> int:
    return read_header(path)["done"] if path.exists() else 0
