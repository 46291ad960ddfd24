"""The short form of the campaign of error frequencies of the sharper certificates."""

import pytest

from experiments.research import certificates
from experiments.research.problems import arms, random_problem

RUNS = {
    "histories": 20,
    "stages": 20,
    "answers": 40,
    "revealed chance": 40,
    "known, combined": 4,
    "resumed": 8,
    "threshold": 10,
    "failing bot": 10,
}


@pytest.mark.parametrize("name", certificates.CERTIFICATES)
def test_errors_are_as_rare_as_promised_and_the_broken_ones_are_not(name):
    """The one that is 3 times too narrow is wrong more often, the one that is 20 times too narrow than promised."""
    delta, certificate, worst = 0.5, certificates.CERTIFICATES[name], [0.0, 0.0]
    promised = certificate.promised * delta
    for problem in range(2) if certificate.kuhn else (arms(2, 0.2), random_problem(3)):
        wrong, *broken = certificates.shares(name, problem, RUNS.get(name, 60), 60, delta)
        assert wrong <= promised
        worst = [max(pair) for pair in zip(worst, broken)]
    assert worst[1] > promised and worst[1] >= worst[0] >= wrong
