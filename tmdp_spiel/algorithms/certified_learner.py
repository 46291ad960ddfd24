"""The recommended learners: one for low regret, and one for a certified best response."""

from __future__ import annotations

from tmdp_spiel.algorithms.betting_on_differences import BettingOnDifferences
from tmdp_spiel.algorithms.certified_ucrl import CertifiedUCRL
from tmdp_spiel.algorithms.thompson_tree import ThompsonTree
from tmdp_spiel.trees.infostate_tree import InfostateTree

_LARGE = 200_000  # sequences


def certified_learner(
    tree: InfostateTree, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0
) -> BettingOnDifferences | CertifiedUCRL:
    """A learner that stops with a policy within epsilon of the best, with probability at least 1 - delta.

    BettingOnDifferences, or CertifiedUCRL on trees of more than 200,000 sequences.

    Args:
        tree: what the learner may know of the game, `mdp.tree`.
        epsilon: how far from the best the policy may be, on the [0, 1] scale of returns.
        delta: the probability with which the distance may be larger.
        seed: of the learner.

    Returns:
        The learner; `run_until_stopped` plays it until it stops.

    >>> import tmdp_spiel as ts
    >>> ts.certified_learner(ts.build_infostate_tree("kuhn", 0), epsilon=0.1)
    BettingOnDifferences(epsilon=0.1, delta=0.05, seed=0)
    """
    large = isinstance(tree, InfostateTree) and tree.num_sequences > _LARGE
    return (CertifiedUCRL if large else BettingOnDifferences)(tree, epsilon=epsilon, delta=delta, seed=seed)


def default_learner(tree: InfostateTree, *, seed: int = 0) -> ThompsonTree:
    """The learner to use if nothing is known about the game: it has low regret on trees of any size.

    Args:
        tree: what the learner may know of the game, `mdp.tree`.
        seed: of the learner.

    Returns:
        A ThompsonTree with its default hyper-parameters.

    >>> import tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", 0, ts.uniform("kuhn"))
    >>> ts.run(ts.default_learner(mdp.tree, seed=1), mdp, 100, progress=False).episode[-1].item()
    100
    """
    return ThompsonTree(tree, seed=seed)
