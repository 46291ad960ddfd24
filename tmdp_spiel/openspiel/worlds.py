"""Exact best responses against an opponent with a small support, in any two-player OpenSpiel game.

At every own information state the set of *worlds* is carried: the histories that chance and the opponent's policy can
have led to, given the own actions, each with its probability. An own action expands every world to the next own states,
which divide the worlds among them. The value of a state is the best action's sum over its worlds, so no tree of the
opponent is needed, and nothing that the opponent never plays is visited. The cost is the own tree times the worlds of a
state: small for deterministic agents, and for search bots with a fixed seed.
"""

from __future__ import annotations

import dataclasses

import pyspiel

from tmdp_spiel.openspiel.build import GameTooLargeError, check_supported
from tmdp_spiel.openspiel.load_game import game_title, load_game
from tmdp_spiel.openspiel.opponents.fixed import FixedOpponents, check_player, state_key

_CHANCE = int(pyspiel.PlayerId.CHANCE)


@dataclasses.dataclass(frozen=True)
class WorldResponse:
    """An exact best response.

    value:   in the game's utilities
    actions: the best action at each own information state that it can reach, by the state's string
    worlds:  the number of histories that were visited
    """

    value: float
    actions: dict[str, int]
    worlds: int


def best_response_by_worlds(game, player: int, opponent, *, max_worlds: int = 1_000_000) -> WorldResponse:
    """The best response of `player` against a fixed opponent, exactly, by sets of worlds.

    States are own histories and strings, so that recall is perfect. Where the game's strings forget, `actions` has the
    action of one of the states that share a string.

    Args:
        game: anything that load_game takes, with two players.
        player: who responds.
        opponent: as in build_tree.
        max_worlds: the most histories to visit.

    Raises:
        GameTooLargeError: more histories than max_worlds can be reached.
    """
    game = load_game(game)
    check_supported(game)
    player = check_player(game, player)
    if game.num_players() != 2:
        raise ValueError(f"worlds are for two players; {game_title(game)} has {game.num_players()}")
    search = _Search(game, player, FixedOpponents(game, player, opponent, every_history=True), max_worlds)
    value, actions = search.after([(game.new_initial_state(), 1.0)])
    return WorldResponse(value, actions, search.worlds)


class _Search:
    def __init__(self, game: pyspiel.Game, player: int, opponents: FixedOpponents, max_worlds: int):
        self._game, self._player, self._opponents, self._max_worlds = game, player, opponents, max_worlds
        self._game_type = game.get_type()
        self.worlds = 0

    def after(self, worlds: list[tuple[pyspiel.State, float]]) -> tuple[float, dict[str, int]]:
        """The best value, and the best actions, from worlds right after an own action (or at the start)."""
        value = 0.0
        states: dict[tuple[str, tuple[int, ...]], list[tuple[pyspiel.State, float]]] = {}
        waiting = list(worlds)
        while waiting:
            state, weight = waiting.pop()
            self.worlds += 1
            if self.worlds > self._max_worlds:
                raise GameTooLargeError(
                    f"more than {self._max_worlds:,} histories of {game_title(self._game)} can be reached against this "
                    "opponent; raise max_worlds, or build the tree",
                    histories=self._max_worlds,
                )
            if state.is_terminal():
                value += weight * state.player_return(self._player)
            elif state.current_player() == self._player:
                key = state_key(state, self._player, self._game_type), tuple(state.legal_actions())
                states.setdefault(key, []).append((state, weight))
            else:
                waiting.extend((state.child(action), weight * chance) for action, chance in self._next(state))
        actions: dict[str, int] = {}
        for (string, legal), here in states.items():
            found = []
            for action in legal:
                of_action, below = self.after([(state.child(action), weight) for state, weight in here])
                found.append((of_action, -action, below))
            best, negative, below = max(found, key=lambda each: each[:2])  # the first of equal actions
            value += best
            actions |= below
            actions[string] = -negative
        return value, actions

    def _next(self, state: pyspiel.State) -> list[tuple[int, float]]:
        if state.current_player() == _CHANCE:
            return state.chance_outcomes()
        return [(action, chance) for action, chance in self._opponents.distribution(state) if chance > 0]
