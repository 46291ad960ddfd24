"""The paper's Theorems 2 and 3 as numbers."""

from __future__ import annotations

import math

import numba
import numpy as np

from tmdp_spiel.core import validation
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP, best_response, path_losses


def theorem_2(mdp: TreeMDP, epsilon: float, delta: float) -> float:
    """The order of LUCB-T's expected episodes (Theorem 2, its hidden constant taken as 1).

    Sum over terminals of |Sigma| / Delta^2 * (ln(1/delta) + ln of the sum of 1 / Delta^2 + |S| ln |A|), with
    Delta = max(epsilon, least gap of a policy through the terminal). The gap of pi* is V(pi*) minus the best value
    among all *other* policies, optimal ones included.
    """
    validation.probability("epsilon", epsilon)
    validation.probability("delta", delta)
    tree = mdp.tree
    losses = mdp.losses() / tree.utility_range
    _, plan = mdp.best_response()
    on_plan = mdp.own_reach(plan) > 0
    states_on_plan = np.unique(_states_of(tree, np.flatnonzero(on_plan)[1:]))
    beside = [
        j for s in states_on_plan for j in range(tree.first_sequence[s], tree.first_sequence[s + 1]) if not on_plan[j]
    ]
    second_gap = losses[beside].min() if beside else 0.0
    gaps = np.maximum(np.where(on_plan, second_gap, losses), epsilon)
    inverse_squares = float((_own_terminals(mdp) / gaps**2).sum())
    log_policies = tree.num_states * math.log(max(tree.max_actions, 1))
    return (
        mdp.num_terminals * inverse_squares * (math.log(1 / delta) + math.log(max(inverse_squares, 1.0)) + log_policies)
    )


def theorem_3(mdp: TreeMDP, episodes: int) -> float:
    """The order of UCB-T's regret in utility units (Theorem 3, its constant taken as 1).

    Sum over terminals with a non-optimal policy through them of |Sigma| Delta_max / Delta_min^2 * ln T + ln |Pi|, with
    Delta_min and Delta_max the least and the largest positive gap of a policy through the terminal.
    """
    if episodes < 2:
        raise ValueError(f"the bound is for T >= 2 episodes, not {episodes}")
    tree = mdp.tree
    least, most = _gap_range(mdp)
    terminals = _own_terminals(mdp)
    counted = (terminals > 0) & np.isfinite(least) & (most > 0)
    each = (
        mdp.num_terminals * most[counted] / least[counted] ** 2 * math.log(episodes) + tree.log_num_unreduced_policies
    )
    return float((terminals[counted] * each).sum()) * tree.utility_range


def _own_terminals(mdp: TreeMDP) -> np.ndarray:
    """Per sequence: the number of terminals; none for the root, which no policy chooses."""
    terminals = np.diff(mdp.first_outcome)
    terminals[traversal.ROOT] = 0
    return terminals


def _gap_range(mdp: TreeMDP) -> tuple[np.ndarray, np.ndarray]:
    """Per sequence, over the non-optimal policies through it: the least and the largest gap; (inf, ·) if none."""
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
    cost = np.zeros(len(links.can_end))
    below = np.full(states, np.inf)
    for state in range(states - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            cost[j] = value[state] - traversal.add_children(links, j, value, ending_value[j])
            if cost[j] > 1e-12:
                below[state] = min(below[state], cost[j])
            else:
                for child in range(links.first_child[j], links.first_child[j + 1]):
                    below[state] = min(below[state], below[child])
    aside_state = np.full(states, np.inf)
    aside = np.full(len(links.can_end), np.inf)
    for state in range(-1, states):
        first, end = traversal.sequences_of(links, state)
        for j in range(first, end):
            if cost[j] > 1e-12:
                continue
            aside[j] = aside_state[state] if state >= 0 else np.inf
            for child in range(links.first_child[j], links.first_child[j + 1]):
                aside_state[child] = aside[j]
                for sibling in range(links.first_child[j], links.first_child[j + 1]):
                    if sibling != child:
                        aside_state[child] = min(aside_state[child], below[sibling])
            for child in range(links.first_child[j], links.first_child[j + 1]):
                aside[j] = min(aside[j], below[child])
    return aside


def _states_of(tree: InfostateTree, sequences: np.ndarray) -> np.ndarray:
    return np.searchsorted(tree.first_sequence, sequences, side="right") - 1
