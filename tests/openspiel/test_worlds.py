"""Best responses by sets of worlds, against build_tree."""

import numpy as np
import pytest
from open_spiel.python import policy as policy_lib

import tmdp_spiel as ts
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
