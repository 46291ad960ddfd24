"""Small problems that would reveal a wrong proof."""

import numpy as np

import tmdp_spiel as ts
from tmdp_spiel.trees.random_tree import random_tree_mdp


def arms(number: int, gap: float) -> ts.TreeMDP:
    """One state; the first of its actions wins with probability 0.5 + gap / 2, the others with 0.5 - gap / 2."""
    tree = ts.InfostateTree(
        first_sequence=[1, number + 1],
        first_child=[0] + [1] * (number + 1),
        parent=[0],
        action=[0, *range(number)],
        can_end=[False] + [True] * number,
    )
    chances = np.array([0.5 + gap / 2] + [0.5 - gap / 2] * (number - 1))
    first_outcome = [0, *range(0, 2 * number + 1, 2)]
    return ts.TreeMDP(tree, [1.0], first_outcome, [0.0, 1.0] * number, np.stack([1 - chances, chances], 1).ravel())


def random_problem(seed: int) -> ts.TreeMDP:
    rng = np.random.default_rng(seed)
    while True:
        mdp = random_tree_mdp(rng, max_states=8, max_actions=4, first_states=2, returns=(0.0, 1.0))
        if mdp.tree.num_policies >= 8:
            return mdp


def median_gap(mdp: ts.TreeMDP) -> float:
    """The median cost of a single mistake, on the [0, 1] scale."""
    losses = mdp.losses() / mdp.tree.utility_range
    return float(np.median(losses[losses > 1e-6]))


def problems() -> dict[str, tuple[ts.TreeMDP, float]]:
    """Name, and the Tree MDP with its epsilon."""
    found = {f"{number} arms, gap {gap}": (arms(number, gap), 0.6 * gap) for number in (2, 10) for gap in (0.2, 0.4)}
    for seed in range(6):
        mdp = random_problem(seed)
        found[f"random tree {seed}"] = mdp, 0.5 * median_gap(mdp)
    game = ts.load_game("kuhn")
    for player in range(2):
        for name, opponent in (("equilibrium", ts.equilibrium(game)), ("uniform", ts.uniform(game))):
            found[f"kuhn {'xo'[player]}, {name}"] = ts.build_tree(game, player, opponent), 0.03
    return found
