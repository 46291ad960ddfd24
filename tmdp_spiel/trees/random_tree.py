"""Random Tree MDPs of a chosen size, for tests and for measuring how cost grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP


def random_tree_mdp(
    rng: np.random.Generator,
    *,
    max_states: int = 12,
    max_actions: int = 3,
    max_children: int = 3,
    first_states: int = 1,
    ending_chance: float = 0.3,
    impossible_chance: float = 0.0,
    returns: Sequence[float] = (0.0, 0.5, 1.0),
) -> TreeMDP:
    """A Tree MDP grown breadth first until max_states.

    Args:
        rng: the random generator.
        max_states: the most states.
        max_actions: the most actions of a state; their number is uniform from 1 to this.
        max_children: the most child states of a sequence; their number is uniform from 0 to this.
        first_states: the number of states that can be the first decision of an episode.
        ending_chance: the probability that an episode can also end after a sequence that has children; it always can
            after a sequence without children.
        impossible_chance: the probability that a child or an outcome allowed by the rules has probability zero.
        returns: the possible returns of an episode, in [0, 1].

    Returns:
        The environment; its utilities are the returns.

    >>> mdp = random_tree_mdp(np.random.default_rng(0), max_states=4)
    >>> mdp.tree.num_states <= 4, mdp.best_response()[0] <= 1.0
    (True, True)
    """
    first_sequence, first_outcome = [1], [0, 0]
    first_child = [0]
    parent, reach = [0] * first_states, list(rng.dirichlet(np.ones(first_states)))
    outcome_return: list[float] = []
    outcome_probability: list[float] = []
    state = 0
    while state < len(parent):
        for _ in range(rng.integers(1, max_actions + 1)):
            sequence = len(first_child)
            first_child.append(len(parent))
            children = max(0, min(int(rng.integers(0, max_children + 1)), max_states - len(parent)))
            ends = children == 0 or rng.random() < ending_chance
            outcomes = np.empty(0)
            if ends:
                outcomes = rng.choice(returns, size=rng.integers(1, len(returns) + 1), replace=False)
            weights = rng.dirichlet(np.ones(children + len(outcomes)))
            possible = rng.random(len(weights)) >= impossible_chance
            possible[rng.integers(len(weights))] = True
            weights = reach[state] * weights * possible / (weights * possible).sum()
            parent.extend([sequence] * children)
            reach.extend(weights[:children])
            outcome_return.extend(sorted(outcomes))
            outcome_probability.extend(weights[children:])
            first_outcome.append(len(outcome_return))
        first_sequence.append(len(first_child))
        state += 1
    tree = InfostateTree(
        first_sequence=first_sequence,
        first_child=[*first_child, len(parent)],
        parent=parent,
        action=np.concatenate([[0], *(np.arange(size) for size in np.diff(first_sequence))]).astype(np.int16),
        can_end=np.diff(first_outcome) > 0,
        num_terminals=len(outcome_return),
    )
    return TreeMDP(tree, reach, first_outcome, outcome_return, outcome_probability)
