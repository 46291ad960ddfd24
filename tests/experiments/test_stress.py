"""The campaign in short: a few kills of each kind, flips in every format, a moment of mixed use."""

import numpy as np
import pytest

from experiments.stress import bit_flips, crash_recovery, soak


@pytest.mark.slow
@pytest.mark.parametrize("name", bit_flips.FORMATS)
def test_no_flipped_bit_is_read_as_something_else(name):
    found = bit_flips.flip_apart(name, 25, seed=5)
    assert sum(found.values()) == 25 and set(found) <= {"refused", "the same"}, found


@pytest.mark.slow
@pytest.mark.parametrize("target", crash_recovery.targets(), ids=lambda target: target.name)
def test_killed_commands_end_with_the_same_result(target, tmp_path):
    found = crash_recovery.survive(target, tmp_path, 2, np.random.default_rng(1))
    assert found.kills >= 2 and found.survived, found


@pytest.mark.slow
def test_mixed_use_holds_no_more_files_than_before(tmp_path):
    held = soak.use(tmp_path, 3.0, seed=0)
    assert held[-1].rounds > 10 and held[-1].files <= held[0].files
