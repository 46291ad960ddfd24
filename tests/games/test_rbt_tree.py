"""The compiled trees of RBT against the OpenSpiel game."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib

from tmdp_spiel.games.rbt import passes, tree as rbt_tree
from tmdp_spiel.games.rbt.names import RBTNames
from tmdp_spiel.openspiel import build, games
from tmdp_spiel.trees.infostate_tree import StateNames

# Late starts, small enough for a traversal of all histories: o to move, x to move and able to win at once, rules off.
REDUCED = (
    {"start": "x4o0x8o2x1"},
    {"start": "x0o4x8o2x1o7"},
    {"start": "x0o8x1o4x5o3"},
    {"start": "x0o1x2o3x5o4", "useful_senses": False},
    {"start": "x0o1x4o8x2o6", "forced_wins": False},
    {"start": "x4o0x8o2x1", "useful_senses": False, "forced_wins": False},
)


def load(**parameters):
    return pyspiel.load_game("python_rbt", parameters)


@pytest.fixture
def by_traversal(monkeypatch):
    """Makes `build` take the ordinary way, through all histories of the OpenSpiel game."""
    monkeypatch.setattr(games, "_registered", {})


def test_the_game_brings_its_enumeration_unless_it_is_told_not_to(monkeypatch):
    game = load(start="x4o0x8o2x1")
    assert isinstance(build.build_infostate_tree(game, 0).names, RBTNames)
    monkeypatch.setattr(games, "_registered", {})
    assert isinstance(build.build_infostate_tree(game, 0).names, StateNames)


@pytest.mark.parametrize("parameters", REDUCED, ids=str)
@pytest.mark.parametrize("player", (0, 1))
def test_equals_the_traversal_of_all_histories_node_for_node(parameters, player, by_traversal):
    game = load(**parameters)
    compiled, traversed = rbt_tree.infostate_tree(game, player), build.build_infostate_tree(game, player)
    assert compiled.num_states == traversed.num_states
    assert compiled.num_sequences == traversed.num_sequences
    assert compiled.num_terminals == traversed.num_terminals
    assert compiled.root_can_end == traversed.root_can_end
    assert compiled.horizon == traversed.horizon
    for state in range(compiled.num_states):
        other = traversed.state_index(compiled.state_string(state))
        assert list(compiled.legal_actions(state)) == list(traversed.legal_actions(other))
        for j, k in zip(
            range(*compiled.first_sequence[state : state + 2]), range(*traversed.first_sequence[other : other + 2])
        ):
            assert compiled.can_end[j] == traversed.can_end[k]
            assert successors(compiled, j) == successors(traversed, k)


def successors(tree, sequence):
    return {tree.state_string(child) for child in range(tree.first_child[sequence], tree.first_child[sequence + 1])}


@pytest.mark.parametrize("parameters", REDUCED[:3], ids=str)
@pytest.mark.parametrize("player", (0, 1))
def test_chances_equal_those_of_the_traversal(parameters, player, by_traversal):
    game = load(**parameters)
    for opponent in (policy_lib.UniformRandomPolicy(game), random_policy(game, 1 - player)):
        compiled = rbt_tree.build_tree_mdp(game, player, opponent)
        traversed = build.build_tree(game, player, opponent)
        assert compiled.best_response()[0] == pytest.approx(traversed.best_response()[0], abs=1e-12)
        for state in range(compiled.tree.num_states):
            other = traversed.tree.state_index(compiled.tree.state_string(state))
            assert compiled.reach[state] == pytest.approx(traversed.reach[other], abs=1e-12)
            for j, k in zip(
                range(*compiled.tree.first_sequence[state : state + 2]),
                range(*traversed.tree.first_sequence[other : other + 2]),
            ):
                assert outcomes(compiled, j) == pytest.approx(outcomes(traversed, k), abs=1e-12)
        assert outcomes(compiled, 0) == pytest.approx(outcomes(traversed, 0), abs=1e-12)


def outcomes(mdp, sequence):
    places = range(mdp.first_outcome[sequence], mdp.first_outcome[sequence + 1])
    return {mdp.outcome_return[place]: mdp.outcome_probability[place] for place in places}


def random_policy(game, player):
    rng = np.random.default_rng(3)
    tree = rbt_tree.infostate_tree(game, player)
    rows = [rng.dirichlet(np.ones(count)) for count in np.diff(tree.first_sequence)]
    return rbt_tree.array_policy(game, {player: np.concatenate([[1.0], *rows])})


@pytest.mark.parametrize("parameters", REDUCED, ids=str)
def test_histories_are_counted_without_visiting_them(parameters):
    game = load(**parameters)
    stack, visited = [game.new_initial_state()], 0
    while stack:
        state = stack.pop()
        visited += 1
        if not state.is_terminal():
            stack.extend(state.child(action) for action in state.legal_actions())
    assert passes.num_histories(rbt_tree.enumeration(game)) == visited
