"""The policy with the largest lower confidence bound, V-hat(pi) - lambda / sqrt(n(pi)).

n(pi) is the number of plays of the least-played ending of pi. For a number m, let W(m) be the best estimate of the
policies with n(pi) >= m. It is a bottom-up maximum over the sequences with n(j) >= m, because a policy that plays j
also plays all sequences before it. Then the largest lower bound is the largest W(m) - lambda / sqrt(m). Here m is a
power of two, which loses less than a factor sqrt(2) of a width. The search goes from the largest m downwards, until no
smaller one can be better: only a small part of a large tree is played often.
"""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel.core.jit import tree_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE


@numba.njit(cache=True)
def largest_lower_bound(links, plays, totals, best_estimate, lam):
    """(the bound, the plan), with -1 at states that the plan does not reach; the bound is -inf if there is no policy.

    best_estimate: the largest V-hat of all policies.
    """
    states = len(links.parent)
    found, found_plan = -np.inf, np.full(states, -1, PLAN_DTYPE)
    plan, order, values = found_plan.copy(), np.empty(states, np.int32), np.empty(states)
    m = 1
    while 2 * m <= plays.max():
        m *= 2
    while m >= 1 and best_estimate - lam / np.sqrt(m) > found:
        bound = _best_of_often_played(links, plays, totals, m, plan, order, values) - lam / np.sqrt(m)
        if bound > found:
            found, found_plan = bound, plan.copy()
        m //= 2
    return found, found_plan


@tree_pass
def _best_of_often_played(links, plays, totals, m, plan, order, values):
    """W(m), or -inf if there is no such policy; sets the plan at the states after sequences with at least m plays.

    order, values: scratch, one entry per state.
    """
    number, at = traversal.list_children(links, traversal.ROOT, order, 0), 0
    while at < number:
        state = order[at]
        at += 1
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if plays[j] >= m:
                number = traversal.list_children(links, j, order, number)
    for at in range(number - 1, -1, -1):
        state = order[at]
        values[state] = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if plays[j] >= m:
                value = traversal.add_children(links, j, values, totals[j] / plays[j])
                if value > values[state]:
                    values[state], plan[state] = value, j - links.first_sequence[state]
    return traversal.add_children(links, traversal.ROOT, values, 0.0)
