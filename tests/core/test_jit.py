"""Compiled functions that are called without a look at the types of their arguments."""

import collections
import pickle

import numpy as np

from tmdp_spiel.core import jit

Sums = collections.namedtuple("Sums", ["values", "total"])


@jit.kernel
def add(sums, at, factor):
    sums.total[0] += factor * sums.values[at]
    return sums.total[0]


def test_direct_calls_do_what_the_function_does_also_with_other_arrays_and_after_a_journey_through_pickle():
    direct = jit.Direct(add)
    for size in (3, 50):
        sums = Sums(np.arange(float(size)), np.zeros(1))
        assert direct(sums, 2, 0.5) == 1.0 and direct(sums, np.int64(size - 1), np.float64(2.0)) == 1.0 + 2 * (size - 1)
    again = pickle.loads(pickle.dumps(direct))
    assert again(Sums(np.ones(2), np.zeros(1)), 0, 3.0) == 3.0
