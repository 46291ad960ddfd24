"""A two-player game in sequence form: the trees of both players and a bilinear payoff between their sequences.

The *reach* x(j) of a player's sequence j is the product of the policy's probabilities on the path to j and at j; the
reach of the root, the empty sequence, is 1. With reaches x and y, the expected utility of player p is bilinear,

    u_p(x, y) = sum over pairs (i, j) of x(i) A_p(i, j) y(j),

where A_p(i, j) is the sum of chance probability times utility over the endings at which the players' last sequences are
i and j (Koller, Megiddo and von Stengel 1996). A game supplies its trees and one operation, `gradient(player, reach of
the other)`: A_p y, the value that each of the player's sequences collects. Best responses, values, exploitability, CFR
(`tmdp_spiel.planning.cfr`) and the TreeMDP against a fixed opponent follow from it and are written once, here.

Reaches, gradients and policy tables are arrays over sequences, which begin with the root; the root's entry of a policy
table is 1. Passes go level by level, and the states of a level are divided among the cores; every state writes only
what belongs to it, so results do not depend on the number of threads.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import functools
import itertools

import numba
import numpy as np

from tmdp_spiel.core import validation
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, PROBABILITY_TOLERANCE, InfostateTree
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import TreeMDP

# What passes see of a tree: the states of level d are level_start[d] .. level_start[d + 1].
Levels = collections.namedtuple("Levels", ["level_start", "first_sequence", "first_child", "parent"])


class SequenceForm(abc.ABC):
    """Two trees and a gradient.

    trees:   the trees of players 0 and 1
    payoffs: float64[2, K]; the game has K kinds of endings, and payoffs[p, k] is what kind k pays to player p. Kinds
             that pay the same to both players should be one kind: `tree_mdp` takes a gradient for each.
    """

    # Whether the game's strings tell more than the states here do: then a policy of strings may not be one of states.
    strings_hold_more = False

    def __init__(self, trees: tuple[InfostateTree, InfostateTree], payoffs):
        for player, tree in enumerate(trees):
            if tree.player != player:
                raise ValueError(f"trees[{player}] is the tree of player {tree.player}")
        self.trees = trees
        self.payoffs = validation.read_only(payoffs, np.float64)
        if self.payoffs.ndim != 2 or len(self.payoffs) != 2:
            raise ValueError(f"payoffs must have the shape (2, kinds of endings), not {self.payoffs.shape}")

    @abc.abstractmethod
    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        """Writes to `out`, float64[J + 1], the value that each sequence of `player` collects.

        out[i] = sum over endings after the player's sequence i of chance * reach[other's last sequence] * payoff[kind].

        Args:
            player: whose sequences.
            reach: float64[J_other + 1], the other's reach. Any numbers: the operation is linear.
            payoff: float64[K], what each kind of ending pays.
            out: overwritten; its old contents do not matter.
        """

    def gradient(
        self, player: int, reach: np.ndarray, payoff: np.ndarray | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The value that each sequence of `player` collects against the other's reach.

        payoff: what each kind of ending pays; the player's utilities unless given. out: an array to write to.
        """
        other = self.trees[1 - player]
        if reach.shape != (other.sequence_end,) or reach.dtype != np.float64:
            raise ValueError(
                f"the reach of player {1 - player} has {other.sequence_end} float64 entries, the root's first, not "
                f"{reach.dtype} of shape {reach.shape}"
            )
        if out is None:
            out = np.empty(self.trees[player].sequence_end)
        self._gradient(player, reach, self.payoffs[player] if payoff is None else payoff, out)
        return out

    @functools.cached_property
    def levels(self) -> tuple[Levels, Levels]:
        """The trees as passes see them."""
        return tree_levels(self.trees[0]), tree_levels(self.trees[1])

    def uniform_policy(self, player: int) -> np.ndarray:
        """The policy table that takes all actions of a state with the same probability."""
        counts = np.diff(self.trees[player].first_sequence)
        return np.append(1.0, np.repeat(1.0 / counts, counts))

    def table_of(self, player: int, agent) -> np.ndarray | None:
        """The policy table of an agent that comes with the game, without asking it at every state; None for others."""
        return None

    def exact_equilibrium(self) -> list[np.ndarray] | None:
        """Policy tables of an equilibrium, where the game has a way of its own that needs no CFR."""
        return None

    def restricted(self, kept) -> tuple[SequenceForm, tuple[np.ndarray, np.ndarray]] | None:
        """The game in which the players have only some of their sequences, and the numbers of these sequences here.

        None for games that cannot do this, or not for so many sequences. kept: a mask over the sequences per player.
        """
        return None

    def check_policy(self, player: int, policy) -> np.ndarray:
        """The policy table as float64[J + 1], a probability per sequence. An error names the state that is wrong.

        An array of integers is an action index per state, as TreeMDP.best_response gives. The entry of the root may be
        left out.
        """
        tree = self.trees[player]
        policy = np.asarray(policy)
        if policy.ndim == 1 and np.issubdtype(policy.dtype, np.integer):
            return tree.as_probabilities(policy)
        policy = tree.with_root(policy) if policy.ndim == 1 else policy
        if policy.shape != (tree.sequence_end,) or not np.issubdtype(policy.dtype, np.floating):
            raise ValueError(
                f"a policy table of player {player} has {tree.sequence_end} floats, one per own sequence, the root's "
                f"first, not {policy.dtype} of shape {policy.shape}"
            )
        policy = np.ascontiguousarray(policy, np.float64)
        state = int(_first_wrong_state(self.levels[player], policy, PROBABILITY_TOLERANCE))
        if state >= 0:
            probabilities = policy[tree.first_sequence[state] : tree.first_sequence[state + 1]]
            name = f" ({tree.state_string(state)!r})" if tree.names is not None else ""
            raise ValueError(
                f"the policy of player {player} at state {state}{name} is not a distribution over the legal actions "
                f"{tree.legal_actions(state).tolist()}: {probabilities.tolist()}"
            )
        return policy

    def reach(self, player: int, policy) -> np.ndarray:
        """The own reach of a policy table."""
        reach = np.empty(self.trees[player].sequence_end)
        own_reach(self.levels[player], self.check_policy(player, policy), reach)
        return reach

    def policy(self, player: int, reach: np.ndarray) -> np.ndarray:
        """The policy table that has this own reach; uniform at states that it does not reach."""
        policy = np.empty(self.trees[player].sequence_end)
        policy_of_reach(self.levels[player], reach, policy)
        return policy


