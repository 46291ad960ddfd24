import copy
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.running import files
from tmdp_spiel.running.score import Score
from twins.learners import LEARNERS, make


@pytest.mark.parametrize("name", LEARNERS)
def test_a_saved_learner_goes_on_identically(name, mdp_of, tmp_path):
    mdp = mdp_of("kuhn", 0)
    learner, rng = make(name, mdp.tree, 3), np.random.default_rng(3)
    score = Score(learner, mdp)
    score.play(rng, 500)
    if not learner.stopped:
        learner.learn(*mdp.sample(learner.plan(), rng))
    ts.save_learner(learner, tmp_path / "learner")
    loaded, its_rng = ts.load_learner(tmp_path / "learner", mdp.tree), copy.deepcopy(rng)
    assert type(loaded) is type(learner) and loaded.tree is mdp.tree and loaded.episodes == learner.episodes
    played, regret = score.play(rng, 300)
    assert Score(loaded, mdp).play(its_rng, 300) == (played, pytest.approx(regret, abs=1e-9))
    np.testing.assert_array_equal(loaded.plan(), learner.plan())
    np.testing.assert_array_equal(loaded.recommend(), learner.recommend())


def test_the_tree_is_not_in_the_file(mdp_of, tmp_path):
    mdp = mdp_of("leduc", 0)
    learner = ts.UCT(mdp.tree)
    Score(learner, mdp).play(np.random.default_rng(0), 1000)
    ts.save_learner(learner, tmp_path / "learner")
    memory = learner._memory
    own = sum(array.nbytes for array in (memory.visits, memory.returns, memory.plan))
    assert own < (tmp_path / "learner").stat().st_size < own + 2500
    assert mdp.tree.parent.tobytes() not in (tmp_path / "learner").read_bytes()


def test_every_parameter_of_a_learner_tells_it_apart(mdp_of):
    tree = mdp_of("kuhn", 0).tree
    for name in LEARNERS:
        learner = make(name, tree)
        assert set(type(learner).__init__.__kwdefaults__) <= set(files.identity(learner))


def test_a_parameter_that_the_learner_keeps_under_another_name_tells_it_apart(mdp_of, tmp_path):
    class Renamed(ts.UCT):
        def __init__(self, tree, *, boldness: float = 1.0, seed: int = 0):
            super().__init__(tree, c=boldness, seed=seed)

    mdp = mdp_of("kuhn", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "Renamed", Renamed)
        Renamed.__qualname__ = "Renamed"
        ts.run(Renamed(mdp.tree), mdp, 100, file=tmp_path / "run")
        with pytest.raises(ValueError, match="boldness is 1.0 in it and 2.0 here"):
            ts.run(Renamed(mdp.tree, boldness=2.0), mdp, 100, file=tmp_path / "run")
        loaded = ts.load_learner(tmp_path / "run", mdp.tree)
    assert loaded.hyper_parameters == {"boldness": 1.0}


@pytest.mark.parametrize("damage", ["short", "one byte short", "longer", "altered", "altered header", "empty", "other"])
def test_damaged_files_are_refused(damage, mdp_of, tmp_path):
    path = tmp_path / "learner"
    mdp = mdp_of("kuhn", 0)
    ts.save_learner(ts.UCBT(mdp.tree), path)
    content = path.read_bytes()
    damaged = {
        "short": content[:300],
        "one byte short": content[:-1],
        "longer": content + b"x",
        "altered": content[:-100] + bytes([content[-100] ^ 1]) + content[-99:],
        "altered header": content.replace(b'"c": 1.0', b'"c": 2.0'),
        "empty": b"",
        "other": b"something else\n" + content,
    }[damage]
    path.write_bytes(damaged)
    message = "is not a checkpoint" if damage in ("empty", "other") else "is damaged"
    with pytest.raises(ValueError, match=message):
        ts.load_learner(path, mdp.tree)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        ts.load_learner(tmp_path / "nothing", mdp.tree)


def test_a_learner_of_another_tree_is_refused(mdp_of, tmp_path):
    ts.save_learner(ts.UCT(mdp_of("kuhn", 0).tree), tmp_path / "learner")
    with pytest.raises(ValueError, match="made for another tree.*of player 0.* in it and .*of player 1.* here"):
        ts.load_learner(tmp_path / "learner", mdp_of("kuhn", 1).tree)


def test_a_failed_save_keeps_the_older_file(mdp_of, tmp_path, monkeypatch):
    mdp, path = mdp_of("kuhn", 0), tmp_path / "learner"
    ts.save_learner(ts.UCT(mdp.tree), path)
    older = path.read_bytes()
    learner = ts.UCT(mdp.tree)
    learner.cannot_be_pickled = lambda: None
    with pytest.raises(Exception, match="pickle"):
        ts.save_learner(learner, path)
    assert path.read_bytes() == older and list(tmp_path.iterdir()) == [path]


def same_trace(one, other):
    """The same but for the seconds, and for the rounding of sums that were interrupted at other episodes."""
    np.testing.assert_array_equal(one.episode, other.episode)
    np.testing.assert_allclose(one.regret, other.regret, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(one.value_gap, other.value_gap, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["UCBT", "UCBT adaptive", "OutcomeSamplingMCCFR", "PSRL, lazy"])
def test_an_interrupted_run_goes_on_to_the_same_trace(name, mdp_of, tmp_path):
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


def test_the_interrupted_learner_itself_can_go_on(mdp_of, tmp_path):
    mdp = mdp_of("leduc", 1)
    whole = ts.run(ts.UCBT(mdp.tree), mdp, 100_000, measure_at=[10, 50_000])
    learner = ts.UCBT(mdp.tree)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    first = ts.run(learner, mdp, 100_000, measure_at=[10, 50_000], file=tmp_path / "run")
    timer.join()
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
        (dict(measure_at=[7]), "were not measured at those of this run"),
        (dict(episodes=500), "were not measured at those of this run"),
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


RUN = """
import sys
import tmdp_spiel as ts
game = ts.load_game("leduc")
mdp = ts.build_tree(game, 1, ts.equilibrium(game, iterations=200))
learner = ts.UCBT(mdp.tree, seed=6)
trace = ts.run(learner, mdp, int(sys.argv[2]), file=sys.argv[1], save_every=0.05, progress=False)
print(len(trace.episode), trace.regret[-1], trace.value_gap[-1])
"""


def test_a_killed_run_goes_on_to_the_same_trace(mdp_of, tmp_path):
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
    whole = ts.run(ts.UCBT(mdp_of("leduc", 1).tree, seed=6), mdp_of("leduc", 1), episodes, progress=False)
    assert int(finished[0]) == len(whole.episode)
    assert float(finished[1]) == pytest.approx(whole.regret[-1], rel=1e-10), "sums are cut at other episodes"
    assert float(finished[2]) == pytest.approx(whole.value_gap[-1], abs=1e-12)


def done_in(path: pathlib.Path) -> int:
    return files.read_identity(path)["episodes after"] if path.exists() else 0
