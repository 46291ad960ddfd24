"""The learner to ask for a certified best response: which one depends on the size of the tree."""

from __future__ import annotations

from tmdp_spiel.algorithms.betting_on_differences import BettingOnDifferences
from tmdp_spiel.algorithms.certified_ucrl import CertifiedUCRL
from tmdp_spiel.trees.decision_tree import DecisionTree

_LARGE = 200_000  # sequences


def certified_learner(
    tree: DecisionTree, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0
) -> BettingOnDifferences | CertifiedUCRL:
    """A learner that stops with a policy within epsilon of the best, with probability at least 1 - delta.

    BettingOnDifferences, or CertifiedUCRL on trees of more than 200,000 sequences.

    Args:
        tree: what the learner may know of the game, `mdp.tree`.
        epsilon: how far from the best the policy may be, on the [0, 1] scale of returns.
        delta: the probability with which it may be further.
        seed: of the learner.
    """
    large = isinstance(tree, DecisionTree) and tree.num_sequences > _LARGE
    return (CertifiedUCRL if large else BettingOnDifferences)(tree, epsilon=epsilon, delta=delta, seed=seed)
