"""Plans of a tree as OpenSpiel policies, and back."""

from __future__ import annotations

import typing

import numpy as np
import pyspiel
from numpy.typing import ArrayLike
from open_spiel.python import policy as policy_lib

from tmdp_spiel.openspiel.build import DEFAULT_MAX_NODES
from tmdp_spiel.openspiel.games import GameLike, enumeration_of, load_game
from tmdp_spiel.openspiel.histories import InfostateLocator, one_history_per_infostate
from tmdp_spiel.openspiel.opponents.fixed import FixedOpponents
from tmdp_spiel.openspiel.policy_files import PartialPolicy, plan_table
from tmdp_spiel.openspiel.policy_tables import TablePolicy, policy_table
from tmdp_spiel.trees.infostate_tree import InfostateTree, StateNames
from tmdp_spiel.trees.lazy_tree import LazyTree
from tmdp_spiel.trees.sequence_form import SequenceForm


class PlanPolicy(policy_lib.Policy):
    """A plan of a tree in which several states share a string: a state is found by its history.

    Uniform at states that are not in the tree.
    """

    depends_on_history = True

    def __init__(self, game: pyspiel.Game, tree: InfostateTree, plan: ArrayLike):
        super().__init__(game, [tree.player])
        self._tree, self._probabilities, self._locator = tree, tree.as_probabilities(plan), InfostateLocator(tree, game)

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        legal = state.legal_actions()
        _, number = self._locator.locate(state)
        if number is None:
            return dict.fromkeys(legal, 1.0 / len(legal))
        first = self._tree.first_sequence[number]
        return {action: float(self._probabilities[first + index]) for index, action in enumerate(legal)}


def plan_to_policy(
    tree: InfostateTree, plan: ArrayLike, game: GameLike | None = None
) -> policy_lib.TabularPolicy | PlanPolicy | TablePolicy:
    """The plan as an OpenSpiel policy of the tree's player: a TabularPolicy, if the game's strings distinguish states.

    If the tree belongs to an exact sequence form, which may have too many states for a TabularPolicy, a TablePolicy.

    Args:
        tree: the tree that the plan is for.
        plan: one action index per state (integers), or one probability per sequence (floats).
        game: the tree's game, if it cannot be loaded from its string (a game object made in Python).

    Returns:
        An OpenSpiel policy; its probabilities at the states of the tree are those of the plan.

    >>> import tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", 0, ts.uniform("kuhn"))
    >>> value, plan = mdp.best_response()
    >>> policy = ts.plan_to_policy(mdp.tree, plan)
    >>> round(mdp.value(ts.policy_to_plan(mdp.tree, policy)), 4)
    0.5
    """
    if isinstance(tree, LazyTree) or tree.strings_forget:
        return PlanPolicy(_game_of(tree, game), tree, plan)
    probabilities = tree.as_probabilities(plan)
    form = _form_of(tree, _game_of(tree, game))
    if form is not None:
        return TablePolicy(_game_of(tree, game), form, {tree.player: probabilities})
    policy = policy_lib.TabularPolicy(_game_of(tree, game), players=(tree.player,))
    for state in range(tree.num_states):
        row = policy.policy_for_key(tree.state_string(state))
        row[:] = 0.0
        row[tree.legal_actions(state)] = probabilities[tree.first_sequence[state] : tree.first_sequence[state + 1]]
    return policy


def plan_to_table(tree: InfostateTree, plan: ArrayLike, game: GameLike | None = None) -> policy_lib.Policy:
    """The same policy as plan_to_policy gives, made from the tree alone, without traversing the game.

    Args:
        tree: the tree that the plan is for.
        plan: as in plan_to_policy.
        game: the tree's game, if it cannot be loaded from its string (a game object made in Python).
    """
    game = _game_of(tree, game)
    if isinstance(tree, LazyTree) or tree.strings_forget or _form_of(tree, game) is not None:
        return plan_to_policy(tree, plan, game)
    return PartialPolicy(game, plan_table(tree, plan))


def policy_to_plan(
    tree: InfostateTree, policy: typing.Any, game: GameLike | None = None, *, max_nodes: int = DEFAULT_MAX_NODES
) -> np.ndarray:
    """A policy of the tree's player as a plan, one probability per sequence.

    Args:
        tree: the tree that the plan will be for.
        policy: in any form that an opponent of build_tree may have.
        game: the tree's game, if it cannot be loaded from its string (a game object made in Python).
        max_nodes: the most histories to visit, as in build_tree.

    Returns:
        float64, one probability for each sequence of the tree.

    >>> import tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", 0, ts.uniform("kuhn"))
    >>> plan = ts.policy_to_plan(mdp.tree, ts.uniform("kuhn"))
    >>> round(mdp.value(plan), 4)
    0.125
    """
    loaded = _game_of(tree, game)
    form = _form_of(tree, loaded)
    if form is not None:
        return policy_table(form, tree.player, policy)
    # Seen from any other player, the tree's player is an opponent like the others.
    reader = FixedOpponents(loaded, -1, dict.fromkeys(range(loaded.num_players()), policy))
    plan = np.ones(tree.sequence_end)
    for number, state in enumerate(one_history_per_infostate(tree, loaded, max_nodes=max_nodes)):
        first, end = tree.first_sequence[number], tree.first_sequence[number + 1]
        plan[first:end] = [probability for _, probability in reader.distribution(state)]
    return plan


def _game_of(tree: InfostateTree, game: GameLike | None) -> pyspiel.Game:
    if game is None and tree.game_string is None:
        raise ValueError("this tree does not know its game; pass it as `game`")
    return load_game(tree.game_string if game is None else game)


def _form_of(tree: InfostateTree, game: pyspiel.Game) -> SequenceForm | None:
    """The exact sequence form that the tree is a part of."""
    if isinstance(tree.names, StateNames):  # of a tree that was enumerated through histories
        return None
    form = enumeration_of(game).sequence_form(game)
    return form if form is not None and form.trees[tree.player].has_the_states_of(tree) else None
