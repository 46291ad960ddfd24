"""The exact plans of `full_pass` for the counts estimate, recomputing only what has changed.

Playing a policy changes only the counts of the sequences that it can reach. So every state stores

    VALUE   W(s), the best estimate below it;
    LOSS    the loss, within its subtree, of its *lead*: the ending with the largest lambda * width - loss;
    WIDTH   the width n^(-1/2) of that ending, infinite if it was never played;
    EXPIRY  a lambda up to which no other ending of the subtree overtakes the lead;
    TIED    how many endings of the subtree share the lead's loss and width.

Two candidates (loss, width) cross where the difference of losses is lambda times the difference of widths, and lambda_t
never decreases. So this is a kinetic tournament. After an episode, the states that the played policy reaches are
refreshed, children first; before a plan, those whose lead has expired. The result equals that of a full pass exactly.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.core import hash_rng
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.planning.full_pass import beats, width
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE

VALUE, LOSS, WIDTH, EXPIRY, TIED = range(5)

# plays: int32[J + 1] n(j);  totals: float64[J + 1] R(j);  nodes: float64[S, 5] as above;
# sole_best: int16[S] the unique empirically best action, or -1 if several tie;  sequence_value: scratch, one per action
Estimates = collections.namedtuple("Estimates", ["plays", "totals", "nodes", "sole_best", "sequence_value"])

# Scratch for the second plan, by position in the list of states that the first plan reaches.
# first_position: where the child states of the state at that position begin, which are contiguous;
# subtree, off_path: the cheapest deviation from the plan at or below the state, and off the path to it;
# *_where: the sequence that deviates
Deviations = collections.namedtuple(
    "Deviations", ["first_position", "subtree", "subtree_where", "off_path", "off_path_where"]
)


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
        plays=np.zeros(tree.sequence_end, np.int32),
        totals=np.zeros(tree.sequence_end),
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
        child, end = traversal.children(links, j)
        while child != end:
            total += nodes[child, VALUE]
            child = traversal.next_child(links, child)
        sequence_value[j - first] = total
        best = max(best, total)
    return best


@kernel
def challenge(lead, loss, wide, tied, lam):
    """The lead (loss, width, expiry, tied) after a candidate has challenged it.

    The expiry is lowered to the lambda at which the loser would overtake the winner. The smallest of all these
    crossings is safe: until then, every loser stays below the candidate that beat it.
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
        child, end = traversal.children(links, j)
        while child != end:
            lead = challenge(lead, loss + nodes[child, LOSS], nodes[child, WIDTH], nodes[child, TIED], lam)
            least_expiry = min(least_expiry, nodes[child, EXPIRY])
            child = traversal.next_child(links, child)
    nodes[state, VALUE] = best
    nodes[state, LOSS], nodes[state, WIDTH], nodes[state, TIED] = lead[0], lead[1], lead[3]
    nodes[state, EXPIRY] = min(lead[2], least_expiry)
    estimates.sole_best[state] = sole_best if number_best == 1 else -1


@tree_pass
def refresh_expired(links, estimates, lam, optimistic, stack):
    """Refreshes, children first, the states whose lead may have been overtaken. Returns how many there were."""
    number, at = _list_expired(links, estimates, lam, traversal.ROOT, stack, 0), 0
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
    """As traversal.list_children, for those child states whose lead may have been overtaken."""
    child, end = traversal.children(links, sequence)
    while child != end:
        if estimates.nodes[child, EXPIRY] <= lam:
            stack[number] = child
            number += 1
        child = traversal.next_child(links, child)
    return number


@kernel
def root_value(links, estimates):
    """W(root), the estimate of the empirically best policy."""
    total = 0.0
    state, end = traversal.children(links, traversal.ROOT)
    while state != end:
        total += estimates.nodes[state, VALUE]
        state = traversal.next_child(links, state)
    return total


