"""The storage of lazy trees, against dictionaries and lists."""

import logging
import pickle

import numpy as np
import pytest

from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.lazy_tree import OUTSIDE, LazyTree
from tmdp_spiel.trees.traversal import ROOT


class ReferenceTree:
    """The same in plain Python."""

    def __init__(self):
        self.numbers, self.parents, self.legal, self.first = {}, [], [], [1]

    def get_or_add(self, sequence, string, legal):
        key = (sequence, string, legal)
        if key not in self.numbers:
            self.numbers[key] = len(self.parents)
            self.parents.append(sequence)
            self.legal.append(legal)
            self.first.append(self.first[-1] + len(legal))
        return self.numbers[key]

    def children(self, sequence):
        return {state for state, parent in enumerate(self.parents) if parent == sequence}


def children(tree, sequence):
    links = tree.links
    child, end = traversal.children(links, sequence)
    while child != end:
        yield int(child)
        child = traversal.next_child(links, child)


def lazy_tree(seed, number, **options):
    rng, tree, reference = np.random.default_rng(seed), LazyTree(**options), ReferenceTree()
    for _ in range(number):
        sequence = int(rng.integers(tree.sequence_end))
        string, legal = f"s{rng.integers(3)}", tuple(range(int(rng.integers(1, 5))))
        assert tree.get_or_add(sequence, string, legal) == reference.get_or_add(sequence, string, legal)
        if rng.random() < 0.02:
            assert tree.links.parent.tolist() == reference.parents  # linked now and then, as in play
    return tree, reference


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_lazy_tree_has_the_visited_states(seed):
    tree, reference = lazy_tree(seed, 3000)
    assert tree.num_states == len(reference.parents) > 1000 and tree.sequence_end == reference.first[-1]
    assert tree.first_sequence.tolist() == reference.first and tree.parent.tolist() == reference.parents
    for sequence in range(tree.sequence_end):
        assert set(children(tree, sequence)) == reference.children(sequence)
    for state in range(tree.num_states):
        assert tuple(tree.legal_actions(state)) == reference.legal[state]
        assert all(tree.state_of(j) == state for j in range(reference.first[state], reference.first[state + 1]))
        assert tree.parent[state] < reference.first[state]
    assert tree.capacity.states >= tree.num_states and tree.capacity.sequences >= tree.sequence_end
    assert tree.capacity.children >= max(len(reference.children(j)) for j in range(tree.sequence_end))


def test_finding_adds_nothing():
    tree = LazyTree()
    state = tree.get_or_add(ROOT, "a", (0, 1))
    assert tree.find(ROOT, "a", (0, 1)) == state == tree.state_after(ROOT, "a")
    assert tree.find(ROOT, "a", (0,)) == tree.find(ROOT, "b", (0, 1)) == tree.find(1, "a", (0, 1)) == OUTSIDE
    assert tree.num_states == 1


def test_legal_actions_tell_states_apart():
    tree = LazyTree()
    first, second = tree.get_or_add(ROOT, "a", (0, 1)), tree.get_or_add(ROOT, "a", (0, 2))
    assert first != second
    assert (tree.get_or_add(ROOT, "a", (0, 1)), tree.find(ROOT, "a", (0, 2))) == (first, second)
    assert tree.state_string(second) == "a\nlegal actions: 0 2"


def test_strings_that_forget_keep_the_history():
    tree = LazyTree()
    tree.get_or_add(ROOT, "a", (5, 7))
    tree.get_or_add(1, "b", (0,))
    tree.get_or_add(2, "b", (0,))
    strings = [tree.state_string(state) for state in range(3)]
    assert strings == ["a", "a\naction 5\nb", "a\naction 7\nb"]
    assert [tree.state_index(string) for string in strings] == [0, 1, 2]


def test_a_full_tree_says_so_once_and_keeps_what_it_has(caplog):
    tree = LazyTree(max_states=2, game_string="this game")
    with caplog.at_level(logging.WARNING, "tmdp_spiel"):
        met = [tree.get_or_add(ROOT, string, (0, 1)) for string in "abcab"]
        tree.get_or_add(ROOT, "d", (0,))
    assert met == [0, 1, OUTSIDE, 0, 1]
    assert [
        record.message.startswith("the tree of this game has reached its limit of 2 states")
        for record in caplog.records
    ] == [True]


def test_pickled_learners_resume():
    tree, _ = lazy_tree(5, 500)
    again = pickle.loads(pickle.dumps(tree))
    assert again.fingerprint == tree.fingerprint and again.num_states == tree.num_states
    assert again.get_or_add(ROOT, "new", (0, 1)) == tree.get_or_add(ROOT, "new", (0, 1)) == tree.num_states - 1
    assert again.fingerprint == tree.fingerprint


def test_plans_are_for_the_states_so_far():
    tree = LazyTree()
    tree.get_or_add(ROOT, "a", (0, 1))
    np.testing.assert_array_equal(tree.as_probabilities([1]), [1, 0, 1])
    with pytest.raises(ValueError, match="needs 1 entries"):
        tree.check_plan([0, 0])


def test_bad_arguments():
    with pytest.raises(ValueError, match="max_utility must exceed"):
        LazyTree(min_utility=1.0, max_utility=1.0)
    with pytest.raises(ValueError, match="max_states must be a whole number"):
        LazyTree(max_states=0)


def test_states_linked_one_by_one_are_as_those_linked_together():
    rng, one_by_one, together = np.random.default_rng(4), LazyTree(), LazyTree()
    for number in range(400):
        sequence, legal = int(rng.integers(one_by_one.sequence_end)), tuple(range(int(rng.integers(1, 4))))
        for tree in (one_by_one, together):
            tree.get_or_add(sequence, str(number), legal)
        assert one_by_one.links.parent[-1] == sequence
    assert one_by_one.fingerprint == together.fingerprint
    assert one_by_one.capacity == together.capacity and one_by_one.horizon == together.horizon > 3
    assert one_by_one.max_actions == together.max_actions == 3
