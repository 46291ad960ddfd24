"""Phantom tic-tac-toe and dark hex up to nine cells, classical and abrupt, in exact sequence form."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.games.phantom.rules import rules_of
from tmdp_spiel.openspiel import registry
from tmdp_spiel.openspiel.build import CannotEnumerateError
from tmdp_spiel.openspiel.exact_games import ExactEnumeration
from tmdp_spiel.trees.sequence_form import SequenceForm
from tmdp_spiel.trees.tree_mdp import TreeMDP

SHIPPED = pathlib.Path(__file__).parent / "data"  # equilibria


def phantom_game(game: pyspiel.Game) -> SequenceForm | None:
    """The sequence form of phantom_ttt or dark_hex; None if it has none here.

    Covered are obstype=reveal-nothing and boards of up to nine cells. It is built once, saved on disk if it is large,
    and kept in memory for the next call.
    """
    from tmdp_spiel.games.phantom import form  # kernels are loaded when they are needed

    return form.phantom_form(game)


class _PhantomEnumeration(ExactEnumeration):
    """Classical dark hex needs a policy that cannot see the number of moves.

    Its strings have the number of moves of both players, which tells how often the other was bumped, although obstype
    is reveal-nothing; and only the current number, so that they do not even have perfect recall. Its tensors do not
    have the number. As in the published evaluations of this game, the states here are those of the tensors.
    """

    def tree_mdp(self, game, player, opponent, max_seconds: float | None = None) -> TreeMDP | None:
        rules = rules_of(game)
        if rules is not None and rules.hexagonal and not rules.abrupt and self._large_form(game) is not None:
            policy = opponent.get(1 - player) if isinstance(opponent, Mapping) else opponent
            if not _sees_tensors_only(policy):
                raise CannotEnumerateError(
                    f"the strings of {rules.game_string} have the number of moves of both players, which its tensors "
                    f"do not have, and a {type(policy).__name__} may depend on it; exact are policy tables, torch "
                    "modules, functions of a batch of tensors and UniformRandomPolicy"
                )
        return super().tree_mdp(game, player, opponent, max_seconds)


def _sees_tensors_only(policy) -> bool:
    from tmdp_spiel.openspiel.opponents.adapters.networks import NetworkPolicy
    from tmdp_spiel.openspiel.policy_tables import TablePolicy

    if isinstance(policy, (TablePolicy, np.ndarray, policy_lib.UniformRandomPolicy, NetworkPolicy)):
        return True
    if isinstance(policy, (policy_lib.Policy, pyspiel.Policy, str, Mapping)):
        return False
    return callable(policy) and not isinstance(policy, type)


for _name in ("phantom_ttt", "dark_hex"):
    registry.register(_name, _PhantomEnumeration(phantom_game, SHIPPED))
