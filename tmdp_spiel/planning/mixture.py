"""The mixture of given plans of one player that the opponent can exploit least.

Plans are given by their reaches r_1 .. r_n. The mixture with weights w draws one of them before the
game and plays it; its reach is the sum over k of w_k r_k. The opponent's best response to it wins

    f(w) = max over the opponent's plans y of sum over k of w_k c_k(y),    c_k(y) = what y wins against r_k,

which is convex and piecewise linear in w. It is minimised by cutting planes (Kelley, "The Cutting-Plane Method for
Solving Convex Programs", 1960): every best response y found so far is stored as the row c_1(y) .. c_n(y), and a linear
program gives the weights that are best against all rows, together with a lower bound on f.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from tmdp_spiel.trees.sequence_form import SequenceForm, best_response_to_reach
from tmdp_spiel.trees.traversal import ROOT


@dataclasses.dataclass
class SparseReach:
    """The non-zero entries of a plan's reach, without the root."""

    sequences: np.ndarray  # int32; ascending
    reach: np.ndarray

    @classmethod
    def of(cls, reach: np.ndarray) -> SparseReach:
        """reach: one number per sequence, 0 for the root."""
        sequences = np.flatnonzero(reach).astype(np.int32)
        return cls(sequences, reach[sequences])


@dataclasses.dataclass
class Mixture:
    """A mixture of given plans, and bounds on its loss."""

    weights: np.ndarray  # one per plan; they sum to 1
    loss: float  # what the opponent's best response wins against the mixture, in the game's utilities
    bound: float  # no mixture of the plans loses less


def least_exploitable(
    form: SequenceForm,
    player: int,
    reaches: Sequence[SparseReach],
    *,
    tolerance: float = 5e-5,
    most_responses: int = 100,
    report: Callable[[int, Mixture], None] | None = None,
) -> Mixture:
    """The Mixture of the plans of `player` whose loss is within `tolerance` of the smallest possible.

    A step takes one best response and two gradients; `report(steps, mixture)` is called after each.
    """
    rows = []
    weights = np.full(len(reaches), 1.0 / len(reaches))
    best = Mixture(weights, np.inf, -np.inf)
    for step in range(1, most_responses + 1):
        loss, row = _best_response(form, player, reaches, mixed_reach(form, player, reaches, weights))
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


def mixed_reach(form: SequenceForm, player: int, reaches: Sequence[SparseReach], weights: np.ndarray) -> np.ndarray:
    """sum over k of w_k r_k, one number per sequence."""
    mixed = np.zeros(form.trees[player].sequence_end)
    mixed[ROOT] = 1.0
    for each, weight in zip(reaches, weights):
        if weight > 0:
            mixed[each.sequences] += weight * each.reach
    return mixed


def _best_response(
    form: SequenceForm, player: int, reaches: Sequence[SparseReach], mixed: np.ndarray
) -> tuple[float, np.ndarray]:
    """The values of the opponent's best response to a mixture, against the mixture and against each of its plans."""
    loss, response = best_response_to_reach(form, 1 - player, mixed)
    # The game need not be zero-sum: what the opponent wins, collected by the player's sequences.
    won = form.gradient(player, form.reach(1 - player, response), form.payoffs[1 - player])
    return loss, np.array([each.reach @ won[each.sequences] + won[ROOT] for each in reaches])


def _best_against(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights w that minimise the largest entry of rows @ w, and that entry."""
    from scipy import optimize  # here, as it takes long to load

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
