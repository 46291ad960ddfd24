"""The other players at a live table: policies that are asked, and bots that are played with."""

from __future__ import annotations

import bisect
import contextlib
import itertools
from collections.abc import Mapping

import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.spiel.opponents import FixedOpponents, state_key, uniform

_MOST_REMEMBERED = 1_000_000


class OpponentError(RuntimeError):
    """An opponent failed in the middle of an episode, which is then not counted."""


class Draw:
    """Actions with their probabilities, to be drawn from with one uniform number."""

    __slots__ = ("actions", "cumulative")

    def __init__(self, distribution):
        possible = [(action, probability) for action, probability in distribution if probability > 0]
        self.actions = [action for action, _ in possible]
        # The last action takes the rest, whatever the rounding.
        self.cumulative = list(itertools.accumulate(probability for _, probability in possible[:-1]))

    def action(self, uniform_number: float) -> int:
        return self.actions[bisect.bisect_right(self.cumulative, uniform_number)]


class OtherSeats:
    """Moves for the players other than `player`; if that is None, for those of the mapping `opponent`.

    opponent: a policy or a bot for all of them, or a mapping from player to policy or bot. A policy, in any form that
    OpenSpiel has, is asked at every information state that is visited, and its answer remembered; unless it answers
    otherwise when it is asked again, as a search does: then it is asked at every visit. A bot needs no
    more than step(); restart_at and inform_action are called where it has them. A bot in several seats is one bot.
    """

    def __init__(self, game: pyspiel.Game, player: int | None, opponent):
        others = sorted(opponent) if player is None else [seat for seat in range(game.num_players()) if seat != player]
        given = opponent if isinstance(opponent, Mapping) else dict.fromkeys(others, opponent)
        missing = [other for other in others if other not in given]
        if missing:
            raise ValueError(f"opponents are missing for player(s) {missing}; given: {sorted(given)}")
        self.bots = {other: given[other] for other in others if is_bot(given[other])}
        policies = {other: uniform(game) if other in self.bots else given[other] for other in others}
        everyone = {**dict.fromkeys(range(game.num_players()), uniform(game)), **policies}
        self._policies = FixedOpponents(game, -1, everyone)
        self.at_random = {  # who need not be asked
            other
            for other, policy in policies.items()
            if other not in self.bots and isinstance(policy, policy_lib.UniformRandomPolicy)
        }
        self._game, self._game_type = game, game.get_type()
        self._draws: dict[tuple[int, str], Draw] = {}
        self.changing: set[int] = set()  # whose answers change from query to query

    @property
    def all_known(self) -> bool:
        """Whether every other player's policy is known."""
        return not self.bots and not self.changing

    def restart(self, state: pyspiel.State) -> None:
        """A new episode begins."""
        for other in self.bots:
            self._tell(other, "restart_at", state, state)

    def inform(self, state: pyspiel.State, actor: int, action: int) -> None:
        """Tells the other bots of an action that is about to be taken."""
        for other in self.bots:
            if other != actor:
                self._tell(other, "inform_action", state, state, actor, action)

    def _tell(self, other: int, method: str, state: pyspiel.State, *what) -> None:
        told = getattr(self.bots[other], method, None)
        if told is not None:
            with self.naming(other, state):
                told(*what)

    def draw(self, state: pyspiel.State) -> Draw:
        """The distribution of the player who is to act, whose policy is known."""
        other = state.current_player()
        if other in self.at_random:
            legal = state.legal_actions()
            return Draw([(action, 1.0 / len(legal)) for action in legal])
        if other in self.changing or other in self._policies.depending_on_history:
            return self._ask(state, other)
        key = (other, state_key(state, other, self._game_type))
        draw = self._draws.get(key)
        if draw is None:
            if len(self._draws) >= _MOST_REMEMBERED:
                self._draws.clear()
            draw = self._ask(state, other)
            with self.naming(other, state):
                if self._policies.answers_otherwise(state):
                    self.changing.add(other)
                    self._draws.clear()
                    return draw
            self._draws[key] = draw
        return draw

    def _ask(self, state: pyspiel.State, other: int) -> Draw:
        with self.naming(other, state):
            return Draw(self._policies.read(state))

    def move(self, state: pyspiel.State, uniform_number: float) -> int:
        """The action of the player who is to act."""
        other = state.current_player()
        if other in self.at_random:
            legal = state.legal_actions()
            return legal[int(uniform_number * len(legal))]
        if other not in self.bots:
            return self.draw(state).action(uniform_number)
        with self.naming(other, state):
            action = self.bots[other].step(state)
        self.check_legal(state, other, action)
        return int(action)

    def check_legal(self, state: pyspiel.State, other: int, action) -> None:
        """Raises an error if the player's answer is not a legal action."""
        legal = state.legal_actions()
        if isinstance(action, bool) or action not in legal:
            raise OpponentError(
                f"player {other} answered {action!r} after the moves {state.history()} of {self._game}; legal are "
                f"{legal}. The episode is not counted"
            )

    @contextlib.contextmanager
    def naming(self, other: int, state: pyspiel.State):
        """What goes wrong with a player is said together with who it is and where."""
        try:
            yield
        except Exception as error:
            who = type(self.bots[other]).__name__ if other in self.bots else "its policy"
            raise OpponentError(
                f"player {other} ({who}) failed after the moves {state.history()} of {self._game}: {error!r}. The "
                "episode is not counted"
            ) from error


def is_bot(source) -> bool:
    """Whether it can only be played with: a bot of OpenSpiel, or anything else with step() and no policy."""
    if isinstance(source, (policy_lib.Policy, pyspiel.Policy)):
        return False
    return isinstance(source, pyspiel.Bot) or hasattr(source, "step")
