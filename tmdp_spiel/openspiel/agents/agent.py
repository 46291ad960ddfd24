"""Any learner as an OpenSpiel agent."""

from __future__ import annotations

import os
import typing

import numpy as np
import pyspiel
from open_spiel.python import rl_agent
from open_spiel.python.rl_environment import ObservationType

from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.core import storage
from tmdp_spiel.evaluation import checkpoint
from tmdp_spiel.openspiel.agents.bot import TreeBot
from tmdp_spiel.openspiel.agents.session import EpisodeSession
from tmdp_spiel.openspiel.build import DEFAULT_MAX_NODES, build_infostate_tree
from tmdp_spiel.openspiel.histories import one_history_per_infostate
from tmdp_spiel.openspiel.load_game import load_game
from tmdp_spiel.trees.infostate_tree import InfostateTree


class TreeAgent(rl_agent.AbstractAgent):
    """Learns a best response in rl_environment.Environment, against agents it knows nothing about.

    Its tree comes from the rules of the game alone, and it learns from the time steps it is given. The return of an
    episode is the sum of the rewards in the time steps. So in games with intermediate rewards it must be given every
    time step, not only those at which it acts.

    game: anything that load_game takes. algorithm: a learner class or its name; hyperparameters: passed to it.
    observation_type: the one that the environment was made with; the environment's default if not given. The tensors,
    together with the player's earlier actions, must distinguish the player's states.
    """

    def __init__(
        self,
        player_id: int,
        game: pyspiel.Game,
        algorithm: str | type[Learner],
        *,
        observation_type: ObservationType | None = None,
        max_nodes: int = DEFAULT_MAX_NODES,
        **hyperparameters: typing.Any,
    ) -> None:
        self._game = load_game(game)
        tree = build_infostate_tree(self._game, player_id, max_nodes=max_nodes)
        self.player_id = tree.player
        self._session = EpisodeSession(find_algorithm(algorithm)(tree, **hyperparameters))
        self._states = _states_by_tensor(tree, self._game, observation_type, max_nodes)
        self._earned = 0.0

    @property
    def learner(self) -> Learner:
        return self._session.learner

    def step(self, time_step: typing.Any, is_evaluation: bool = False) -> typing.Any:
        """The action for a time step at which this player is to act; None at the end.

        is_evaluation: play the recommended policy and learn nothing.
        """
        reward = 0.0 if time_step.rewards is None else time_step.rewards[self.player_id]
        if time_step.first():
            self._session.abandon()
            self._earned = 0.0
        self._earned += reward
        if time_step.last():
            self._session.end(self._earned, is_evaluation)
            self._earned = 0.0
            return None
        if time_step.current_player() != self.player_id:
            return rl_agent.StepOutput(action=None, probs=[])
        state = self._state(time_step.observations)
        if self._session.under_way and self._session.starts_with(state):
            self._earned = reward  # the last episode was left before its end
        index, probabilities = self._session.act(state, is_evaluation)
        legal = self.learner.tree.legal_actions(state)
        probs = np.zeros(self._game.num_distinct_actions())
        probs[legal] = probabilities
        return rl_agent.StepOutput(action=int(legal[index]), probs=probs)

    def as_bot(self, *, evaluate: bool = False) -> TreeBot:
        """This agent as a bot that shares its learner. evaluate: play the recommended policy and learn nothing."""
        return TreeBot(self._session, self._game, evaluate=evaluate)

    def save(self, path: str | os.PathLike) -> None:
        """Writes what was learned to a file atomically."""
        with storage.locked(path):
            checkpoint.save(path, checkpoint.identity(self.learner), self.learner, self._session.rng)

    def restore(self, path: str | os.PathLike) -> None:
        """Restores the state saved in a file by an agent for the same game and player."""
        self._session.learner, self._session.rng = checkpoint.load_agent(path, self.learner)
        self._session.abandon()

    def _state(self, observations: typing.Any) -> int:
        tensor, legal = observations["info_state"][self.player_id], observations["legal_actions"][self.player_id]
        root = self.learner.tree.root  # what a new episode follows, if the last one was left before its end
        for last in (self._session.last, root):
            state = self._states.get(_key(last, tensor, legal))
            if state is not None:
                return state
        raise ValueError(
            f"the environment passed player {self.player_id} a tensor that belongs to none of its states in "
            f"{self._game.get_type().short_name} at this point; is it made from the same game, with the same "
            "observation_type?"
        )


def _key(last: int, tensor: typing.Any, legal_actions: typing.Any) -> tuple[int, bytes, tuple[int, ...]]:
    return int(last), np.asarray(tensor, np.float32).tobytes(), tuple(legal_actions)


def _states_by_tensor(
    tree: InfostateTree, game: pyspiel.Game, observation_type: ObservationType | None, max_nodes: int
) -> dict:
    """The number of each state by what identifies it: the sequence before it, its tensor and its legal actions."""
    kind = game.get_type()
    if observation_type is None:
        has_tensor = kind.provides_information_state_tensor
        observation_type = ObservationType.INFORMATION_STATE if has_tensor else ObservationType.OBSERVATION
    whole = observation_type == ObservationType.INFORMATION_STATE
    if not (kind.provides_information_state_tensor if whole else kind.provides_observation_tensor):
        raise ValueError(
            f"{kind.short_name} provides no {observation_type.name.lower()} tensors; use a TreeBot, which "
            "distinguishes states by their strings"
        )
    states: dict[tuple, int] = {}
    for number, state in enumerate(one_history_per_infostate(tree, game, max_nodes=max_nodes)):
        tensor = information_tensor(state, tree.player, observation_type)
        other = states.setdefault(_key(tree.parent[number], tensor, state.legal_actions()), number)
        if other != number:
            raise ValueError(
                f"the {observation_type.name.lower()} tensors of {kind.short_name} do not distinguish player "
                f"{tree.player}'s states {tree.state_string(other)!r} and {tree.state_string(number)!r}; use a "
                "TreeBot, which distinguishes states by their strings"
            )
    return states


def information_tensor(state: pyspiel.State, player: int, observation_type: ObservationType) -> list[float]:
    """The tensor that rl_environment passes the player at a state."""
    if observation_type == ObservationType.OBSERVATION:
        return state.observation_tensor(player)
    return state.information_state_tensor(player)
