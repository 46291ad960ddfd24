"""What a sweep refuses to begin, and what it says of runs that fail."""

import pytest

from experiments.sweep import execution, run, store
from experiments.sweep.configuration import configuration
from experiments.sweep.result import Environment, Learning, Result


def asked(seed, algorithm="UCT"):
    return configuration("learning", "leduc", 0, algorithm, {}, seed, 50, iterations=5)


def test_runs_of_other_code_are_not_continued(tmp_path):
    results = store.Store(tmp_path)
    old = run.perform(asked(0))
    old.code = {**old.code, "source": "old"}
    results.keep(old)
    assert execution.carry_out([asked(0)], results) == [old], "a complete sweep is what it is"
    with pytest.raises(store.RefusedResult, match="UCT on leduc, player x, were made by other code"):
        execution.carry_out([asked(0), asked(1)], results)
    assert results.find(asked(1)) is None


@pytest.mark.slow
def test_a_run_that_fails_is_named_and_the_others_are_kept(tmp_path):
    results = store.Store(tmp_path)
    with pytest.raises(
        execution.SweepStopped, match="LUCB on leduc, player x: ValueError: LUCB has one arm per policy"
    ):
        execution.carry_out([asked(0, "LUCB"), asked(0), asked(0)], results)
    assert results.find(asked(0)).outcome.episode[-1] == 50


def test_the_time_left_is_that_of_runs_of_the_same_kind():
    def took(seconds, algorithm, seed):
        return Result.of(asked(seed, algorithm), Environment("", 0.0, ""), Learning([], [], []), seconds)

    shown = execution.Progress([took(10.0, "UCT", 0), took(50.0, "MVP", 0)], [asked(seed) for seed in (1, 2)], False)
    assert shown.remaining() == "20 s"
    shown.kept(took(40.0, "UCT", 1))
    assert (shown.done, shown.total, shown.remaining()) == (3, 4, "25 s")
    shown = execution.Progress(
        [took(90.0, "UCT", 0), took(110.0, "MVP", 0)], [asked(seed, "OPF") for seed in range(60)], False
    )
    shown.workers = 2
    assert shown.remaining() == "50 min", "a kind not seen yet takes as long as the others on average"
    assert execution.Progress([], [asked(0)], False).remaining() == "unknown time"
