"""Fixed opponents: one policy for each other player, from any of OpenSpiel's forms of policies."""

from __future__ import annotations

import typing
import warnings
from collections.abc import Callable, Mapping

import pyspiel
from open_spiel.python import policy as policy_lib, rl_agent
from open_spiel.python.bots import policy as policy_bot

from tmdp_spiel.core import validation
from tmdp_spiel.openspiel.games import GameLike, game_title, load_game
from tmdp_spiel.openspiel.opponents.bots import bot_name, implements
from tmdp_spiel.trees.infostate_tree import PROBABILITY_TOLERANCE

_ASKED_AGAIN = 4


class OpponentError(RuntimeError):
    """An opponent failed during an episode.

    result: if raised by exploit, the result certified before the failure; otherwise None.
    """

    def __init__(self, message: str, result: typing.Any = None):
        super().__init__(message)
        self.result = result


class NotAPolicyError(OpponentError, ValueError):
    """An opponent's answers change from query to query, or depend on what its player cannot see."""


def uniform(game: GameLike) -> policy_lib.Policy:
    """The policy that plays every legal action with the same probability.

    Args:
        game: anything that load_game takes.

    Returns:
        An OpenSpiel policy of all players.

    >>> import tmdp_spiel as ts
    >>> game = ts.load_game("kuhn")
    >>> state = game.new_initial_state().child(0).child(1)  # two cards are dealt
    >>> ts.uniform(game).action_probabilities(state)
    {0: 0.5, 1: 0.5}
    """
    return policy_lib.UniformRandomPolicy(load_game(game))


def check_player(game: pyspiel.Game, player: int) -> int:
    """The player's number; raises an error if the game has no such player."""
    if not validation.is_whole(player) or not 0 <= player < game.num_players():
        raise ValueError(f"{game_title(game)} has players 0 .. {game.num_players() - 1}; there is no player {player!r}")
    return int(player)


def state_key(state: pyspiel.State, player: int, game_type: pyspiel.GameType) -> str:
    """The string that identifies the player's information state, in OpenSpiel's order of preference."""
    if game_type.provides_information_state_string:
        return state.information_state_string(player)
    return state.observation_string(player)


