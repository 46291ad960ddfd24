"""The tables, from results made up for the purpose."""

import pytest

from experiments.paper import settings, tables
from experiments.paper.flags import PanelRuns
from experiments.sweep.configuration import configuration
from experiments.sweep.result import Environment, Learning, Limit, Result, Stopping
from experiments.sweep.tables import mean_and_error


def of(asked, outcome):
    return Result.of(asked, Environment("", 0.0, ""), outcome, 1.0)


def stopped(algorithm, seed, episodes, gap=0.0, player=0, game="kuhn", **hyper_parameters):
    asked = configuration("stopping", game, player, algorithm, {"epsilon": 0.1, "delta": 0.1, **hyper_parameters}, seed)
    return of(asked, Stopping(episodes, True, gap, None))


def learned(panel, algorithm, seed, final):
    asked = configuration("learning", panel.game, panel.player, algorithm, {}, seed, 100)
    return of(asked, Learning([1, 100], **{"regret": [], "value_gap": [], panel.measure: [1.0, final]}))


def made_up(letter, finals):
    """A panel and its results; finals: by algorithm, by seed."""
    panel = next(each for each in settings.PANELS if each.letter == letter)
    results = [
        learned(panel, algorithm, seed, final) for algorithm, each in finals.items() for seed, final in enumerate(each)
    ]
    asked = {
        algorithm: [each.configuration for each in results if each.configuration.algorithm == algorithm]
        for algorithm in finals
    }
    return PanelRuns(panel, asked), results


def test_stopping_times_are_shown_with_the_papers():
    results = [
        stopped("LUCB", 0, 100_000, 0.02),
        stopped("LUCB", 1, 140_000),
        stopped("LUCBT", 0, 500_000, union="tight"),
    ]
    lines = tables.stopping_times(results).splitlines()
    assert lines[0] == "| player | algorithm | union | kuhn, 0.1 | largest gap / epsilon |"
    assert lines[2:] == [
        "| x | LUCB | *the paper* | *114,000 ± 7.3%* |  |",
        "| x | LUCB | none | 120,000 ± 16.7% | 0.200 |",
        "| x | LUCB-T | *the paper* | *531,000 ± 4.8%* |  |",
        "| x | LUCB-T | tight | 500,000 | 0.000 |",
    ]


def test_what_is_refused_and_the_reference_have_their_cells():
    asked = configuration("limit", "leduc", 0, "ReferenceLimit", {"epsilon": 0.1, "delta": 0.1}, 0)
    limit = of(asked, Limit(63.04, 1063.26, True))
    refused = stopped("LUCB", 0, 0, game="leduc").configuration
    lines = tables.stopping_times([stopped("LUCB", 0, 123_456), limit], [refused]).splitlines()
    assert lines[0] == "| player | algorithm | union | kuhn, 0.1 | leduc, 0.1 | largest gap / epsilon |"
    assert "| x | LUCB | none | 123,000 | refused | 0.000 |" in lines
    assert "| x | *asymptotic reference* | none | — | 63.0 to 1,060 |  |" in lines
    limit.outcome.for_every_answer = False
    cell = "at most 1,060; at least 63.0 if the answer is the best response"
    assert f"| x | *asymptotic reference* | none | {cell} |  |" in tables.stopping_times([limit])


def given_up(algorithm, seed, episodes, width):
    result = stopped(algorithm, seed, episodes, game="leduc")
    result.outcome.stopped, result.outcome.width = False, width
    return result


def test_runs_that_were_given_up_say_so():
    results = [
        *(given_up("BPIUCRL", seed, 50_000, width) for seed, width in enumerate((0.4, 0.2))),
        given_up("LUCBT", 0, 50_000, None),
        stopped("LUCBT", 1, 3200, game="leduc"),
        stopped("LUCBTUniform", 0, 3217, game="leduc"),
    ]
    lines = tables.stopping_times(results).splitlines()
    assert "| x | BPI-UCRL | none | given up after 50,000 episodes, remaining width 0.300 | 0.000 |" in lines
    assert "| x | LUCB-T | tight | 1 of 2 given up after 50,000 episodes | 0.000 |" in lines
    assert "| x | LUCB-T-Uniform | tight | 3,220 | 0.000 |" in lines


def test_a_claim_is_not_judged_on_runs_that_were_given_up():
    sides = [stopped("LUCB", 0, 1e5), stopped("LUCBT", 0, 2e5, union="paper")]
    assert "LUCB < LUCB-T" in tables.claims(sides, [], [])
    sides[1].outcome.stopped = False
    assert "LUCB < LUCB-T" not in tables.claims(sides, [], [])


def test_final_measures():
    panel, results = made_up("e", {"UCBT": [1200.0, 1400.0], "UCT": [0.02, 0.04], "OPF": []})
    lines = tables.final_measures("regret", [panel], results).splitlines()
    assert lines[0] == "| Regret | leduc x (2 runs of 100 episodes) |"
    assert lines[2:] == ["| UCB-T | 1,300 ± 100 |", "| UCT | 0.0300 ± 0.0100 |", "| OPF | — |"]
    assert mean_and_error([0.0, 0.0]) == "0 ± 0"


def test_claims_are_judged_where_both_sides_have_runs():
    stopping = [
        stopped(algorithm, seed, episodes + seed, **union)
        for algorithm, episodes, union in (("LUCB", 1e5, {}), ("LUCBT", 2e5, {"union": "paper"}))
        for seed in range(6)
    ]
    leduc, leduc_results = made_up("e", {"UCBT": [10.0] * 6, "OPF": [20.0] * 6})
    rbt, rbt_results = made_up("g", {"UCBT": [10.0] * 6, "OPF": [5.0] * 6})
    lines = tables.claims(stopping, [leduc, rbt], leduc_results + rbt_results).splitlines()[2:]
    assert [line.split(" | ")[1:] for line in lines] == [
        ["kuhn x, 0.1, union paper", "LUCB < LUCB-T", "0.1, 0.2", "0.031", "holds |"],
        ["leduc x (e)", "UCB-T < OPF", "10, 20", "0.031", "holds |"],
        ["rbt x (g)", "UCB-T < OPF", "10, 5", "0.031", "does not hold |"],
        ["leduc x and rbt x", "OPF / UCB-T", "2 to 0.5", "0.031", "does not hold |"],
    ]


@pytest.mark.parametrize("fraction, runs, episodes", [(1.0, 50, None), (0.1, 5, 0.1), (1e-6, 2, 1000)])
def test_scales(fraction, runs, episodes):
    full = settings.SCALES["full"].curves["leduc"].episodes
    expected = {None: full, 0.1: full // 10, 1000: 1000}[episodes]
    assert settings.scaled(fraction).curves["leduc"] == settings.CurveSize(runs, expected)
