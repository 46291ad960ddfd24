"""Exact quantities of random small trees against plain enumeration of all policies."""

import itertools

import hypothesis
import numpy as np
import pytest
import scipy.stats
from hypothesis import strategies

import tmdp_spiel as ts
from tmdp_spiel.trees.random_tree import random_tree_mdp

random_mdps = strategies.builds(
    lambda seed, **shape: random_tree_mdp(np.random.default_rng(seed), **shape),
    seed=strategies.integers(0, 2**32 - 1),
    max_states=strategies.integers(1, 7),
    first_states=strategies.integers(1, 2),
    ending_chance=strategies.sampled_from([0.0, 0.5, 1.0]),
    impossible_chance=strategies.sampled_from([0.0, 0.3]),
)
on_random_mdps = hypothesis.given(random_mdps)
quick = hypothesis.settings(max_examples=40, deadline=None, derandomize=True)


def sequences_of(tree, state):
    return range(tree.first_sequence[state], tree.first_sequence[state + 1])


def all_plans(tree):
    return [np.array(plan) for plan in itertools.product(*(range(size) for size in np.diff(tree.first_sequence)))]


def path_to(tree, sequence):
    """The sequences from the first own decision to this one."""
    path = [] if sequence == tree.root else [sequence]
    while path:
        above = tree.parent[state_of(tree, path[0])]
        if above == tree.root:
            break
        path.insert(0, int(above))
    return path


def state_of(tree, sequence):
    return next(state for state in range(tree.num_states) if sequence in sequences_of(tree, state))


def plays(tree, plan, sequence):
    """Whether the plan takes all the own actions on the path to the sequence."""
    return all(tree.first_sequence[state_of(tree, j)] + plan[state_of(tree, j)] == j for j in path_to(tree, sequence))


def outcomes_of(mdp, sequence):
    return range(mdp.first_outcome[sequence], mdp.first_outcome[sequence + 1])


def enumerated_value(mdp, plan):
    return sum(
        mdp.outcome_probability[outcome] * mdp.outcome_return[outcome]
        for sequence in range(mdp.tree.sequence_end)
        if plays(mdp.tree, plan, sequence)
        for outcome in outcomes_of(mdp, sequence)
    )


def random_mixed_plan(tree, rng):
    return np.concatenate(
        [[1.0], *(rng.dirichlet(np.ones(len(sequences_of(tree, s)))) for s in range(tree.num_states))]
    )


@quick
@on_random_mdps
def test_value_and_best_response(mdp):
    values = [enumerated_value(mdp, plan) for plan in all_plans(mdp.tree)]
    np.testing.assert_allclose([mdp.value(plan) for plan in all_plans(mdp.tree)], values, atol=1e-12)
    value, plan = mdp.best_response()
    assert value == pytest.approx(max(values), abs=1e-12)
    assert enumerated_value(mdp, plan) == pytest.approx(value, abs=1e-12)
    assert mdp.scaled_best_value == value


@quick
@on_random_mdps
def test_loss_is_what_the_best_policy_through_a_sequence_gives_up(mdp):
    tree = mdp.tree
    valued_plans = [(enumerated_value(mdp, plan), plan) for plan in all_plans(tree)]
    best = max(value for value, _ in valued_plans)
    losses = [
        best - max(value for value, plan in valued_plans if plays(tree, plan, sequence))
        for sequence in range(tree.sequence_end)
    ]
    np.testing.assert_allclose(mdp.losses(), losses, atol=1e-12)


@quick
@on_random_mdps
def test_reduced_policies_and_ending_sequences(mdp):
    tree = mdp.tree
    played = {tuple(j for j in range(1, tree.sequence_end) if plays(tree, plan, j)) for plan in all_plans(tree)}
    assert tree.num_policies == len(played)
    assert tree.log_num_policies == pytest.approx(np.log(len(played)))
    assert tree.log_num_unreduced_policies == pytest.approx(np.log(len(all_plans(tree))))
    assert tree.max_ending_sequences == max(sum(tree.can_end[j] for j in sequences) for sequences in played)


@quick
@on_random_mdps
def test_horizon_is_the_longest_path(mdp):
    assert mdp.tree.horizon == max(len(path_to(mdp.tree, j)) for j in range(1, mdp.tree.sequence_end))


@quick
@hypothesis.given(random_mdps, strategies.integers(0, 2**32 - 1))
def test_reach_of_mixed_plans(mdp, seed):
    tree = mdp.tree
    plan = random_mixed_plan(tree, np.random.default_rng(seed))
    own = [np.prod([plan[step] for step in path_to(tree, j)]) for j in range(tree.sequence_end)]
    np.testing.assert_allclose(mdp.own_reach(plan), own)
    through = [1.0] + [own[j] * mdp.reach[state_of(tree, j)] for j in range(1, tree.sequence_end)]
    np.testing.assert_allclose(mdp.sequence_reach(plan), through)
    ends = [own[j] * mdp.outcome_probability[o] for j in range(tree.sequence_end) for o in outcomes_of(mdp, j)]
    np.testing.assert_allclose(mdp.terminal_reach(plan), ends)
    assert sum(ends) == pytest.approx(1.0)
    assert mdp.value(plan) == pytest.approx(np.dot(ends, mdp.outcome_return))


