"""What solving RBT needs beside CFR: policies without their rarest parts, and what they are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from open_spiel.python import policy as policy_lib

from tmdp_spiel.games.rbt import passes
from tmdp_spiel.games.rbt.game import RBTGame
from tmdp_spiel.games.rbt.policy import Support, SupportPolicy, prune
from tmdp_spiel.games.rbt.structure import PlayerTree
from tmdp_spiel.games.rbt.tree import enumeration, own_reach

LEAST_PROBABILITY = 0.003  # what is rarer is pruned, which makes the policy smaller and hardly worse
LEAST_REACH = 1e-6


def best_response_values(game: RBTGame, policy: policy_lib.Policy) -> tuple[float, float]:
    """What x and o can each win against a policy of both players, in the game's utilities."""
    x, o = (
        passes.best_response_value(enumeration(game), player, own_reach(game, 1 - player, policy)) for player in (0, 1)
    )
    return x, o


def pruned_policy(
    game: RBTGame,
    tables: Sequence[np.ndarray],
    *,
    least_probability: float = LEAST_PROBABILITY,
    least_reach: float = LEAST_REACH,
    **facts,
) -> SupportPolicy:
    """The policy tables of x and o without their rarest parts.

    Its exploitability is measured after pruning. facts: what else should be recorded with it, such as the number of
    iterations.
    """

    def pruned(tree: PlayerTree, table: np.ndarray) -> Support:
        reach = np.empty(tree.sequence_end)
        passes.own_reach(tree.links, table, reach)
        return prune(tree, table, reach, least_probability=least_probability, least_reach=least_reach)

    x, o = (pruned(tree, table) for tree, table in zip(enumeration(game).trees, tables))
    policy = SupportPolicy(game, (x, o), {})
    best_response_x, best_response_o = best_response_values(game, policy)
    policy.facts = {
        "game": str(game),
        **facts,
        "best_response_x": best_response_x,
        "best_response_o": best_response_o,
        "exploitability": (best_response_x + best_response_o) / 2,
    }
    return policy
