import sys

import pyspiel
import pytest

import tmdp_spiel as ts
from experiments.benchmarks import open_spiel


@pytest.fixture
def problem():
    game = ts.load_game("kuhn")
    return pyspiel.convert_to_cached_tree(ts.fixed_opponent_game(game, 0, ts.uniform(game)))


def test_without_lite_efg_there_is_no_row_for_it(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "LiteEFG", None)
    assert open_spiel.lite_efg_update(problem) is None


def test_lite_efg_learns_on_the_fixed_opponent_problem(problem, capfd):
    pytest.importorskip("LiteEFG")
    update = open_spiel.lite_efg_update(problem)
    environment, graph = (cell.cell_contents for cell in update.__closure__)
    for _ in range(20_000):
        update()
        environment.update_strategy(graph.current_strategy())
    policy, _ = environment.get_strategy(graph.current_strategy(), "avg-iterate")
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    plan = ts.policy_to_plan(mdp.tree, policy, game)
    assert mdp.best_response()[0] - mdp.value(plan) < 0.1
    assert "Generating" not in capfd.readouterr().out
