"""What a sweep refuses to begin, and what it says of runs that fail."""

import pytest

from experiments.sweep import execution, run, store
from experiments.sweep.configuration import configuration


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
