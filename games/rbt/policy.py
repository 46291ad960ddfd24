"""Policies of RBT: one probability for every sequence of a tree, or only for the sequences that are played at all."""

import dataclasses
import hashlib

import numba
import numpy as np
from open_spiel.python import policy as policy_lib

from tmdp_spiel.games.rbt import game as rbt, passes as rbt_passes


class ArrayPolicy(policy_lib.Policy):
    """An OpenSpiel policy from one probability per sequence of the players' decision trees.

    probabilities: a mapping from player to an array in the order of `rbt_tree.decision_tree(game, player)`. Players that
    are not in it cannot be asked.
    """

    def __init__(self, game, trees, probabilities):
        super().__init__(game, sorted(probabilities))
        self._trees = trees
        self.probabilities = {player: trees[player].as_probabilities(array) for player, array in probabilities.items()}

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        if player not in self.probabilities:
            raise KeyError(f"this policy is for player(s) {sorted(self.probabilities)}, not for {player}")
        tree = self._trees[player]
        index = tree.state_index(state.information_state_string(player))
        first, end = tree.first_sequence[index], tree.first_sequence[index + 1]
        return {int(tree.action[j]): float(self.probabilities[player][j]) for j in range(first, end)}

    def fingerprint(self, player):
        """A string that tells this policy of the player from every other."""
        return hashlib.sha256(self.probabilities[player]).hexdigest()


@dataclasses.dataclass
class Support:
    """What one player's policy can reach, whatever the opponent does: a part of its tree, in the same level order.

    Only sequences that are played have an entry. A state follows its parent sequence by its observation.
    """

    num_actions: np.ndarray  # uint8[states]
    observation: np.ndarray  # uint8[states]; what the sense before a move state showed
    action: np.ndarray  # uint8[sequences]
    weight: np.ndarray  # uint16[sequences]; probabilities are in proportion to the weights of a state
    num_children: np.ndarray  # uint8[sequences]

    def __post_init__(self):
        self._first_sequence = np.concatenate([[0], np.cumsum(self.num_actions, dtype=np.int64)])
        self._first_child = 1 + np.concatenate([[0], np.cumsum(self.num_children, dtype=np.int64)])
        consistent = (
            len(self.observation) == len(self.num_actions) == self._first_child[-1]
            and len(self.action) == len(self.weight) == len(self.num_children) == self._first_sequence[-1]
        )
        if not consistent:
            raise ValueError("the columns of the policy do not fit together")

    def distribution(self, player, own_history):
        """{action: probability} of the actions that are played after an own history; None where the policy does not go."""
        state = 0
        for entry in own_history:
            action, observation = (entry, 0) if isinstance(entry, int) else rbt.sense_and_observation(player, *entry)
            played = self._sequences(state)
            matching = [j for j in played if self.action[j] == action]
            children = [
                child
                for j in matching
                for child in range(self._first_child[j], self._first_child[j + 1])
                if self.observation[child] == observation
            ]
            if not children:
                return None
            state = children[0]
        played = self._sequences(state)
        total = sum(int(self.weight[j]) for j in played)
        return {int(self.action[j]): int(self.weight[j]) / total for j in played}

    def _sequences(self, state):
        return range(self._first_sequence[state], self._first_sequence[state + 1])

    def probabilities(self, tree):
        """One probability per sequence of the whole tree; uniform where the policy does not go."""
        probabilities = np.repeat(1.0 / np.diff(tree.first_sequence), np.diff(tree.first_sequence))
        fits = _spread(
            self._first_sequence,
            self._first_child,
            self.observation,
            self.action,
            self.weight,
            tree.first_sequence,
            tree.first_child,
            tree.observation,
            tree.action,
            probabilities,
        )
        if not fits:
            raise ValueError("the policy leaves the game tree; it belongs to a game with other rules")
        return probabilities


