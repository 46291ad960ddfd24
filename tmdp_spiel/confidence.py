"""Widths of the confidence bounds, and the paper's theorems as numbers.

Every width used here has the form beta(m, t) = lambda_t / sqrt(m), with

    lambda_t = sqrt(scale * (constant + slope * ln t)),

because ln(1/delta_t) is affine in ln t for each of the schedules below. |Pi| is the number of policies, k the most
sequences that one policy can end on.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.decision_tree import DecisionTree
from tmdp_spiel.kernels import kernel
from tmdp_spiel.tree_mdp import TreeMDP, best_response, path_losses

Schedule = collections.namedtuple("Schedule", ["scale", "constant", "slope"])

BOUNDS = ("theory", "simple")
UNIONS = ("tight", "paper")
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


def lucb_t_schedule(tree: DecisionTree, delta: float, union: str) -> Schedule:
    """delta_L(t) = delta / (4 N (2t)^k t^2) if tight; delta / (3 |Pi| t^(|Sigma| + 4)) as printed.

    Tight: two policies are played per batch, so a count is at most 2t, and only the at most k counts of one policy's
    endings are united over; N counts reduced policies. Summed over both sides, all policies, counts and batches this
    is delta * pi^2 / 12 < delta.
    """
    if union == "paper":
        return Schedule(_THEOREM_1, *_printed(tree, math.log(3 / delta)))
    k = tree.max_ending_sequences
    return Schedule(_THEOREM_1, math.log(4 / delta) + tree.log_num_policies + k * math.log(2), k + 2.0)


def uniform_schedule(tree: DecisionTree, delta: float, union: str) -> Schedule:
    """For LUCB-T-Uniform: delta / (4 N (2t) t^2) if tight, since one count per policy is united over; else as printed."""
    if union == "paper":
        return lucb_t_schedule(tree, delta, union)
    return Schedule(_THEOREM_1, math.log(4 / delta) + tree.log_num_policies + math.log(2), 3.0)


def ucb_t_schedule(tree: DecisionTree, union: str) -> Schedule:
    """delta_U(t) = 1 / (N t^(k + 4)) if tight; 1 / (|Pi| t^(|Sigma| + 4)) as printed."""
    if union == "paper":
        return Schedule(_THEOREM_1, *_printed(tree, 0.0))
    return Schedule(_THEOREM_1, tree.log_num_policies, tree.max_ending_sequences + 4.0)


def _printed(tree: DecisionTree, constant: float) -> tuple[float, float]:
    return constant + tree.log_num_unreduced_policies, tree.num_merged_terminals + 4.0


def theorem_2(mdp: TreeMDP, epsilon: float, delta: float) -> float:
    """The order of LUCB-T's expected episodes (Theorem 2, its hidden constant taken as 1).

    Sum over terminals of |Sigma| / Delta^2 * (ln(1/delta) + ln of the sum of 1 / Delta^2 + |S| ln |A|), with
    Delta = max(epsilon, least gap of a policy through the terminal). The gap of pi* is V(pi*) minus the best value
    among all *other* policies, optimal ones included.
    """
    check_probability("epsilon", epsilon)
    check_probability("delta", delta)
    tree = mdp.tree
    losses = mdp.losses() / tree.utility_range
    _, plan = mdp.best_response()
    on_plan = mdp.own_reach(plan) > 0
    states_on_plan = np.unique(_states_of(tree, np.flatnonzero(on_plan)))
    beside = [j for s in states_on_plan for j in range(tree.first_sequence[s], tree.first_sequence[s + 1]) if not on_plan[j]]
    second_gap = losses[beside].min() if beside else 0.0
    gaps = np.maximum(np.where(on_plan, second_gap, losses), epsilon)
    terminals = np.diff(mdp.first_outcome)[:-1]
    inverse_squares = float((terminals / gaps**2).sum())
    log_policies = tree.num_states * math.log(max(tree.max_actions, 1))
    return mdp.num_terminals * inverse_squares * (math.log(1 / delta) + math.log(max(inverse_squares, 1.0)) + log_policies)


def theorem_3(mdp: TreeMDP, episodes: int) -> float:
    """The order of UCB-T's regret in utility units (Theorem 3, its constant taken as 1).

    Sum over terminals with a non-optimal policy through them of |Sigma| Delta_max / Delta_min^2 * ln T + ln |Pi|, with
    Delta_min and Delta_max the least and the largest positive gap of a policy through the terminal.
    """
    if episodes < 2:
        raise ValueError(f"the bound is for T >= 2 episodes, not {episodes}")
    tree = mdp.tree
    least, most = _gap_range(mdp)
    terminals = np.diff(mdp.first_outcome)[:-1]
    counted = (terminals > 0) & np.isfinite(least) & (most > 0)
    each = mdp.num_terminals * most[counted] / least[counted] ** 2 * math.log(episodes) + tree.log_num_unreduced_policies
    return float((terminals[counted] * each).sum()) * tree.utility_range


def _gap_range(mdp: TreeMDP) -> tuple[np.ndarray, np.ndarray]:
    """Per sequence, over the non-optimal policies through it: the least and the largest gap; (inf, ·) if there are none."""
    links, ending_value = mdp.tree.links, mdp.chances.ending_value
    best = mdp.best_values()
    loss = path_losses(links, ending_value, best)
    loss[loss < 1e-12] = 0.0
    least = np.where(loss > 0, loss, _least_deviation_aside(links, ending_value, best))
    opposite = mdp.chances._replace(ending_value=-ending_value)
    opposite_total, _, opposite_best = best_response(links, opposite)
    above_worst = path_losses(links, -ending_value, opposite_best)
    return least, mdp.scaled_best_value + opposite_total - above_worst


@numba.njit(cache=True)
def _least_deviation_aside(links, ending_value, value):
    """Per sequence of an optimal path: the cheapest costly deviation that keeps the path; infinite elsewhere."""
    states = len(links.parent)
    cost = np.empty(len(links.can_end))
    below = np.full(states, np.inf)
    for state in range(states - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total = ending_value[j]
            for child in range(links.first_child[j], links.first_child[j + 1]):
                total += value[child]
            cost[j] = value[state] - total
            if cost[j] > 1e-12:
                below[state] = min(below[state], cost[j])
            else:
                for child in range(links.first_child[j], links.first_child[j + 1]):
                    below[state] = min(below[state], below[child])
    aside_state = np.full(states, np.inf)
    aside = np.full(len(links.can_end), np.inf)
    for child in range(links.first_child[0]):
        for sibling in range(links.first_child[0]):
            if sibling != child:
                aside_state[child] = min(aside_state[child], below[sibling])
    for state in range(states):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if cost[j] > 1e-12:
                continue
            aside[j] = aside_state[state]
            for child in range(links.first_child[j], links.first_child[j + 1]):
                aside[j] = min(aside[j], below[child])
                aside_state[child] = aside_state[state]
                for sibling in range(links.first_child[j], links.first_child[j + 1]):
                    if sibling != child:
                        aside_state[child] = min(aside_state[child], below[sibling])
    return aside


def _states_of(tree: DecisionTree, sequences: np.ndarray) -> np.ndarray:
    return np.searchsorted(tree.first_sequence, sequences, side="right") - 1


def check_probability(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, not {value}")
    return float(value)