class SparseSequenceForm(SequenceForm):
    """A sequence form with the payoff matrix as a list: the instance for enumerated games.

    Entry e states that an ending of kind kind[e] has probability chance[e] when player p takes all actions of its
    sequence sequences[p][e]. Entries of one pair and kind are added up.
    """

    def __init__(self, trees: tuple[InfostateTree, InfostateTree], payoffs, sequences, kind, chance):
        super().__init__(trees, payoffs)
        self._rows = tuple(
            _sorted_rows(tree.sequence_end, np.asarray(own), np.asarray(other), np.asarray(kind), chance)
            for tree, own, other in zip(trees, sequences, reversed(sequences))
        )

    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        _sparse_gradient(*self._rows[player], reach, payoff, out)


def _sorted_rows(num_rows: int, own: np.ndarray, other: np.ndarray, kind: np.ndarray, chance) -> tuple:
    order = np.lexsort((kind, other, own))
    first = np.searchsorted(own[order], np.arange(num_rows + 1))
    return first, other[order].astype(np.int64), kind[order].astype(np.int64), np.asarray(chance, np.float64)[order]


@numba.njit(cache=True)
def _sparse_gradient(first, other, kind, chance, reach, payoff, out):
    for i in range(len(first) - 1):
        total = 0.0
        for e in range(first[i], first[i + 1]):
            total += chance[e] * reach[other[e]] * payoff[kind[e]]
        out[i] = total


# What follows from a gradient


def best_response(form: SequenceForm, player: int, policy) -> tuple[float, np.ndarray]:
    """The most that `player` can win against a policy table of the other, and a plan that wins this.

    The plan has one action index per state, as those of TreeMDP.best_response.
    """
    return best_response_to_reach(form, player, form.reach(1 - player, policy))


def best_response_to_reach(form: SequenceForm, player: int, reach: np.ndarray) -> tuple[float, np.ndarray]:
    """As `best_response`, from the other's own reach."""
    tree = form.trees[player]
    plan = np.empty(tree.num_states, PLAN_DTYPE)
    return best_values(form.levels[player], form.gradient(player, reach), np.empty(tree.num_states), plan), plan


def expected_values(form: SequenceForm, policies) -> tuple[float, float]:
    """What both players win when they play their policy tables policies[0] and policies[1]."""
    reaches = [form.reach(player, policies[player]) for player in (0, 1)]
    mine, theirs = (float(reaches[player] @ form.gradient(player, reaches[1 - player])) for player in (0, 1))
    return mine, theirs


