"""Black boxes on enumerated rules: one by one, in rounds, and where they fail."""

import concurrent.futures

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.table_opponents import Random
from tmdp_spiel.algorithms.betting_on_values import BettingOnValues
from tmdp_spiel.openspiel.build import build_infostate_tree
from tmdp_spiel.openspiel.opponents.enumerated_game import EnumeratedGame
from tmdp_spiel.openspiel.opponents.parallel import ExecutorOpponents

GAME = ts.load_game("kuhn")


@pytest.fixture
def executor():
    with concurrent.futures.ThreadPoolExecutor(4) as found:
        yield found


@pytest.mark.parametrize("kind", [BettingOnValues, ts.BettingUCRL])
def test_rounds_give_bounds_that_hold(kind, executor):
    tree = build_infostate_tree(GAME, 0)
    rounds = ExecutorOpponents(executor, ts.uniform(GAME), in_flight=16, seed=1)
    live = EnumeratedGame(GAME, 0, None, tree=tree, batched_opponent=rounds, seed=2)
    learner = kind(tree, delta=0.05, seed=0)
    assert live.play(learner, 4_000) == 4_000 == learner.episodes
    best = ts.build_tree(GAME, 0, ts.uniform(GAME)).scaled_best_value
    assert best <= learner.upper_bound(0.025) < 0.98
    if kind is BettingOnValues:
        assert 0.5 < learner.lower_bound(0.025) <= best
    assert len(live.measure(learner.recommend(), 100)) == 100
    live.close()


def test_a_round_is_settled_by_the_design_that_it_was_played_with():
    """Looks that are due within a round wait for its end: the first episodes alone do not change what is played."""
    tree = build_infostate_tree(GAME, 0)
    one, other = BettingOnValues(tree, seed=0), BettingOnValues(tree, seed=0)
    mdp, rng = ts.build_tree(GAME, 0, ts.uniform(GAME)), np.random.default_rng(0)
    for _ in range(200):
        plan = one.plan()
        pairs = [mdp.sample(plan, rng) for _ in range(5)]
        one.observe_round(pairs)
        other.observe_round(list(reversed(pairs)))
    assert one.episodes == 1_000
    assert one.upper_bound() == pytest.approx(other.upper_bound())
    assert one.lower_bound() == pytest.approx(other.lower_bound())


def test_exploit_enumerates_the_rules_also_with_an_executor_and_where_failures_are_skipped(executor):
    for options in ({"executor": executor}, {"on_error": "skip"}):
        found = ts.exploit("kuhn", Random, episodes=3_000, seed=1, progress=False, **options)
        assert all("enumerated rules" in response.method for response in found.seats.values())
        assert found.exploitability.lower <= 0.458333 <= found.exploitability.upper < 1.0
