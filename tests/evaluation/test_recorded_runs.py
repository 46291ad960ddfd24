"""Learners compute what they did before the restructuring into layers: see tests/recorded/record.py."""

import json
import pathlib

import pytest

from recorded import record

RECORDED = json.loads(pathlib.Path(record.__file__).with_name("runs.json").read_text())

ENVIRONMENTS: dict = {}


def environment(game, player):
    if (game, player) not in ENVIRONMENTS:
        ENVIRONMENTS[game, player] = record.environment(game, player)
    return ENVIRONMENTS[game, player]


@pytest.mark.parametrize("key", RECORDED["runs"])
def test_regret_and_value_gap_are_as_recorded(key):
    game, player, learner, seed = key.rsplit(" ", 3)
    run = record.run(environment(game, int(player)), learner, int(seed))
    for measure, values in RECORDED["runs"][key].items():
        assert run[measure] == pytest.approx(values, rel=1e-9, abs=1e-9), measure


@pytest.mark.parametrize("key", RECORDED["stops"])
def test_learners_stop_when_they_did(key):
    learner, seed = key.split()
    stopped = record.stop(environment("kuhn", 0), learner, int(seed))
    assert stopped == pytest.approx(RECORDED["stops"][key], rel=1e-9, abs=1e-12)


def test_every_learner_of_the_paper_is_recorded():
    assert {"UCBT", "LUCBT", "UCT", "OutcomeSamplingMCCFR", "OPF"} <= set(record.LEARNERS)
    problems, learners = len(record.PROBLEMS), len(record.LEARNERS)
    assert len(RECORDED["runs"]) == 2 * problems * learners
