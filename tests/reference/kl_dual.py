"""The largest mean in a ball by relative entropy, through its dual."""

import numpy as np
from scipy import optimize


def dual(weights, values, radius):
    """max q . V = min over l >= max V of l - exp(-radius) prod (l - V)^p."""
    seen, top = weights > 0, values.max()

    def bound(log_distance):
        away = top + np.exp(log_distance) - values[seen]
        return top + np.exp(log_distance) - np.exp(weights[seen] @ np.log(away) - radius)

    found = optimize.minimize_scalar(bound, bounds=(-30, 25), method="bounded", options=dict(xatol=1e-10))
    at_top = 0.0 if np.any(values[seen] == top) else np.exp(weights[seen] @ np.log(top - values[seen]) - radius)
    return min(found.fun, top - at_top)