@quick
@on_random_mdps
def test_a_deterministic_plan_is_a_mixed_one(mdp):
    for plan in all_plans(mdp.tree)[:20]:
        mixed = mdp.tree.as_probabilities(plan)
        assert mdp.value(mixed) == pytest.approx(mdp.value(plan), abs=1e-12)
        np.testing.assert_array_equal(mdp.own_reach(mixed), mdp.own_reach(plan))


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("impossible_chance", [0.0, 0.3])
def test_sampling_frequencies(mixed, impossible_chance):
    rng = np.random.default_rng(7)
    mdp = random_tree_mdp(rng, max_states=12, first_states=2, impossible_chance=impossible_chance)
    plan = random_mixed_plan(mdp.tree, rng) if mixed else mdp.best_response()[1]
    reach = {}
    for outcome, probability in enumerate(mdp.terminal_reach(plan)):
        sequence = int(np.searchsorted(mdp.first_outcome, outcome, side="right")) - 1
        reach[sequence, mdp.outcome_return[outcome]] = probability
    episodes = 20_000
    seen = dict.fromkeys(reach, 0)
    for _ in range(episodes):
        seen[mdp.sample(plan, rng)] += 1
    possible = [outcome for outcome in reach if reach[outcome] > 0]
    assert sum(seen[outcome] for outcome in possible) == episodes
    frequencies = scipy.stats.chisquare([seen[o] for o in possible], [episodes * reach[o] for o in possible])
    assert frequencies.pvalue > 1e-3


def test_samples_of_a_game_can_end_on_the_root():
    game = ts.load_game("nim(pile_sizes=2;0)")
    mdp = ts.build_tree(game, 1, ts.uniform(game))
    rng = np.random.default_rng(0)
    ended_on = [mdp.sample([0], rng)[0] for _ in range(1000)]
    assert set(ended_on) == {0, 1}
    assert ended_on.count(0) == pytest.approx(500, abs=60)


def test_values_are_in_utility_units():
    game = ts.load_game("leduc")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    _, plan = mdp.best_response()
    assert mdp.value(plan) == pytest.approx(-13 + 26 * mdp.scaled_value(plan))
    assert mdp.to_utility(0.5) == 0


@pytest.mark.parametrize("empty", [False, True], ids=["leduc", "no states"])
def test_saved_and_opened_again(tmp_path, empty):
    game = ts.load_game("nim(pile_sizes=1;0)" if empty else "leduc")
    mdp = ts.build_tree(game, 1, ts.uniform(game))
    mdp.save(tmp_path / "mdp")
    opened = ts.TreeMDP.load(tmp_path / "mdp")
    for name in ("reach", "first_outcome", "outcome_return", "outcome_probability"):
        np.testing.assert_array_equal(getattr(opened, name), getattr(mdp, name))
        assert _is_memory_mapped(getattr(opened, name))
    assert opened.best_response()[0] == mdp.best_response()[0]


def _is_memory_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def corrupted(mdp, **changed):
    arrays = {name: np.array(getattr(mdp, name)) for name in ts.TreeMDP._ARRAYS}
    for name, change in changed.items():
        arrays[name] = change(arrays[name])
    return ts.TreeMDP(mdp.tree, **arrays)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"reach": lambda a: a[:-1]}, "reach needs"),
        ({"first_outcome": lambda a: a[:-1]}, "first_outcome"),
        ({"first_outcome": lambda a: np.append(1, a[1:])}, "start at 0"),
        ({"outcome_probability": lambda a: a[:-1]}, "agree in length"),
        ({"outcome_return": lambda a: a + 1}, "rescaled to"),
        ({"outcome_probability": lambda a: a / 2}, "do not add up"),
        ({"reach": lambda a: -a}, "negative or NaN"),
        ({"reach": lambda a: a * np.nan}, "negative or NaN"),
    ],
)
def test_inconsistent_chances_are_refused(changed, message):
    mdp = ts.build_tree("kuhn", 0, ts.uniform(ts.load_game("kuhn")))
    with pytest.raises(ValueError, match=message):
        corrupted(mdp, **changed)


@pytest.mark.parametrize("method", ["value", "scaled_value", "own_reach", "sequence_reach", "terminal_reach"])
def test_bad_plans_are_refused_everywhere(method):
    mdp = ts.build_tree("kuhn", 0, ts.uniform(ts.load_game("kuhn")))
    with pytest.raises(ValueError, match="needs 6 entries"):
        getattr(mdp, method)([0] * 5)
    with pytest.raises(ValueError, match="needs 6 entries"):
        mdp.sample([0] * 5, np.random.default_rng(0))
