"""Policies as JSON files.

{information state: {action: probability}}, with the game's information-state strings and its action numbers:

    {"0": {"0": 1.0}, "0pb": {"0": 0.9, "1": 0.1}}

Actions left out have probability 0. States that the policy cannot reach may be left out. What OpenSpiel's
TabularPolicy.to_dict() gives, {information state: [[action, probability], ...]}, is read as well.
"""

from __future__ import annotations

import json
import os
import pathlib
import typing
from collections.abc import Iterable, Mapping

import pyspiel
from numpy.typing import ArrayLike
from open_spiel.python import policy as policy_lib

from tmdp_spiel.core import storage
from tmdp_spiel.openspiel.games import GAME_STRINGS, GameLike, load_game
from tmdp_spiel.openspiel.histories import HISTORY_MARK, history_string
from tmdp_spiel.openspiel.opponents.fixed import state_key
from tmdp_spiel.trees.infostate_tree import InfostateTree


class FilePolicy(policy_lib.Policy):
    """The policy of a table {information state: {action: probability}}.

    If the game's strings forget, the information states are the strings of InfostateTree.state_string.
    """

    def __init__(self, game: pyspiel.Game, table: dict[str, dict[int, float]]):
        super().__init__(game, list(range(game.num_players())))
        self.table = table
        self.depends_on_history = any(HISTORY_MARK in string for string in table)

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player_id = state.current_player() if player_id is None else player_id
        found = self._find(state, player_id)
        if found is None:
            key = state_key(state, player_id, self.game.get_type())
            raise KeyError(f"the policy has no state {key!r}{_alias_hint(self.game)}")
        return found

    def _find(self, state: pyspiel.State, player: int) -> dict[int, float] | None:
        """The row of the table for a state."""
        kind = self.game.get_type()
        found = self.table.get(state_key(state, player, kind))
        if found is None and self.depends_on_history:
            found = self.table.get(history_string(state, player, kind))
        return found


class PartialPolicy(FilePolicy):
    """The policy of a table, uniform at states that are not in it."""

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player_id = state.current_player() if player_id is None else player_id
        found, legal = self._find(state, player_id), state.legal_actions(player_id)
        return dict.fromkeys(legal, 1.0 / len(legal)) if found is None else found


def _alias_hint(game: pyspiel.Game) -> str:
    """A hint that a short name may mean another game than the OpenSpiel name that it resembles."""
    for short_name, full in GAME_STRINGS.items():
        plain = full.partition("(")[0]
        if str(game) == str(load_game(short_name)) and full != plain:
            return f"; {short_name!r} means {full!r}: if the policy was made for {plain!r}, give that as the game"
        if game.get_type().short_name == plain and full != plain:
            return f"; if the policy was made for {short_name!r}, which means {full!r}, give that as the game"
    return ""


def read_policy(path: str | os.PathLike, game: GameLike) -> FilePolicy:
    """The policy in a file.

    Args:
        path: of JSON, {information state: {action: probability}}, as write_policy writes it.
        game: the game that the policy is for.

    Returns:
        An OpenSpiel policy of all players. See write_policy for an example.
    """
    game = load_game(game)
    try:
        document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"), object_pairs_hook=_without_duplicates)
        return FilePolicy(game, _table(document))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no policy file {path}") from None
    except OSError as error:
        raise type(error)(f"the policy file {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a policy file, JSON of the form {{information state: {{action: probability}}}} ({error})"
        ) from None


def table_policy(table: Mapping, game: GameLike) -> FilePolicy:
    """The policy of {information state: {action: probability}} in memory."""
    try:
        return FilePolicy(load_game(game), _table(table))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"a policy's table is {{information state: {{action: probability}}}} ({error})") from None


def _table(document: Mapping) -> dict[str, dict[int, float]]:
    table = {
        state: {_number(action, state): float(probability) for action, probability in _pairs(distribution)}
        for state, distribution in document.items()
    }
    for state, distribution in document.items():
        if len(table[state]) < len(distribution):
            raise ValueError(f"an action occurs twice at {state!r}: {list(distribution)}")
    return table


def _number(action: typing.Any, state: str) -> int:
    try:
        return int(action)
    except ValueError:
        raise ValueError(
            f"at {state!r} an action is called {action!r}; give action numbers, as state.legal_actions() does, not "
            "names"
        ) from None


def _pairs(distribution: typing.Any) -> Iterable[tuple[typing.Any, typing.Any]]:
    return distribution.items() if isinstance(distribution, Mapping) else distribution


def _without_duplicates(pairs: list[tuple]) -> dict:
    """Raises an error for a state or action that occurs twice, of which JSON would keep only the last."""
    found: dict = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} occurs twice")
        found[key] = value
    return found


def write_policy(path: str | os.PathLike, tree: InfostateTree, plan: ArrayLike) -> None:
    """Writes a plan as a policy file atomically; an older file is replaced.

    Args:
        path: the file.
        tree: the tree that the plan is for.
        plan: one action index per state (integers), or one probability per sequence (floats).

    >>> import tempfile, tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", player=0, opponent=ts.uniform("kuhn"))
    >>> value, plan = mdp.best_response()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ts.write_policy(f"{folder}/policy.json", mdp.tree, plan)
    ...     policy = ts.read_policy(f"{folder}/policy.json", "kuhn")
    >>> sum(policy.table["2"].values())  # at the state in which player 0 has a king
    1.0
    """
    with storage.replacing(path) as file:
        json.dump(plan_table(tree, plan), file, indent=1)


def plan_table(tree: InfostateTree, plan: ArrayLike) -> dict[str, dict[int, float]]:
    """A plan as {information state: {action: probability}}."""
    probabilities = tree.as_probabilities(plan)
    table = {}
    for state in range(tree.num_states):
        first, end = tree.first_sequence[state], tree.first_sequence[state + 1]
        table[tree.state_string(state)] = {
            int(tree.action[j]): float(probabilities[j]) for j in range(first, end) if probabilities[j] > 0
        }
    return table
