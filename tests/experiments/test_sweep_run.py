"""One run of a sweep: exact, the same every time, and described completely."""

import json

import numpy as np
import pytest

import tmdp_spiel as ts
from experiments.sweep import data, run
from tmdp_spiel.algorithms.catalogue import catalogue


def leduc_run(algorithm, episodes=300, seed=0, **hyper_parameters):
    return run.configuration("learning", "leduc", 1, algorithm, hyper_parameters, seed, episodes, iterations=5)


def test_a_run_measures_what_the_runner_measures():
    asked = leduc_run("UCBT", episodes=40_000, seed=3, c=0.5)
    outcome = run.perform(asked)["outcome"]
    game = ts.load_game("leduc")
    mdp = ts.build_tree(game, 1, ts.equilibrium(game, 5))
    trace = ts.run(ts.UCBT(mdp.tree, c=0.5, seed=3), mdp, 40_000, measure_at=outcome["episode"], progress=False)
    assert outcome["episode"] == trace.episode.tolist() == run.checkpoints(40_000, 10)
    assert outcome["value_gap"] == trace.value_gap.tolist()
    np.testing.assert_allclose(outcome["regret"], trace.regret, rtol=1e-9)


@pytest.mark.parametrize("algorithm", [name for name in catalogue() if name not in ("LUCB", "LUCBTUniform")])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(algorithm):
    first, again, other = (run.perform(leduc_run(algorithm, seed=seed)) for seed in (4, 4, 5))
    assert json.dumps(first["outcome"]) == json.dumps(again["outcome"]) != json.dumps(other["outcome"])


def test_a_learner_that_stops_plays_what_it_recommends():
    loose = {"bound": "simple", "c": 0.1, "epsilon": 0.5, "delta": 0.5}
    asked = run.configuration("learning", "kuhn", 0, "LUCBT", loose, 0, 5000, iterations=5)
    outcome = run.perform(asked)["outcome"]
    stopped = run.perform({**asked, "experiment": "stopping"})["outcome"]
    assert stopped["episodes"] < 2000
    after = np.array(outcome["episode"]) > stopped["episodes"]
    gap = outcome["value_gap"][-1]
    assert gap == pytest.approx(stopped["gap"] * 4, abs=1e-12)
    assert set(np.array(outcome["value_gap"])[after]) == {gap}
    np.testing.assert_allclose(
        np.diff(outcome["regret"])[after[:-1]], gap * np.diff(outcome["episode"])[after[:-1]], atol=1e-9
    )


def test_the_result_says_what_it_is_of():
    result = run.perform(leduc_run("UCT", c=2.0))
    assert result["configuration"]["hyper_parameters"] == {"c": 2.0}
    assert leduc_run("UCBT")["hyper_parameters"]["delta"] == 0.05, "defaults are written down too"
    assert set(result["code"]) >= {"git_revision", "source", "numpy", "numba", "open_spiel", "tmdp-spiel"}
    other_player = run.perform({**leduc_run("UCT"), "player": 0})
    other_opponent = run.perform({**leduc_run("UCT"), "iterations": 6})
    digests = {each["environment"]["sha256"] for each in (result, other_player, other_opponent)}
    assert len(digests) == 3
    json.dumps(result)


def test_the_sweeps_name_algorithms_and_keywords_that_exist():
    for game, constants in data.CONSTANTS.items():
        for algorithm, keywords in constants.items():
            assert keywords.keys() <= run.hyper_parameters_of(algorithm).keys(), (game, algorithm)
    for panel in data.PANELS:
        assert set(panel["algorithms"]) <= catalogue().keys()
        assert "seed" not in run.hyper_parameters_of(panel["algorithms"][0])


def test_checkpoints_span_four_decades():
    assert run.checkpoints(1, 10) == [1]
    spaced = run.checkpoints(1_000_000, 10)
    assert (spaced[0], spaced[10], spaced[-1], len(spaced)) == (100, 1000, 1_000_000, 41)
