"""MOCA against its printed formulas, and its whole course at a small part of the printed episodes."""

import math

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.learners import check_pickling, ends_at_once
from tmdp_spiel.algorithms.baselines.moca import Sizes


def test_epochs_to_run_is_d1():
    s, a, h, i, delta, samp, c = 3, 2, 2, 4, 0.01, 0.5, 1.5
    printed = 2**i * max(
        288 * c**2 * s**2 * a**2 * h * (i + 3) * math.log(576 * c * s * a * h * (i + 3)),
        288 * c**2 * s**2 * a**2 * h * math.log(2 * s * a * h / delta),
        2048 * s**2 * a**2 * math.log(4 * s * a * h / samp),
        256 * c * s**3 * a**2 * h**4 * (i + 9) ** 3 * math.log(512 * c * s * a * h * (i + 9)) ** 3,
        128 * c * s**3 * a**2 * h**4 * math.log(2 * s * a * h / delta) ** 3 + 8 * h * math.log(4 / delta),
    )
    assert Sizes(s, a, h, c).epochs_to_run(i, delta, samp) == pytest.approx(printed, rel=1e-12)


def test_at_its_printed_constants_it_does_not_stop(mdp_of):
    learner = ts.MOCA(mdp_of("kuhn", 0).tree, epsilon=0.1, delta=0.1)
    assert learner.least_episodes > 1e12
    sizes = learner._sizes
    assert (sizes.states, sizes.actions, sizes.horizon) == (3, 2, 2)
    assert learner._exploration.runs == math.ceil(
        sizes.epochs_to_run(1, 0.1 / 36 / 6 / learner._exploration.halvings, 0.5)
    )


def test_a_state_is_reached_as_often_as_it_asks_for():
    mdp = ends_at_once()
    learner = ts.MOCA(mdp.tree, epsilon=0.4, delta=0.4, scale=1e-8, seed=3)
    first = learner._exploration
    ts.run(learner, mdp, first.runs, progress=False)
    assert first.sets[0] == [1] and first.counts[1] >= first.needed == first.runs / 8


def test_it_ends_with_the_best_policy_at_a_part_of_the_episodes():
    mdp = ends_at_once()
    learner = ts.MOCA(mdp.tree, epsilon=0.4, delta=0.4, scale=1e-9, seed=1)
    result = ts.run_until_stopped(learner, mdp, max_episodes=200_000, progress=False)
    assert learner.stopped and result.gap == pytest.approx(0, abs=1e-12)
    assert set(learner._reachable) == set(range(mdp.tree.num_states))
    assert result.episodes > learner.least_episodes


def test_actions_are_eliminated_by_their_threshold():
    mdp = ends_at_once()
    learner = ts.MOCA(mdp.tree, epsilon=0.4, delta=0.4, scale=1e-9)
    learner._exploration.sets = [[1, 2]]
    learner._samples, learner._sums = np.array([0, 10, 10, 0, 0]), np.array([0.0, 9.0, 6.0, 0.0, 0.0])
    learner._eliminate([0.31])
    assert learner._candidates[0] == [1, 2]
    learner._eliminate([0.29])
    assert learner._candidates[0] == [1]


def test_it_continues_identically_after_pickling():
    check_pickling(lambda tree, seed: ts.MOCA(tree, epsilon=0.4, delta=0.4, scale=1e-10, seed=seed), ends_at_once(), 60)
