"""Policies as JSON files."""

import json

import numpy as np
import pytest
from open_spiel.python import policy as policy_lib

import tmdp_spiel as ts
from tmdp_spiel.openspiel.policy_files import read_policy, write_policy


def test_policy_files_round_trip(tmp_path, mdp_of):
    game, mdp = ts.load_game("kuhn"), mdp_of("kuhn", 1)
    plan = np.tile([0.25, 0.75], mdp.tree.num_states)
    write_policy(tmp_path / "policy.json", mdp.tree, plan)
    policy = read_policy(tmp_path / "policy.json", game)
    assert ts.policy_to_plan(mdp.tree, policy, game)[1:] == pytest.approx(plan)
    _, best = mdp.best_response()
    write_policy(tmp_path / "policy.json", mdp.tree, best)
    assert all(len(row) == 1 for row in json.loads((tmp_path / "policy.json").read_text()).values())


@pytest.mark.parametrize("text", ["no JSON", "[1, 2]", '{"0": [0.5, 0.5]}', '{"0": {"pass": 1.0}}'])
def test_files_that_are_not_policies(tmp_path, text):
    (tmp_path / "policy.json").write_text(text)
    with pytest.raises(ValueError, match="is not a policy file"):
        read_policy(tmp_path / "policy.json", ts.load_game("kuhn"))


def test_policies_that_lack_states(tmp_path):
    game = ts.load_game("kuhn")
    (tmp_path / "policy.json").write_text('{"0p": {"0": 1.0}}')
    with pytest.raises(ValueError, match="missing at state"):
        ts.build_tree(game, 0, read_policy(tmp_path / "policy.json", game))


def test_what_to_dict_gives_is_read(tmp_path):
    game = ts.load_game("leduc")
    policy = policy_lib.TabularPolicy(game)
    table = {state: [(action, float(share)) for action, share in pairs] for state, pairs in policy.to_dict().items()}
    (tmp_path / "policy.json").write_text(json.dumps(table))
    found = ts.build_tree(game, 0, read_policy(tmp_path / "policy.json", game)).best_response()[0]
    assert found == pytest.approx(ts.build_tree(game, 0, ts.uniform(game)).best_response()[0])


@pytest.mark.parametrize("made_for, used_with", [("leduc_poker", "leduc"), ("leduc", "leduc_poker")])
def test_a_policy_for_the_other_leduc_is_refused_with_a_hint(tmp_path, made_for, used_with):
    game = ts.load_game(made_for)
    tree = ts.build_infostate_tree(game, 1)
    write_policy(tmp_path / "policy.json", tree, np.zeros(tree.num_states, np.int16))
    other = ts.load_game(used_with)
    with pytest.raises(ValueError, match=r"suit_isomorphism=True.*give that as the game"):
        ts.build_tree(other, 0, read_policy(tmp_path / "policy.json", other))


def test_single_precision_is_normalised_with_a_warning(tmp_path):
    game = ts.load_game("kuhn")
    (tmp_path / "policy.json").write_text(
        json.dumps({key: {"0": 0.333, "1": 0.664} for key in ("0b", "0p", "1b", "1p", "2b", "2p")})
    )
    policy = read_policy(tmp_path / "policy.json", game)
    with pytest.warns(UserWarning, match="divided by their sum"):
        ts.build_tree(game, 0, policy)
