"""Plans of a tree as OpenSpiel policies, and back."""

from __future__ import annotations

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.spiel.build import DEFAULT_MAX_NODES
from tmdp_spiel.spiel.load_game import load_game
from tmdp_spiel.spiel.opponents import FixedOpponents
from tmdp_spiel.spiel.recall import Recall
from tmdp_spiel.spiel.representatives import representative_states
from tmdp_spiel.trees.decision_tree import DecisionTree
from tmdp_spiel.trees.grown_tree import GrownTree


class PlanPolicy(policy_lib.Policy):
    """A plan of a tree whose states are more than the game's strings: where a state is, its history tells.

    Uniform where the tree does not go.
    """

    depends_on_history = True

    def __init__(self, game: pyspiel.Game, tree: DecisionTree, plan):
        super().__init__(game, [tree.player])
        self._tree, self._probabilities, self._recall = tree, tree.as_probabilities(plan), Recall(tree, game)

    def action_probabilities(self, state, player_id=None):
        legal = state.legal_actions()
        _, number = self._recall.locate(state)
        if number is None:
            return dict.fromkeys(legal, 1.0 / len(legal))
        first = self._tree.first_sequence[number]
        return {action: float(self._probabilities[first + index]) for index, action in enumerate(legal)}


def plan_to_policy(tree: DecisionTree, plan, game=None) -> policy_lib.TabularPolicy | PlanPolicy:
    """The plan as an OpenSpiel policy of the tree's player: a TabularPolicy, if the game's strings tell states apart.

    Args:
        tree: the tree that the plan is for.
        plan: one action index per state (integers), or one probability per sequence (floats).
        game: the tree's game, if it cannot be loaded from its string (a game object made in Python).
    """
    if isinstance(tree, GrownTree) or tree.strings_forget:
        return PlanPolicy(_game_of(tree, game), tree, plan)
    probabilities = tree.as_probabilities(plan)
    policy = policy_lib.TabularPolicy(_game_of(tree, game), players=(tree.player,))
    for state in range(tree.num_states):
        row = policy.policy_for_key(tree.state_string(state))
        row[:] = 0.0
        row[tree.legal_actions(state)] = probabilities[tree.first_sequence[state] : tree.first_sequence[state + 1]]
    return policy


def policy_to_plan(tree: DecisionTree, policy, game=None, *, max_nodes: int = DEFAULT_MAX_NODES) -> np.ndarray:
    """A policy of the tree's player as a plan, one probability per sequence.

    Args:
        tree: the tree that the plan will be for.
        policy: in any form that an opponent of build_tree may have.
        game: the tree's game, if it cannot be loaded from its string (a game object made in Python).
        max_nodes: the most histories to visit, as in build_tree.
    """
    game = _game_of(tree, game)
    # Seen from any other seat, the tree's player is an opponent like the others.
    reader = FixedOpponents(game, -1, dict.fromkeys(range(game.num_players()), policy))
    plan = np.empty(tree.num_sequences)
    for number, state in enumerate(representative_states(tree, game, max_nodes=max_nodes)):
        first, end = tree.first_sequence[number], tree.first_sequence[number + 1]
        plan[first:end] = [probability for _, probability in reader.distribution(state)]
    return plan


def _game_of(tree: DecisionTree, game) -> pyspiel.Game:
    if game is None and tree.game_string is None:
        raise ValueError("this tree does not know its game; pass it as `game`")
    return load_game(tree.game_string if game is None else game)
