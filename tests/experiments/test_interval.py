"""The certified interval as episodes go by: printed and drawn."""

import itertools
import pathlib

import pytest

import tmdp_spiel as ts
from reference import commands

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.slow
def test_the_command_prints_intervals_that_shrink_around_the_exact_value_and_draws_them(tmp_path):
    flags = ["--game=kuhn", "--opponent=uniform", "--episodes=20000", f"--output={tmp_path}"]
    done = commands.run("experiments.interval", *flags)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("at most")[-1].split("\n\n")[0].split("\n")[1:]
    rows = [[float(word.replace(",", "")) for word in line.split()] for line in lines]
    best = ts.build_tree("kuhn", 0, ts.uniform(ts.load_game("kuhn"))).best_response()[0]
    assert len(rows) > 5
    for (earlier, low, high), (later, lower, upper) in itertools.pairwise(rows):
        assert earlier < later and low <= lower <= best <= upper <= high
    assert (tmp_path / "interval_kuhn_poker.png").stat().st_size > 10_000


@pytest.mark.slow
def test_an_unknown_game_is_refused():
    done = commands.run("experiments.interval", "--game=kuhnn")
    assert done.returncode == 1 and "no game is called 'kuhnn'" in done.stderr and "Traceback" not in done.stderr
