"""Standard normal draws that are functions of (seed, time, key)."""

import math

from tmdp_spiel.core.hash_rng import uniform
from tmdp_spiel.core.jit import kernel


@kernel
def normal(seed, time, key, second):
    """A draw from the uniform numbers of two keys (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, time, key)))
    return radius * math.cos(2.0 * math.pi * uniform(seed, time, second))
