"""Slow and obvious: the estimates of bounds/history_values for one policy at a time, from their definition."""

from __future__ import annotations

import itertools

from tmdp_spiel.trees.history_tree import CHANCE, OWN


def estimate(histories, plan, mu, base, baseline, nodes) -> float:
    """X of a pure or mixed plan, given by the probabilities of its sequences, for the episode through these nodes."""
    x, weight = 0.0, 1.0
    for node, after in itertools.pairwise(nodes):
        if histories.kind[node] == CHANCE:
            x += weight * (base[node] - base[after])
        elif histories.kind[node] == OWN:
            children = histories.child[histories.first_move[node] : histories.first_move[node + 1]]
            x += weight * sum(plan[histories.move[child]] * baseline[child] for child in children)
            j = histories.move[after]
            weight *= plan[j] / mu[j]
            x -= weight * baseline[after]
    return x + weight * histories.value[nodes[-1]]


def episodes(histories, node=0):
    """All lists of nodes from the beginning to an end."""
    children = histories.child[histories.first_move[node] : histories.first_move[node + 1]]
    if len(children) == 0:
        yield [node]
    for child in children:
        for rest in episodes(histories, child):
            yield [node, *rest]
