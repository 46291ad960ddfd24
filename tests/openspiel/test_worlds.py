"""Best responses by sets of worlds, against build_tree."""

import numpy as np
import pytest
from open_spiel.python import policy as policy_lib

import tmdp_spiel as ts
from tmdp_spiel.exploit.large_game_beliefs import response_by_worlds
from tmdp_spiel.openspiel.worlds import best_response_by_worlds


@pytest.mark.parametrize(
    "string",
    ["kuhn_poker", "leduc_poker(suit_isomorphism=True)", "dark_hex(num_rows=2,num_cols=2)", "phantom_ttt", "matrix_pd"],
)
def test_value_and_actions_are_those_of_the_tree(string):
    game = ts.load_game(string)
    opponent = policy_lib.FirstActionPolicy(game) if string != "kuhn_poker" else policy_lib.UniformRandomPolicy(game)
    for player in (0, 1):
        found = best_response_by_worlds(game, player, opponent)
        if string == "phantom_ttt":  # first cells first: whoever knows that wins
            assert found.value == 1.0
            continue
        mdp = ts.build_tree(game, player, opponent)
        assert found.value == pytest.approx(mdp.best_response()[0], abs=1e-12)
        plan = np.zeros(mdp.tree.num_states, np.int16)
        if not mdp.tree.strings_forget:
            for name, action in found.actions.items():
                state = mdp.tree.state_index(name)
                plan[state] = mdp.tree.legal_actions(state).tolist().index(action)
            assert mdp.value(plan) == pytest.approx(found.value, abs=1e-12)


def test_too_many_worlds_are_refused():
    with pytest.raises(ts.GameTooLargeError, match="more than 50 histories"):
        best_response_by_worlds("leduc", 0, policy_lib.UniformRandomPolicy(ts.load_game("leduc")), max_worlds=50)
    with pytest.raises(ValueError, match="two players"):
        best_response_by_worlds("kuhn_poker(players=3)", 0, None)


@pytest.mark.parametrize("string", ["leduc_poker", "dark_hex(board_size=2,obstype=reveal-numturns)", "matrix_pd"])
def test_the_policy_wins_the_value(string):
    game = ts.load_game(string)
    opponent = policy_lib.FirstActionPolicy(game)
    for player in (0, 1):
        found = best_response_by_worlds(game, player, opponent)
        policies = {player: found.policy, 1 - player: opponent}
        won, waiting = 0.0, [(game.new_initial_state(), 1.0)]
        while waiting:
            state, weight = waiting.pop()
            if state.is_terminal():
                won += weight * state.player_return(player)
            elif state.is_chance_node():
                waiting.extend((state.child(action), weight * chance) for action, chance in state.chance_outcomes())
            else:
                answer = policies[state.current_player()].action_probabilities(state).items()
                waiting.extend((state.child(action), weight * chance) for action, chance in answer if chance > 0)
        assert won == pytest.approx(found.value, abs=1e-12)


def test_too_large_supports_are_seen_before_anything_is_visited():
    game = ts.load_game("connect_four")
    with pytest.raises(ts.GameTooLargeError, match="more than 1,000 histories") as raised:
        best_response_by_worlds(game, 0, policy_lib.UniformRandomPolicy(game), max_worlds=1000)
    assert raised.value.histories == 0
    with pytest.raises(ts.GameTooLargeError, match="needs more than max_seconds = 0"):
        best_response_by_worlds("leduc_poker", 0, policy_lib.UniformRandomPolicy(game), max_seconds=0.0)


class LastAction(policy_lib.Policy):
    def action_probabilities(self, state, player_id=None):
        return {state.legal_actions()[-1]: 1.0}


def test_exploit_uses_worlds_if_the_support_is_small():
    """Tic-tac-toe has too many histories for this max_nodes, but few against an opponent with one answer."""
    game = ts.load_game("tic_tac_toe")
    opponent = LastAction(game, [0, 1])
    found = ts.exploit(game, opponent, player=0, seconds=200, max_nodes=50_000, progress=False)
    response = found.seats[0]
    expected = best_response_by_worlds(game, 0, opponent)
    assert response.lower == response.upper == response.exact_best == expected.value == 1.0
    assert f"only {expected.worlds:,} histories" in response.method
    assert "race" not in response.method, "an exact answer needs no responders"


def test_a_large_support_is_left_to_other_methods():
    game = ts.load_game("connect_four")
    assert response_by_worlds(game, 0, {1: policy_lib.UniformRandomPolicy(game)}, ts.grow_tree(game, 0), 1.0) is None
