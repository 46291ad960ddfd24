"""The slow, obvious references: every reduced policy listed, every definition written out."""

import itertools

import numpy as np

import tmdp_spiel as ts
from tmdp_spiel.trees.random_tree import random_tree_mdp


def policies(tree: ts.InfostateTree) -> list[frozenset[int]]:
    """Every reduced policy, as the set of sequences that it can play."""

    def below(state):
        found = []
        for j in range(tree.first_sequence[state], tree.first_sequence[state + 1]):
            children = [below(child) for child in range(tree.first_child[j], tree.first_child[j + 1])]
            found += [frozenset([j]).union(*combination) for combination in itertools.product(*children)]
        return found

    first = [below(state) for state in range(tree.first_child[1])]
    return [frozenset().union(*combination) for combination in itertools.product(*first)]


def endings(tree: ts.InfostateTree, policy) -> list[int]:
    return [j for j in sorted(policy) if tree.can_end[j]]


def policy_of(tree: ts.InfostateTree, plan) -> frozenset[int]:
    """The sequences that a deterministic plan can play."""
    reached, played = list(range(tree.first_child[1])), []
    while reached:
        state = reached.pop()
        j = int(tree.first_sequence[state] + plan[state])
        played.append(j)
        reached += range(tree.first_child[j], tree.first_child[j + 1])
    return frozenset(played)


def counts_estimate(tree, policy, plays, totals) -> float:
    """The paper's V-hat: the sum over the endings of R / n."""
    return sum(totals[j] / plays[j] for j in endings(tree, policy) if plays[j])


def transitions_estimate(tree, policy, episodes, state_visits, sequence_visits, totals) -> float:
    """The value of the policy in the empirical MDP."""

    def value(state):
        (j,) = [j for j in range(tree.first_sequence[state], tree.first_sequence[state + 1]) if j in policy]
        if not sequence_visits[j]:
            return 0.0
        children = range(tree.first_child[j], tree.first_child[j + 1])
        return totals[j] / sequence_visits[j] + sum(
            state_visits[child] / sequence_visits[j] * value(child) for child in children
        )

    if not episodes:
        return 0.0
    return sum(state_visits[state] / episodes * value(state) for state in range(tree.first_child[1]))


def upper_bound(estimate: float, plays: int, lam: float, optimistic: bool = False) -> tuple[bool, float]:
    """Comparable upper bounds: unplayed policies first, the best estimate among them."""
    if plays == 0 and not optimistic:
        return True, estimate
    return False, estimate + lam / np.sqrt(max(plays, 1))


def close(one: tuple[bool, float], other: tuple[bool, float]) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) < 1e-10


def random_mdp(rng, max_states=8, **kwargs) -> ts.TreeMDP:
    """A Tree MDP small enough to list its policies."""
    while True:
        mdp = random_tree_mdp(
            rng, max_states=int(rng.integers(1, max_states + 1)), first_states=int(rng.integers(1, 3)), **kwargs
        )
        if mdp.tree.num_policies <= 500:
            return mdp
