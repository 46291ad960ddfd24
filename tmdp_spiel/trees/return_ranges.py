"""What an episode can still return by the rules: the pot bounds it, and a fold settles it."""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel.trees.infostate_tree import InfostateTree


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
