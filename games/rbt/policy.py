"""Policies of RBT in arrays: one probability per sequence of a tree, or only for the sequences that are played."""

from __future__ import annotations

import abc
import collections
import dataclasses
import functools
import hashlib
from collections.abc import Mapping

import numba
import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.games.rbt import game as rbt
from tmdp_spiel.games.rbt.structure import Links, PlayerTree
from tmdp_spiel.trees.infostate_tree import InfostateTree

_WHOLE = 65535  # of which weights are parts

# What `_spread` sees of a support, and of the whole tree that it is a part of.
_Branches = collections.namedtuple("_Branches", ["first_sequence", "first_child", "observation", "action"])


class CompiledPolicy(policy_lib.Policy, abc.ABC):
    """An OpenSpiel policy that need not be queried state by state."""

    @abc.abstractmethod
    def plan(self, player: int, tree: PlayerTree) -> np.ndarray:
        """One probability per sequence of the player's tree."""

    @abc.abstractmethod
    def fingerprint(self, player: int) -> str:
        """A string that identifies this policy of the player."""


class ArrayPolicy(CompiledPolicy):
    """An OpenSpiel policy from plans.

    plans: a mapping from player to one probability per sequence of `tree.infostate_tree(game, player)`. The policies of
    other players are not available.
    """

    def __init__(self, game: rbt.RBTGame, trees: Mapping[int, InfostateTree], plans: Mapping[int, np.ndarray]):
        super().__init__(game, sorted(plans))
        self._trees = trees
        self.plans = {player: trees[player].as_probabilities(plan) for player, plan in plans.items()}

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player = state.current_player() if player_id is None else player_id
        if player not in self.plans:
            raise KeyError(f"this policy is for player(s) {sorted(self.plans)}, not for {player}")
        tree = self._trees[player]
        index = tree.state_index(state.information_state_string(player))
        first, end = tree.first_sequence[index], tree.first_sequence[index + 1]
        return {int(tree.action[j]): float(self.plans[player][j]) for j in range(first, end)}

    def plan(self, player: int, tree: PlayerTree) -> np.ndarray:
        plan = self.plans[player]
        if len(plan) != tree.sequence_end:
            raise ValueError(
                f"the policy has {len(plan)} probabilities for player {player}; the game has {tree.sequence_end} "
                "sequences"
            )
        return plan

    def fingerprint(self, player: int) -> str:
        return hashlib.sha256(self.plans[player].tobytes()).hexdigest()


@dataclasses.dataclass
class Support:
    """The part of a player's tree that its policy can reach, whatever the opponent does, in the same level order.

    Only sequences with positive probability have an entry. A state follows its parent sequence by its observation.
    """

    num_actions: np.ndarray  # uint8[states]
    observation: np.ndarray  # uint8[states]; what the sense before a move state showed
    action: np.ndarray  # uint8[sequences]
    weight: np.ndarray  # uint16[sequences]; probabilities are in proportion to the weights of a state
    num_children: np.ndarray  # uint8[sequences]

    def __post_init__(self) -> None:
        first_sequence, first_child = self._branches.first_sequence, self._branches.first_child
        consistent = (
            len(self.observation) == len(self.num_actions) == first_child[-1]
            and len(self.action) == len(self.weight) == len(self.num_children) == first_sequence[-1]
        )
        if not consistent:
            raise ValueError("the columns of the policy do not fit together")

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return self.num_actions, self.observation, self.action, self.weight, self.num_children

    @functools.cached_property
    def _branches(self) -> _Branches:
        first_sequence = np.concatenate([[0], np.cumsum(self.num_actions, dtype=np.int64)])
        first_child = 1 + np.concatenate([[0], np.cumsum(self.num_children, dtype=np.int64)])
        return _Branches(first_sequence, first_child, self.observation, self.action)

    def distribution(self, player: int, own_history: tuple) -> dict[int, float] | None:
        """{action: probability} after a history of the player; None if the policy does not reach it."""
        state = 0
        for entry in own_history:
            child = self._child(state, *rbt.action_and_observation(player, entry))
            if child is None:
                return None
            state = child
        played = self._sequences(state)
        total = sum(int(self.weight[j]) for j in played)
        return {int(self.action[j]): int(self.weight[j]) / total for j in played}

    def _sequences(self, state: int) -> range:
        return range(*self._branches.first_sequence[state : state + 2])

    def _child(self, state: int, action: int, observation: int) -> int | None:
        for j in self._sequences(state):
            if self.action[j] == action:
                for child in range(*self._branches.first_child[j : j + 2]):
                    if self.observation[child] == observation:
                        return child
        return None

    def plan(self, tree: PlayerTree) -> np.ndarray:
        """One probability per sequence of the whole tree; uniform at states that the policy does not reach."""
        plan = tree.uniform_plan()
        whole = _Branches(tree.first_sequence, tree.first_child, tree.observation, tree.action)
        if not _spread(self._branches, self.weight, whole, plan):
            raise ValueError("the policy does not fit the game tree; it belongs to a game with other rules")
        return plan


