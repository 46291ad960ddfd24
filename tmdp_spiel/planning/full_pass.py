"""Exact plans from estimates, by passes over the whole tree.

Every estimate used here is a sum over the sequences on which a policy can end, so an empirically best policy is a
bottom-up maximum. With V its value and V(s), Q(j) the values of its states and sequences,

    d(j) = weight(s) * (V(s) - Q(j)) >= 0,   loss(j) = sum of d over the path to j,

V - loss(j) is the best estimate among the policies that play j: that of the empirically best policy with the path to j
forced. The width of a policy depends on its least-played ending and decreases with plays, hence

    max over pi of V-hat(pi) + beta(n(pi)) = max over ending sequences j of V - loss(j) + lambda * width(n(j)).

These passes take time proportional to the tree. `kinetic` computes the same answers from what has changed.
"""

from __future__ import annotations

import collections

import numpy as np

from tmdp_spiel.core import hash_rng
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE

# What the passes work on. local_loss: float64[J + 1] d(j);  loss: float64[J + 1] loss(j);  the others, by state:
# value: V(s);  reach: empirical probability of s by its own path;  plan: the empirically best plan;  on_plan: whether
# it reaches s;  subtree, off_path: its cheapest deviation at or below s, and off the path to s;  *_where: the sequence
Workspace = collections.namedtuple(
    "Workspace",
    [
        "local_loss",
        "loss",
        "value",
        "reach",
        "plan",
        "on_plan",
        "subtree",
        "subtree_where",
        "off_path",
        "off_path_where",
    ],
)


def new_workspace(num_states: int, sequences: int) -> Workspace:
    """Scratch for a tree with this number of states and, with the root, of sequences."""
    return Workspace(
        local_loss=np.empty(sequences),
        loss=np.empty(sequences),
        value=np.empty(num_states),
        reach=np.empty(num_states),
        plan=np.empty(num_states, PLAN_DTYPE),
        on_plan=np.empty(num_states, np.bool_),
        subtree=np.empty(num_states),
        subtree_where=np.empty(num_states, np.int32),
        off_path=np.empty(num_states),
        off_path_where=np.empty(num_states, np.int32),
    )


