"""What responders reach of the exact best response: a small run beside OpenSpiel's figures, and the stored table."""

import pathlib
import re

import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import best_response, expected_game_score

import tmdp_spiel as ts
from experiments.benchmarks import share_of_exact
from experiments.benchmarks.agents_table import Row
from reference import commands

ROOT = pathlib.Path(__file__).parents[2]
ARCHIVE = "docs/runs/share_of_exact.jsonl.xz"
SMALL = "liars_dice(numdice=1,dice_sides=2)"


def benchmark(*flags):
    return commands.run("experiments.benchmarks.share_of_exact", *flags)


def runs_of(agent, responder, seconds, done=frozenset()):
    return list(share_of_exact.measure(Row(SMALL, agent), 0, set(done), [responder], [seconds], 1))


def test_a_run_has_the_exact_figures_beside_what_was_won():
    (run,) = runs_of("uniform", "search", 1.0)
    game = ts.load_game(SMALL)
    uniform = policy_lib.UniformRandomPolicy(game)
    value = expected_game_score.policy_value(game.new_initial_state(), [uniform, uniform])[0]
    best = best_response.BestResponsePolicy(game, 0, uniform).value(game.new_initial_state())
    assert (run.value, run.best) == pytest.approx((value, best), abs=1e-6)
    assert run.lower <= run.mean and run.episodes > 0 and run.winner
    assert run.share == pytest.approx((run.mean - value) / (best - value))
    assert runs_of("uniform", "search", 1.0, {run.key}) == []


def test_the_table_has_means_over_the_seeds():
    facts = ("kuhn_poker", "uniform", 0, "tree", 10.0)
    runs = [share_of_exact.Run(*facts, seed, 0.1, 0.5, 0.2, mean, 7, "tree") for seed, mean in ((0, 0.2), (1, 0.4))]
    row = share_of_exact.table(runs).splitlines()[-1]
    assert row == "| `kuhn_poker` | uniform | 0 | 0.100 | 0.500 | 10 | tree | 0.300 (0.200) | 50% |"
    close = share_of_exact.Run(*facts, 0, 0.49, 0.5, 0.2, 0.3, 7, "tree")
    assert share_of_exact.table([close]).endswith("| 0.300 (0.200) | — |")


def test_the_table_of_the_notes_is_that_of_the_stored_runs():
    page = (ROOT / "docs/lab/large_games.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- table: share_of_exact -->\n(.*?)<!-- end -->", page, re.DOTALL)
    done = benchmark(f"--stored={ARCHIVE}")
    assert table is not None and done.returncode == 0, done.stderr
    assert table[1] == done.stdout, f"python -m experiments.benchmarks.share_of_exact --stored={ARCHIVE}"


def test_a_game_without_agents_is_named(tmp_path):
    refused = benchmark("--games=phantom_ttt;chess", f"--output={tmp_path}/runs.jsonl")
    assert refused.returncode != 0 and "no agents of chess" in refused.stderr
