"""Random numbers that are functions of (seed, time, key), for breaking ties.

A plan is worked out only where it can lead. Drawing from a stream would make a choice depend on which states were
looked at before it; hashing gives every state its own draw at every time, whether or not it is looked at.
"""

import numpy as np

from tmdp_spiel.trees.kernels import kernel

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
