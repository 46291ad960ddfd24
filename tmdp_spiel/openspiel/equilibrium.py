"""The default opponent: an approximate equilibrium from OpenSpiel's CFR+ solver, saved on disk."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import warnings
from typing import Any

import pyspiel
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import exploitability as exploitability_lib
from tqdm import auto as tqdm

from tmdp_spiel.core import storage, validation
from tmdp_spiel.openspiel.build import DEFAULT_MAX_NODES, build_infostate_tree
from tmdp_spiel.openspiel.games import GameLike, enumeration_of, game_string, load_game

DEFAULT_ITERATIONS = 1000


class EquilibriumPolicy(policy_lib.TabularPolicy):
    """The average policy of CFR+, with its exploitability.

    exploitability: the average over the players of what a best response gains (OpenSpiel's NashConv / players), in the
    game's utility units.
    """

    def __init__(self, game: pyspiel.Game, table: dict, iterations: int, exploitability: float):
        super().__init__(game)
        self.iterations = iterations
        self.exploitability = exploitability
        for key, distribution in table.items():
            probabilities = self.policy_for_key(key)
            probabilities[:] = 0.0
            for action, probability in distribution:
                probabilities[action] = probability


def equilibrium(
    game: GameLike, iterations: int = DEFAULT_ITERATIONS, *, max_nodes: int = DEFAULT_MAX_NODES
) -> policy_lib.Policy:
    """An approximate equilibrium of the game by CFR+: its average policy, as an OpenSpiel policy.

    Some games, such as Reconnaissance Blind Tic-Tac-Toe, come with an equilibrium, whatever `iterations` is; an earlier
    one that ships as well is opened by its number of iterations (200 on RBT). Other games are solved once, then read
    from the cache directory ($TMDP_SPIEL_CACHE). If a cache file is damaged, the game is solved again.

    Args:
        game: anything that load_game takes.
        iterations: of CFR+; a small number gives a weak opponent.
        max_nodes: the most histories that the game may have, as in build_tree; the default keeps memory under 4 GiB.

    Returns:
        A policy of all players, with its `exploitability` in the game's utility units.

    >>> import tmdp_spiel as ts
    >>> ts.equilibrium("kuhn", 100).exploitability < 0.01
    True
    """
    game = load_game(game)
    shipped = enumeration_of(game).equilibrium(game, iterations)
    if shipped is not None:
        return shipped
    if not (validation.is_whole(iterations) and iterations >= 1):
        raise ValueError(f"iterations must be a whole number of at least 1, not {iterations!r}")
    own = enumeration_of(game).solve(game, int(iterations))
    if own is not None:
        return own
    key: dict[str, Any] = {
        "game": str(game),
        "iterations": int(iterations),
        "open_spiel": importlib.metadata.version("open_spiel"),
        "tmdp_spiel": importlib.metadata.version("tmdp-spiel"),
    }
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:20]
    path = storage.cache_directory() / f"cfr_plus_{game.get_type().short_name}_{name}.json"
    try:
        solved = storage.read_checked_json(path)
    except OSError as error:
        warnings.warn(f"the cached equilibrium cannot be read, so the game is solved again: {error}", stacklevel=2)
        solved = None
    with contextlib.suppress(KeyError, TypeError, ValueError, IndexError, AttributeError):  # not what this wrote
        if solved is not None and solved["key"] == key:
            return EquilibriumPolicy(game, solved["policy"], key["iterations"], float(solved["exploitability"]))
    _check_solvable(game, max_nodes)
    solved = {"key": key, **_solve(game, int(iterations))}
    try:
        storage.write_checked_json(path, solved)
    except OSError as error:
        warnings.warn(f"the equilibrium could not be written to the cache: {error}", stacklevel=2)
    return EquilibriumPolicy(game, solved["policy"], key["iterations"], solved["exploitability"])


def _check_solvable(game: pyspiel.Game, max_nodes: int) -> None:
    """Raises an error unless the game fits into memory and every player has perfect recall, as CFR+ needs."""
    for player in range(game.num_players()):
        tree = build_infostate_tree(game, player, max_nodes=max_nodes)
        if tree.strings_forget:
            raise ValueError(
                f"the strings of {game_string(game)} do not give player {player} perfect recall, which CFR+ needs"
            )
    if not game.get_type().provides_information_state_string:
        raise ValueError(f"{game.get_type().short_name} provides no information-state strings, which CFR+ needs")


def _solve(game: pyspiel.Game, iterations: int) -> dict:
    solver = pyspiel.CFRPlusSolver(game)
    for _ in tqdm.trange(iterations, desc="CFR+", delay=2, disable=None, leave=False):
        solver.evaluate_and_update_policy()
    average = solver.tabular_average_policy()
    return {"policy": average.policy_table(), "exploitability": _exploitability(game, average)}


def _exploitability(game: pyspiel.Game, average: pyspiel.TabularPolicy) -> float:
    kind = game.get_type().utility
    if game.num_players() == 2 and kind in (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM):
        return pyspiel.exploitability(game, average)
    python_policy = policy_lib.pyspiel_policy_to_python_policy(game, average)
    return exploitability_lib.nash_conv(game, python_policy) / game.num_players()
