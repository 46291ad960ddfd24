"""Live opponents: policies that are queried and bots that are asked for moves during an episode."""

from __future__ import annotations

import contextlib
import math
import time
import typing
from collections.abc import Iterator, Mapping

import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.openspiel.games import game_string
from tmdp_spiel.openspiel.opponents.bots import as_bot, bot_name, why_not_as_player
from tmdp_spiel.openspiel.opponents.episode import Categorical
from tmdp_spiel.openspiel.opponents.fixed import (
    FixedOpponents,
    NotAPolicyError,
    OpponentError,
    is_uniform,
    state_key,
    uniform,
)

_MOST_REMEMBERED = 1_000_000


class TimeOverError(Exception):
    """The deadline passed before a player could be asked for its move."""


class LiveOpponents:
    """Plays the moves of the players other than `player`; if that is None, of those in the mapping `opponent`.

    opponent: a policy or a bot for all of them, or a mapping from player to policy or bot. A policy, in any of
    OpenSpiel's forms, is queried once at every information state that is visited, and its answer is cached. At its
    first state it is queried twice. If the answers differ, as those of a search do, it is queried at every visit; with
    asked_every_time all policies are. If its answers are found to differ only at a later state, after others were
    cached, a NotAPolicyError is raised. A bot needs only step(); restart_at (or else restart) and inform_action are
    called if it implements them. A bot may play several players. A bot in C++ that cannot play as its player is
    refused, unless check_players is False.

    deadline: after this, by time.perf_counter(), a TimeOverError is raised instead of asking an opponent
    """

    deadline = math.inf

    def __init__(
        self,
        game: pyspiel.Game,
        player: int | None,
        opponent: typing.Any,
        *,
        asked_every_time: bool = False,
        check_players: bool = True,
    ):
        everyone = range(game.num_players())
        others = sorted(opponent) if player is None else [other for other in everyone if other != player]
        given = opponent if isinstance(opponent, Mapping) else dict.fromkeys(others, opponent)
        missing = [other for other in others if other not in given]
        if missing:
            raise ValueError(f"opponents are missing for player(s) {missing}; given: {sorted(given)}")
        self.bots = {other: as_bot(given[other]) for other in others if is_bot(given[other])}
        for other, bot in self.bots.items() if check_players else ():
            if (why := why_not_as_player(bot.inner, game, other)) is not None:
                raise ValueError(
                    f"{bot.name} cannot play as player {other}: it {why}; give a mapping from "
                    "player to opponent, or respond as another player"
                )
        self._names = {other: bot.name for other, bot in self.bots.items()}
        self._names |= {other: bot_name(given[other]) for other in others if other not in self.bots}
        self._informed = {
            id(bot.inner): other for other, bot in self.bots.items()
        }  # a bot that plays several is informed once
        policies = {other: uniform(game) if other in self.bots else given[other] for other in others}
        self._policies = FixedOpponents(game, -1, {**dict.fromkeys(everyone, uniform(game)), **policies})
        self.at_random = {  # who need not be asked
            other for other, policy in policies.items() if other not in self.bots and is_uniform(policy)
        }
        self._game, self._game_type = game, game.get_type()
        self._draws: dict[tuple[int, str], Categorical] = {}
        # Whose answers change from query to query.
        self.changing: set[int] = set(others) - set(self.bots) - self.at_random if asked_every_time else set()

    @property
    def all_known(self) -> bool:
        """Whether the policies of all other players are known."""
        return not self.bots and not self.changing

    def restart(self, state: pyspiel.State) -> None:
        """Begins a new episode."""
        for player in self._informed.values():
            with self.naming(player, state):
                self.bots[player].restart_at(state)

    def inform(self, state: pyspiel.State, actor: int, action: int) -> None:
        """Informs the other bots of an action before it is played."""
        acting = self.bots[actor].inner if actor in self.bots else None
        for player in self._informed.values():
            bot = self.bots[player]
            if bot.is_informed and bot.inner is not acting:
                with self.naming(player, state):
                    bot.inform_action(state, actor, action)

    def draw(self, state: pyspiel.State) -> Categorical:
        """The distribution of the player who is to act, whose policy is known."""
        other = state.current_player()
        if other in self.at_random:
            legal = state.legal_actions()
            return Categorical([(action, 1.0 / len(legal)) for action in legal])
        if other in self.changing or other in self._policies.depending_on_history:
            return self._ask(state, other)
        key = (other, state_key(state, other, self._game_type))
        draw = self._draws.get(key)
        if draw is None:
            if len(self._draws) >= _MOST_REMEMBERED:
                self._draws.clear()
            draw = self._ask(state, other)
            with self.naming(other, state):
                changes = self._policies.answers_differently(state, self._check_time)
            if changes and self._draws:
                raise NotAPolicyError(
                    f"player {other} ({self._names[other]}) is a policy whose answers change from query to query: "
                    f"first seen after the moves {state.history()} of {game_string(self._game)}, when "
                    f"{len(self._draws):,} answers at other states had been cached. The episodes so far were not "
                    "played against a single policy. Begin again with asked_every_time=True, or give a bot"
                )
            if changes:
                self.changing.add(other)
                return draw
            self._draws[key] = draw
        return draw

    def _check_time(self) -> None:
        if time.perf_counter() > self.deadline:
            raise TimeOverError

    def _ask(self, state: pyspiel.State, other: int) -> Categorical:
        self._check_time()
        with self.naming(other, state):
            return Categorical(self._policies.read(state))

    def move(self, state: pyspiel.State, uniform_number: float) -> int:
        """The action of the player who is to act."""
        other = state.current_player()
        if other in self.at_random:
            legal = state.legal_actions()
            return legal[int(uniform_number * len(legal))]
        if other not in self.bots:
            return self.draw(state).action(uniform_number)
        self._check_time()
        with self.naming(other, state):
            action = self.bots[other].step(state)
        self.check_legal(state, other, action)
        return int(action)

    def check_legal(self, state: pyspiel.State, other: int, action: typing.Any) -> None:
        """Raises an error if the player's answer is not a legal action."""
        legal = state.legal_actions()
        if isinstance(action, bool) or action not in legal:
            raise OpponentError(
                f"player {other} ({self._names[other]}) returned {action!r} after the moves {state.history()} of "
                f"{game_string(self._game)}; legal are {legal}"
            )

    @contextlib.contextmanager
    def naming(self, other: int, state: pyspiel.State) -> Iterator[None]:
        """Adds the player and the moves so far to the error of an opponent."""
        try:
            yield
        except TimeOverError:
            raise
        except (Exception, SystemExit) as error:
            raise OpponentError(
                f"player {other} ({self._names[other]}) failed after the moves {state.history()} of "
                f"{game_string(self._game)}: {error!r}"
            ) from error


def is_bot(source: typing.Any) -> bool:
    """Whether it can only be played against: a bot of OpenSpiel, or anything else with step() and no policy."""
    if isinstance(source, (policy_lib.Policy, pyspiel.Policy)):
        return False
    return isinstance(source, pyspiel.Bot) or hasattr(source, "step")