@kernel
def width(plays, optimistic):
    """n^(-1/2), the width of a policy after n plays in units of lambda; for n = 0 infinite, or as for n = 1."""
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
            total = traversal.add_children(links, j, value, totals[j] / plays[j] if plays[j] > 0 else 0.0)
            local_loss[j] = total
            best = max(best, total)
        value[state] = best
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            local_loss[j] = best - local_loss[j]
    return traversal.add_children(links, traversal.ROOT, value, 0.0)


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
                child, end = traversal.children(links, j)
                while child != end:
                    total += state_visits[child] * value[child]
                    child = traversal.next_child(links, child)
                total /= sequence_visits[j]
            local_loss[j] = total
            best = max(best, total)
        value[state] = best
    reach = work.reach
    root_value = 0.0
    for state in range(len(links.parent)):
        reach[state] = 0.0
        if traversal.is_first(links, state):
            reach[state] = state_visits[state] / episodes if episodes > 0 else 0.0
            root_value += reach[state] * value[state]
        elif sequence_visits[links.parent[state]] > 0:
            above = traversal.state_of(links, links.parent[state])
            reach[state] = reach[above] * state_visits[state] / sequence_visits[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            local_loss[j] = reach[state] * (value[state] - local_loss[j])
    return root_value


@kernel
def _challenge(lead, ending, loss, wide, lam, seed, time):
    """The lead (ending, loss, width, tied) after another ending has challenged it, ties uniformly at random."""
    holder, lead_loss, lead_wide, tied = lead
    if holder < 0 or beats(loss, wide, lead_loss, lead_wide, lam):
        return np.int64(ending), loss, wide, 1
    if loss == lead_loss and wide == lead_wide:
        tied += 1
        if hash_rng.wins(tied, 1.0, seed, time, hash_rng.ending_key(ending)):
            holder = np.int64(ending)
    return holder, lead_loss, lead_wide, tied


@kernel
def _lead_ending(links, work, plays, only, but_plan, lam, optimistic, seed, time):
    """Fills work.loss, top-down, and returns the lead of all endings, or of those that work.plan cannot end on."""
    loss, local_loss = work.loss, work.local_loss
    lead = (np.int64(-1), np.inf, 0.0, 0)
    loss[traversal.ROOT] = 0.0
    for state in range(len(links.parent)):
        above = loss[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            loss[j] = above + local_loss[j]
            if not links.can_end[j] or (only >= 0 and plays[j] != only) or loss[j] == np.inf:
                continue
            if but_plan and work.on_plan[state] and j == links.first_sequence[state] + work.plan[state]:
                continue
            lead = _challenge(lead, j, loss[j], width(plays[j], optimistic), lam, seed, time)
    return lead


@tree_pass
def max_ucb_ending(links, work, plays, only, lam, optimistic, seed, time):
    """The ending sequence j with the largest V - loss(j) + lambda * width(n(j)), top-down: (j, loss, width).

    Theorem 4 of docs/theory.md. Unplayed endings come first, least loss among them; ties uniformly at random. only:
    look at endings with exactly that many plays, if it is not -1. j is -1 if there is no ending of finite loss.
    """
    return _lead_ending(links, work, plays, only, False, lam, optimistic, seed, time)[:3]


@kernel
def best_action(links, local_loss, state, seed, time):
    """An action of d = 0, uniformly at random among them."""
    first, end = links.first_sequence[state], links.first_sequence[state + 1]
    return hash_rng.any_of(local_loss, first, end, 0.0, seed, time, state) - first


@kernel
def best_plan(links, work, forced, seed, time, plan, reached):
    """Writes the empirically best plan, with the forced actions, at the states that it can reach, and lists these."""
    number, at = traversal.list_children(links, traversal.ROOT, reached, 0), 0
    while at < number:
        state = reached[at]
        at += 1
        plan[state] = forced[state] if forced[state] >= 0 else best_action(links, work.local_loss, state, seed, time)
        number = traversal.list_children(links, links.first_sequence[state] + plan[state], reached, number)
    return number


@tree_pass
def whole_best_plan(links, work, seed, time):
    """Fills work.plan with the empirically best plan at every state, reached or not."""
    for state in range(len(links.parent)):
        work.plan[state] = best_action(links, work.local_loss, state, seed, time)


@kernel
def _mark_reached(links, work):
    """Fills work.on_plan: the states that the plan reaches, top-down."""
    for state in range(len(links.parent)):
        work.on_plan[state] = True
        if not traversal.is_first(links, state):
            above = traversal.state_of(links, links.parent[state])
            follows = links.parent[state] == links.first_sequence[above] + work.plan[above]
            work.on_plan[state] = work.on_plan[above] and follows


@kernel
def _cheaper_child(links, work, sequence, but, least, where):
    """The cheapest deviation below the child states of a sequence except one; (least, where) if none is cheaper."""
    child, end = traversal.children(links, sequence)
    while child != end:
        if child != but and work.subtree[child] < least:
            least, where = work.subtree[child], work.subtree_where[child]
        child = traversal.next_child(links, child)
    return least, where


@kernel
def _cheapest_below(links, work):
    """Fills work.subtree at the states that the plan reaches, bottom-up: least d of an action there or below."""
    for state in range(len(links.parent) - 1, -1, -1):
        if not work.on_plan[state]:
            continue
        least, where = np.inf, np.int32(-1)
        played = links.first_sequence[state] + work.plan[state]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if j != played and work.local_loss[j] < least:
                least, where = work.local_loss[j], np.int32(j)
        work.subtree[state], work.subtree_where[state] = _cheaper_child(links, work, played, -1, least, where)


@kernel
def _cheapest_off_path(links, work, state):
    """Fills work.off_path at a state that the plan reaches: off the path to the state above, or below a sibling."""
    least, where = np.inf, np.int32(-1)
    if not traversal.is_first(links, state):
        above = traversal.state_of(links, links.parent[state])
        least, where = work.off_path[above], work.off_path_where[above]
    least, where = _cheaper_child(links, work, links.parent[state], state, least, where)
    work.off_path[state], work.off_path_where[state] = least, where


@tree_pass
def runner_up(links, work, plays, only, lam, optimistic, seed, time):
    """What to force for the best upper bound among the policies that differ from the best plan at states they reach.

    Theorem 5 of docs/theory.md. The plan is work.plan, the empirically best one at every state. A different policy
    either (1) ends on a j that the plan cannot end on, where the path to j alone is forced, or (2) its least-played
    ending j is one of the plan's, and it differs in one cheapest deviation off the path to j. Returns (j, deviation,
    loss, width): the sequence that deviates is -1 in case (1), j is -1 if there is no other policy. only: as for
    max_ucb_ending, with work.plan the best policy among those that end on such an ending.
    """
    _mark_reached(links, work)
    lead, lead_loss, lead_wide, _ = _lead_ending(links, work, plays, only, True, lam, optimistic, seed, time)  # (1)
    deviation = np.int64(-1)
    _cheapest_below(links, work)
    for state in range(len(links.parent)):  # (2)
        if not work.on_plan[state]:
            continue
        _cheapest_off_path(links, work, state)
        j = links.first_sequence[state] + work.plan[state]
        if not links.can_end[j] or (only >= 0 and plays[j] != only):
            continue
        least, where = _cheaper_child(links, work, j, -1, work.off_path[state], work.off_path_where[state])
        loss, wide = work.loss[j] + least, width(plays[j], optimistic)
        if where >= 0 and (lead < 0 or beats(loss, wide, lead_loss, lead_wide, lam)):
            lead, deviation, lead_loss, lead_wide = np.int64(j), np.int64(where), loss, wide
    return lead, deviation, lead_loss, lead_wide
