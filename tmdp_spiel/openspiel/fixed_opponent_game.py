"""The same game with the other players turned into chance, as an OpenSpiel game.

OpenSpiel's solvers and agents run on it unmodified: they see a game in which only one player makes decisions. Players
keep their numbers and utilities. `pyspiel.convert_to_cached_tree` makes the game fast for solvers in C++.
"""

from __future__ import annotations

import dataclasses
import itertools
import typing
import weakref

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.build import check_supported
from tmdp_spiel.openspiel.games import GameLike, load_game
from tmdp_spiel.openspiel.opponents.fixed import FixedOpponents, check_player

_SHORT_NAME = "python_fixed_opponent"
_NUMBERS = itertools.count()


@dataclasses.dataclass
class _Problem:
    base: pyspiel.Game
    player: int
    opponents: FixedOpponents


# By the parameter that represents them in the game's string; deleted with the last game and state that need them.
_PROBLEMS: weakref.WeakValueDictionary[str, _Problem] = weakref.WeakValueDictionary()


def fixed_opponent_game(game: GameLike, player: int, opponent: typing.Any) -> pyspiel.Game:
    """The game in which `player` decides, and the other players are chance that follows the fixed `opponent`.

    The opponents exist in this process only, so the game and its states can be serialised and read back only within it.

    Args:
        game: anything that load_game takes.
        player: the player that decides, from 0.
        opponent: the others, in any form that an opponent of build_tree may have.

    Returns:
        An OpenSpiel game with one deciding player.

    >>> import tmdp_spiel as ts
    >>> game = ts.fixed_opponent_game("kuhn", player=0, opponent=ts.uniform("kuhn"))
    >>> game.new_initial_state().is_chance_node()
    True
    """
    game = load_game(game)
    check_supported(game)
    player = check_player(game, player)
    name = f"{game.get_type().short_name}_{next(_NUMBERS)}"
    problem = _PROBLEMS[name] = _Problem(game, player, FixedOpponents(game, player, opponent))
    made = FixedOpponentGame({"problem": name})
    assert made.problem is problem
    return made


class FixedOpponentGame(pyspiel.Game):
    """See fixed_opponent_game."""

    def __init__(self, params: dict | None = None):
        name = (params or {}).get("problem", "")
        self.problem = _PROBLEMS.get(name)
        if self.problem is None:
            raise ValueError(
                f"no fixed opponent {name!r} in this process; make the game with tmdp_spiel.fixed_opponent_game"
            )
        self.base, self.player, self.opponents = self.problem.base, self.problem.player, self.problem.opponents
        most_actions = max(self.base.num_distinct_actions(), self.base.max_chance_outcomes())
        info = pyspiel.GameInfo(
            num_distinct_actions=self.base.num_distinct_actions(),
            max_chance_outcomes=most_actions,
            num_players=self.base.num_players(),
            min_utility=self.base.min_utility(),
            max_utility=self.base.max_utility(),
            utility_sum=self.base.utility_sum(),
            max_game_length=self.base.max_game_length(),
        )
        super().__init__(_game_type(self.base.get_type()), info, {"problem": name})

    def new_initial_state(self) -> FixedOpponentState:
        return FixedOpponentState(self, self.base.new_initial_state())

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: dict | None = None
    ) -> _Observer:
        return _Observer(self.base, iig_obs_type)


class FixedOpponentState(pyspiel.State):
    """A state of the base game, whose opponent nodes are chance nodes."""

    def __init__(self, game: FixedOpponentGame, base: pyspiel.State):
        super().__init__(game)
        self._base = _Copied(base)
        self._rewards = [0.0] * base.num_players()

    @property
    def base(self) -> pyspiel.State:
        return self._base.state

    def current_player(self) -> int:
        actor = self.base.current_player()
        return actor if actor == self.get_game().player or actor < 0 else pyspiel.PlayerId.CHANCE

    def _legal_actions(self, player: int) -> list[int]:
        return self.base.legal_actions(player)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        if self.base.is_chance_node():
            return self.base.chance_outcomes()
        return [pair for pair in self.get_game().opponents.distribution(self.base) if pair[1] > 0]

    def _apply_action(self, action: int) -> None:
        if not self.is_chance_node():
            self._rewards = [0.0] * len(self._rewards)
        self.base.apply_action(action)
        if not self.base.is_chance_node():
            self._rewards = [sum(pair) for pair in zip(self._rewards, self.base.rewards())]

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE and not self.base.is_terminal():
            return self.base.action_to_string(self.base.current_player(), action)
        return self.base.action_to_string(player, action)

    def is_terminal(self) -> bool:
        return self.base.is_terminal()

    def returns(self) -> list[float]:
        return self.base.returns()

    def rewards(self) -> list[float]:
        """The rewards since the player's last decision, because rewards at chance nodes are never read."""
        return list(self._rewards)

    def __str__(self) -> str:
        return str(self.base)


class _Copied:
    """Holds a state of the base game. OpenSpiel copies Python states with copy.deepcopy, attribute by attribute."""

    def __init__(self, state: pyspiel.State):
        self.state = state

    def __deepcopy__(self, memo: dict) -> _Copied:
        return _Copied(self.state.clone())


class _Observer:
    """Observations of the base game, unchanged."""

    def __init__(self, base: pyspiel.Game, iig_obs_type: pyspiel.IIGObservationType | None):
        self._perfect_recall = iig_obs_type is not None and iig_obs_type.perfect_recall
        kind = base.get_type()
        has_tensor = (
            kind.provides_information_state_tensor if self._perfect_recall else kind.provides_observation_tensor
        )
        self.tensor: np.ndarray | None = None
        self.dict: dict[str, np.ndarray] = {}
        if has_tensor:
            shape = base.information_state_tensor_shape() if self._perfect_recall else base.observation_tensor_shape()
            self.tensor = np.zeros(int(np.prod(shape)), np.float32)
            self.dict = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: FixedOpponentState, player: int) -> None:
        if self.tensor is not None:
            read = state.base.information_state_tensor if self._perfect_recall else state.base.observation_tensor
            self.tensor[:] = read(player)

    def string_from(self, state: FixedOpponentState, player: int) -> str:
        if self._perfect_recall:
            return state.base.information_state_string(player)
        return state.base.observation_string(player)


def _game_type(base: pyspiel.GameType) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name=_SHORT_NAME,
        long_name="A game whose other players are fixed",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=base.information,
        utility=base.utility,
        reward_model=base.reward_model,
        max_num_players=base.max_num_players,
        min_num_players=base.min_num_players,
        provides_information_state_string=base.provides_information_state_string,
        provides_information_state_tensor=base.provides_information_state_tensor,
        provides_observation_string=base.provides_observation_string,
        provides_observation_tensor=base.provides_observation_tensor,
        parameter_specification={"problem": ""},
        default_loadable=False,
    )


pyspiel.register_game(_game_type(pyspiel.load_game("kuhn_poker").get_type()), FixedOpponentGame)