@dataclasses.dataclass(frozen=True)
class Exploitability:
    """How far a pair of policies is from an equilibrium, in the game's utilities, per player.

    values:         what each player wins when both play their policies
    best_responses: the most that each player can win against the other's policy
    """

    values: tuple[float, float]
    best_responses: tuple[float, float]

    @property
    def gains(self) -> tuple[float, float]:
        """What each player would gain by its best response."""
        return self.best_responses[0] - self.values[0], self.best_responses[1] - self.values[1]

    @property
    def nash_conv(self) -> float:
        """The sum of the gains."""
        return sum(self.gains)

    @property
    def exploitability(self) -> float:
        """The mean of the gains: OpenSpiel's exploitability of a zero-sum game."""
        return self.nash_conv / 2


def exploitability(form: SequenceForm, policies) -> Exploitability:
    """The exploitability of the policy tables policies[0] and policies[1], exactly."""
    return exploitability_of_reaches(form, [form.reach(player, policies[player]) for player in (0, 1)])


def exploitability_of_reaches(form: SequenceForm, reaches) -> Exploitability:
    """As `exploitability`, from the own reaches of both players."""
    values, best = [], []
    room = np.empty(max(tree.sequence_end for tree in form.trees))
    for player in (0, 1):
        tree = form.trees[player]
        gradient = form.gradient(player, reaches[1 - player], out=room[: tree.sequence_end])
        values.append(float(reaches[player] @ gradient))
        best.append(best_values(form.levels[player], gradient, np.empty(tree.num_states), np.empty(0, PLAN_DTYPE)))
    return Exploitability((values[0], values[1]), (best[0], best[1]))


def tree_mdp(form: SequenceForm, player: int, policy) -> TreeMDP:
    """The TreeMDP of `player` when the other plays a policy table.

    The probability of each outcome is a gradient with a payoff of 1 for this outcome. An episode that reaches a state
    reaches an end after it, whatever the player does there. So the probability of a state is the sum of the
    probabilities of the ends after any one of its actions.
    """
    tree, reach = form.trees[player], form.reach(1 - player, policy)
    utilities = np.unique(form.payoffs[player])
    indicators = [(form.payoffs[player] == utility).astype(np.float64) for utility in utilities]
    possible = possible_endings(form, player, indicators)
    first_outcome = np.zeros(tree.sequence_end + 1, np.int32)
    np.cumsum(possible.sum(axis=0), out=first_outcome[1:])
    place = first_outcome[:-1].copy()
    returns, probability = np.empty(first_outcome[-1]), np.empty(first_outcome[-1])
    chances, ending = np.empty(tree.sequence_end), np.zeros(tree.sequence_end)
    for k, utility in enumerate(utilities):
        form.gradient(player, reach, indicators[k], chances)
        _fill_outcomes(possible[k], chances, tree.to_return(utility), place, returns, probability)
        ending += chances
    states = np.empty(tree.num_states)
    _chances_of_states(form.levels[player], ending, states)
    return TreeMDP(tree, states, first_outcome, returns, probability)


def possible_endings(form: SequenceForm, player: int, indicators) -> np.ndarray:
    """bool[len(indicators), J + 1]: whether the rules allow an ending of these kinds right after each sequence."""
    ones = np.ones(form.trees[1 - player].sequence_end)
    possible = np.empty((len(indicators), form.trees[player].sequence_end), np.bool_)
    out = np.empty(possible.shape[1])
    for k, indicator in enumerate(indicators):
        np.greater(form.gradient(player, ones, indicator, out), 0, out=possible[k])
    return possible


# Passes over the levels of a tree


def tree_levels(tree: InfostateTree) -> Levels:
    """A tree in level order as passes see it."""
    starts = [0]
    end = int(tree.first_child[ROOT + 1])
    while end > starts[-1]:
        starts.append(end)
        end = int(tree.first_child[tree.first_sequence[end]])
    return Levels(np.array(starts), tree.first_sequence, tree.first_child, tree.parent)


@numba.njit(cache=True, parallel=True)
def own_reach(levels: Levels, policy: np.ndarray, reach: np.ndarray) -> None:
    """Top-down x(s, a) = x(parent of s) policy(s, a)."""
    reach[ROOT] = 1.0
    for level in range(len(levels.level_start) - 1):
        for s in numba.prange(levels.level_start[level], levels.level_start[level + 1]):
            above = reach[levels.parent[s]]
            for j in range(levels.first_sequence[s], levels.first_sequence[s + 1]):
                reach[j] = above * policy[j]


