"""The dual of the cheapest alternative for many rivals at once, by Newton's method on dense matrices."""

import numpy as np

_BARRIER = 1e-9
_NEWTON_STEPS = 60


def flow(tree) -> np.ndarray:
    """A row for each state: the sum over its sequences less what leads to it."""
    rows = np.zeros((tree.num_states, tree.sequence_end))
    for state in range(tree.num_states):
        rows[state, tree.first_sequence[state] : tree.first_sequence[state + 1]] = 1.0
        rows[state, tree.parent[state]] -= 1.0
    return rows


def least_costs(mdp, reach, signs, epsilon: float) -> np.ndarray:
    """Per rival, a row of signs, the dual at its largest. reach: own reach of the plan."""
    rivals, size = signs.shape
    states, every = mdp.tree.num_states, slice(None)
    at = np.repeat(np.arange(size), np.diff(mdp.first_outcome))
    weight = reach[at] * mdp.outcome_probability
    slope = signs[:, at] * mdp.outcome_return
    can_end = np.flatnonzero(mdp.tree.can_end[1:]) + 1
    extra_slope = np.maximum(signs[:, can_end], 0.0)
    equalities = np.hstack([flow(mdp.tree), np.zeros((states, 1))])
    points = np.hstack([np.tile(reach, (rivals, 1)), np.full((rivals, 1), 0.1 * reach.min())])

    def arguments(points):
        return points[:, at] - points[:, -1:] * slope, points[:, can_end] - points[:, -1:] * extra_slope

    def objective(points):
        inner, extra = arguments(points)
        inside = (inner.min(axis=1) > 0) & (extra.min(axis=1) > 0) & (points[:, -1] > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.log(inner) @ weight - points[:, 0] + epsilon * points[:, -1]
            value += _BARRIER * (np.log(extra).sum(axis=1) + np.log(points[:, -1]))
        return np.where(inside, value, -np.inf)

    for _ in range(_NEWTON_STEPS):
        inner, extra = arguments(points)
        gradient = np.zeros((rivals, size + 1))
        hessian = np.zeros((rivals, size + 1, size + 1))
        for index, value, slopes, weights in (
            (at, inner, slope, weight),
            (can_end, extra, extra_slope, np.full(len(can_end), _BARRIER)),
        ):
            first, second = weights / value, weights / value**2
            np.add.at(gradient, (every, index), first)
            gradient[:, -1] -= (first * slopes).sum(axis=1)
            np.add.at(hessian, (every, index, index), -second)
            np.add.at(hessian, (every, index, size), second * slopes)
            np.add.at(hessian, (every, size, index), second * slopes)
            hessian[:, -1, -1] -= (second * slopes**2).sum(axis=1)
        gradient[:, 0] -= 1.0
        gradient[:, -1] += epsilon + _BARRIER / points[:, -1]
        hessian[:, -1, -1] -= _BARRIER / points[:, -1] ** 2
        system = np.zeros((rivals, size + 1 + states, size + 1 + states))
        system[:, : size + 1, : size + 1] = hessian
        system[:, : size + 1, size + 1 :] = equalities.T
        system[:, size + 1 :, : size + 1] = equalities
        right = np.concatenate([-gradient, np.zeros((rivals, states))], axis=1)
        step = np.linalg.solve(system, right[..., None])[:, : size + 1, 0]
        gain = (gradient * step).sum(axis=1)
        if gain.max() < 1e-13:
            break
        before, length = objective(points), np.ones(rivals)
        for _ in range(50):
            worse = objective(points + length[:, None] * step) < before + 0.1 * length * gain - 1e-15
            if not worse.any():
                break
            length[worse] *= 0.5
        length[worse] = 0.0
        points = points + length[:, None] * step
    inner, _ = arguments(points)
    return np.log(inner / reach[at]) @ weight + 1.0 - points[:, 0] + epsilon * points[:, -1]