class FixedOpponents:
    """The distribution that the players other than `player` follow at each of their states, checked as it is read.

    opponent: one joint policy, or a mapping from player to policy. A policy is an OpenSpiel Python policy, a C++
    policy, or a bot that exposes its policy. If it is a table, it is queried once per information state. Otherwise it
    is queried twice, and refused if its second answer differs, as that of a search does. A policy with the attribute
    `depends_on_history` remembers more than the game's strings, and is queried at every history.

    every_history: query a policy that is not a table at every history, and refuse one that depends on what its player
    cannot see. queries: instead, average the given number of answers at each information state.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        player: int,
        opponent: typing.Any,
        *,
        every_history: bool = False,
        queries: int | None = None,
    ) -> None:
        others = [other for other in range(game.num_players()) if other != player]
        if isinstance(opponent, Mapping):
            missing = [other for other in others if other not in opponent]
            if missing:
                raise ValueError(f"opponents' policies are missing for player(s) {missing}; given: {list(opponent)}")
            unknown = [other for other in opponent if other not in range(game.num_players())]
            if unknown:
                raise ValueError(
                    f"opponents are given by the player's number, 0 .. {game.num_players() - 1}; there is no "
                    f"{unknown[0]!r}"
                )
        sources = {other: opponent[other] if isinstance(opponent, Mapping) else opponent for other in others}
        self._readers = {other: _reader(source, other) for other, source in sources.items()}
        self.depending_on_history = {
            other for other, source in sources.items() if getattr(source, "depends_on_history", False)
        }
        self._tables = {other for other, source in sources.items() if is_table(source)}
        self._every_history = every_history and queries is None
        self._queries = None if queries is None else validation.whole_number("queries", queries)
        self._game_type = game.get_type()
        self._distributions: dict[tuple[int, str], list[tuple[int, float]]] = {}
        self._warned = False
        self.text_size = 0  # characters of the keys held

    def distribution(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """(action, probability) for every legal action of the opponent who is to act."""
        other = state.current_player()
        if other in self.depending_on_history:
            return self.read(state)
        key = (other, state_key(state, other, self._game_type))
        distribution = self._distributions.get(key)
        if distribution is None:
            distribution = self._distributions[key] = self._settled(state, key[1])
            self.text_size += len(key[1])
        elif self._every_history and other not in self._tables:
            again = self.read(state)
            if _differ(distribution, again):
                raise NotAPolicyError(
                    f"player {other}'s policy depends on what the player cannot see: at its state {key[1]!r} it "
                    f"answers {_brief(distribution)} after one history and {_brief(again)} after another. If it "
                    "depends on the past of its player, which this game may forget, set its depends_on_history = True"
                )
        return distribution

    def _settled(self, state: pyspiel.State, key: typing.Any) -> list[tuple[int, float]]:
        """The distribution at a state that is queried for the first time, after checking that it does not vary."""
        other, first = state.current_player(), self.read(state)
        if self._queries is not None:
            answers = [first, *(self.read(state) for _ in range(self._queries - 1))]
            return [(pairs[0][0], sum(chance for _, chance in pairs) / len(pairs)) for pairs in zip(*answers)]
        if other not in self._tables:
            again = self.read(state)
            if _differ(first, again):
                raise NotAPolicyError(
                    f"player {other}'s answers change from query to query: at its state {key!r} {_brief(first)}, then "
                    f"{_brief(again)}. This is a search, not a policy, and a tree of single answers would describe "
                    "another opponent. Play it live (exploit accepts bots), or give queries=, the number of answers to "
                    "average at each state; the values are then only estimates"
                )
        return first

    def answers_differently(self, state: pyspiel.State, before_each: Callable[[], None] = lambda: None) -> bool:
        """Whether answers at one state differ; a table is not queried. before_each: called before every query."""
        if state.current_player() in self._tables:
            return False
        first = None
        for _ in range(_ASKED_AGAIN + 1):
            before_each()
            answer = self.read(state)
            if first is not None and _differ(first, answer):
                return True
            first = first or answer
        return False

    def read(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """The same distribution, queried again."""
        other = state.current_player()
        key = state_key(state, other, self._game_type)
        where = f"at state {key!r} of player {other}"
        legal = state.legal_actions()
        try:
            given = self._readers[other](state)
        except (KeyError, IndexError, pyspiel.SpielError) as error:
            raise ValueError(f"the opponent's policy is missing {where}, which it can reach ({error!r})") from error
        except Exception as error:
            raise ValueError(f"the opponent's policy fails {where}: {error!r}") from error
        try:
            given = {int(action): float(probability) for action, probability in dict(given).items()}
        except (TypeError, ValueError):
            raise ValueError(
                f"the opponent's policy answers {given!r} {where}; it must answer {{action: probability}}"
            ) from None
        if not given:
            raise ValueError(f"the opponent's policy is missing {where}, which it can reach")
        probabilities, total = read_distribution(given, legal, where)
        if is_rounded(total) and not self._warned:
            self._warned = True
            warnings.warn(
                f"the opponent's probabilities sum to {total!r} {where}, as in single precision or less; they are "
                "divided by their sum at every state",
                stacklevel=2,
            )
        return list(zip(legal, probabilities))


# Policies that look up an information state, or depend only on the legal actions: their answers cannot vary.
_TABLES = (policy_lib.TabularPolicy, policy_lib.UniformRandomPolicy, pyspiel.TabularPolicy)


def is_table(source: typing.Any) -> bool:
    """Whether its answers at an information state cannot vary."""
    return answers_as(source, *_TABLES)


def is_uniform(source: typing.Any) -> bool:
    """Whether it is known to be the policy that plays every legal action with the same probability."""
    return answers_as(source, policy_lib.UniformRandomPolicy, pyspiel.UniformPolicy)


def answers_as(source: typing.Any, *kinds: typing.Any) -> bool:
    """Whether a policy is of one of these classes and answers as the class does.

    A subclass, or a single object, may have another `action_probabilities`; then it has to be queried.
    """
    if "action_probabilities" in getattr(source, "__dict__", {}):
        return False
    return any(
        isinstance(source, kind) and type(source).action_probabilities is kind.action_probabilities for kind in kinds
    )


def _differ(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> bool:
    """Whether two answers are not the same distribution."""
    if [action for action, _ in one] != [action for action, _ in other]:
        return True
    return max(abs(a - b) for (_, a), (_, b) in zip(one, other)) > PROBABILITY_TOLERANCE


def _brief(distribution: list[tuple[int, float]]) -> str:
    return "{" + ", ".join(f"{action}: {probability:.4g}" for action, probability in distribution) + "}"


def _reader(source: typing.Any, player: int) -> typing.Any:
    """A function from a state to {action: probability}."""
    if isinstance(source, policy_lib.Policy):
        return lambda state: source.action_probabilities(state, player)
    if isinstance(source, pyspiel.Policy):
        return source.action_probabilities
    if isinstance(source, policy_bot.PolicyBot):
        return _reader(source._policy, player)  # step_with_policy of this bot fails where it only plays action 0
    if isinstance(source, pyspiel.Bot):
        return _bot_reader(source, player)
    if isinstance(source, rl_agent.AbstractAgent):
        raise TypeError(
            f"player {player}'s policy is an agent, {type(source).__name__}; give the agent to ts.exploit, or make a "
            "policy from it with open_spiel.python.rl_agent_policy.RLAgentPolicy"
        )
    raise TypeError(
        f"player {player}'s policy must be an OpenSpiel policy or a bot that provides its policy, not "
        f"{type(source).__name__}; for several opponents pass one joint policy or a mapping from player to policy"
    )


def _bot_reader(bot: pyspiel.Bot, player: int) -> typing.Any:
    """Bots in C++ give their policy by get_policy; OpenSpiel's bots in Python only by step_with_policy."""
    if type(bot).step_with_policy is not pyspiel.Bot.step_with_policy and not implements(bot, "get_policy"):
        return lambda state: dict(bot.step_with_policy(state)[0])
    if not bot.provides_policy():
        raise ValueError(
            f"the bot for player {player} does not expose its policy ({bot_name(bot)}.provides_policy() is False); its "
            "Tree MDP is unknown, but it can be learned against by playing"
        )
    return lambda state: dict(bot.get_policy(state))


COARSE_TOLERANCE = 0.02  # of a sum of probabilities: a few of them in bfloat16; above it is an error


def read_distribution(given: Mapping[int, float], legal: list[int], where: str) -> tuple[list[float], float]:
    """The probability of every legal action, normalised to sum to 1, and the original sum.

    Args:
        given: probabilities by action; missing actions have probability 0.
        legal: the legal actions.
        where: the state and the player, for errors.
    """
    illegal = sorted(action for action, probability in given.items() if action not in legal and probability != 0)
    if illegal:
        raise ValueError(f"the policy plays illegal action(s) {illegal} {where}; legal are {legal}")
    row = [given.get(action, 0.0) for action in legal]
    total = sum(row)
    if not (abs(total - 1) <= COARSE_TOLERANCE and min(row) >= 0):
        raise ValueError(f"the probabilities {where} are not a distribution, sum {total}: {dict(given)}")
    return [probability / total for probability in row], total


def is_rounded(total: float) -> bool:
    """Whether a sum of probabilities differs from 1 by more than rounding in double precision can explain."""
    return abs(total - 1) > PROBABILITY_TOLERANCE
