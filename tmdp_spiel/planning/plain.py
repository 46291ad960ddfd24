"""Exact plans from estimates, by plain passes over the whole tree.

Every estimate used here is a sum over what a policy can end on, so an empirically best policy is a bottom-up maximum.
With V its value and V(s), Q(j) those of its states and sequences,

    d(j) = weight(s) * (V(s) - Q(j)) >= 0,   loss(j) = sum of d over the path to j,

V - loss(j) is the best estimate among the policies that play j: the empirically best policy with that path forced.
The width of a policy depends on its least-played ending and decreases with plays, hence

    max over pi of V-hat(pi) + beta(n(pi)) = max over ending sequences j of V - loss(j) + lambda * width(n(j)).

These passes cost time proportional to the tree. `incremental` gets the same answers from what has changed.
"""

from __future__ import annotations

import collections

import numpy as np

from tmdp_spiel.trees import ties, walk
from tmdp_spiel.trees.decision_tree import PLAN_DTYPE
from tmdp_spiel.trees.kernels import kernel, tree_pass

# What the passes work on. local_loss: float64[J] d(j);  loss: float64[J] loss(j);  the others one entry per state:
# value: V(s);  reach: empirical probability of s by its own path;  plan: the empirically best plan;  on_plan: whether
# it reaches s;  below, aside: its cheapest deviation at or below s, and off the path to s;  *_where: that sequence
Workspace = collections.namedtuple(
    "Workspace",
    ["local_loss", "loss", "value", "reach", "plan", "on_plan", "below", "below_where", "aside", "aside_where"],
)


def new_workspace(num_states: int, num_sequences: int) -> Workspace:
    return Workspace(
        local_loss=np.empty(num_sequences),
        loss=np.empty(num_sequences),
        value=np.empty(num_states),
        reach=np.empty(num_states),
        plan=np.empty(num_states, PLAN_DTYPE),
        on_plan=np.empty(num_states, np.bool_),
        below=np.empty(num_states),
        below_where=np.empty(num_states, np.int32),
        aside=np.empty(num_states),
        aside_where=np.empty(num_states, np.int32),
    )


@kernel
def width(plays, optimistic):
    """n^(-1/2), the width of a policy with that many plays in units of lambda; infinite for n = 0, or as for n = 1."""
    if plays > 0:
        return 1.0 / np.sqrt(plays)
    return 1.0 if optimistic else np.inf


@kernel
def beats(loss, wide, other_loss, other_wide, lam):
    """Whether the candidate (loss, wide) has the higher lambda * width - loss; the lower loss if both are infinite."""
    if wide == np.inf or other_wide == np.inf:
        return (wide == np.inf and other_wide != np.inf) or (wide == other_wide and loss < other_loss)
    score, other_score = lam * wide - loss, lam * other_wide - other_loss
    return score > other_score or (score == other_score and wide > other_wide)


@tree_pass
def counts_losses(links, plays, totals, work):
    """d for the estimate of Theorem 1, V-hat(pi) = sum of R(j) / n(j) over the j that pi can end on. Returns V.

    W(j) = R(j) / n(j) + sum over child states c of W(c);  W(s) = max over a of W(s, a);  d(j) = W(s) - W(j).
    """
    value, local_loss = work.value, work.local_loss
    for state in range(len(links.parent) - 1, -1, -1):
        best = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total = walk.add_children(links, j, value, totals[j] / plays[j] if plays[j] > 0 else 0.0)
            local_loss[j] = total
            best = max(best, total)
        value[state] = best
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            local_loss[j] = best - local_loss[j]
    return walk.add_children(links, walk.root(links), value, 0.0)


