"""Copies that draw the same random numbers are told from copies that draw their own."""

import random

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.openspiel.opponents.repetition import Copies, difference, global_generators_kept, play_alone, repeats


class SeedsEveryEpisode:
    """Its draws depend on the number of the episode alone, or on a seed too."""

    def __init__(self, seed=0, often=0.5):
        self.n, self.seed, self.often = 0, seed, often

    def restart(self):
        self.n += 1
        self.rng = np.random.default_rng([self.seed, self.n])

    def step(self, state):
        return state.legal_actions()[0 if self.rng.random() >= self.often else -1]


class First:
    def step(self, state):
        return state.legal_actions()[0]


class Congruential:
    """Draws of its own, whatever is seeded."""

    def __init__(self):
        self.x = 12345

    def step(self, state):
        self.x = (1103515245 * self.x + 12345) % 2**31
        legal = state.legal_actions()
        return legal[(self.x >> 16) % len(legal)]


def transcript(bot, game="leduc_poker", seconds=60.0):
    return play_alone({1: bot}, ts.load_game(game), seconds=seconds, least=4)


@pytest.mark.parametrize("game", ["matrix_mp", "kuhn_poker", "leduc_poker", "liars_dice", "tic_tac_toe"])
@pytest.mark.parametrize("number", [2, 5])
def test_copies_with_the_same_draws_repeat_each_other(game, number):
    for make in (SeedsEveryEpisode, Congruential):
        assert repeats([transcript(make(), game) for _ in range(number)])
    assert not repeats([transcript(SeedsEveryEpisode(seed), game) for seed in range(number)])


def test_copies_that_do_not_vary_do_not_repeat_each_other():
    assert not repeats([transcript(First()), transcript(First())])
    assert not repeats([{}, {}])


@pytest.mark.parametrize("often", [0.5, 0.9, 0.99])
def test_independent_copies_are_seldom_refused(often):
    """At the level of 1 in 10,000 none of 300 comparisons of 60 answers is expected."""
    rng = np.random.default_rng(5)

    def copy():
        return {"here": {str(at): str(int(rng.random() < often)) for at in range(60)}}

    assert not any(repeats([copy() for _ in range(number)]) for number in (2, 2, 8) for _ in range(100))


def test_a_draw_that_is_seldom_used_is_found_if_it_repeats():
    assert repeats([transcript(SeedsEveryEpisode(often=0.04), "matrix_mp") for _ in range(2)])


def test_draws_of_which_a_part_is_repeated_are_found():
    rng = np.random.default_rng(0)
    shared = [str(each) for each in rng.integers(2, size=200)]

    def copy():
        own = [str(each) for each in rng.integers(2, size=200)]
        return {"here": {str(at): (shared if at % 2 else own)[at] for at in range(200)}}

    assert repeats([copy(), copy()])


def test_other_answers_are_told_and_the_same_ones_are_not():
    half, often = (transcript(SeedsEveryEpisode(seed, each), "kuhn_poker") for seed, each in ((1, 0.5), (2, 0.95)))
    assert "it answers" in difference(half, often)
    assert difference(transcript(First()), transcript(Congruential()))
    assert (
        sum(difference(half, transcript(SeedsEveryEpisode(seed, 0.5), "kuhn_poker")) != "" for seed in range(10, 30))
        <= 1
    )
    assert difference({}, half) == ""


def test_a_bot_that_always_fails_is_given_up():
    class Fails:
        n = 0

        def step(self, state):
            self.n += 1
            if self.n != 3:
                raise RuntimeError
            return 0

    bot = Fails()
    assert sum(map(len, transcript(bot, "matrix_mp").values())) == 1 and bot.n < 20


def test_slow_bots_are_asked_a_few_times():
    assert sum(map(len, transcript(First(), "matrix_mp", seconds=0.0).values())) == 4


def test_global_generators_are_put_back():
    with global_generators_kept():
        inside = random.random(), np.random.random()
    assert (random.random(), np.random.random()) == inside


def test_workers_are_compared_by_the_answers_of_the_run_alone():
    """As of slow bots, whose workers answer little before."""

    def run(seeds):
        rngs = [np.random.default_rng(seed) for seed in seeds]
        copies = Copies(RuntimeError)
        for number in range(60):
            for worker, rng in enumerate(rngs):
                copies.add(str(worker), number, "here", str(rng.integers(2)), None)

        return copies

    assert not run([1, 2, 3]).too_few
    with pytest.raises(RuntimeError, match="repeat each other's random answers"):
        run([1, 1, 1])


def test_what_came_after_the_last_check_is_compared_at_the_end():
    copies = Copies(RuntimeError)
    for number, answer in enumerate("000000000000001101111"):  # compared when there are 32 answers, of the 42
        for worker in ("one", "two"):
            copies.add(worker, number, "here", answer, None)
        assert copies.too_few == (number < 15)
    assert not copies.too_few
    with pytest.raises(RuntimeError, match="repeat each other"):
        copies.check()