class SupportPolicy(policy_lib.Policy):
    """An OpenSpiel policy from the supports of both players; uniform at own histories that it never plays.

    facts: what is known about it, such as its exploitability.
    """

    def __init__(self, game, supports, facts):
        super().__init__(game, [0, 1])
        self.supports = supports
        self.facts = facts

    @property
    def exploitability(self):
        """The mean over the players of what a best response gains, in the game's utilities; measured when it was made."""
        return self.facts["exploitability"]

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        legal = state.legal_actions(player)
        _, own_history = rbt.parse_history_string(state.information_state_string(player))
        played = self.supports[player].distribution(player, own_history)
        if played is None:
            return {action: 1.0 / len(legal) for action in legal}
        return {action: played.get(action, 0.0) for action in legal}

    def fingerprint(self, player):
        """A string that tells this policy of the player from every other."""
        support = self.supports[player]
        columns = (support.num_actions, support.observation, support.action, support.weight, support.num_children)
        return hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()


def prune(tree, plan, *, least_probability, least_reach):
    """The support of a plan in sequence form without its rarest parts.

    At every state the most likely action stays. Another one stays if its probability is at least `least_probability`
    and the plan's reach of it at least `least_reach`. Probabilities are rounded to multiples of about 1/65535.
    """
    policy = np.empty(tree.num_sequences)
    rbt_passes.policy_of_plan(tree.first_sequence, plan, policy)
    weight, reached = _prune(tree.first_sequence, tree.first_child, plan, policy, least_probability, least_reach)
    played = weight > 0
    return Support(
        num_actions=np.add.reduceat(played, tree.first_sequence[:-1], dtype=np.uint8)[reached],
        observation=tree.observation[reached],
        action=tree.action[played].astype(np.uint8),
        weight=weight[played],
        num_children=np.diff(tree.first_child)[played].astype(np.uint8),
    )


@numba.njit(cache=True)
def _prune(first_sequence, first_child, plan, policy, least_probability, least_reach):
    """The weights of the sequences that stay, 0 for the others, and the states that can then be reached."""
    weight = np.zeros(len(policy), dtype=np.uint16)
    reached = np.zeros(len(first_sequence) - 1, dtype=np.bool_)
    reached[0] = True
    for s in range(len(reached)):
        if not reached[s]:
            continue
        first, end = first_sequence[s], first_sequence[s + 1]
        best = first + np.argmax(policy[first:end])
        kept = 0.0
        for j in range(first, end):
            if j == best or (policy[j] >= least_probability and plan[j] >= least_reach):
                kept += policy[j]
        for j in range(first, end):
            if j == best or (policy[j] >= least_probability and plan[j] >= least_reach):
                weight[j] = max(1, round(65535 * policy[j] / kept))
                for c in range(first_child[j], first_child[j + 1]):
                    reached[c] = True
    return weight, reached


@numba.njit(cache=True)
def _spread(
    small_first_sequence,
    small_first_child,
    small_observation,
    small_action,
    weight,
    first_sequence,
    first_child,
    observation,
    action,
    probabilities,
):
    """Writes the distributions of a support at the states of the whole tree; False if they do not belong to it."""
    place = np.full(len(small_observation), -1, dtype=np.int64)  # of each state of the support in the whole tree
    place[0] = 0
    for small in range(len(place)):
        s = place[small]
        if s < 0:
            return False
        total = 0
        for k in range(small_first_sequence[small], small_first_sequence[small + 1]):
            total += weight[k]
        probabilities[first_sequence[s] : first_sequence[s + 1]] = 0.0
        for k in range(small_first_sequence[small], small_first_sequence[small + 1]):
            j = first_sequence[s]
            while j < first_sequence[s + 1] and action[j] != small_action[k]:
                j += 1
            if j == first_sequence[s + 1]:
                return False
            probabilities[j] = weight[k] / total
            for child in range(small_first_child[k], small_first_child[k + 1]):
                for c in range(first_child[j], first_child[j + 1]):
                    if observation[c] == small_observation[child]:
                        place[child] = c
    return True
