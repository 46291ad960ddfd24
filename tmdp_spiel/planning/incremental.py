"""The exact plans of `plain` for the counts estimate, recomputing only what has changed.

Playing a policy changes the counts of the sequences that it can reach, nothing else. Every state therefore keeps

    VALUE   W(s), the best estimate below it;
    LOSS    the loss, within its subtree, of its *lead*: the ending with the largest lambda * width - loss;
    WIDTH   the width n^(-1/2) of that ending, infinite if it was never played;
    EXPIRY  a lambda up to which no other ending of the subtree overtakes the lead;
    TIED    how many endings of the subtree share the lead's loss and width.

Two candidates (loss, width) cross where the difference of losses is lambda times the difference of widths, and lambda_t
only grows: a kinetic tournament. After an episode the states that the played policy reaches are refreshed, children
first, and before a plan those whose lead has expired. The result is that of a plain pass, not an approximation of it.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.planning.plain import beats, width
from tmdp_spiel.trees import ties, walk
from tmdp_spiel.trees.decision_tree import PLAN_DTYPE
from tmdp_spiel.trees.kernels import kernel, tree_pass

VALUE, LOSS, WIDTH, EXPIRY, TIED = range(5)

# plays: int32[J] n(j);  totals: float64[J] R(j);  nodes: float64[S, 5] as above;
# sole_best: int16[S] the only empirically best action, or -1 if several tie;  sequence_value: scratch, one per action
Estimates = collections.namedtuple("Estimates", ["plays", "totals", "nodes", "sole_best", "sequence_value"])

# Scratch for the second plan, by position in the list of states that the first plan reaches.
# first_position: where the child states of the state at that position begin, which stand together;
# below, aside: the cheapest deviation from the plan at or below the state, and off the path to it;
# below_where, aside_where: the sequence that deviates
Deviations = collections.namedtuple("Deviations", ["first_position", "below", "below_where", "aside", "aside_where"])


def new_deviations(tree) -> Deviations:
    number = tree.num_states
    return Deviations(
        np.empty(number, np.int32),
        np.empty(number),
        np.empty(number, np.int32),
        np.empty(number),
        np.empty(number, np.int32),
    )


def new_estimates(tree, optimistic: bool) -> Estimates:
    """The estimates before the first episode: every value 0, every ending unplayed."""
    estimates = Estimates(
        plays=np.zeros(tree.num_sequences, np.int32),
        totals=np.zeros(tree.num_sequences),
        nodes=np.empty((tree.num_states, 5)),
        sole_best=np.empty(tree.num_states, PLAN_DTYPE),
        sequence_value=np.empty(max(tree.max_actions, 1)),
    )
    refresh_all(tree.links, estimates, 0.0, optimistic)
    return estimates


@tree_pass
def refresh_all(links, estimates, lam, optimistic):
    for state in range(len(links.parent) - 1, -1, -1):
        refresh(links, estimates, state, lam, optimistic)


@kernel
def sequence_values(links, estimates, state):
    """W(j) = R(j) / n(j) + sum over child states c of W(c) for the sequences of a state; returns their maximum W(s)."""
    plays, totals, nodes, sequence_value = estimates.plays, estimates.totals, estimates.nodes, estimates.sequence_value
    best = -np.inf
    first = links.first_sequence[state]
    for j in range(first, links.first_sequence[state + 1]):
        total = totals[j] / plays[j] if plays[j] > 0 else 0.0
        child, end = walk.children(links, j)
        while child != end:
            total += nodes[child, VALUE]
            child = walk.next_child(links, child)
        sequence_value[j - first] = total
        best = max(best, total)
    return best


@kernel
def challenge(lead, loss, wide, tied, lam):
    """The lead (loss, width, expiry, tied) after a candidate has challenged it.

    Expiry falls to where the loser would overtake the winner. Keeping the smallest of all such crossings is safe: up to
    it, each loser stays below the one that beat it.
    """
    lead_loss, lead_wide, expiry, lead_tied = lead
    if loss == lead_loss and wide == lead_wide:
        return lead_loss, lead_wide, expiry, lead_tied + tied
    if beats(loss, wide, lead_loss, lead_wide, lam):
        if wide < lead_wide:
            expiry = min(expiry, (lead_loss - loss) / (lead_wide - wide))
        return loss, wide, expiry, tied
    if lead_wide < wide:
        expiry = min(expiry, (loss - lead_loss) / (wide - lead_wide))
    return lead_loss, lead_wide, expiry, lead_tied


@kernel
def refresh(links, estimates, state, lam, optimistic):
    """Recomputes a state from its sequences and its child states."""
    nodes, plays = estimates.nodes, estimates.plays
    best = sequence_values(links, estimates, state)
    first = links.first_sequence[state]
    number_best, sole_best = 0, 0
    lead = (np.inf, -1.0, np.inf, 0.0)
    least_expiry = np.inf
    for j in range(first, links.first_sequence[state + 1]):
        loss = best - estimates.sequence_value[j - first]
        if loss == 0.0:
            number_best += 1
            sole_best = j - first
        if links.can_end[j]:
            lead = challenge(lead, loss, width(plays[j], optimistic), 1.0, lam)
        child, end = walk.children(links, j)
        while child != end:
            lead = challenge(lead, loss + nodes[child, LOSS], nodes[child, WIDTH], nodes[child, TIED], lam)
            least_expiry = min(least_expiry, nodes[child, EXPIRY])
            child = walk.next_child(links, child)
    nodes[state, VALUE] = best
    nodes[state, LOSS], nodes[state, WIDTH], nodes[state, TIED] = lead[0], lead[1], lead[3]
    nodes[state, EXPIRY] = min(lead[2], least_expiry)
    estimates.sole_best[state] = sole_best if number_best == 1 else -1


@tree_pass
def refresh_expired(links, estimates, lam, optimistic, stack):
    """Refreshes, children first, the states whose lead may have been overtaken. Returns how many there were."""
    number, at = _list_expired(links, estimates, lam, walk.root(links), stack, 0), 0
    while at < number:
        state = stack[at]
        at += 1
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            number = _list_expired(links, estimates, lam, j, stack, number)
    for at in range(number - 1, -1, -1):
        refresh(links, estimates, stack[at], lam, optimistic)
    return number


@kernel
def _list_expired(links, estimates, lam, sequence, stack, number):
    """As walk.list_children, for those child states whose lead may have been overtaken."""
    child, end = walk.children(links, sequence)
    while child != end:
        if estimates.nodes[child, EXPIRY] <= lam:
            stack[number] = child
            number += 1
        child = walk.next_child(links, child)
    return number


@kernel
def root_value(links, estimates):
    """W(root), the estimate of the empirically best policy."""
    total = 0.0
    state, end = walk.children(links, walk.root(links))
    while state != end:
        total += estimates.nodes[state, VALUE]
        state = walk.next_child(links, state)
    return total


@kernel
def _descend(links, estimates, state, optimistic, seed, time):
    """The lead ending of a state, uniformly at random among the tied ones."""
    while True:
        lead = estimates.nodes[state]
        rank = np.floor(ties.uniform(seed, time, ties.descent_key(state)) * lead[TIED])
        best = sequence_values(links, estimates, state)
        first = links.first_sequence[state]
        below = np.int64(-1)
        for j in range(first, links.first_sequence[state + 1]):
            loss = best - estimates.sequence_value[j - first]
            if links.can_end[j] and loss == lead[LOSS] and width(estimates.plays[j], optimistic) == lead[WIDTH]:
                if rank < 1.0:
                    return j
                rank -= 1.0
            child, end = walk.children(links, j)
            while child != end:
                if (
                    below < 0
                    and loss + estimates.nodes[child, LOSS] == lead[LOSS]
                    and estimates.nodes[child, WIDTH] == lead[WIDTH]
                ):
                    if rank < estimates.nodes[child, TIED]:
                        below = child
                    rank -= estimates.nodes[child, TIED]
                child = walk.next_child(links, child)
            if below >= 0:
                break
        state = below


@kernel
def max_ucb_ending(links, estimates, lam, optimistic, seed, time):
    """As plain.max_ucb_ending, from the leads of the first states: (j, loss, width)."""
    lead, end = walk.children(links, walk.root(links))
    state, tied = walk.next_child(links, lead), estimates.nodes[lead, TIED]
    while state != end:
        node, best = estimates.nodes[state], estimates.nodes[lead]
        if beats(node[LOSS], node[WIDTH], best[LOSS], best[WIDTH], lam):
            lead, tied = state, node[TIED]
        elif node[LOSS] == best[LOSS] and node[WIDTH] == best[WIDTH]:
            tied += node[TIED]
            if ties.wins(tied, node[TIED], seed, time, ties.lead_key(state)):
                lead = state
        state = walk.next_child(links, state)
    ending = _descend(links, estimates, lead, optimistic, seed, time)
    return ending, estimates.nodes[lead, LOSS], estimates.nodes[lead, WIDTH]


@kernel
def best_action(links, estimates, state, seed, time):
    """An action with the largest W(s, a), uniformly at random among them."""
    if estimates.sole_best[state] >= 0:
        return np.int64(estimates.sole_best[state])
    best = sequence_values(links, estimates, state)
    actions = links.first_sequence[state + 1] - links.first_sequence[state]
    return ties.any_of(estimates.sequence_value, 0, actions, best, seed, time, state)


@kernel
def best_plan(links, estimates, forced, seed, time, plan, reached):
    """As plain.best_plan."""
    number, at = walk.list_children(links, walk.root(links), reached, 0), 0
    while at < number:
        state = reached[at]
        at += 1
        plan[state] = forced[state] if forced[state] >= 0 else best_action(links, estimates, state, seed, time)
        number = walk.list_children(links, links.first_sequence[state] + plan[state], reached, number)
    return number


@numba.njit(cache=True)
def whole_best_plan(links, estimates, seed, time):
    """The empirically best plan at every state, reached or not."""
    plan = np.empty(len(links.parent), PLAN_DTYPE)
    for state in range(len(links.parent)):
        plan[state] = best_action(links, estimates, state, seed, time)
    return plan


@tree_pass
def second_ending(links, estimates, deviations, plan, reached, number, lam, optimistic, seed, time):
    """As plain.second_ending, from the leads beside the plan's reached states: (j, deviation, loss, width)."""
    first_position = deviations.first_position
    below, below_where = deviations.below, deviations.below_where
    aside, aside_where = deviations.aside, deviations.aside_where
    first_states = position = np.int64(walk.num_children(links, walk.root(links)))
    for at in range(number):
        first_position[at] = position
        position += walk.num_children(links, links.first_sequence[reached[at]] + plan[reached[at]])

    lead, lead_loss, lead_wide, tied = np.int64(-1), np.inf, 0.0, 0.0
    lead_is_ending = False
    for at in range(number - 1, -1, -1):
        state = reached[at]
        below[at], below_where[at] = np.inf, -1
        first, played = links.first_sequence[state], links.first_sequence[state] + plan[state]
        best = sequence_values(links, estimates, state)
        for j in range(first, links.first_sequence[state + 1]):
            if j == played:
                continue
            loss = best - estimates.sequence_value[j - first]
            if loss < below[at]:
                below[at], below_where[at] = loss, j
            if links.can_end[j]:
                wide = width(estimates.plays[j], optimistic)
                if lead < 0 or beats(loss, wide, lead_loss, lead_wide, lam):
                    lead, lead_loss, lead_wide, tied, lead_is_ending = np.int64(j), loss, wide, 1.0, True
                elif loss == lead_loss and wide == lead_wide:
                    tied += 1.0
                    if ties.wins(tied, 1.0, seed, time, ties.lead_key(j)):
                        lead, lead_is_ending = np.int64(j), True
            child, end = walk.children(links, j)
            while child != end:
                node = estimates.nodes[child]
                if lead < 0 or beats(loss + node[LOSS], node[WIDTH], lead_loss, lead_wide, lam):
                    lead, lead_loss, lead_wide, tied, lead_is_ending = (
                        child,
                        loss + node[LOSS],
                        node[WIDTH],
                        node[TIED],
                        False,
                    )
                elif loss + node[LOSS] == lead_loss and node[WIDTH] == lead_wide:
                    tied += node[TIED]
                    if ties.wins(tied, node[TIED], seed, time, ties.lead_key(len(links.can_end) + child)):
                        lead, lead_is_ending = child, False
                child = walk.next_child(links, child)
        low = first_position[at]
        for later in range(low, low + walk.num_children(links, played)):
            if below[later] < below[at]:
                below[at], below_where[at] = below[later], below_where[later]
    if lead >= 0 and not lead_is_ending:
        lead = np.int64(_descend(links, estimates, lead, optimistic, seed, time))

    deviation = np.int64(-1)
    _share_aside(np.int64(0), first_states, np.inf, -1, below, below_where, aside, aside_where)
    for at in range(number):
        j = links.first_sequence[reached[at]] + plan[reached[at]]
        low, high = first_position[at], first_position[at] + walk.num_children(links, j)
        _share_aside(low, high, aside[at], aside_where[at], below, below_where, aside, aside_where)
        if links.can_end[j]:
            least, where = aside[at], aside_where[at]
            for child in range(low, high):
                if below[child] < least:
                    least, where = below[child], below_where[child]
            wide = width(estimates.plays[j], optimistic)
            if where >= 0 and (lead < 0 or beats(least, wide, lead_loss, lead_wide, lam)):
                lead, deviation, lead_loss, lead_wide = np.int64(j), np.int64(where), least, wide
    return lead, deviation, lead_loss, lead_wide


@kernel
def _share_aside(low, high, above, above_where, below, below_where, aside, aside_where):
    """For each sibling in low .. high: the cheapest deviation off the path to it, above or below another sibling."""
    least, least_at, second, second_at = np.inf, -1, np.inf, -1
    for at in range(low, high):
        if below[at] < least:
            least, least_at, second, second_at = below[at], at, least, least_at
        elif below[at] < second:
            second, second_at = below[at], at
    for at in range(low, high):
        other, other_at = (second, second_at) if at == least_at else (least, least_at)
        if other < above:
            aside[at], aside_where[at] = other, below_where[other_at]
        else:
            aside[at], aside_where[at] = above, above_where