@kernel
def _descend(links, estimates, state, optimistic, seed, time):
    """The lead ending of a state, uniformly at random among the tied ones."""
    while True:
        lead = estimates.nodes[state]
        rank = np.floor(hash_rng.uniform(seed, time, hash_rng.descent_key(state)) * lead[TIED])
        best = sequence_values(links, estimates, state)
        first = links.first_sequence[state]
        subtree = np.int64(-1)
        for j in range(first, links.first_sequence[state + 1]):
            loss = best - estimates.sequence_value[j - first]
            if links.can_end[j] and loss == lead[LOSS] and width(estimates.plays[j], optimistic) == lead[WIDTH]:
                if rank < 1.0:
                    return j
                rank -= 1.0
            child, end = traversal.children(links, j)
            while child != end:
                if (
                    subtree < 0
                    and loss + estimates.nodes[child, LOSS] == lead[LOSS]
                    and estimates.nodes[child, WIDTH] == lead[WIDTH]
                ):
                    if rank < estimates.nodes[child, TIED]:
                        subtree = child
                    rank -= estimates.nodes[child, TIED]
                child = traversal.next_child(links, child)
            if subtree >= 0:
                break
        state = subtree


@kernel
def max_ucb_ending(links, estimates, lam, optimistic, seed, time):
    """As full_pass.max_ucb_ending, from the leads of the first states: (j, loss, width)."""
    lead, end = traversal.children(links, traversal.ROOT)
    state, tied = traversal.next_child(links, lead), estimates.nodes[lead, TIED]
    while state != end:
        node, best = estimates.nodes[state], estimates.nodes[lead]
        if beats(node[LOSS], node[WIDTH], best[LOSS], best[WIDTH], lam):
            lead, tied = state, node[TIED]
        elif node[LOSS] == best[LOSS] and node[WIDTH] == best[WIDTH]:
            tied += node[TIED]
            if hash_rng.wins(tied, node[TIED], seed, time, hash_rng.lead_key(state)):
                lead = state
        state = traversal.next_child(links, state)
    ending = _descend(links, estimates, lead, optimistic, seed, time)
    return ending, estimates.nodes[lead, LOSS], estimates.nodes[lead, WIDTH]


@kernel
def best_action(links, estimates, state, seed, time):
    """An action with the largest W(s, a), uniformly at random among them."""
    if estimates.sole_best[state] >= 0:
        return np.int64(estimates.sole_best[state])
    best = sequence_values(links, estimates, state)
    actions = links.first_sequence[state + 1] - links.first_sequence[state]
    return hash_rng.any_of(estimates.sequence_value, 0, actions, best, seed, time, state)


@kernel
def best_plan(links, estimates, forced, seed, time, plan, reached):
    """As full_pass.best_plan."""
    number, at = traversal.list_children(links, traversal.ROOT, reached, 0), 0
    while at < number:
        state = reached[at]
        at += 1
        plan[state] = forced[state] if forced[state] >= 0 else best_action(links, estimates, state, seed, time)
        number = traversal.list_children(links, links.first_sequence[state] + plan[state], reached, number)
    return number


@numba.njit(cache=True)
def whole_best_plan(links, estimates, seed, time):
    """The empirically best plan at every state, reached or not."""
    plan = np.empty(len(links.parent), PLAN_DTYPE)
    for state in range(len(links.parent)):
        plan[state] = best_action(links, estimates, state, seed, time)
    return plan


@kernel
def _challenge_runner_up(lead, number, loss, wide, tied, lam, seed, time):
    """The lead (number, loss, width, tied) after a candidate has challenged it, all tied endings with equal chances.

    number: a sequence, for itself, or the number of sequences plus a state, for the endings that lead there.
    """
    holder, lead_loss, lead_wide, lead_tied = lead
    if holder < 0 or beats(loss, wide, lead_loss, lead_wide, lam):
        return np.int64(number), loss, wide, tied
    if loss == lead_loss and wide == lead_wide:
        lead_tied += tied
        if hash_rng.wins(lead_tied, tied, seed, time, hash_rng.lead_key(hash_rng.sequence_key(number))):
            holder = np.int64(number)
    return holder, lead_loss, lead_wide, lead_tied


@kernel
def _lead_beside(links, estimates, state, played, best, lead, lam, optimistic, seed, time):
    """The lead after the endings of all other actions of a state; estimates.sequence_value is that of the state."""
    first = links.first_sequence[state]
    for j in range(first, links.first_sequence[state + 1]):
        if j == played:
            continue
        loss = best - estimates.sequence_value[j - first]
        if links.can_end[j]:
            lead = _challenge_runner_up(lead, j, loss, width(estimates.plays[j], optimistic), 1.0, lam, seed, time)
        child, end = traversal.children(links, j)
        while child != end:
            node, number = estimates.nodes[child], len(links.can_end) + child
            lead = _challenge_runner_up(lead, number, loss + node[LOSS], node[WIDTH], node[TIED], lam, seed, time)
            child = traversal.next_child(links, child)
    return lead


