"""The largest expectation over the distributions near an empirical one (Filippi, Cappe and Garivier, 2010)."""

import numpy as np

from tmdp_spiel.trees.kernels import kernel, tree_pass

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


@tree_pass
def largest_mean(weights, values, gaps, number, radius):
    """max over q with KL(p, q) <= radius of q . V, to 1e-9 for values in [0, 1].

    weights: p, which may have zeros;  values: V;  gaps: scratch;  all with `number` entries in use. The maximiser is
    q proportional to p / (l - V) with f(l) = radius, l above all V that have weight; unless l would fall below a
    larger V of weight zero, which then takes the rest 1 - exp(f(V) - radius) of the mass. Either way the maximum is
    l - (mass of the others) / sum p / (l - V).
    """
    top, supported, lowest, mass_at_top = -np.inf, -np.inf, np.inf, 0.0
    for i in range(number):
        top = max(top, values[i])
        if weights[i] > 0.0:
            lowest = min(lowest, values[i])
            if values[i] > supported:
                supported, mass_at_top = values[i], 0.0
            if values[i] == supported:
                mass_at_top += weights[i]
    mean, variance = 0.0, 0.0
    for i in range(number):
        gaps[i] = supported - values[i]
        if weights[i] > 0.0:
            mean += weights[i] * values[i]
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
    for i in range(number):
        if weights[i] > 0.0:
            variance += weights[i] * (values[i] - mean) ** 2
    # f <= ln(1 + span^2 / (4 d (d + span))) by Kantorovich's inequality, d = l - supported.
    ratio = 1.0 / np.expm1(radius)
    high = 0.5 * span * ratio / (1.0 + np.sqrt(1.0 + ratio))
    low = max(low, _PRECISION * mass_at_top * span)
    if high <= low:
        _, inverse, _ = _divergence(weights, gaps, number, low)
        return supported + low - 1.0 / inverse
    distance = np.sqrt(0.5 * variance / radius) - (supported - mean)
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
        # Newton's step for ln f = ln radius in ln distance.
        step = -np.log(divergence / radius) * divergence / slope
        distance *= np.exp(min(max(step, -50.0), 50.0))
        if abs(step) < _PRECISION or high - low <= _PRECISION * high:
            break
    _, inverse, _ = _divergence(weights, gaps, number, distance)
    return supported + distance - 1.0 / inverse


@tree_pass
def smallest_mean(weights, values, gaps, number, radius):
    """min over q with KL(p, q) <= radius of q . V. Overwrites values."""
    for i in range(number):
        values[i] = 1.0 - values[i]
    return 1.0 - largest_mean(weights, values, gaps, number, radius)
