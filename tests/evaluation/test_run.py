import time

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.control_c import press_in_piece
from tmdp_spiel.evaluation.evaluator import Evaluator
from tmdp_spiel.evaluation.run import log_spaced


@pytest.mark.parametrize("name, player", [("kuhn", 0), ("kuhn", 1), ("leduc", 1)])
def test_the_trace_is_what_stepping_by_hand_measures(name, player, mdp_of):
    mdp = mdp_of(name, player)
    trace = ts.run(ts.UCBT(mdp.tree, seed=4), mdp, 400, measure_at=[1, 50, 400])
    learner, rng = ts.UCBT(mdp.tree, seed=4), np.random.default_rng(4)
    best, _ = mdp.best_response()
    regret, rows = 0.0, []
    for episode in range(1, 401):
        plan = learner.plan()
        regret += best - mdp.value(plan)
        learner.learn(*mdp.sample(plan, rng))
        if episode in (1, 50, 400):
            rows.append((episode, regret, best - mdp.value(learner.recommend())))
    np.testing.assert_array_equal(trace.episode, [1, 50, 400])
    np.testing.assert_allclose(trace.regret, [row[1] for row in rows], atol=1e-9)
    np.testing.assert_allclose(trace.value_gap, [row[2] for row in rows], atol=1e-9)


def test_a_run_can_resume_identically(mdp_of):
    mdp = mdp_of("kuhn", 0)
    whole, parts = ts.UCBT(mdp.tree, seed=1), ts.UCBT(mdp.tree, seed=1)
    ts.run(whole, mdp, 3000)
    rng = np.random.default_rng(1)
    first, second = ts.run(parts, mdp, 1234, rng=rng), ts.run(parts, mdp, 1766, rng=rng)
    np.testing.assert_array_equal(whole.plays, parts.plays)
    assert first.episode[-1] + second.episode[-1] == whole.episodes == parts.episodes


def test_measurements_are_log_spaced_and_end_at_the_end():
    measure_at = log_spaced(100_000)
    assert measure_at[0] == 1 and measure_at[-1] == 100_000
    assert np.all(np.diff(measure_at) > 0)
    assert log_spaced(1).tolist() == [1]


def test_a_learner_that_stops_ends_the_run(mdp_of):
    mdp = mdp_of("kuhn", 0)
    stopping = ts.run_until_stopped(ts.LUCB(mdp.tree, epsilon=0.3, seed=2), mdp)
    trace = ts.run(ts.LUCB(mdp.tree, epsilon=0.3, seed=2), mdp, 10**6)
    assert trace.episode[-1] == stopping.episodes < 10**6
    assert trace.value_gap[-1] == pytest.approx(stopping.gap)


def test_what_a_stopped_learner_recommends_can_play_on(mdp_of, tmp_path):
    mdp, measure_at = mdp_of("kuhn", 0), [100, 10**5, 10**6]
    short = ts.run(ts.LUCB(mdp.tree, epsilon=0.3, seed=2), mdp, 10**6, measure_at=measure_at)
    for _ in range(2):  # the second time from the file
        learner = ts.LUCB(mdp.tree, epsilon=0.3, seed=2)
        trace = ts.run(learner, mdp, 10**6, measure_at=measure_at, play_on=True, file=tmp_path / "run")
        stopped = learner.episodes
        assert 100 < stopped < 10**5 and trace.episode.tolist() == measure_at
        gap = mdp.best_response()[0] - mdp.value(learner.recommend())
        assert trace.value_gap[1:] == pytest.approx([gap, gap], abs=1e-12)
        expected = [short.regret[-1] + (episode - stopped) * gap for episode in measure_at[1:]]
        assert trace.regret[1:] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["UCT", "OPF"])
