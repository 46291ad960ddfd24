"""The certified interval as episodes go by: it holds the exact value, only shrinks, and is drawn."""

import itertools
import pathlib
import subprocess
import sys

import pytest

import tmdp_spiel as ts
from experiments import interval

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("player", [0, 1])
def test_intervals_hold_the_exact_value_and_shrink(player):
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, player, ts.uniform(game))
    best, _ = mdp.best_response()
    found = interval.shrink(mdp, 100_000, 0.05, seed=3)
    assert [each.episodes for each in found] == interval.looks(100_000) and found[-1].episodes == 100_000
    for before, after in itertools.pairwise(found):
        assert before.lower <= after.lower <= best <= after.upper <= before.upper
    assert found[-1].upper - found[-1].lower < (found[0].upper - found[0].lower) / 3
    assert all(each.learned <= best + 1e-12 for each in found)


def test_looks_grow_to_the_last_episode():
    assert interval.looks(1_000) == [1_000]
    looks = interval.looks(1_000_000)
    assert looks[0] >= 1_000 and looks[-1] == 1_000_000
    assert all(later > 1.4 * earlier for earlier, later in itertools.pairwise(looks))


def test_the_command_prints_a_table_and_draws_a_picture(tmp_path):
    flags = ["--game=kuhn", "--opponent=uniform", "--episodes=5000", f"--output={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.interval", *flags], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "at most" in done.stdout and "5,000" in done.stdout
    assert (tmp_path / "interval_kuhn_poker.png").stat().st_size > 10_000
