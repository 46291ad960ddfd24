"""The kernels that move about a tree, against the arrays read plainly."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from tmdp_spiel.trees import traversal


@pytest.fixture(params=["kuhn", "leduc", "random"])
def mdp(request, mdp_of):
    if request.param == "random":
        return brute_force.random_mdp(np.random.default_rng(3))
    return mdp_of(request.param, 0)


def children_of(tree: ts.InfostateTree, sequence: int) -> list[int]:
    return np.flatnonzero(tree.parent == sequence).tolist()


def listed_children(links, sequence: int) -> list[int]:
    found = []
    child, end = traversal.children(links, sequence)
    while child != end:
        found.append(child)
        child = traversal.next_child(links, child)
    return found


def test_children_are_the_states_whose_parent_is_the_sequence(mdp):
    tree, values = mdp.tree, np.random.default_rng(0).random(mdp.tree.num_states)
    assert traversal.root(tree.links) == tree.root
    for sequence in (*range(1, tree.sequence_end), tree.root):
        expected = children_of(tree, sequence)
        assert listed_children(tree.links, sequence) == expected
        assert traversal.num_children(tree.links, sequence) == len(expected)
        assert traversal.add_children(tree.links, sequence, values, 2.0) == pytest.approx(2.0 + values[expected].sum())
        listed = np.full(len(expected) + 2, -1, np.int32)
        assert traversal.list_children(tree.links, sequence, listed, 1) == len(expected) + 1
        assert listed.tolist() == [-1, *expected, -1]


def test_a_path_is_traced_forced_and_released(mdp):
    tree, path = mdp.tree, traversal.new_path(mdp.tree.horizon)
    forced = np.full(tree.num_states, -1, np.int16)
    for sequence in range(1, tree.sequence_end):
        states, sequences, above = [], [], sequence
        while above != tree.root:
            states.append(int(np.searchsorted(tree.first_sequence, above, "right")) - 1)
            sequences.append(above)
            assert traversal.state_of(tree.links, above) == states[-1]
            above = int(tree.parent[states[-1]])
        assert traversal.is_first(tree.links, states[-1]) and not any(
            traversal.is_first(tree.links, s) for s in states[:-1]
        )
        length = traversal.trace_back(tree.links, sequence, path)
        assert path.states[:length].tolist() == states[::-1]
        assert path.sequences[:length].tolist() == sequences[::-1]
        traversal.force_path(tree.links, sequence, forced)
        assert (tree.first_sequence[states] + forced[states]).tolist() == sequences
        assert np.count_nonzero(forced >= 0) == length
        traversal.release_path(tree.links, sequence, forced)
        assert np.all(forced == -1)
    assert traversal.trace_back(tree.links, tree.root, path) == 0


def test_an_episode_with_its_path_is_the_episode_without_it(mdp):
    tree, path, rng = mdp.tree, traversal.new_path(mdp.tree.horizon), np.random.default_rng(1)
    _, plan = mdp.best_response()
    for _ in range(200):
        uniform = rng.random()
        length, outcome = traversal.follow_plan(tree.links, mdp.chances, plan, uniform, path)
        ended_on, same = traversal.sample_deterministic(tree.links, mdp.chances, plan, uniform)
        assert outcome == same and ended_on == (path.sequences[length - 1] if length else tree.root)
        assert np.all(path.sequences[:length] == tree.first_sequence[path.states[:length]] + plan[path.states[:length]])