@numba.njit(cache=True, parallel=True)
def policy_of_reach(levels: Levels, reach: np.ndarray, policy: np.ndarray) -> None:
    """policy(s, a) = x(s, a) / sum over b of x(s, b), uniform where that is 0."""
    policy[ROOT] = 1.0
    for s in numba.prange(len(levels.first_sequence) - 1):
        first, end = levels.first_sequence[s], levels.first_sequence[s + 1]
        total = 0.0
        for j in range(first, end):
            total += reach[j]
        for j in range(first, end):
            policy[j] = reach[j] / total if total > 0 else 1.0 / (end - first)


@numba.njit(cache=True, parallel=True)
def best_values(levels: Levels, gradient: np.ndarray, values: np.ndarray, plan: np.ndarray) -> float:
    """Bottom-up v(s) = max over a of g(s, a) + sum over the children c of v(c); returns the value of the root.

    values: written. plan: the first best action index of every state is written to it, unless it is empty.
    """
    wanted = len(plan) > 0
    for level in range(len(levels.level_start) - 2, -1, -1):
        for s in numba.prange(levels.level_start[level], levels.level_start[level + 1]):
            first = levels.first_sequence[s]
            best, best_action = -np.inf, 0
            for j in range(first, levels.first_sequence[s + 1]):
                value = gradient[j]
                for c in range(levels.first_child[j], levels.first_child[j + 1]):
                    value += values[c]
                if value > best:
                    best, best_action = value, j - first
            values[s] = best
            if wanted:
                plan[s] = best_action
    total = gradient[ROOT]
    for s in range(levels.first_child[ROOT + 1]):
        total += values[s]
    return total


@numba.njit(cache=True, parallel=True)
def _chances_of_states(levels: Levels, ending: np.ndarray, chances: np.ndarray) -> None:
    """Bottom-up q(s) = e(j) + sum over the children c of q(c), for the first sequence j of s."""
    for level in range(len(levels.level_start) - 2, -1, -1):
        for s in numba.prange(levels.level_start[level], levels.level_start[level + 1]):
            j = levels.first_sequence[s]
            total = ending[j]
            for c in range(levels.first_child[j], levels.first_child[j + 1]):
                total += chances[c]
            chances[s] = total


@numba.njit(cache=True)
def _first_wrong_state(levels: Levels, policy: np.ndarray, tolerance: float) -> int:
    """The first state without a distribution over its actions; -1 if there is none."""
    for s in range(len(levels.first_sequence) - 1):
        total, negative = 0.0, False
        for j in range(levels.first_sequence[s], levels.first_sequence[s + 1]):
            total += policy[j]
            negative |= not policy[j] >= 0
        if negative or not abs(total - 1) <= tolerance:
            return s
    return -1


@numba.njit(cache=True)
def _fill_outcomes(possible, chances, value, place, returns, probability):
    """Appends one outcome to every sequence where it is possible."""
    for j in range(len(possible)):
        if possible[j]:
            returns[place[j]] = value
            probability[place[j]] = chances[j]
            place[j] += 1


@dataclasses.dataclass(frozen=True)
class Restriction:
    """Some of the sequences of a tree, with the states that they reach, as a tree of their own.

    sequences, states: their numbers in the whole tree, ascending
    tree:              they alone, in the same order, without names
    """

    sequences: np.ndarray
    states: np.ndarray
    tree: InfostateTree


def restrict_tree(tree: InfostateTree, kept: np.ndarray) -> Restriction:
    """The restriction to the kept sequences whose ancestors are kept.

    kept: bool[J + 1], not changed; at every state that is reached, one sequence must be kept.
    """
    kept, reached = kept.copy(), np.empty(tree.num_states, np.bool_)
    kept[ROOT] = True
    starts = tree_levels(tree).level_start
    for start, end in itertools.pairwise(starts):
        reached[start:end] = kept[tree.parent[start:end]]
        first = tree.first_sequence[start : end + 1]
        kept[first[0] : first[-1]] &= np.repeat(reached[start:end], np.diff(first))
    sequences, states = np.flatnonzero(kept), np.flatnonzero(reached)
    of_sequence, of_state = number_kept(kept), number_kept(reached)
    restricted = InfostateTree(
        first_sequence=of_sequence[tree.first_sequence[np.append(states, tree.num_states)]],
        first_child=np.append(of_state[tree.first_child[sequences]], len(states)),
        parent=of_sequence[tree.parent[states]],
        action=tree.action[sequences],
        can_end=tree.can_end[sequences],
        player=tree.player,
        min_utility=tree.min_utility,
        max_utility=tree.max_utility,
        game_string=tree.game_string,
    )
    return Restriction(sequences, states, restricted)


def number_kept(mask: np.ndarray) -> np.ndarray:
    """For each entry of a mask, and for its end, the number of True before it."""
    return np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
