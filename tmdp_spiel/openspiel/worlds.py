"""Exact best responses against an opponent with a small support, in any two-player OpenSpiel game.

Every information state of the responding player has a set of *worlds*: the histories to which chance and the opponent's
policy can have led, given the player's actions, each with its probability. An action of the player expands every world
to the player's next states, which divide the worlds among them. The value of a state is the sum over its worlds for the
best action. So no tree of the opponent is needed, and histories that the opponent never plays are not visited. The cost
is the size of the player's tree times the number of worlds per state. It is small for deterministic agents, and for
search bots with a fixed seed.
"""

from __future__ import annotations

import dataclasses
import math
import random
import time

import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.core import validation
from tmdp_spiel.openspiel.build import GameTooLargeError, check_supported
from tmdp_spiel.openspiel.games import game_title, load_game
from tmdp_spiel.openspiel.histories import own_decisions
from tmdp_spiel.openspiel.opponents.fixed import FixedOpponents, check_player, state_key

MAX_WORLDS = 1_000_000
_CHANCE = int(pyspiel.PlayerId.CHANCE)
_DESCENTS = 10
_SURELY = 100 * _DESCENTS  # the endings that a random descent shows, by max_worlds, from which nothing is tried

# The player's states by string and legal actions: the best action, and the player's states that can follow it.
_Plan = dict[tuple[str, tuple[int, ...]], tuple[int, "_Plan"]]


@dataclasses.dataclass(frozen=True)
class WorldResponse:
    """An exact best response.

    value:   in the game's utilities
    actions: the best action at each information state that it can reach, by the state's string
    policy:  the same as an OpenSpiel policy, which distinguishes the player's histories even if the strings forget
    worlds:  the number of histories that were visited
    """

    value: float
    actions: dict[str, int]
    policy: WorldPolicy
    worlds: int


class WorldPolicy(policy_lib.Policy):
    """A best response by worlds; uniform at states that it does not reach."""

    depends_on_history = True

    def __init__(self, game: pyspiel.Game, player: int, plan: _Plan):
        super().__init__(game, [player])
        self._player, self._plan = player, plan

    def action_probabilities(self, state, player_id=None):
        kind, plan = self.game.get_type(), self._plan
        for earlier, taken in own_decisions(state, self._player):
            key = state_key(earlier, self._player, kind), tuple(earlier.legal_actions())
            action, after = plan.get(key, (None, {}))
            if taken is None and action is not None:
                return {each: float(each == action) for each in key[1]}
            plan = after if taken == action else {}
        legal = state.legal_actions()
        return dict.fromkeys(legal, 1.0 / len(legal))


def best_response_by_worlds(
    game, player: int, opponent, *, max_worlds: int = MAX_WORLDS, max_seconds: float | None = None
) -> WorldResponse:
    """The exact best response of `player` against a fixed opponent, by sets of worlds.

    States are identified by the player's history and the string, so that recall is perfect. If the game's strings
    forget, `actions` has the action of one of the states that share a string.

    Args:
        game: anything that load_game takes, with two players.
        player: who responds.
        opponent: as in build_tree.
        max_worlds: the most histories to visit.
        max_seconds: the longest that it may take.

    Raises:
        GameTooLargeError: more histories than max_worlds can be reached, or max_seconds have passed.
    """
    game = load_game(game)
    check_supported(game)
    player = check_player(game, player)
    if game.num_players() != 2:
        raise ValueError(f"worlds are for two players; {game_title(game)} has {game.num_players()}")
    opponents = FixedOpponents(game, player, opponent, every_history=True)
    search = _Search(game, player, opponents, validation.whole_number("max_worlds", max_worlds), max_seconds)
    search.probe()
    value, plan = search.after([(game.new_initial_state(), 1.0)])
    actions: dict[str, int] = {}
    waiting = [plan]
    while waiting:
        for (string, _), (action, after) in waiting.pop().items():
            actions[string] = action
            waiting.append(after)
    return WorldResponse(value, actions, WorldPolicy(game, player, plan), search.worlds)


class _Search:
    def __init__(
        self, game: pyspiel.Game, player: int, opponents: FixedOpponents, max_worlds: int, max_seconds: float | None
    ):
        self._game, self._player, self._opponents, self._max_worlds = game, player, opponents, max_worlds
        self._game_type = game.get_type()
        self._max_seconds = max_seconds
        self._until = math.inf if max_seconds is None else time.perf_counter() + max_seconds
        self.worlds = 0

    def probe(self) -> None:
        """Raises an error at once if random descents show that there are too many histories.

        The product of the numbers of moves on a random path has the number of endings as its mean (Knuth, 1975). So by
        Markov's inequality it is above c times their number with probability at most 1 / c.
        """
        rng = random.Random(0)
        for _ in range(_DESCENTS):
            state, product = self._game.new_initial_state(), 1
            while not state.is_terminal():
                moves = state.legal_actions()
                if state.current_player() != self._player:
                    moves = [action for action, _ in self._next(state)]
                product *= len(moves)
                if product > _SURELY * self._max_worlds:
                    self._refuse(f"more than {self._max_worlds:,} histories")
                state.apply_action(rng.choice(moves))

    def _refuse(self, what: str) -> None:
        raise GameTooLargeError(
            f"{what} of {game_title(self._game)} can be reached against this opponent; raise max_worlds, or build the "
            "tree",
            histories=self.worlds,
        )

    def _visit(self) -> None:
        self.worlds += 1
        if self.worlds > self._max_worlds:
            self._refuse(f"more than {self._max_worlds:,} histories")
        if self.worlds % 100 == 0 and time.perf_counter() > self._until:
            raise GameTooLargeError(
                f"the best response by worlds in {game_title(self._game)} needs more than max_seconds = "
                f"{self._max_seconds:g}; {self.worlds:,} histories were visited",
                "max_seconds",
                self.worlds,
            )

    def after(self, worlds: list[tuple[pyspiel.State, float]]) -> tuple[float, _Plan]:
        """The best value and plan from the worlds right after an action of the player (or at the start)."""
        value = 0.0
        states: dict[tuple[str, tuple[int, ...]], list[tuple[pyspiel.State, float]]] = {}
        waiting = list(worlds)
        while waiting:
            state, weight = waiting.pop()
            self._visit()
            if state.is_terminal():
                value += weight * state.player_return(self._player)
            elif state.current_player() == self._player:
                key = state_key(state, self._player, self._game_type), tuple(state.legal_actions())
                states.setdefault(key, []).append((state, weight))
            else:
                waiting.extend((state.child(action), weight * chance) for action, chance in self._next(state))
        plan: _Plan = {}
        for key, here in states.items():
            found = []
            for action in key[1]:
                of_action, below = self.after([(state.child(action), weight) for state, weight in here])
                found.append((of_action, -action, below))
            best, negative, below = max(found, key=lambda each: each[:2])  # the first of equal actions
            value += best
            plan[key] = -negative, below
        return value, plan

    def _next(self, state: pyspiel.State) -> list[tuple[int, float]]:
        if state.current_player() == _CHANCE:
            return state.chance_outcomes()
        return [(action, chance) for action, chance in self._opponents.distribution(state) if chance > 0]
