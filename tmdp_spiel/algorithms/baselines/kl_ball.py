"""The largest expectation over the distributions near an empirical one (Filippi, Cappe and Garivier, 2010).

The maximum of q . V over the distributions q with KL(p, q) <= r, by its convex dual:

(1) Above every V that has weight, f(l) = sum p ln(l - V) + ln sum p / (l - V) falls from infinity to 0. With
    f(l) = r, the maximiser is q proportional to p / (l - V).
(2) Unless that l lies below a larger V of weight zero: that is where f(V) < r. Then l is this V, which takes the mass
    1 - exp(f(V) - r), and the others are as in (1).
(3) Either way the maximum is l - (mass of the others) / sum p / (l - V).
"""

import numpy as np

from tmdp_spiel.core.jit import kernel, tree_pass

_PRECISION = 1e-12
_MOST_STEPS = 200


@kernel
def _divergence(weights, gaps, number, distance):
    """f(l) of (1), and the sums of p / (l - V) and of p / (l - V)^2.

    l - V = distance + gap, which stays exact when l is close to a V.
    """
    logs, inverse, square = 0.0, 0.0, 0.0
    for i in range(number):
        if weights[i] > 0.0:
            away = distance + gaps[i]
            logs += weights[i] * np.log(away)
            inverse += weights[i] / away
            square += weights[i] / (away * away)
    return logs + np.log(inverse), inverse, square


@kernel
def _support(weights, values, number):
    """The largest V, the largest and the least that have weight, the weight at the largest, and the mean p . V."""
    top, supported, lowest, at_top, mean = -np.inf, -np.inf, np.inf, 0.0, 0.0
    for i in range(number):
        top = max(top, values[i])
        if weights[i] > 0.0:
            lowest = min(lowest, values[i])
            if values[i] > supported:
                supported, at_top = values[i], 0.0
            if values[i] == supported:
                at_top += weights[i]
            mean += weights[i] * values[i]
    return top, supported, lowest, at_top, mean


@kernel
def _largest_distance(span, radius):
    """A d = l - supported with f(l) <= radius: f <= ln(1 + span^2 / (4 d (d + span))) by Kantorovich's inequality."""
    ratio = 1.0 / np.expm1(radius)
    return 0.5 * span * ratio / (1.0 + np.sqrt(1.0 + ratio))


@kernel
def _first_distance(weights, values, number, mean, supported, radius):
    """Where f(l) = radius would be if f were Var / (2 (l - mean)^2), as it is far away."""
    variance = 0.0
    for i in range(number):
        if weights[i] > 0.0:
            variance += weights[i] * (values[i] - mean) ** 2
    return np.sqrt(0.5 * variance / radius) - (supported - mean)


@kernel
def _solve(weights, gaps, number, radius, low, high, distance):
    """The distance in low .. high with f = radius: Newton's method for ln f in ln distance, halving where it leaves."""
    for _ in range(_MOST_STEPS):
        if not low < distance < high:
            distance = np.sqrt(low * high)
        divergence, inverse, square = _divergence(weights, gaps, number, distance)
        if divergence > radius:
            low = distance
        else:
            high = distance
        slope = distance * (inverse - square / inverse)
        if divergence <= 0.0 or slope >= 0.0:
            distance = 0.0
            continue
        step = -np.log(divergence / radius) * divergence / slope
        distance *= np.exp(min(max(step, -50.0), 50.0))
        if abs(step) < _PRECISION or high - low <= _PRECISION * high:
            break
    return distance


@kernel
def _find_distance(weights, values, gaps, number, radius, support, least):
    """The distance of (1), at which f = radius, if it is above `least`; else `least`."""
    _, supported, lowest, at_top, mean = support
    low = max(least, _PRECISION * at_top * (supported - lowest))
    high = _largest_distance(supported - lowest, radius)
    if low >= high:
        return low
    start = _first_distance(weights, values, number, mean, supported, radius)
    return _solve(weights, gaps, number, radius, low, high, start)


@tree_pass
def largest_mean(weights, values, gaps, number, radius):
    """max over q with KL(p, q) <= radius of q . V, to 1e-9 for values in [0, 1].

    weights: p, which may have zeros;  values: V;  gaps: scratch;  all with `number` entries in use.
    """
    support = _support(weights, values, number)
    top, supported, lowest, _, mean = support
    for i in range(number):
        gaps[i] = supported - values[i]
    if radius <= 0.0:
        return mean
    above = top - supported  # by which a V of weight zero exceeds those that have weight
    if above > 0.0:
        divergence, inverse, _ = _divergence(weights, gaps, number, above)
        if divergence < radius:
            return top - np.exp(divergence - radius) / inverse  # (2), (3)
    if supported <= lowest:
        return supported
    distance = _find_distance(weights, values, gaps, number, radius, support, above)  # (1)
    _, inverse, _ = _divergence(weights, gaps, number, distance)
    return supported + distance - 1.0 / inverse  # (3)


@tree_pass
def smallest_mean(weights, values, gaps, number, radius):
    """min over q with KL(p, q) <= radius of q . V. Overwrites values."""
    for i in range(number):
        values[i] = 1.0 - values[i]
    return 1.0 - largest_mean(weights, values, gaps, number, radius)
