"""The fixed-opponent game, driven by OpenSpiel's own tests, best responses and solvers."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib, rl_environment
from open_spiel.python.algorithms import best_response, external_sampling_mccfr, outcome_sampling_mccfr

import tmdp_spiel as ts

PROBLEMS = [
    ("kuhn", 0),
    ("kuhn", 1),
    ("leduc", 0),
    ("leduc", 1),
    ("kuhn_poker(players=3)", 1),
    ("goofspiel(num_cards=3,imp_info=True)", 0),
    ("nim(pile_sizes=2;1)", 1),
    ("repeated_game(stage_game=matrix_pd(),num_repetitions=2)", 1),
]


def fixed(name, player):
    """The fixed-opponent game and the Tree MDP of the same problem."""
    game = ts.load_game(name)
    opponent = policy_lib.UniformRandomPolicy(game)
    return ts.fixed_opponent_game(game, player, opponent), ts.build_tree(game, player, opponent)


@pytest.mark.parametrize("name, player", PROBLEMS)
def test_openspiels_simulation_test(name, player):
    game, _ = fixed(name, player)
    pyspiel.random_sim_test(game, num_sims=5, serialize=True, verbose=False)


@pytest.mark.parametrize("name, player", PROBLEMS)
def test_python_best_response(name, player):
    game, mdp = fixed(name, player)
    theirs = best_response.BestResponsePolicy(game, player, ts.uniform(game)).value(game.new_initial_state())
    assert theirs == pytest.approx(mdp.best_response()[0], abs=1e-9)


@pytest.mark.parametrize("cached", [False, True], ids=["direct", "cached tree"])
@pytest.mark.parametrize("name, player", PROBLEMS[:4])
def test_cpp_best_response(name, player, cached):
    game, mdp = fixed(name, player)
    if cached:
        game = pyspiel.convert_to_cached_tree(game)
    policy = pyspiel.UniformRandomPolicy(game)  # the solver below does not keep it alive
    solver = pyspiel.TabularBestResponse(game, player, policy)
    assert solver.value_from_state(game.new_initial_state()) == pytest.approx(mdp.best_response()[0], abs=1e-9)


@pytest.mark.parametrize("name, player", PROBLEMS)
def test_only_the_player_decides_and_keeps_its_states(name, player):
    game, mdp = fixed(name, player)
    tree = ts.build_infostate_tree(game, player)
    assert [tree.state_string(s) for s in range(tree.num_states)] == [
        mdp.tree.state_string(s) for s in range(mdp.tree.num_states)
    ]
    others = [other for other in range(game.num_players()) if other != player]
    assert not any(ts.build_infostate_tree(game, other).num_states for other in others)


def value_of_average(solver_policy, game, mdp):
    return mdp.value(ts.policy_to_plan(mdp.tree, solver_policy, game))


@pytest.mark.parametrize("solver", [pyspiel.OutcomeSamplingMCCFRSolver, pyspiel.ExternalSamplingMCCFRSolver])
@pytest.mark.parametrize("cached", [False, True], ids=["direct", "cached tree"])
def test_cpp_mccfr_learns(solver, cached):
    game, mdp = fixed("kuhn", 0)
    solved = pyspiel.convert_to_cached_tree(game) if cached else game
    solver = solver(solved, seed=1)
    for _ in range(3000):
        solver.run_iteration()
    learned = value_of_average(solver.average_policy(), game, mdp)
    assert learned > 0.9 * mdp.best_response()[0]


@pytest.mark.parametrize(
    "solver", [outcome_sampling_mccfr.OutcomeSamplingSolver, external_sampling_mccfr.ExternalSamplingSolver]
)
def test_python_mccfr_learns(solver):
    game, mdp = fixed("kuhn", 0)
    np.random.seed(3)
    solver = solver(game)
    for _ in range(1500):
        solver.iteration()
    learned = value_of_average(solver.average_policy(), game, mdp)
    assert learned > 0.8 * mdp.best_response()[0]


def test_it_is_read_back_from_its_string_and_states_from_theirs():
    game, _ = fixed("kuhn", 0)
    assert str(pyspiel.load_game(str(game))) == str(game)
    assert str(pickle.loads(pickle.dumps(game))) == str(game)
    state = game.new_initial_state().child(0).child(1).child(0)
    for other in (copy.deepcopy(state), state.clone(), game.deserialize_state(state.serialize())):
        assert other.history() == state.history()
        assert other.information_state_string(0) == state.information_state_string(0)
        other.apply_action(other.legal_actions()[0])
        assert other.history() != state.history()


def test_two_problems_keep_their_own_opponents():
    kuhn = ts.load_game("kuhn")
    games = [ts.fixed_opponent_game(kuhn, 0, pyspiel.PreferredActionPolicy(order)) for order in ([0, 1], [1, 0])]
    outcomes = [game.new_initial_state().child(0).child(1).child(0).chance_outcomes() for game in games]
    assert outcomes == [[(0, 1.0)], [(1, 1.0)]]


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_observations_are_those_of_the_base_game(name):
    base = ts.load_game(name)
    game, _ = fixed(name, 0)
    state, base_state = game.new_initial_state(), base.new_initial_state()
    rng = np.random.default_rng(0)
    while not base_state.is_terminal():
        for player in range(2):
            assert state.information_state_tensor(player) == base_state.information_state_tensor(player)
            assert state.observation_string(player) == base_state.observation_string(player)
        action = rng.choice(base_state.legal_actions())
        state.apply_action(action)
        base_state.apply_action(action)
    assert state.returns() == base_state.returns()


def test_it_runs_as_an_environment_for_agents():
    game, _ = fixed("leduc", 1)
    environment = rl_environment.Environment(game)
    step = environment.reset()
    while not step.last():
        assert step.observations["current_player"] == 1
        step = environment.step([step.observations["legal_actions"][1][0]])
    assert sum(step.rewards) == 0


def test_bad_input():
    with pytest.raises(ValueError, match="no player 2"):
        ts.fixed_opponent_game("kuhn", 2, ts.uniform(ts.load_game("kuhn")))
    with pytest.raises(TypeError, match="must be an OpenSpiel policy"):
        ts.fixed_opponent_game("kuhn", 0, "uniform")
    with pytest.raises(ValueError, match="make the game with tmdp_spiel.fixed_opponent_game"):
        pyspiel.load_game("python_fixed_opponent(problem=none)")


@pytest.mark.parametrize("name", ["mfg_crowd_modelling", "tarok"])
def test_unsupported_games(name):
    game = ts.load_game(name)
    with pytest.raises(ValueError, match="mean-field|probabilities"):
        ts.fixed_opponent_game(game, 0, ts.uniform(game))


def test_opponents_go_with_the_last_game_that_needs_them():
    game = ts.load_game("kuhn")
    made = ts.fixed_opponent_game(game, 0, ts.uniform(game))
    opponents, state = weakref.ref(made.opponents), made.new_initial_state()
    text = str(made)
    del made
    gc.collect()
    assert state.get_game().opponents is opponents() and pyspiel.load_game(text) is not None
    del state
    gc.collect()
    assert opponents() is None
    with pytest.raises(Exception, match="no fixed opponent"):
        pyspiel.load_game(text)
