"""The experiment binaries, as a user runs them."""

import pytest

from experiments.benchmarks import episode_cost
from reference import commands


def command(module: str, *flags: str, **how):
    return commands.run(f"experiments.{module}", *flags, **how)


@pytest.mark.slow
def test_learn_prints_a_table_and_draws_a_picture(tmp_path):
    done = command("learn", "--game=kuhn", "--episodes=2000", "--iterations=50", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "exact best response" in done.stdout and "LUCB-T" in done.stdout
    assert (tmp_path / "learn_kuhn_poker.png").stat().st_size > 10_000


def test_play_asks_for_moves_until_the_game_is_over():
    answers = ["nonsense", "", *map(str, range(13))] * 40
    done = command("examples.play", "--player=1", "--seed=3", input="\n".join(answers))
    assert done.returncode == 0, done.stderr
    assert "Could not parse the action: nonsense" in done.stdout and "sense top-left" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1] in ("You win +1.", "You win +0.", "You win -1.")


@pytest.mark.slow
def test_all_parts_of_speed(tmp_path):
    done = command("benchmarks.speed", "--small", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    for said in ("pyspiel.TabularBestResponse", "one CFR+ iteration", "BettingUCRL", "episodes a second one by one"):
        assert said in done.stdout, said
    assert "kuhn, player x, 6 states" in done.stdout and done.stdout.count(" GiB |") == 15
    assert "| one plain pass over the tree |" in done.stdout and "| PSRL, lazy |" in done.stdout
    assert (tmp_path / "episode_cost.png").stat().st_size > 10_000


def test_episode_costs_say_why_an_algorithm_cannot():
    asked = next(each for each in episode_cost.costs_of("leduc") if each.algorithm == "LUCB")
    found = episode_cost.measure(asked, 0.0)
    assert "more than max_policies" in found.refused and found.states == 144
    plain = episode_cost.costs_of("leduc")[0], episode_cost.Measured(144, 1e-5), 0.1
    assert episode_cost.tables([plain, (asked, found, 0.1)]).endswith(f"LUCB cannot: {found.refused}.")


@pytest.mark.parametrize(
    "module, flag, message",
    [
        ("learn", "--game=leduck", "leduc"),
        ("learn", "--episodes=0", "positive integer"),
        ("learn", "--set=UCT.c=1", "--set names UCT, but the learners are UCBT, LUCBT"),
    ],
)
def test_a_wrong_flag_names_the_right_values(module, flag, message):
    done = command(module, flag)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
