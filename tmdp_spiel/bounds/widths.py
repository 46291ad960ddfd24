"""Widths of the confidence bounds: beta and its schedules.

Every width used here has the form beta(m, t) = lambda_t / sqrt(m), with

    lambda_t = sqrt(scale * (constant + slope * ln t)),

because ln(1/delta_t) is affine in ln t for each of the schedules below. |Pi| is the number of policies, k the most
sequences that one policy can end on.
"""

from __future__ import annotations

import collections
import math

import numpy as np

from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.infostate_tree import InfostateTree

Schedule = collections.namedtuple("Schedule", ["scale", "constant", "slope"])

BOUNDS = ("theory", "simple")
UNIONS = ("tight", "paper", "best")
_THEOREM_1 = 8.0 / 3.0


@kernel
def growth(schedule, time):
    """lambda_t."""
    return np.sqrt(max(0.0, schedule.scale * (schedule.constant + schedule.slope * np.log(time))))


def beta(plays: float, delta: float) -> float:
    """Theorem 1: sqrt(8 / (3 m) * ln(1 / delta))."""
    return math.sqrt(_THEOREM_1 / plays * math.log(1 / delta))


def simple_beta(plays: float, time: float, c: float, delta: float) -> float:
    """The width of the paper's experiments: sqrt(C / m * ln(t / delta)). It carries no guarantee."""
    return math.sqrt(c / plays * math.log(time / delta))


def simple_schedule(c: float, delta: float) -> Schedule:
    return Schedule(float(c), -math.log(delta), 1.0)


def lucb_t_schedule(tree: InfostateTree, delta: float, union: str, upper: bool = False) -> Schedule:
    """delta_L(t) = delta / (4 N (2t)^k t^2) if tight; delta / (3 |Pi| t^(|Sigma| + 4)) as printed.

    Tight: two policies are played per batch, so a count is at most 2t, and only the at most k counts of one policy's
    endings are united over; N counts reduced policies. Summed over both sides, all policies, counts and batches this
    is delta * pi^2 / 12 < delta. Best: as tight, but with N = 1 for upper bounds, which only have to hold for one best
    policy (docs/lab/theory_sharper.md, section 7).
    """
    if union == "paper":
        return Schedule(_THEOREM_1, *_printed(tree, math.log(3 / delta)))
    k = tree.max_ending_sequences
    log_policies = 0.0 if union == "best" and upper else tree.log_num_policies
    return Schedule(_THEOREM_1, math.log(4 / delta) + log_policies + k * math.log(2), k + 2.0)


def uniform_schedule(tree: InfostateTree, delta: float, union: str) -> Schedule:
    """For LUCB-T-Uniform: delta / (4 N (2t)^r t^2) if tight; as printed for LUCB-T else.

    Tight: the counts united over are n(pi), the same for all endings of a policy, and, if episodes can end before any
    own decision, the number of episodes: r is 1, or 2 then.
    """
    if union == "paper":
        return lucb_t_schedule(tree, delta, union)
    r = 1 + tree.root_can_end
    return Schedule(_THEOREM_1, math.log(4 / delta) + tree.log_num_policies + r * math.log(2), r + 2.0)


def ucb_t_schedule(tree: InfostateTree, union: str) -> Schedule:
    """delta_U(t) = 1 / (N t^(k + 4)) if tight, with N = 1 if best; 1 / (|Pi| t^(|Sigma| + 4)) as printed."""
    if union == "paper":
        return Schedule(_THEOREM_1, *_printed(tree, 0.0))
    log_policies = 0.0 if union == "best" else tree.log_num_policies
    return Schedule(_THEOREM_1, log_policies, tree.max_ending_sequences + 4.0)


def _printed(tree: InfostateTree, constant: float) -> tuple[float, float]:
    return constant + tree.log_num_unreduced_policies, tree.num_merged_terminals + 4.0
