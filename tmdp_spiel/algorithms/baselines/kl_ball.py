"""The largest expectation over the distributions near an empirical one (Filippi, Cappe and Garivier, 2010)."""

import numpy as np

from tmdp_spiel.core.jit import kernel, tree_pass

_PRECISION = 1e-12
_MOST_STEPS = 200


@kernel
def _divergence(weights, gaps, number, distance):
    """f(l) = sum p ln(l - V) + ln sum p / (l - V), and the sums of p / (l - V) and of p / (l - V)^2.

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


@tree_pass
def largest_mean(weights, values, gaps, number, radius):
    """max over q with KL(p, q) <= radius of q . V, to 1e-9 for values in [0, 1].

    weights: p, which may have zeros;  values: V;  gaps: scratch;  all with `number` entries in use. The maximiser is
    q proportional to p / (l - V) with f(l) = radius, l above all V that have weight; unless l would fall below a
    larger V of weight zero, which then takes the rest 1 - exp(f(V) - radius) of the mass. Either way the maximum is
    l - (mass of the others) / sum p / (l - V).
    """
    top, supported, lowest, at_top, mean = _support(weights, values, number)
    for i in range(number):
        gaps[i] = supported - values[i]
    if radius <= 0.0:
        return mean
    low = top - supported
    if low > 0.0:
        divergence, inverse, _ = _divergence(weights, gaps, number, low)
        if divergence < radius:
            return top - np.exp(divergence - radius) / inverse
    span = supported - lowest
    if span <= 0.0:
        return supported
    high, low = _largest_distance(span, radius), max(low, _PRECISION * at_top * span)
    distance = low
    if low < high:
        distance = _first_distance(weights, values, number, mean, supported, radius)
        distance = _solve(weights, gaps, number, radius, low, high, distance)
    _, inverse, _ = _divergence(weights, gaps, number, distance)
    return supported + distance - 1.0 / inverse


@tree_pass
def smallest_mean(weights, values, gaps, number, radius):
    """min over q with KL(p, q) <= radius of q . V. Overwrites values."""
    for i in range(number):
        values[i] = 1.0 - values[i]
    return 1.0 - largest_mean(weights, values, gaps, number, radius)
