"""Random numbers that are functions of (seed, time, key), for breaking ties and for Thompson sampling.

A plan is computed only at the states that it can reach. With a stream of random numbers, a choice would depend on which
states were visited before it. Hashing gives every state its own draw at every time, whether or not it is visited.
"""

import math

import numpy as np

from tmdp_spiel.core.jit import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def _mix(bits):
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    bits = (bits ^ (bits >> _30)) * _MIX_1
    bits = (bits ^ (bits >> _27)) * _MIX_2
    return bits ^ (bits >> _31)


@kernel
def uniform(seed, time, key):
    """A number in [0, 1), uniform and independent over distinct (seed, time, key)."""
    bits = _mix(np.uint64(seed) + _STEP)
    bits = _mix((bits ^ np.uint64(time)) + _STEP)
    bits = _mix((bits ^ np.uint64(key)) + _STEP)
    return np.float64(bits >> _11) * (1.0 / 9007199254740992.0)


@kernel
def wins(tied, share, seed, time, key):
    """Whether a new candidate, which represents `share` of the `tied` equal candidates so far, takes the lead.

    If this is called for the candidates one after another, each of them leads in the end with the same probability.
    """
    return uniform(seed, time, key) * tied < share


@kernel
def takes_lead(score, best, tied, seed, time, key):
    """Whether a candidate takes the lead from `tied` others of score `best`, and how many then share the lead."""
    if score > best:
        return True, 1
    if score == best:
        return wins(tied + 1, 1.0, seed, time, key), tied + 1
    return False, tied


@kernel
def argmax(scores, first, end, seed, time, key):
    """The index in first .. end with the largest score, ties broken uniformly at random; -1 if all scores are -inf.

    key: of the first index; the others have the numbers after it.
    """
    lead, best, tied = np.int64(-1), -np.inf, 0
    for at in range(first, end):
        takes, tied = takes_lead(scores[at], best, tied, seed, time, key + at - first)
        if takes:
            lead, best = np.int64(at), scores[at]
    return lead


@kernel
def any_of(scores, first, end, value, seed, time, key):
    """One of the indices in first .. end whose score is `value`, uniformly at random; `first` if there is none."""
    number = 0
    for at in range(first, end):
        number += scores[at] == value
    rank = int(uniform(seed, time, key) * number)
    for at in range(first, end):
        if scores[at] == value:
            if rank == 0:
                return np.int64(at)
            rank -= 1
    return np.int64(first)


# Keys. Draws of the same seed and time are independent if their keys differ:
#
#   0 .. 2^31            a state, or a sequence counted without the root
#   2^40 + j - 1         endings of full passes
#   2^41 - 1 - n         the leads of `kinetic`: first states, or sequences and then states
#   2^41 + s             the descent to the lead ending of a state
#
# A learner that draws many numbers at a time and breaks no ties uses streams of DRAWS keys each.

_ENDINGS, _LEADS = 1 << 40, 1 << 41
DRAWS = 256


@kernel
def sequence_key(sequence):
    """Sequences are counted without the root."""
    return sequence - 1


@kernel
def ending_key(sequence):
    return _ENDINGS + sequence_key(sequence)


@kernel
def lead_key(number):
    return _LEADS - 1 - number


@kernel
def descent_key(state):
    return _LEADS + state


@kernel
def weight_stream(child):
    """The first key of the draws for the weight of a child state among what follows its parent."""
    return child * DRAWS


@kernel
def ending_stream(links, sequence, number):
    """The first key of the draws for the endings of a sequence; three streams, number 0 to 2. The root's are first."""
    return (3 * np.int64(sequence_key(sequence)) + number + (len(links.parent) if sequence > 0 else 0)) * DRAWS


@kernel
def value_stream(links, child, number):
    """The first key of the draws for the value of a child state; two streams, number 0 and 1."""
    return (len(links.parent) + 3 * (len(links.can_end) - 1) + 2 * np.int64(child) + number) * DRAWS


@kernel
def normal(seed, time, key, second):
    """A standard normal draw from the uniform numbers of two keys (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, time, key)))
    return radius * math.cos(2.0 * math.pi * uniform(seed, time, second))