@tree_pass
def transitions_losses(links, episodes, state_visits, sequence_visits, totals, work):
    """d for the estimate by empirical transitions. Returns V.

    Q(j) = (R(j) + sum over child states c of visits(c) V(c)) / visits(j), 0 if never visited;
    V(s) = max over a of Q(s, a);  d(s, a) = (empirical probability of reaching s by its own path) * (V(s) - Q(s, a)).
    """
    value, local_loss = work.value, work.local_loss
    for state in range(len(links.parent) - 1, -1, -1):
        best = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total = 0.0
            if sequence_visits[j] > 0:
                total = totals[j]
                child, end = walk.children(links, j)
                while child != end:
                    total += state_visits[child] * value[child]
                    child = walk.next_child(links, child)
                total /= sequence_visits[j]
            local_loss[j] = total
            best = max(best, total)
        value[state] = best
    reach = work.reach
    root_value = 0.0
    for state in range(len(links.parent)):
        reach[state] = 0.0
        if walk.is_first(links, state):
            reach[state] = state_visits[state] / episodes if episodes > 0 else 0.0
            root_value += reach[state] * value[state]
        elif sequence_visits[links.parent[state]] > 0:
            above = walk.state_of(links, links.parent[state])
            reach[state] = reach[above] * state_visits[state] / sequence_visits[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            local_loss[j] = reach[state] * (value[state] - local_loss[j])
    return root_value


@tree_pass
def max_ucb_ending(links, work, plays, only, lam, optimistic, seed, time):
    """The ending sequence j with the largest V - loss(j) + lambda * width(n(j)), top-down: (j, loss, width).

    Unplayed endings come first, least loss among them; ties uniformly at random. only: look at endings with exactly
    that many plays, if it is not -1. j is -1 if there is no ending of finite loss.
    """
    loss, local_loss = work.loss, work.local_loss
    lead, lead_loss, lead_wide, tied = -1, np.inf, 0.0, 0
    for state in range(len(links.parent)):
        above = 0.0 if walk.is_first(links, state) else loss[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            loss[j] = above + local_loss[j]
            if not links.can_end[j] or (only >= 0 and plays[j] != only) or loss[j] == np.inf:
                continue
            wide = width(plays[j], optimistic)
            if lead < 0 or beats(loss[j], wide, lead_loss, lead_wide, lam):
                lead, lead_loss, lead_wide, tied = j, loss[j], wide, 1
            elif loss[j] == lead_loss and wide == lead_wide:
                tied += 1
                if ties.wins(tied, 1.0, seed, time, ties.ending_key(j)):
                    lead = j
    return lead, lead_loss, lead_wide


@kernel
def best_action(links, local_loss, state, seed, time):
    """An action of d = 0, uniformly at random among them."""
    first, end = links.first_sequence[state], links.first_sequence[state + 1]
    return ties.any_of(local_loss, first, end, 0.0, seed, time, state) - first


@kernel
def best_plan(links, work, forced, seed, time, plan, reached):
    """Fills the empirically best plan, with what is forced, at the states it can reach; lists them, parents first."""
    number, at = walk.list_children(links, walk.root(links), reached, 0), 0
    while at < number:
        state = reached[at]
        at += 1
        plan[state] = forced[state] if forced[state] >= 0 else best_action(links, work.local_loss, state, seed, time)
        number = walk.list_children(links, links.first_sequence[state] + plan[state], reached, number)
    return number


@tree_pass
def whole_best_plan(links, work, seed, time):
    """Fills work.plan with the empirically best plan at every state, reached or not."""
    for state in range(len(links.parent)):
        work.plan[state] = best_action(links, work.local_loss, state, seed, time)


@tree_pass
def second_ending(links, work, plays, only, lam, optimistic, seed, time):
    """What to force for the best upper bound among the policies that differ from the best plan in what they reach.

    The plan is work.plan, the empirically best one at every state. A different policy either ends on a j that the plan
    cannot end on, where the path to j alone is forced, or its least-played ending j is one of the plan's, and it
    differs in one cheapest deviation off the path to j. Returns (j, deviation, loss, width): the sequence that
    deviates is -1 in the first case, j is -1 if there is no other policy. only: as for max_ucb_ending, with
    work.plan the best policy among those that end on such an ending.
    """
    states = len(links.parent)
    plan, on_plan, loss, local_loss = work.plan, work.on_plan, work.loss, work.local_loss
    below, below_where, aside, aside_where = work.below, work.below_where, work.aside, work.aside_where
    lead, lead_loss, lead_wide, tied = -1, np.inf, 0.0, 0
    for state in range(states):
        first_state = walk.is_first(links, state)
        above = 0.0 if first_state else loss[links.parent[state]]
        if first_state:
            on_plan[state] = True
        else:
            over = walk.state_of(links, links.parent[state])
            on_plan[state] = on_plan[over] and links.parent[state] == links.first_sequence[over] + plan[over]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            loss[j] = above + local_loss[j]
            if not links.can_end[j] or (only >= 0 and plays[j] != only) or loss[j] == np.inf:
                continue
            if on_plan[state] and j == links.first_sequence[state] + plan[state]:
                continue
            wide = width(plays[j], optimistic)
            if lead < 0 or beats(loss[j], wide, lead_loss, lead_wide, lam):
                lead, lead_loss, lead_wide, tied = j, loss[j], wide, 1
            elif loss[j] == lead_loss and wide == lead_wide:
                tied += 1
                if ties.wins(tied, 1.0, seed, time, ties.ending_key(j)):
                    lead = j

    deviation = np.int64(-1)
    # The cheapest deviation at or below each state of the plan, and off the path to it.
    for state in range(states - 1, -1, -1):
        if not on_plan[state]:
            continue
        below[state], below_where[state] = np.inf, -1
        played = links.first_sequence[state] + plan[state]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if j != played and local_loss[j] < below[state]:
                below[state], below_where[state] = local_loss[j], j
        child, end = walk.children(links, played)
        while child != end:
            if below[child] < below[state]:
                below[state], below_where[state] = below[child], below_where[child]
            child = walk.next_child(links, child)
    for state in range(states):
        if not on_plan[state]:
            continue
        if walk.is_first(links, state):
            aside[state], aside_where[state] = np.inf, -1
        else:
            over = walk.state_of(links, links.parent[state])
            aside[state], aside_where[state] = aside[over], aside_where[over]
        sibling, end = walk.children(links, links.parent[state])
        while sibling != end:
            if sibling != state and below[sibling] < aside[state]:
                aside[state], aside_where[state] = below[sibling], below_where[sibling]
            sibling = walk.next_child(links, sibling)
        j = links.first_sequence[state] + plan[state]
        if links.can_end[j] and (only < 0 or plays[j] == only):
            least, where = aside[state], aside_where[state]
            child, end = walk.children(links, j)
            while child != end:
                if below[child] < least:
                    least, where = below[child], below_where[child]
                child = walk.next_child(links, child)
            wide = width(plays[j], optimistic)
            if where >= 0 and (lead < 0 or beats(loss[j] + least, wide, lead_loss, lead_wide, lam)):
                lead, deviation, lead_loss, lead_wide = j, where, loss[j] + least, wide
    return lead, deviation, lead_loss, lead_wide