@kernel
def _cheaper_child(deviations, low, high, least, where):
    """The cheapest deviation below the states at positions low .. high; (least, where) if none is cheaper."""
    for at in range(low, high):
        if deviations.subtree[at] < least:
            least, where = deviations.subtree[at], deviations.subtree_where[at]
    return least, where


@kernel
def _cheapest_below(links, estimates, deviations, at, state, played, best):
    """Fills deviations.subtree at a position; estimates.sequence_value is that of the state there."""
    least, where, first = np.inf, np.int32(-1), links.first_sequence[state]
    for j in range(first, links.first_sequence[state + 1]):
        loss = best - estimates.sequence_value[j - first]
        if j != played and loss < least:
            least, where = loss, np.int32(j)
    low = deviations.first_position[at]
    high = low + traversal.num_children(links, played)
    deviations.subtree[at], deviations.subtree_where[at] = _cheaper_child(deviations, low, high, least, where)


@kernel
def _cheapest_off_path(deviations, low, high, above, above_where):
    """Fills deviations.off_path at the siblings low .. high: off the path to all of them, or below another sibling."""
    subtree, least, least_at, second, second_at = deviations.subtree, np.inf, -1, np.inf, -1
    for at in range(low, high):
        if subtree[at] < least:
            least, least_at, second, second_at = subtree[at], at, least, least_at
        elif subtree[at] < second:
            second, second_at = subtree[at], at
    for at in range(low, high):
        other, other_at = (second, second_at) if at == least_at else (least, least_at)
        deviations.off_path[at], deviations.off_path_where[at] = above, above_where
        if other < above:
            deviations.off_path[at], deviations.off_path_where[at] = other, deviations.subtree_where[other_at]


@kernel
def _position_children(links, deviations, plan, reached, number):
    """Fills deviations.first_position; returns how many first states there are."""
    first_states = position = np.int64(traversal.num_children(links, traversal.ROOT))
    for at in range(number):
        deviations.first_position[at] = position
        position += traversal.num_children(links, links.first_sequence[reached[at]] + plan[reached[at]])
    return first_states


@tree_pass
def runner_up(links, estimates, deviations, plan, reached, number, lam, optimistic, seed, time):
    """As full_pass.runner_up, from the leads beside the plan's reached states: (j, deviation, loss, width)."""
    first_states = _position_children(links, deviations, plan, reached, number)
    leading = (np.int64(-1), np.inf, 0.0, 0.0)
    for at in range(number - 1, -1, -1):  # (1)
        state = reached[at]
        played, best = links.first_sequence[state] + plan[state], sequence_values(links, estimates, state)
        leading = _lead_beside(links, estimates, state, played, best, leading, lam, optimistic, seed, time)
        _cheapest_below(links, estimates, deviations, at, state, played, best)
    lead, lead_loss, lead_wide, _ = leading
    if lead >= len(links.can_end):
        lead = np.int64(_descend(links, estimates, lead - len(links.can_end), optimistic, seed, time))

    deviation, off_path, off_path_where = np.int64(-1), deviations.off_path, deviations.off_path_where
    _cheapest_off_path(deviations, np.int64(0), first_states, np.inf, np.int32(-1))
    for at in range(number):  # (2)
        j = links.first_sequence[reached[at]] + plan[reached[at]]
        low = np.int64(deviations.first_position[at])
        high = low + traversal.num_children(links, j)
        _cheapest_off_path(deviations, low, high, off_path[at], off_path_where[at])
        if not links.can_end[j]:
            continue
        least, where = _cheaper_child(deviations, low, high, off_path[at], off_path_where[at])
        wide = width(estimates.plays[j], optimistic)
        if where >= 0 and (lead < 0 or beats(least, wide, lead_loss, lead_wide, lam)):
            lead, deviation, lead_loss, lead_wide = np.int64(j), np.int64(where), least, wide
    return lead, deviation, lead_loss, lead_wide
