"""Learners and plans as OpenSpiel's agents and bots."""

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
from tmdp_spiel.openspiel.build import DEFAULT_MAX_NODES, build_infostate_tree
from tmdp_spiel.openspiel.games import load_game
from tmdp_spiel.openspiel.histories import InfostateLocator, one_history_per_infostate, sequence_of
from tmdp_spiel.openspiel.opponents.fixed import state_key
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.traversal import draw_sequence

_OWN_STREAM = 1  # apart from the environment's generator, which a run seeds with the learner's seed alone


class EpisodeSession:
    """Plays the learner's plan, or its recommendation when it is evaluated or has stopped, and records the path.

    An episode begins with the first decision, or with its end if there is none. The learner does not learn from an
    episode that includes an evaluation step or that does not end.
    """

    def __init__(self, learner: Learner):
        self.learner = learner
        self.rng = np.random.default_rng([learner.seed, _OWN_STREAM])
        self.abandon()

    def abandon(self) -> None:
        """Discards the current episode."""
        self._plan: np.ndarray | None = None
        self._learns = False
        self.last = self.learner.tree.root  # the own sequence that the episode has come to

    @property
    def under_way(self) -> bool:
        """Whether a decision has been made since the end of the last episode."""
        return self._plan is not None

    def starts_with(self, state: int) -> bool:
        """Whether the state is the first decision of an episode."""
        return self.learner.tree.parent[state] == self.learner.tree.root

    def act(self, state: int, evaluate: bool = False) -> tuple[int, np.ndarray]:
        """The action index to play at a state of the tree, and the probability of each of the state's actions."""
        tree = self.learner.tree
        if self.starts_with(state):
            self._begin(evaluate)
        elif tree.parent[state] != self.last:
            raise ValueError(
                f"state {state} cannot follow what player {tree.player} did in this episode; are these the states of "
                f"the game that its tree was made from?"
            )
        elif evaluate and self._learns:
            self._plan, self._learns = self.learner.recommend(), False
        assert self._plan is not None
        first, end = tree.first_sequence[state], tree.first_sequence[state + 1]
        if self._plan.dtype == PLAN_DTYPE:
            self.last = int(first + self._plan[state])
            probabilities = np.zeros(end - first)
            probabilities[self.last - first] = 1.0
        else:
            self.last = int(draw_sequence(tree.links, self._plan, state, self.rng.random()))
            probabilities = self._plan[first:end].copy()
        return int(self.last - first), probabilities

    def end(self, utility: float, evaluate: bool = False) -> None:
        """Ends the episode with this utility, in the game's units, and learns from it."""
        if not self.under_way:
            self._begin(evaluate)
        if self._learns and not evaluate:
            self.learner.learn(self.last, self.learner.tree.to_return(utility))
        self.abandon()

    def _begin(self, evaluate: bool) -> None:
        self._learns = not evaluate and not self.learner.stopped
        self._plan = self.learner.plan() if self._learns else self.learner.recommend()
        self.last = self.learner.tree.root


class TreeBot(pyspiel.Bot):
    """Plays in evaluate_bots and wherever else OpenSpiel takes a bot, and learns from the episodes it plays.

    Of the states that it gets, it reads only the player's information state, the legal actions, and whether an action
    ends the episode and with what return. evaluate: play the recommended policy and learn nothing.
    """

    def __init__(self, session: EpisodeSession, game: pyspiel.Game, *, evaluate: bool = False):
        super().__init__()
        self.session = session
        self.evaluate = evaluate
        self._game_type = game.get_type()
        self._locator = InfostateLocator(session.learner.tree, game)

    @property
    def player_id(self) -> int:
        return self.session.learner.tree.player

    def restart_at(self, state: pyspiel.State) -> None:
        self.session.abandon()

    def restart(self) -> None:
        self.session.abandon()

    def step(self, state: pyspiel.State) -> int:
        tree = self.session.learner.tree
        number = self._locator.state_after(self.session.last, state)
        if number is None:  # or a new episode has begun, the last one having been left before its end
            number = self._locator.state_after(tree.root, state)
        if number is None:
            raise ValueError(
                f"player {tree.player} was given a state that is not in its tree: "
                f"{state_key(state, tree.player, self._game_type)!r}; are these states of the game of its tree?"
            )
        index, _ = self.session.act(number, self.evaluate)
        action = int(tree.legal_actions(number)[index])
        self._look_ahead(state, action)
        return action

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        self._look_ahead(state, int(action))

    def _look_ahead(self, state: pyspiel.State, action: int) -> None:
        """Ends the episode if this action does: bots are informed of actions, but not of the end of an episode."""
        after = state.child(action)
        if after.is_terminal():
            self.session.end(after.player_return(self.player_id), self.evaluate)


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


class PlanBot(pyspiel.Bot):
    """Plays a plan; at states that are not in the tree, a uniformly random legal action."""

    def __init__(self, game: pyspiel.Game, tree: InfostateTree, plan: np.ndarray, rng: np.random.Generator):
        super().__init__()
        self._tree, self._plan, self._rng = tree, np.asarray(plan), rng
        self._locator = InfostateLocator(tree, game)
        self._sequence: int | None = tree.root  # the last own one; None once the plan has been left

    def step(self, state: pyspiel.State) -> int:
        tree, number = self._tree, None
        if self._sequence is not None:
            number = self._locator.state_after(self._sequence, state)
        index = None if number is None else self._index(number)
        if number is None or index is None:
            self._sequence = None
            return int(self._rng.choice(state.legal_actions()))
        action = int(tree.legal_actions(number)[index])
        self._sequence = sequence_of(tree, number, action)
        return action

    def _index(self, number: int) -> int | None:
        """The action index at a state; None if the plan was made before the state was added to the tree."""
        first, end = int(self._tree.first_sequence[number]), int(self._tree.first_sequence[number + 1])
        if np.issubdtype(self._plan.dtype, np.integer):
            return int(self._plan[number]) if number < len(self._plan) else None
        if end > len(self._plan):
            return None
        return int(self._rng.choice(end - first, p=self._plan[first:end] / self._plan[first:end].sum()))

    def restart(self) -> None:
        self._sequence = self._tree.root

    def restart_at(self, state: pyspiel.State) -> None:
        self.restart()

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        pass