def test_pieces_of_a_given_size_make_sums_that_do_not_follow_the_clock(name, mdp_of, monkeypatch):
    """The regret to the last bit, as summed by hand over the same pieces."""
    mdp, clock = mdp_of("leduc", 0), iter(np.random.default_rng(0).exponential(1.0, 10**5).cumsum())
    learner, rng = getattr(ts, name)(mdp.tree, seed=1), np.random.default_rng(1)
    evaluator, regret = Evaluator(learner, mdp), []
    for number in (64, 36, 64, 64, 64, 8):
        regret.append(evaluator.play(rng, number)[1])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    trace = ts.run(getattr(ts, name)(mdp.tree, seed=1), mdp, 300, measure_at=[100], piece=64, progress=False)
    assert trace.regret.tolist() == [regret[0] + regret[1], np.cumsum(regret)[-1]]


def test_times_of_playing_and_of_measuring_are_told_apart(mdp_of):
    mdp = mdp_of("leduc", 0)
    trace = ts.run(ts.UCT(mdp.tree), mdp, 5000, measure_at=[1000, 5000])
    for spent in (trace.playing, trace.measuring):
        assert len(spent) == 2 and 0 < spent[0] <= spent[1]


def test_max_episodes_ends_a_run_that_does_not_stop(mdp_of):
    mdp = mdp_of("kuhn", 0)
    result = ts.run_until_stopped(ts.LUCBT(mdp.tree, epsilon=0.01), mdp, max_episodes=1000)
    assert result.episodes == 1000 and not result.stopped


def test_interrupting_returns_what_was_done(mdp_of, monkeypatch):
    mdp = mdp_of("leduc", 0)
    learner = ts.UCBT(mdp.tree)
    ts.run(learner, mdp, 100)
    press_in_piece(3, monkeypatch)
    trace = ts.run(learner, mdp, 2**31 - 1)
    assert trace.interrupted
    assert trace.episode[-1] == learner.episodes - 100
    assert len(trace.regret) == len(trace.value_gap) == len(trace.episode) > 0


@pytest.mark.parametrize("episodes", [0, -5, 2.5, 2**31])
def test_a_wrong_number_of_episodes_is_refused(episodes, mdp_of):
    mdp = mdp_of("kuhn", 0)
    with pytest.raises(ValueError, match="episodes"):
        ts.run(ts.UCBT(mdp.tree), mdp, episodes)


def test_measurements_beyond_the_run_are_refused(mdp_of):
    mdp = mdp_of("kuhn", 0)
    with pytest.raises(ValueError, match="measure_at"):
        ts.run(ts.UCBT(mdp.tree), mdp, 10, measure_at=[20])


def test_a_learner_for_another_tree_is_refused(mdp_of):
    with pytest.raises(ValueError, match="another tree"):
        ts.run(ts.UCBT(mdp_of("kuhn", 0).tree), mdp_of("kuhn", 1), 10)


@pytest.mark.parametrize(
    "ended_on, value, message",
    [(0, 1.5, r"\[0, 1\]"), (0, float("nan"), r"\[0, 1\]"), (-1, 0.5, "sequence"), (99, 0.5, "sequence")],
)
def test_a_wrong_episode_is_refused_and_changes_nothing(ended_on, value, message, mdp_of):
    learner = ts.UCBT(mdp_of("kuhn", 0).tree)
    plan = learner.plan()
    with pytest.raises(ValueError, match=message):
        learner.learn(ended_on, value)
    assert learner.episodes == 0 and not learner.plays.any()
    np.testing.assert_array_equal(learner.plan(), plan)


def test_an_episode_that_the_plan_cannot_have_is_refused(mdp_of):
    tree = mdp_of("kuhn", 0).tree
    learner = ts.UCBT(tree)
    possible = brute_force.policy_of(tree, learner.plan())
    for sequence in set(np.flatnonzero(tree.can_end)) - possible:
        with pytest.raises(ValueError, match="cannot end on sequence"):
            learner.learn(sequence, 0.5)
    with pytest.raises(ValueError, match="no episode can end"):
        learner.learn(tree.root, 0.5)
    assert learner.episodes == 0
