"""Ties are broken uniformly, and draws that may meet have keys of their own."""

import itertools

import numpy as np
import pytest

from tmdp_spiel.core import hash_rng

TIMES = 4000


def shares(choose, places):
    """How often each place is chosen over many times."""
    return np.bincount([choose(time) for time in range(TIMES)], minlength=places) / TIMES


def test_argmax_is_uniform_over_the_largest_scores():
    scores = np.array([9.0, 1.0, 3.0, 3.0, 2.0, 3.0, 8.0])
    found = shares(lambda time: hash_rng.argmax(scores, 1, 6, 5, time, 0), 7)
    assert found[[2, 3, 5]] == pytest.approx([1 / 3] * 3, abs=0.03) and found.sum() == pytest.approx(
        found[[2, 3, 5]].sum()
    )
    assert hash_rng.argmax(scores, 0, 7, 5, 0, 0) == 0
    assert hash_rng.argmax(scores, 2, 2, 5, 0, 0) == -1


def test_any_of_is_uniform_over_equal_scores():
    scores = np.array([0.0, 0.5, 0.0, 0.0, 0.0])
    found = shares(lambda time: hash_rng.any_of(scores, 1, 4, 0.0, 5, time, 77), 5)
    assert found == pytest.approx([0, 0, 0.5, 0.5, 0], abs=0.03)
    assert hash_rng.any_of(scores, 1, 4, 0.7, 5, 0, 77) == 1


def test_a_new_candidate_takes_the_lead_in_proportion_to_its_share():
    won = np.mean([hash_rng.wins(5.0, 2.0, 1, time, 3) for time in range(TIMES)])
    assert won == pytest.approx(0.4, abs=0.03)


def test_keys_of_different_draws_differ():
    most = 2**31 - 1
    ranges = [
        (0, most),
        (hash_rng.ending_key(1), hash_rng.ending_key(most)),
        (hash_rng.lead_key(2 * most), hash_rng.lead_key(0)),
        (hash_rng.descent_key(0), hash_rng.descent_key(most)),
    ]
    assert all(low <= high for low, high in ranges)
    assert all(one[1] < other[0] for one, other in itertools.pairwise(ranges))


def test_streams_of_different_draws_differ(mdp_of):
    links = mdp_of("kuhn", 0).tree.links
    states, sequences = len(links.parent), len(links.can_end)
    streams = [hash_rng.weight_stream(child) for child in range(states)]
    streams += [hash_rng.ending_stream(links, j, number) for j in range(sequences) for number in range(3)]
    streams += [hash_rng.value_stream(links, child, number) for child in range(states) for number in range(2)]
    assert np.all(np.diff(sorted(streams)) >= hash_rng.DRAWS)
