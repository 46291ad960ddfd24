"""Traversals of a tree: what can follow a sequence, the path to one, what a plan reaches, and sampled episodes.

Sequence 0 is the root, the empty sequence. The only way to iterate over the child states of a sequence is

    child, end = traversal.children(links, sequence)
    while child != end:
        ...
        child = traversal.next_child(links, child)

In a tree in level order the children of a sequence are contiguous; in a lazy tree they are linked. Kernels distinguish
the two by the type of the links when they are compiled. A state's sequences are always contiguous:
first_sequence[s] .. first_sequence[s + 1].
"""

from __future__ import annotations

import collections

import numba.extending
import numpy as np

from tmdp_spiel.core.jit import kernel

ROOT = 0

# The decisions of the player in one episode, in order; at most `horizon` of them.
Path = collections.namedtuple("Path", ["states", "sequences"])


def new_path(horizon: int) -> Path:
    return Path(np.empty(horizon, np.int32), np.empty(horizon, np.int32))


_INLINE = {"forceinline": True, "_nrt": False}


@kernel
def root(links):
    """The number of the root."""
    return np.int64(ROOT)


@kernel
def _ordered_children(links, sequence):
    return np.int64(links.first_child[sequence]), np.int64(links.first_child[sequence + 1])


@kernel
def _grown_children(links, sequence):
    return np.int64(links.first_child[sequence]), np.int64(-1)


def _grows(links) -> bool:
    """Whether the links, or in a kernel their type, are those of a lazy tree."""
    return "next_sibling" in getattr(links, "fields", getattr(links, "_fields", ()))


def children(links, sequence):
    """The first child state of a sequence, and what next_child returns after the last; equal if none."""
    return _grown_children(links, sequence) if _grows(links) else _ordered_children(links, sequence)


def next_child(links, child):
    """The child state of the same sequence after this one."""
    return np.int64(links.next_sibling[child]) if _grows(links) else child + 1


@numba.extending.overload(children, jit_options=_INLINE)
def _compiled_children(links, sequence):
    if _grows(links):
        return lambda links, sequence: _grown_children(links, sequence)
    return lambda links, sequence: _ordered_children(links, sequence)


@numba.extending.overload(next_child, jit_options=_INLINE)
def _compiled_next_child(links, child):
    if _grows(links):
        return lambda links, child: np.int64(links.next_sibling[child])
    return lambda links, child: child + 1


@kernel
def num_children(links, sequence):
    number = 0
    child, end = children(links, sequence)
    while child != end:
        number += 1
        child = next_child(links, child)
    return number


@kernel
def is_first(links, state):
    """Whether the state can be the first decision of an episode."""
    return links.parent[state] == ROOT


@kernel
def sequences_of(links, state):
    """The first sequence of a state, and one more than the last; those of the root for state -1."""
    if state < 0:
        return np.int64(ROOT), np.int64(ROOT + 1)
    return np.int64(links.first_sequence[state]), np.int64(links.first_sequence[state + 1])


@kernel
def state_of(links, sequence):
    """The state of a sequence."""
    return bisect_states(links.first_sequence, len(links.parent), sequence)


@kernel
def bisect_states(first_sequence, states, sequence):
    """The state of a sequence, by bisection among the first `states` ones."""
    low, high = 0, states
    while high - low > 1:
        middle = (low + high) // 2
        if first_sequence[middle] <= sequence:
            low = middle
        else:
            high = middle
    return low


@kernel
def trace_back(links, ended_on, path):
    """Writes the path that leads to a sequence; returns its length."""
    length = 0
    sequence = np.int64(ended_on)
    while sequence != ROOT:
        length += 1
        sequence = np.int64(links.parent[state_of(links, sequence)])
    sequence = np.int64(ended_on)
    for at in range(length - 1, -1, -1):
        state = state_of(links, sequence)
        path.states[at], path.sequences[at] = state, sequence
        sequence = np.int64(links.parent[state])
    return length


@kernel
def force_path(links, sequence, forced):
    """Sets forced[s] to the action index of every state on the path to the sequence, itself included."""
    while sequence != ROOT:
        state = state_of(links, sequence)
        forced[state] = sequence - links.first_sequence[state]
        sequence = links.parent[state]


@kernel
def release_path(links, sequence, forced):
    """Undoes force_path."""
    while sequence != ROOT:
        state = state_of(links, sequence)
        forced[state] = -1
        sequence = links.parent[state]


@kernel
def list_children(links, sequence, listed, number):
    """Appends the child states of a sequence to a list of states; returns the new length.

    To list the states that a plan reaches, parents first, begin with the root and continue with the plan's sequence at
    every state in the list.
    """
    child, end = children(links, sequence)
    while child != end:
        listed[number] = child
        number += 1
        child = next_child(links, child)
    return number


@kernel
def add_children(links, sequence, values, total):
    """The total plus the values of the child states of a sequence, added one by one."""
    child, end = children(links, sequence)
    while child != end:
        total += values[child]
        child = next_child(links, child)
    return total


@kernel
def follow_chance(links, chances, sequence, rest):
    """Draws what follows a sequence by inverting its distribution: (child state, -1, rest) or (-1, outcome, rest).

    `rest` is uniform on [0, q(sequence)); the returned rest is uniform on the range of the child that was drawn.
    """
    last_child, last_outcome = np.int64(-1), -1
    child, end = children(links, sequence)
    while child != end:
        if rest < chances.reach[child]:
            return child, -1, rest
        rest -= chances.reach[child]
        if chances.reach[child] > 0:
            last_child = child
        child = next_child(links, child)
    for outcome in range(chances.first_outcome[sequence], chances.first_outcome[sequence + 1]):
        if rest < chances.outcome_probability[outcome]:
            return np.int64(-1), outcome, rest
        rest -= chances.outcome_probability[outcome]
        if chances.outcome_probability[outcome] > 0:
            last_outcome = outcome
    # Because of rounding, nothing was drawn: take the last possible continuation.
    if last_outcome >= 0:
        return np.int64(-1), last_outcome, 0.0
    return last_child, -1, 0.0


@kernel
def follow_plan(links, chances, plan, uniform, path):
    """One episode of a deterministic plan from one uniform draw: fills the path; returns (its length, outcome)."""
    j, rest, length = np.int64(ROOT), uniform, 0
    while True:
        state, outcome, rest = follow_chance(links, chances, j, rest)
        if outcome >= 0:
            return length, outcome
        j = np.int64(links.first_sequence[state] + plan[state])
        path.states[length], path.sequences[length] = state, j
        length += 1


@kernel
def sample_deterministic(links, chances, plan, uniform):
    """As follow_plan, without the path: (sequence it ended on, outcome)."""
    j, rest = np.int64(ROOT), uniform
    while True:
        state, outcome, rest = follow_chance(links, chances, j, rest)
        if outcome >= 0:
            return j, outcome
        j = np.int64(links.first_sequence[state] + plan[state])


@kernel
def sample_mixed(links, chances, probabilities, rng):
    """One episode of a mixed plan: one uniform draw for the environment, then one for each decision of the player."""
    j, rest = np.int64(ROOT), rng.random()
    while True:
        state, outcome, rest = follow_chance(links, chances, j, rest)
        if outcome >= 0:
            return j, outcome
        j = np.int64(draw_sequence(links, probabilities, state, rng.random()))


@kernel
def draw_sequence(links, probabilities, state, uniform):
    """A sequence of the state, drawn from the probabilities of its sequences."""
    last = links.first_sequence[state]
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        if uniform < probabilities[j]:
            return j
        uniform -= probabilities[j]
        if probabilities[j] > 0:
            last = j
    return last
