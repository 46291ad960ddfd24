"""Trees of real games, against what OpenSpiel says about them."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import best_response, expected_game_score, exploitability

import tmdp_spiel as ts

GAMES = {
    "kuhn": "kuhn",
    "kuhn5": "kuhn5",
    "leduc": "leduc",
    "three players": "kuhn_poker(players=3)",
    "three bidders": "first_sealed_auction(players=3,max_value=3)",
    "simultaneous moves": "goofspiel(num_cards=3,imp_info=True)",
    "simultaneous moves, long": "oshi_zumo(coins=3,size=1,horizon=3)",
    "chance after the deal": (
        "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=1 1,maxRaises=1 1,firstPlayer=1 1,"
        "numSuits=1,numRanks=3,numHoleCards=1,numBoardCards=0 1)"
    ),
    "intermediate rewards": "repeated_game(stage_game=matrix_pd(),num_repetitions=2)",
    "the other may end it first": "nim(pile_sizes=2;1)",
    "one player never acts": "nim(pile_sizes=1;0)",
    "chance may end it": "restricted_nash_response(game=kuhn_poker())",
    "single player, rewards": "cliff_walking(horizon=4)",
    "perfect information": "mnk(m=2,n=3,k=2)",
    "common payoff": "tiny_hanabi",
    "liar's dice": "liars_dice(dice_sides=3)",
    "blind moves": "dark_hex(board_size=2,obstype=reveal-numturns)",
    "in Python": "python_kuhn_poker",
}


def random_policy(game, seed=0):
    """Random probabilities, with some legal actions never played."""
    rng = np.random.default_rng(seed)
    policy = policy_lib.TabularPolicy(game)
    weights = rng.exponential(size=policy.legal_actions_mask.shape) * policy.legal_actions_mask
    sparse = weights * (rng.random(weights.shape) < 0.7)
    weights = np.where(sparse.sum(axis=1, keepdims=True) > 0, sparse, weights)
    policy.action_probability_array[:] = weights / weights.sum(axis=1, keepdims=True)
    return policy


OPPONENTS = {"uniform": ts.uniform, "random": random_policy, "equilibrium": lambda game: ts.equilibrium(game, 20)}


@pytest.fixture(scope="module", params=GAMES)
def game(request):
    return ts.load_game(GAMES[request.param])


@pytest.fixture(scope="module", params=OPPONENTS)
def opponent(request, game):
    if request.param == "equilibrium" and not game.get_type().provides_information_state_string:
        pytest.skip("OpenSpiel's CFR+ needs information-state strings")
    return OPPONENTS[request.param](game)


@pytest.fixture(scope="module")
def mdps(game, opponent):
    return [ts.build_tree(game, player, opponent) for player in range(game.num_players())]


@pytest.mark.parametrize(
    "name, player, states, sequences, terminals, merged_terminals",
    [
        ("kuhn", 0, 6, 12, 18, 15),
        ("kuhn", 1, 6, 12, 18, 15),
        ("kuhn5", 0, 10, 20, 34, 25),
        ("kuhn5", 1, 10, 20, 34, 25),
        ("leduc", 0, 144, 336, 642, 417),
        ("leduc", 1, 144, 336, 642, 417),
    ],
)
def test_sizes(name, player, states, sequences, terminals, merged_terminals):
    mdp = ts.build_tree(name, player, ts.uniform(ts.load_game(name)))
    tree = mdp.tree
    assert (tree.num_states, tree.num_sequences) == (states, sequences)
    assert mdp.num_terminals == tree.num_terminals == terminals
    assert tree.num_merged_terminals == merged_terminals


@pytest.mark.parametrize("player, reduced, most_endings, horizon", [(0, 27, 6, 2), (1, 64, 6, 1)])
def test_kuhn_policies(player, reduced, most_endings, horizon):
    tree = ts.build_infostate_tree("kuhn", player)
    assert tree.num_policies == reduced
    assert tree.log_num_unreduced_policies == pytest.approx(np.log(64))
    assert (tree.max_ending_sequences, tree.horizon) == (most_endings, horizon)


def test_kuhn5_ends_on_at_most_ten_sequences():
    assert ts.build_infostate_tree("kuhn5", 0).max_ending_sequences == 10


def test_best_response_value(game, opponent, mdps):
    for player, mdp in enumerate(mdps):
        theirs = best_response.BestResponsePolicy(game, player, opponent).value(game.new_initial_state())
        value, plan = mdp.best_response()
        assert value == pytest.approx(theirs, abs=1e-9)
        assert mdp.value(plan) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("deterministic", [True, False])
def test_value_is_the_expected_return(game, opponent, mdps, deterministic):
    own = random_policy(game, seed=1)
    for player, mdp in enumerate(mdps):
        if mdp.tree.num_states == 0:
            continue
        plan = ts.policy_to_plan(mdp.tree, own, game)
        if deterministic:
            plan = np.array([part.argmax() for part in np.split(plan, mdp.tree.first_sequence[1:-1])])
        policies = [opponent] * game.num_players()
        policies[player] = ts.plan_to_policy(mdp.tree, plan, game)
        theirs = expected_game_score.policy_value(game.new_initial_state(), policies)[player]
        assert mdp.value(plan) == pytest.approx(theirs, abs=1e-9)


def test_infostate_tree_is_the_same_without_an_opponent(game, mdps):
    for player, mdp in enumerate(mdps):
        alone = ts.build_infostate_tree(game, player)
        for name in ("first_sequence", "first_child", "parent", "action", "can_end"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(mdp.tree, name))
        assert alone.root_can_end == mdp.tree.root_can_end
        assert alone.num_terminals == mdp.num_terminals
        assert alone.num_merged_terminals == mdp.tree.num_merged_terminals


@pytest.mark.parametrize("name", ["kuhn", "kuhn5", "leduc"])
def test_best_responses_add_up_to_the_exploitability(name):
    game = ts.load_game(name)
    for opponent in (ts.uniform(game), random_policy(game), ts.equilibrium(game, 20)):
        gains = [ts.build_tree(game, player, opponent).best_response()[0] for player in (0, 1)]
        assert np.mean(gains) == pytest.approx(exploitability.exploitability(game, opponent), abs=1e-9)


def test_value_of_kuhn():
    opponent = ts.equilibrium("kuhn")
    assert ts.build_tree("kuhn", 0, opponent).best_response()[0] == pytest.approx(-1 / 18, abs=1e-3)


def test_states_have_the_information_state_strings_of_the_game():
    game = ts.load_game("leduc")
    tree = ts.build_infostate_tree(game, 1)
    theirs = set(policy_lib.TabularPolicy(game).states_per_player[1])
    assert {tree.state_string(state) for state in range(tree.num_states)} == theirs
    assert all(tree.state_index(tree.state_string(state)) == state for state in range(tree.num_states))


def test_an_episode_may_end_before_the_player_acts():
    mdp = ts.build_tree("nim(pile_sizes=2;0)", 1, ts.uniform(ts.load_game("nim(pile_sizes=2;0)")))
    assert mdp.tree.root_can_end
    assert mdp.best_response()[0] == pytest.approx(0.0)  # who takes last loses: half the time that was the other


def test_a_player_that_never_acts_has_an_empty_plan():
    mdp = ts.build_tree("nim(pile_sizes=1;0)", 1, ts.uniform(ts.load_game("nim(pile_sizes=1;0)")))
    value, plan = mdp.best_response()
    assert (value, len(plan), mdp.tree.horizon, mdp.tree.num_policies) == (1.0, 0, 0, 1)
    assert mdp.sample(plan, np.random.default_rng(0)) == (0, 1.0)


@pytest.mark.parametrize("player", [-1, 2, 0.5, True])
def test_no_such_player(player):
    with pytest.raises(ValueError, match="has players 0 .. 1; there is no player"):
        ts.build_infostate_tree("kuhn", player)


@pytest.mark.parametrize(
    "name, message",
    [
        ("mfg_crowd_modelling", "mean-field games have no Tree MDP"),
        ("tarok", "does not give their probabilities"),
        ("python_iterated_prisoners_dilemma", "no strings that distinguish"),
    ],
)
def test_unsupported_games(name, message):
    with pytest.raises(ValueError, match=message):
        ts.build_infostate_tree(name, 0)


def test_too_large_says_how_far_it_got():
    game = ts.load_game("leduc")
    progress = r"stopped after 500 histories with \d+ states and \d+ sequences of player 0"
    with pytest.raises(ts.GameTooLargeError, match=progress) as error:
        ts.build_tree(game, 0, ts.uniform(game), max_nodes=500)
    assert (error.value.limit, error.value.histories) == ("max_nodes", 500)


@pytest.mark.parametrize("name", ["crazy_eights", "crazyhouse", "cursor_go"])
def test_long_histories_count_for_the_memory_they_need(name):
    with pytest.raises(ts.GameTooLargeError, match="long histories.*memory that max_nodes = 10,000 allows") as error:
        ts.build_infostate_tree(name, 0, max_nodes=10_000)
    assert error.value.limit == "memory"


def test_max_nodes_may_be_exact():
    histories = _count(pyspiel.load_game("kuhn_poker").new_initial_state())
    assert ts.build_infostate_tree("kuhn", 0, max_nodes=histories).num_states == 6
    with pytest.raises(ts.GameTooLargeError):
        ts.build_infostate_tree("kuhn", 0, max_nodes=histories - 1)


def _count(state):
    return 1 + sum(_count(state.child(action)) for action in state.legal_actions())


def test_too_slow_says_so():
    message = r"stopped after 0.05 s and [\d,]+ histories.*this is the limit max_seconds: raise it$"
    with pytest.raises(ts.GameTooLargeError, match=message) as error:
        ts.build_infostate_tree("connect_four", 0, max_nodes=10**30, max_seconds=0.05)
    assert error.value.limit == "max_seconds" and error.value.histories > 0
    assert ts.build_infostate_tree("kuhn", 0, max_seconds=60.0).num_states == 6


def test_a_game_that_random_descents_show_to_be_far_too_large_is_refused_at_once():
    with pytest.raises(ts.GameTooLargeError, match="random descents") as refused:
        ts.build_tree("go(board_size=9)", 0, policy_lib.UniformRandomPolicy(pyspiel.load_game("go(board_size=9)")))
    assert refused.value.limit == "max_nodes" and refused.value.histories == 0
    with pytest.raises(ts.GameTooLargeError) as refused:  # most of its paths are short
        ts.build_infostate_tree("liars_dice(numdice=2)", 0)
    assert refused.value.limit == "max_nodes" and refused.value.histories == 0
