"""The other players, fixed: one behaviour for each, from whatever form OpenSpiel has it in."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import pyspiel
from open_spiel.python import policy as policy_lib, rl_agent
from open_spiel.python.bots import policy as policy_bot

_TOLERANCE = 1e-6
_COARSE_TOLERANCE = 0.02  # a few probabilities in bfloat16


def uniform(game: pyspiel.Game) -> policy_lib.Policy:
    """The policy that plays every legal action with the same probability.

    Args:
        game: what load_game returns.
    """
    return policy_lib.UniformRandomPolicy(game)


def check_player(game: pyspiel.Game, player: int) -> int:
    """The player's number, if the game has such a player."""
    if isinstance(player, bool) or int(player) != player or not 0 <= player < game.num_players():
        raise ValueError(
            f"{game.get_type().short_name} has players 0 .. {game.num_players() - 1}; there is no player {player}"
        )
    return int(player)


def state_key(state: pyspiel.State, player: int, game_type: pyspiel.GameType) -> str:
    """The string that tells the player's information states apart, by OpenSpiel's own order of preference."""
    if game_type.provides_information_state_string:
        return state.information_state_string(player)
    return state.observation_string(player)


class FixedOpponents:
    """The distribution that the players other than `player` follow at each of their states, checked as it is read.

    opponent: one joint policy, or a mapping from player to policy. A policy is an OpenSpiel Python policy, a C++
    policy, or a bot that exposes its policy. It is asked once per information state, or at every history if it says
    that it `depends_on_history`, more than the game's strings tell.
    """

    def __init__(self, game: pyspiel.Game, player: int, opponent):
        others = [other for other in range(game.num_players()) if other != player]
        if isinstance(opponent, Mapping):
            missing = [other for other in others if other not in opponent]
            if missing:
                raise ValueError(f"opponents' policies are missing for player(s) {missing}; given: {sorted(opponent)}")
        sources = {other: opponent[other] if isinstance(opponent, Mapping) else opponent for other in others}
        self._readers = {other: _reader(source, other) for other, source in sources.items()}
        self.depending_on_history = {
            other for other, source in sources.items() if getattr(source, "depends_on_history", False)
        }
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
            distribution = self.read(state)
            self._distributions[key] = distribution
            self.text_size += len(key[1])
        return distribution

    def read(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """The same, asked anew."""
        other = state.current_player()
        key = state_key(state, other, self._game_type)
        where = f"at state {key!r} of player {other}"
        legal = state.legal_actions()
        try:
            given = self._readers[other](state)
        except (KeyError, IndexError, pyspiel.SpielError) as error:
            raise ValueError(f"the opponent's policy is missing {where}, which it can reach ({error!r})") from error
        given = {int(action): float(probability) for action, probability in given.items()}
        if not given:
            raise ValueError(f"the opponent's policy is missing {where}, which it can reach")
        illegal = sorted(action for action in given if action not in legal and given[action] != 0)
        if illegal:
            raise ValueError(f"the opponent's policy plays illegal action(s) {illegal} {where}; legal are {legal}")
        total = sum(given.values())
        if not (abs(total - 1) < _COARSE_TOLERANCE and min(given.values()) >= 0):
            raise ValueError(f"the opponent's probabilities {where} are not a distribution, sum {total}: {given}")
        if abs(total - 1) > _TOLERANCE and not self._warned:
            self._warned = True
            warnings.warn(
                f"the opponent's probabilities sum to {total!r} {where}, as in single precision or less; they are "
                "divided by their sum, here and elsewhere",
                stacklevel=2,
            )
        return [(action, given.get(action, 0.0) / total) for action in legal]


def _reader(source, player: int):
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
            f"player {player}'s policy is an agent, {type(source).__name__}; give ts.exploit the agent itself, or make a policy "
            "of it with open_spiel.python.rl_agent_policy.RLAgentPolicy"
        )
    raise TypeError(
        f"player {player}'s policy must be an OpenSpiel policy or a bot that provides its policy, not "
        f"{type(source).__name__}; for several opponents pass one joint policy or a mapping from player to policy"
    )


def _bot_reader(bot: pyspiel.Bot, player: int):
    """Bots in C++ tell their policy by get_policy; OpenSpiel's own bots in Python only by step_with_policy."""

    def overrides(method: str) -> bool:
        return getattr(type(bot), method) is not getattr(pyspiel.Bot, method)

    if overrides("step_with_policy") and not overrides("get_policy"):
        return lambda state: dict(bot.step_with_policy(state)[0])
    if not bot.provides_policy():
        raise ValueError(
            f"the bot for player {player} does not expose its policy (provides_policy() is False); its Tree MDP is "
            "unknown, but it can be learned against by playing"
        )
    return lambda state: dict(bot.get_policy(state))
