"""What every learner of the catalogue shows of itself, on enumerated trees and on lazy trees."""

import math
import pathlib
import re

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.learners import GROWING, LEARNERS, ends_at_once
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE

pytestmark = pytest.mark.filterwarnings("ignore:the .* strings of")
DOCS = pathlib.Path(__file__).parents[2] / "docs"

POLICIES = ("plan", "recommend", "exploration", "current", "average", "answer")
PER_SEQUENCE = ("plays", "totals", "regrets", "active", "upper", "lower")


def check_policy(tree, plan):
    assert plan.shape == ((tree.num_states,) if plan.dtype == PLAN_DTYPE else (tree.sequence_end,))
    legal = np.diff(tree.first_sequence)
    if plan.dtype == PLAN_DTYPE:
        assert (plan >= 0).all() and (plan < legal).all()
        return
    assert plan.dtype == np.float64 and np.isfinite(plan).all() and (plan >= 0).all()
    own = plan[tree.first_sequence[0] :]
    starts = tree.first_sequence[:-1] - tree.first_sequence[0]
    assert tree.num_states == 0 or np.allclose(np.add.reduceat(own, starts), 1)


def check_shown(learner):
    """All that a learner shows; returns the names."""
    tree, shown = learner.tree, []
    for name in (*POLICIES, *PER_SEQUENCE):
        found = getattr(learner, name, None)
        if found is None:
            continue
        shown.append(name)
        if name in POLICIES:
            found = found()
            check_policy(tree, found)
            np.testing.assert_array_equal(found, getattr(learner, name)())
            found[:] = -1  # it is a copy
            check_policy(tree, getattr(learner, name)())
        else:
            assert found.shape == (tree.sequence_end,), name
            assert np.isfinite(found).all(), name
    if "upper" in shown:
        own = slice(1, None)
        assert (learner.lower[own] >= 0).all() and (learner.lower[own] <= learner.upper[own] + 1e-9).all()
        assert (learner.upper[own] <= 1).all() and 0 <= learner.upper[tree.root] <= 1
    if hasattr(learner, "upper_bound"):
        assert 0 <= learner.upper_bound(0.5) <= learner.upper_bound(0.05) <= 1
        assert 0 <= learner.estimate() <= 1
    assert isinstance(learner.stopped, bool) and isinstance(learner.status, str)
    assert not math.isnan(getattr(learner, "width", 0.0))
    return shown


def enumerated(name, mdp_of):
    return [mdp_of("kuhn", 1), ends_at_once()] if name == "LUCB" else [mdp_of("leduc", 1), ends_at_once()]


@pytest.mark.parametrize("name", LEARNERS)
def test_on_an_enumerated_tree(name, mdp_of):
    kind, settings = LEARNERS[name]
    for mdp in enumerated(name, mdp_of):
        learner = kind(mdp.tree, seed=1, **settings)
        for episodes in (0, 1, 200):
            ts.run(learner, mdp, episodes, progress=False) if episodes else None
            assert {"plan", "recommend"} <= set(check_shown(learner))
            mdp.value(learner.plan()), mdp.value(learner.recommend())


def test_moca_on_an_enumerated_tree(mdp_of):
    """Its constants are scaled, as it would play longer than can be waited for."""
    for mdp in (mdp_of("kuhn", 1), ends_at_once()):
        learner = ts.MOCA(mdp.tree, epsilon=0.4, delta=0.4, scale=1e-8, seed=1)
        for episodes in (0, 1, 200):
            ts.run(learner, mdp, episodes, progress=False) if episodes else None
            assert {"plan", "recommend"} <= set(check_shown(learner))
            mdp.value(learner.plan()), mdp.value(learner.recommend())


@pytest.mark.parametrize("name", GROWING)
def test_on_a_tree_that_grows(name):
    """Before the first episode, with few states, and with more than the room that a new tree has."""
    game = ts.load_game("liars_dice")
    table = ts.LiveGame(game, 0, ts.uniform(game), tree=ts.grow_tree(game, 0), seed=2)
    first_capacity = table.tree.capacity.states
    learner = GROWING[name](table.tree, 1)
    for episodes in (0, 1, 50, 12_000):
        table.play(learner, episodes)
        assert {"plan", "recommend"} <= set(check_shown(learner))
        table.measure(learner.plan(), 5), table.measure(learner.recommend(), 5)
    assert first_capacity < table.tree.num_states < table.tree.capacity.states


@pytest.mark.parametrize("name", GROWING)
def test_the_plan_is_what_is_played_on_a_tree_that_grows(name):
    """The action that is chosen at a first state, over many draws, against plan()."""
    game = ts.load_game("kuhn")
    table = ts.LiveGame(game, 0, ts.uniform(game), tree=ts.grow_tree(game, 0), seed=2)
    learner = GROWING[name](table.tree, 1)
    table.play(learner, 700)
    tree, rng = table.tree, np.random.default_rng(0)
    plan = tree.as_probabilities(learner.plan())
    choose = learner.action_selector(rng.random)
    for state in np.flatnonzero(tree.parent == tree.root):
        first, end = tree.first_sequence[state], tree.first_sequence[state + 1]
        chosen = np.bincount([choose(int(state)) for _ in range(2000)], minlength=end - first) / 2000
        np.testing.assert_allclose(chosen, plan[first:end], atol=0.06)


def test_all_learners_of_the_catalogue_are_tested():
    # MOCA has a test of its own above.
    assert {kind for kind, _ in LEARNERS.values()} == set(catalogue().values()) - {ts.MOCA}
    assert list(GROWING) == [name for name, kind in catalogue().items() if kind.grows]


@pytest.mark.parametrize("name", [name for name, kind in catalogue().items() if not kind.grows])
def test_errors_name_all_learners_for_lazy_trees(name):
    with pytest.raises(TypeError, match="cannot learn on one that grows") as error:
        catalogue()[name](ts.grow_tree("kuhn", 0))
    assert str(error.value).rpartition(": ")[2].split(", ") == list(GROWING)
    assert "ThompsonTree" in GROWING


def test_the_documentation_names_all_learners_for_lazy_trees():
    games = (DOCS / "games.md").read_text(encoding="utf-8")
    listed = re.search(r"\*Learners\*: (.*?) can learn on such trees", games, re.DOTALL).group(1)
    assert set(re.findall(r"`(\w+)`", listed)) == set(GROWING)


def test_the_documentation_describes_every_learner():
    page = (DOCS / "learners.md").read_text(encoding="utf-8")
    assert [name for name in catalogue() if f"**`{name}`**" not in page] == []
