"""Properties of a whole tree: whether kernels can traverse it, its depth, its number of policies, what can be returned.

The range of the returns after a sequence follows from the rules: the pot bounds them, and a fold settles them.
"""

from __future__ import annotations

import typing

import numba
import numpy as np

from tmdp_spiel.trees import traversal

if typing.TYPE_CHECKING:
    from tmdp_spiel.trees.infostate_tree import InfostateTree


@numba.njit(cache=True)
def is_level_order(links) -> bool:
    """Whether kernels can traverse the tree. Array sizes must agree, and first_sequence must run from 1 to J + 1."""
    states, next_child = len(links.parent), links.first_child[0]
    if next_child != 0:
        return False
    for state in range(-1, states):  # the root's sequence, then those of the states
        first, end = traversal.sequences_of(links, state)
        if state >= next_child or end <= first or end > len(links.can_end):
            return False
        for j in range(first, end):
            if links.first_child[j] != next_child or links.first_child[j + 1] < next_child:
                return False
            if links.first_child[j + 1] > states or (links.first_child[j + 1] == next_child and not links.can_end[j]):
                return False
            for child in range(next_child, links.first_child[j + 1]):
                if links.parent[child] != j:
                    return False
            next_child = links.first_child[j + 1]
    return next_child == states


@numba.njit(cache=True)
def horizon(links) -> int:
    depth, longest = np.zeros(len(links.can_end), np.int32), 0
    for state in range(len(links.parent)):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            depth[j] = depth[links.parent[state]] + 1
            longest = max(longest, depth[j])
    return longest


@numba.njit(cache=True)
def log_num_reduced_policies(links) -> float:
    log_number = np.empty(len(links.parent))
    for state in range(len(links.parent) - 1, -1, -1):
        highest = -np.inf
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            product = traversal.add_children(links, j, log_number, 0.0)
            if product > highest:
                total = total * np.exp(highest - product) + 1.0
                highest = product
            else:
                total += np.exp(product - highest)
        log_number[state] = highest + np.log(total)
    return traversal.add_children(links, traversal.ROOT, log_number, 0.0)


@numba.njit(cache=True)
def max_ending_sequences(links) -> int:
    most = np.zeros(len(links.parent), np.int64)
    for state in range(len(links.parent) - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            number = traversal.add_children(links, j, most, np.int64(links.can_end[j]))
            most[state] = max(most[state], number)
    return traversal.add_children(links, traversal.ROOT, most, np.int64(links.can_end[traversal.ROOT]))


def ranges_below(tree: InfostateTree) -> tuple[np.ndarray, np.ndarray]:
    """Per sequence: the smallest and largest return of an episode through it by the rules, on the [0, 1] scale."""
    return _ranges_below(tree.links, *tree.return_range)


def known_ranges_below(tree: InfostateTree) -> tuple[np.ndarray, np.ndarray]:
    """As ranges_below; empty if the rules give no bounds but 0 and 1."""
    if tree.least_return is None and tree.most_return is None:
        return np.empty(0), np.empty(0)
    return ranges_below(tree)


@numba.njit(cache=True)
def _ranges_below(links, least_return, most_return):
    """Bottom-up."""
    lowest, highest = np.full(len(links.can_end), np.inf), np.full(len(links.can_end), -np.inf)
    for j in range(len(lowest) - 1, -1, -1):
        if links.can_end[j]:
            lowest[j], highest[j] = least_return[j], most_return[j]
        for child in range(links.first_child[j], links.first_child[j + 1]):
            for after in range(links.first_sequence[child], links.first_sequence[child + 1]):
                lowest[j], highest[j] = min(lowest[j], lowest[after]), max(highest[j], highest[after])
    return lowest, highest
