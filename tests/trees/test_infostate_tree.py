import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.core import storage

# One first state with two actions; the first action leads to a second state or ends, the second only ends.
ARRAYS = dict(
    first_sequence=[1, 3, 5],
    first_child=[0, 1, 2, 2, 2, 2],
    parent=[0, 1],
    action=[0, 0, 1, 0, 1],
    can_end=[0, 1, 1, 1, 1],
)


@pytest.fixture(scope="module")
def kuhn():
    return ts.build_infostate_tree("kuhn", 0)


def test_a_tree_made_by_hand():
    tree = ts.InfostateTree(**ARRAYS)
    assert (tree.num_states, tree.num_sequences, tree.horizon, tree.num_policies) == (2, 4, 2, 3)
    assert (tree.max_actions, tree.max_ending_sequences, tree.num_terminals) == (2, 2, 4)


def test_level_order(kuhn):
    assert kuhn.first_sequence.tolist() == [1, 3, 5, 7, 9, 11, 13]
    assert kuhn.parent.tolist() == [0, 0, 0, 1, 3, 5]
    assert kuhn.first_child.tolist() == [0, 3, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6]


def test_arrays_are_narrow_and_read_only(kuhn):
    assert [getattr(kuhn, name).dtype for name in ("first_sequence", "first_child", "parent", "action", "can_end")] == [
        np.int32,
        np.int32,
        np.int32,
        np.int16,
        np.bool_,
    ]
    with pytest.raises(ValueError, match="read-only"):
        kuhn.parent[0] = 1


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"first_sequence": [1, 3]}, "first_sequence needs 3 entries"),
        ({"first_sequence": [1, 3, 4]}, "from 1, after the root, to the number of sequences"),
        ({"first_sequence": [0, 2, 4]}, "from 1, after the root, to the number of sequences"),
        ({"first_sequence": [1, 9_999, 5]}, "level order"),
        ({"first_sequence": [1, 5, 5]}, "level order"),
        ({"first_sequence": [1, 99_999, 5]}, "at most 32767"),
        ({"first_child": [0, 1, 2, 2, 2]}, "first_child 6"),
        ({"first_child": [0, 9_999_999, 2, 2, 2, 2]}, "level order"),
        ({"first_child": [0, -1, 2, 2, 2, 2]}, "level order"),
        ({"first_child": [0, 1, 1, 2, 2, 2]}, "level order"),
        ({"first_child": [1, 1, 2, 2, 2, 2]}, "level order"),
        ({"parent": [0, 2]}, "level order"),
        ({"parent": [1, 1]}, "level order"),
        ({"can_end": [0, 1, 0, 1, 1]}, "level order"),
        ({"action": [0, 1]}, "action needs one entry"),
        ({"max_utility": 0.0}, "max_utility must exceed"),
    ],
)
def test_malformed_trees_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        ts.InfostateTree(**{**ARRAYS, **changed})


@pytest.mark.parametrize(
    "plan, message",
    [
        ([0] * 5, "needs 6 entries, one per state, not 5"),
        ([0.5] * 11, "needs 13 entries, one per sequence, the root's first, not 11"),
        ([0, 0, 2, 0, 0, 0], "action index 2 at state 2, which has 2 legal actions"),
        ([0, -1, 0, 0, 0, 0], "action index -1 at state 1"),
        ([0, 0, 0, 0, 0, 65_536], "action index 65536"),
        ([0.5] * 11 + [0.5, 0.6], "state 5 is not a distribution"),
        ([1, 1.5, -0.5] + [0.5] * 10, "state 0 is not a distribution"),
        ([1, 0.5, np.nan] + [0.5] * 10, "state 0 is not a distribution"),
        ([1, np.inf, -np.inf] + [0.5] * 10, "state 0 is not a distribution"),
        ([[0] * 6], "one-dimensional"),
        ([True] * 6, "not bool"),
        (["fold"] * 6, "one-dimensional"),
        (None, "one-dimensional"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_bad_plans_are_refused(kuhn, plan, message):
    with pytest.raises(ValueError, match=message):
        kuhn.check_plan(plan)


def test_the_entry_of_the_root_may_be_left_out(kuhn):
    assert kuhn.check_plan([0.25, 0.75] * 6).tolist() == [1.0] + [0.25, 0.75] * 6


def test_deterministic_plans_as_probabilities(kuhn):
    assert kuhn.as_probabilities([0, 1, 0, 1, 1, 0]).tolist() == [1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0]


def test_states_and_strings(kuhn):
    assert {kuhn.state_string(state) for state in range(6)} == {"0", "1", "2", "0pb", "1pb", "2pb"}
    with pytest.raises(KeyError, match="no information state '3'"):
        kuhn.state_index("3")
    for state in (-1, 6):
        with pytest.raises(IndexError, match="not one of 0 .. 5"):
            kuhn.state_string(state)
    with pytest.raises(ValueError, match="without information-state strings"):
        ts.InfostateTree(**ARRAYS).state_string(0)


def test_saved_and_opened_again(tmp_path, kuhn):
    kuhn.save(tmp_path / "tree")
    opened = ts.InfostateTree.load(tmp_path / "tree")
    for name in ("first_sequence", "first_child", "parent", "action", "can_end"):
        np.testing.assert_array_equal(getattr(opened, name), getattr(kuhn, name))
    for name in ts.InfostateTree._FACTS:
        assert getattr(opened, name) == getattr(kuhn, name)
    assert [opened.state_string(state) for state in range(6)] == [kuhn.state_string(state) for state in range(6)]


def test_a_tree_that_an_earlier_version_saved_is_refused(tmp_path, kuhn):
    contents = kuhn._contents()
    contents["tree"] = {**contents["tree"], "root_can_end": False}
    del contents["tree"]["version"]
    storage.save_directory(tmp_path / "old", contents)
    with pytest.raises(ValueError, match="version 0.2.0 or an earlier one saved it with other numbers of sequences"):
        ts.InfostateTree.load(tmp_path / "old")


def test_number_of_policies_beyond_floats_is_infinite():
    states = 2_000
    tree = ts.InfostateTree(
        first_sequence=np.arange(1, 2 * states + 2, 2),
        first_child=np.append(0, np.full(2 * states + 1, states)),
        parent=np.zeros(states),
        action=np.append(0, np.tile([0, 1], states)),
        can_end=np.append(0, np.ones(2 * states)),
    )
    assert tree.log_num_policies == pytest.approx(states * np.log(2))
    assert tree.num_policies == np.inf
