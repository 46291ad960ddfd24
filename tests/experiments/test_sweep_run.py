"""One run of a sweep: exact, the same every time, and described completely."""

import dataclasses
import json

import numpy as np
import pytest

import tmdp_spiel as ts
from experiments.paper import settings
from experiments.sweep import run
from experiments.sweep.configuration import configuration, hyper_parameters_of, measured_at
from experiments.sweep.result import Result
from tmdp_spiel.algorithms.catalogue import catalogue


def leduc_run(algorithm, episodes=300, seed=0, **hyper_parameters):
    return configuration("learning", "leduc", 1, algorithm, hyper_parameters, seed, episodes, iterations=5)


def test_a_run_measures_what_the_runner_measures():
    asked = leduc_run("UCBT", episodes=40_000, seed=3, c=0.5)
    outcome = run.perform(asked).outcome
    game = ts.load_game("leduc")
    mdp = ts.build_tree(game, 1, ts.equilibrium(game, 5))
    trace = ts.run(ts.UCBT(mdp.tree, c=0.5, seed=3), mdp, 40_000, measure_at=outcome.episode, progress=False)
    assert outcome.episode == trace.episode.tolist() == measured_at(40_000, 10)
    assert outcome.value_gap == trace.value_gap.tolist()
    np.testing.assert_allclose(outcome.regret, trace.regret, rtol=1e-9)


@pytest.mark.parametrize("algorithm", [name for name in catalogue() if name not in ("LUCB", "LUCBTUniform")])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(algorithm):
    first, again, other = (run.perform(leduc_run(algorithm, seed=seed)) for seed in (4, 4, 5))
    assert repr(first.outcome) == repr(again.outcome) != repr(other.outcome)


def test_a_learner_that_stops_plays_what_it_recommends():
    loose = {"bound": "simple", "c": 0.1, "epsilon": 0.5, "delta": 0.5}
    asked = configuration("learning", "kuhn", 0, "LUCBT", loose, 0, 5000, iterations=5)
    outcome = run.perform(asked).outcome
    stopped = run.perform(dataclasses.replace(asked, experiment="stopping")).outcome
    assert stopped.episodes < 2000
    after = np.array(outcome.episode) > stopped.episodes
    gap = outcome.value_gap[-1]
    assert gap == pytest.approx(stopped.gap * 4, abs=1e-12)
    assert set(np.array(outcome.value_gap)[after]) == {gap}
    np.testing.assert_allclose(
        np.diff(outcome.regret)[after[:-1]], gap * np.diff(outcome.episode)[after[:-1]], atol=1e-9
    )


def test_the_result_says_what_it_is_of():
    result = run.perform(leduc_run("UCT", c=2.0))
    assert result.configuration.hyper_parameters == {"c": 2.0}
    assert leduc_run("UCBT").hyper_parameters["delta"] == 0.05, "defaults are written down too"
    assert set(result.code) >= {"git_revision", "source", "numpy", "numba", "open_spiel", "tmdp-spiel"}
    other_player = run.perform(dataclasses.replace(leduc_run("UCT"), player=0))
    other_opponent = run.perform(dataclasses.replace(leduc_run("UCT"), iterations=6))
    digests = {each.environment.fingerprint for each in (result, other_player, other_opponent)}
    assert len(digests) == 3
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


@pytest.mark.parametrize("game", ["kuhn", "kuhn5", "leduc", "rbt", "tic_tac_toe"])
@pytest.mark.parametrize("player", [0, 1])
def test_the_constants_are_of_keywords_that_exist(game, player):
    for algorithm in catalogue():
        assert settings.constants(game, player, algorithm).keys() <= hyper_parameters_of(algorithm).keys()


def test_the_constants_are_the_papers():
    constants = settings.constants
    assert [constants(game, 0, "UCBT")["c"] for game in ("kuhn", "leduc", "rbt")] == [0.1, 1.0, 1.0]
    assert [constants("kuhn5", player, "LUCBT")["c"] for player in (0, 1)] == [0.1, 1.0]
    assert [constants(game, 1, "UCT")["c"] for game in ("kuhn", "leduc", "rbt")] == [0.5, 5.0, 2.0]
    assert [constants(game, 1, "OPF")["k"] for game in ("kuhn", "leduc", "rbt")] == [0.5, 5.0, 5.0]
    assert [constants(game, 1, "OutcomeSamplingMCCFR")["epsilon"] for game in ("leduc", "rbt")] == [0.1, 0.2]
    assert constants("leduc", 0, "MVP") == {}


def test_the_panels_name_algorithms_that_exist():
    for panel in settings.PANELS:
        assert set(panel.algorithms) <= catalogue().keys()


def test_a_game_that_ships_an_equilibrium_is_met_with_it():
    asked = configuration("learning", "rbt", 0, "UCT", {}, 0, 10, iterations=5)
    assert (asked.opponent, asked.iterations) == ("shipped", None)
    assert configuration("learning", "kuhn", 0, "UCT", {}, 0, 10, iterations=5).opponent == "cfr+"


def test_a_run_that_is_given_up_says_what_remained():
    tolerance = {"epsilon": 0.05, "delta": 0.05}
    asked = configuration("stopping", "kuhn", 0, "BPIUCRL", tolerance, 0, 2000, opponent="uniform")
    outcome = run.perform(asked).outcome
    assert outcome.episodes == 2000 and not outcome.stopped
    assert 0.05 < outcome.width <= 1 and 0 <= outcome.gap < 1


def test_an_open_spiel_solver_is_run_like_a_learner():
    asked = configuration("learning", "kuhn", 0, "OpenSpielExternalSampling", {}, 0, 300, opponent="uniform")
    result = run.perform(asked)
    assert len(result.outcome.value_gap) == len(result.timing.measured_after) > 5
    assert result.outcome.value_gap[-1] < result.outcome.value_gap[0]
    assert np.isnan(result.outcome.regret).all()


def test_measurements_span_four_decades():
    assert measured_at(1, 10) == [1]
    spaced = measured_at(1_000_000, 10)
    assert (spaced[0], spaced[10], spaced[-1], len(spaced)) == (100, 1000, 1_000_000, 41)
