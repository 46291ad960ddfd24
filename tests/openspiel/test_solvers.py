"""OpenSpiel's own solvers through the adapter."""

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.evaluation.run import Trace
from tmdp_spiel.openspiel import solvers as open_spiel_solvers


@pytest.fixture(scope="module")
def kuhn_problem():
    game = ts.load_game("kuhn")
    return open_spiel_solvers.make_problem(game, 1, ts.uniform(game))


@pytest.mark.parametrize("name", open_spiel_solvers.SOLVERS)
def test_every_solver_nears_the_best_response(kuhn_problem, name):
    trace = open_spiel_solvers.run(name, kuhn_problem, 3000, seed=1)
    assert isinstance(trace, Trace)
    assert np.all(np.diff(trace.episode) > 0) and np.all(np.diff(trace.seconds) >= 0)
    assert 3000 <= trace.episode[-1] < 3010
    assert np.all(trace.value_gap >= 0) and np.all(np.isnan(trace.regret))
    assert trace.value_gap[-1] < 0.1 < trace.value_gap[0]


@pytest.mark.parametrize("name", open_spiel_solvers.SOLVERS)
def test_runs_repeat_with_their_seed_and_leave_the_global_generator_alone(kuhn_problem, name):
    np.random.seed(7)
    expected = np.random.random()
    np.random.seed(7)
    first = open_spiel_solvers.run(name, kuhn_problem, 100, seed=3, progress=False)
    assert np.random.random() == expected
    again = open_spiel_solvers.run(name, kuhn_problem, 100, seed=3, progress=False)
    other = open_spiel_solvers.run(name, kuhn_problem, 100, seed=4, progress=False)
    assert np.array_equal(first.value_gap, again.value_gap)
    assert not np.array_equal(first.value_gap, other.value_gap)


def test_the_expected_number_of_ends_in_external_sampling(kuhn_problem):
    rng = np.random.default_rng(0)

    def ends(state):
        if state.is_terminal():
            return 1
        if state.is_chance_node():
            actions, probabilities = zip(*state.chance_outcomes())
            return ends(state.child(int(rng.choice(actions, p=probabilities))))
        return sum(ends(state.child(action)) for action in state.legal_actions())

    seen = [ends(kuhn_problem.game.new_initial_state()) for _ in range(2000)]
    error = np.std(seen) / np.sqrt(len(seen))
    assert np.mean(seen) == pytest.approx(kuhn_problem.ends_per_traversal, abs=4 * error + 1e-9)


def test_the_q_learner_finds_the_exact_best_response(kuhn_problem):
    trace = open_spiel_solvers.run("OpenSpielQLearner", kuhn_problem, 3000, seed=0, measure_at=[1000, 3000])
    assert list(trace.episode) == [1000, 3000]
    assert trace.value_gap[-1] == pytest.approx(0, abs=1e-9)


def test_dqn_learns(kuhn_problem):
    pytest.importorskip("torch")
    trace = open_spiel_solvers.run("OpenSpielDQNAdam", kuhn_problem, 3000, seed=0, measure_at=[1, 3000])
    assert trace.value_gap[-1] < min(0.1, trace.value_gap[0])


def test_a_limit_in_seconds_ends_a_run_early(kuhn_problem):
    trace = open_spiel_solvers.run("OpenSpielQLearner", kuhn_problem, 10**8, measure_at=[10**8], seconds=0.2)
    assert len(trace.episode) == 1 and 0 < trace.episode[-1] < 10**8


def test_three_players():
    game = ts.load_game("kuhn_poker(players=3)")
    problem = open_spiel_solvers.make_problem(game, 2, ts.uniform(game))
    for name in open_spiel_solvers.SOLVERS:
        trace = open_spiel_solvers.run(name, problem, 400)
        assert trace.value_gap[-1] < trace.value_gap[0]


def test_wrong_names_and_numbers(kuhn_problem):
    with pytest.raises(ValueError, match="there are: OpenSpielOutcomeSampling"):
        open_spiel_solvers.run("MCCFR", kuhn_problem, 10)
    with pytest.raises(ValueError, match="episodes must be"):
        open_spiel_solvers.run("OpenSpielQLearner", kuhn_problem, 0)