class SupportPolicy(CompiledPolicy):
    """An OpenSpiel policy from the supports of both players; uniform after histories that it never plays.

    facts: properties of the policy, such as its exploitability.
    """

    def __init__(self, game: rbt.RBTGame, supports: tuple[Support, Support], facts: dict):
        super().__init__(game, [0, 1])
        self.supports = supports
        self.facts = facts

    @property
    def exploitability(self) -> float:
        """The average over the players of what a best response gains, in utility units, as recorded in the file."""
        return self.facts["exploitability"]

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        player = state.current_player() if player_id is None else player_id
        legal = state.legal_actions(player)
        _, own_history = rbt.parse_history_string(state.information_state_string(player))
        played = self.supports[player].distribution(player, own_history)
        if played is None:
            return {action: 1.0 / len(legal) for action in legal}
        return {action: played.get(action, 0.0) for action in legal}

    def plan(self, player: int, tree: PlayerTree) -> np.ndarray:
        return self.supports[player].plan(tree)

    def fingerprint(self, player: int) -> str:
        return hashlib.sha256(b"".join(column.tobytes() for column in self.supports[player].columns)).hexdigest()


def prune(
    tree: PlayerTree, plan: np.ndarray, reach: np.ndarray, *, least_probability: float, least_reach: float
) -> Support:
    """The support of a plan without its rarest parts; reach: the plan's reach.

    At every state the most likely action is kept. Another action is kept if its probability is at least
    `least_probability` and its reach at least `least_reach`. Probabilities are rounded to multiples of about 1/65535.
    """
    weight, reached = _prune(tree.links, plan, reach, least_probability, least_reach)
    played = weight > 0
    return Support(
        num_actions=np.add.reduceat(played, tree.first_sequence[:-1], dtype=np.uint8)[reached],
        observation=tree.observation[reached],
        action=tree.action[played].astype(np.uint8),
        weight=weight[played],
        num_children=np.diff(tree.first_child)[played].astype(np.uint8),
    )


@numba.njit(cache=True)
def _prune(
    links: Links, plan: np.ndarray, reach: np.ndarray, least_probability: float, least_reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the sequences that are kept, 0 for the others, and the states that can then be reached."""
    weight = np.zeros(len(plan), dtype=np.uint16)
    reached = np.zeros(len(links.parent), dtype=np.bool_)
    reached[0] = True
    for s in range(len(reached)):
        if not reached[s]:
            continue
        first, end = links.first_sequence[s], links.first_sequence[s + 1]
        best = first + np.argmax(plan[first:end])
        kept = 0.0
        for j in range(first, end):
            if j == best or (plan[j] >= least_probability and reach[j] >= least_reach):
                kept += plan[j]
        for j in range(first, end):
            if j == best or (plan[j] >= least_probability and reach[j] >= least_reach):
                weight[j] = max(1, round(_WHOLE * plan[j] / kept))
                for c in range(links.first_child[j], links.first_child[j + 1]):
                    reached[c] = True
    return weight, reached


@numba.njit(cache=True)
def _spread(small: _Branches, weight: np.ndarray, whole: _Branches, plan: np.ndarray) -> bool:
    """Writes the distributions of a support at the states of the whole tree; False if they do not belong to it."""
    place = np.full(len(small.observation), -1, dtype=np.int64)  # of each state of the support in the whole tree
    place[0] = 0
    for state in range(len(place)):
        s = place[state]
        if s < 0:
            return False
        first, end = whole.first_sequence[s], whole.first_sequence[s + 1]
        plan[first:end] = 0.0
        total = 0
        for k in range(small.first_sequence[state], small.first_sequence[state + 1]):
            total += weight[k]
        for k in range(small.first_sequence[state], small.first_sequence[state + 1]):
            j = first
            while j < end and whole.action[j] != small.action[k]:
                j += 1
            if j == end:
                return False
            plan[j] = weight[k] / total
            for child in range(small.first_child[k], small.first_child[k + 1]):
                for c in range(whole.first_child[j], whole.first_child[j + 1]):
                    if whole.observation[c] == small.observation[child]:
                        place[child] = c
    return True
