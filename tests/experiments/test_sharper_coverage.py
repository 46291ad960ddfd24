"""The short form of the campaign of error frequencies of the sharper certificates."""

import pytest

from experiments.research import sharper_coverage
from experiments.research.problems import arms, random_problem


@pytest.mark.parametrize("name", sharper_coverage.CERTIFICATES)
def test_errors_are_as_rare_as_promised_and_the_broken_ones_are_not(name):
    delta, worst = 0.5, 0.0
    for mdp in (arms(2, 0.2), random_problem(3)):
        wrong, broken = sharper_coverage.shares(sharper_coverage.CERTIFICATES[name], mdp, 60, 60, delta)
        assert wrong <= delta
        worst = max(worst, broken)
    assert worst > delta
