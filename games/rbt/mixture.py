"""The mixture of given plans of one player that the opponent can exploit least.

For plans r_1 .. r_n the opponent's best response to the mixture with weights w wins

    f(w) = max over the opponent's plans y of sum over k of w_k c_k(y),    c_k(y) = what y wins against r_k,

which is convex and piecewise linear in w. It is minimised by cutting planes (Kelley, "The Cutting-Plane Method for Solving
Convex Programs", 1960): every best response y met on the way is kept as the row c_1(y) .. c_n(y), and a linear program gives
the weights that are best against all rows so far, together with a lower bound on f.
"""

import dataclasses

import numpy as np
from scipy import optimize

from tmdp_spiel.games.rbt import passes


@dataclasses.dataclass
class SparsePlan:
    """A plan in sequence form, only where it is not zero."""

    sequences: np.ndarray  # int32; ascending
    reach: np.ndarray  # float64


@dataclasses.dataclass
class Mixture:
    weights: np.ndarray  # one per plan; they sum to 1
    loss: float  # what the opponent's best response wins against the mixture, in the game's utilities
    bound: float  # no mixture of the plans loses less


def least_exploitable(game, player, plans, *, tolerance=5e-5, most_responses=100, report=None):
    """The Mixture of the SparsePlans of `player` whose loss is within `tolerance` of the least possible.

    Costs one best response and one pass of the player per step; `report(steps, mixture)` is called after each.
    """
    rows = []
    weights = np.full(len(plans), 1.0 / len(plans))
    best = Mixture(weights, np.inf, -np.inf)
    for step in range(1, most_responses + 1):
        loss, row = _best_response(game, player, plans, mixed_plan(game, player, plans, weights))
        rows.append(row)
        if loss < best.loss:
            best = dataclasses.replace(best, weights=weights, loss=loss)
        optimum, bound = _best_against(np.array(rows))
        best = dataclasses.replace(best, bound=bound)
        if report is not None:
            report(step, best)
        if best.loss - bound <= tolerance:
            break
        weights = (optimum + best.weights) / 2  # the optimum alone jumps from corner to corner while rows are few
    return best


def mixed_plan(game, player, plans, weights):
    """sum over k of w_k r_k, one number per sequence."""
    mixed = np.zeros(game.trees[player].num_sequences)
    for plan, weight in zip(plans, weights):
        if weight > 0:
            mixed[plan.sequences] += weight * plan.reach
    return mixed


def _best_response(game, player, plans, mixed):
    """What the opponent's best response to a mixed plan wins against it, and against each of the plans."""
    loss, response = passes.best_response(game, 1 - player, mixed)
    weights = passes.move_weights(game, 1 - player, response)
    endings = np.empty(game.trees[player].num_sequences)
    passes.ending_values(game, player, weights, passes.UTILITIES, endings)
    without_turn = passes.value_without_turn(game, player, weights, passes.UTILITIES)
    return loss, np.array([-np.sum(plan.reach * endings[plan.sequences]) - without_turn for plan in plans])


def _best_against(rows):
    """The weights w that minimise the largest entry of rows @ w, and that entry."""
    num_rows, num_plans = rows.shape
    solution = optimize.linprog(
        np.append(np.zeros(num_plans), 1.0),
        A_ub=np.column_stack([rows, -np.ones(num_rows)]),
        b_ub=np.zeros(num_rows),
        A_eq=[np.append(np.ones(num_plans), 0.0)],
        b_eq=[1.0],
        bounds=[(0.0, None)] * num_plans + [(None, None)],
    )
    weights = np.maximum(solution.x[:-1], 0.0)
    return weights / weights.sum(), float(solution.fun)
