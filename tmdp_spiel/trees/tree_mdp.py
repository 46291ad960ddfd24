"""The environment: an infostate tree with the true probabilities and returns. Only here are there probabilities.

The value of a policy is a sum over what it can end on (Proposition 1 of the paper),

    V(pi) = sum over outcomes (j, rho) consistent with pi of q(j, rho) * rho,

where q is the probability that chance and the fixed opponents lead there if the player takes the actions on the path.
All probabilities are stored in this form, not conditional on the player's actions. So a value is a sum, a best response
takes one bottom-up pass, and an episode takes one uniform draw.
"""

from __future__ import annotations

import collections
import functools
import os
import typing

import numba
import numpy as np
from numpy.typing import ArrayLike

from tmdp_spiel.core import storage, validation
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree, Links, facts_of, html_table
from tmdp_spiel.trees.utility_scale import Amount

# What compiled kernels see of an environment, in one argument.
Chances = collections.namedtuple(
    "Chances", ["reach", "first_outcome", "outcome_return", "outcome_probability", "ending_value"]
)


class TreeMDP:
    """An InfostateTree with the probabilities of one game against fixed opponents.

    reach:               float64[S]      probability of s if the player takes the actions on the path to it
    first_outcome:       int32  [J + 2]  outcomes of sequence j are first_outcome[j] .. first_outcome[j + 1]; those of
                                         the root are of episodes in which the player never acts
    outcome_return:      float64[O]      return of the outcome, rescaled to [0, 1]
    outcome_probability: float64[O]      probability of the outcome if the player takes the actions on the path to it

    queries: if not None, the opponents' probabilities are averages of this number of answers per state, because the
    bot's answers vary. Values are then exact for the averages, but only estimates for the bot.
    """

    _ARRAYS = ("reach", "first_outcome", "outcome_return", "outcome_probability")

    def __init__(
        self,
        tree: InfostateTree,
        reach: ArrayLike,
        first_outcome: ArrayLike,
        outcome_return: ArrayLike,
        outcome_probability: ArrayLike,
        check: bool = True,
        queries: int | None = None,
    ):
        if not isinstance(tree, InfostateTree):
            raise TypeError(f"a TreeMDP is made from an InfostateTree, not from a {type(tree).__name__}")
        self.tree = tree
        self.queries = None if queries is None else validation.whole_number("queries", queries)
        self.reach = validation.read_only(reach, np.float64)
        self.first_outcome = validation.read_only(first_outcome, np.int32)
        self.outcome_return = validation.read_only(outcome_return, np.float64)
        self.outcome_probability = validation.read_only(outcome_probability, np.float64)
        self._opened_from: os.PathLike | None = None
        self._check_sizes()
        if check:
            self._check_chances()

    def _check_sizes(self) -> None:
        for name in self._ARRAYS:
            if getattr(self, name).ndim != 1:
                raise ValueError(f"{name} must have one dimension, not {getattr(self, name).ndim}")
        states, sequences, outcomes = self.tree.num_states, self.tree.sequence_end, len(self.outcome_return)
        if len(self.reach) != states or len(self.first_outcome) != sequences + 1:
            raise ValueError(
                f"reach needs {states} entries and first_outcome {sequences + 1}, not {len(self.reach)} and "
                f"{len(self.first_outcome)}"
            )
        if len(self.outcome_probability) != outcomes or self.first_outcome[-1] != outcomes:
            raise ValueError("outcome_return, outcome_probability and the end of first_outcome must agree in length")

    def _check_chances(self) -> None:
        if len(self.outcome_return) and not (self.outcome_return.min() >= 0 and self.outcome_return.max() <= 1):
            raise ValueError("outcome returns must be rescaled to [0, 1]")
        if self.first_outcome[0] != 0 or np.any(self.first_outcome[1:] < self.first_outcome[:-1]):
            raise ValueError("first_outcome must start at 0 and never decrease")
        if np.any((np.diff(self.first_outcome) > 0) != self.tree.can_end):
            raise ValueError("exactly the sequences that can end must have outcomes")
        worst, where = _worst_flow_error(self.tree.links, self.chances)
        name = "the root" if where == traversal.ROOT else f"sequence {where}"
        if worst == np.inf:
            raise ValueError(
                f"something that follows {name} has a negative or NaN probability, or everything that follows it has "
                f"probability zero although {name} can be reached"
            )
        if not worst < 1e-9:
            raise ValueError(
                f"the probabilities after {name} do not add up to the probability of reaching it (off by {worst:.3g})"
            )

    @property
    def num_terminals(self) -> int:
        """The number of terminal states, counted as pairs (last sequence of the player, return)."""
        return len(self.outcome_return)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of the tree and the probabilities; as in stored runs, of arrays with the outcomes of the root last."""
        number, of_root = len(self.outcome_return), self.first_outcome[traversal.ROOT + 1]
        first_outcome = np.append(self.first_outcome[1:] - of_root, np.int32(number))
        outcomes = (np.roll(each, -of_root) for each in (self.outcome_return, self.outcome_probability))
        return storage.fingerprint(self.tree.fingerprint, self.reach, first_outcome, *outcomes)

    @functools.cached_property
    def chances(self) -> Chances:
        ending_value = _ending_values(self.first_outcome, self.outcome_return, self.outcome_probability)
        return Chances(
            self.reach,
            self.first_outcome,
            self.outcome_return,
            self.outcome_probability,
            validation.read_only(ending_value),
        )

    def to_utility(self, scaled: Amount) -> Amount:
        """Converts a value on the [0, 1] scale of returns to the game's utility units."""
        return self.tree.to_utility(scaled)

    def scaled_value(self, plan: ArrayLike) -> float:
        """V(plan) on the [0, 1] scale of returns, exactly."""
        plan = self.tree.check_plan(plan)
        if plan.dtype == PLAN_DTYPE:
            return deterministic_value(self.tree.links, self.chances, plan)
        return mixed_value(self.tree.links, self.chances, plan)

    def value(self, plan: ArrayLike) -> float:
        """V(plan) in the game's utility units, exactly.

        plan: one action index per state (integers), or one probability per sequence (floats).
        """
        return self.to_utility(self.scaled_value(plan))

    @functools.cached_property
    def scaled_best_value(self) -> float:
        """V(pi*) on the [0, 1] scale of returns."""
        return best_response(self.tree.links, self.chances)[0]

    def best_response(self) -> tuple[float, np.ndarray]:
        """A best response to the opponents of this environment: its exact value in utility units, and its plan."""
        value, plan, _ = best_response(self.tree.links, self.chances)
        return self.to_utility(value), plan

    def best_values(self) -> np.ndarray:
        """Per state: the largest contribution of its subtree to the value of a policy; on the [0, 1] scale."""
        return best_response(self.tree.links, self.chances)[2]

    def losses(self) -> np.ndarray:
        """The true gap of every sequence j in utility units: V(pi*) minus the best value of a policy that plays j.

        loss(j) = sum over the states s on the path to j of V*(s) - Q*(s, action on the path).
        """
        losses = path_losses(self.tree.links, self.chances.ending_value, self.best_values())
        return self.tree.to_utility_difference(losses)

    def own_reach(self, plan: ArrayLike) -> np.ndarray:
        """Per sequence: the probability that the plan takes all actions on the path to it."""
        return own_reach(self.tree.links, self.tree.as_probabilities(plan))

    def sequence_reach(self, plan: ArrayLike) -> np.ndarray:
        """Per sequence: the probability that an episode under this plan goes through it."""
        through = np.repeat(self.reach, np.diff(self.tree.first_sequence))
        return self.own_reach(plan) * np.append(1.0, through)

    def terminal_reach(self, plan: ArrayLike) -> np.ndarray:
        """Per outcome, in the order of outcome_return: the probability that an episode under this plan ends there."""
        return self.outcome_probability * np.repeat(self.own_reach(plan), np.diff(self.first_outcome))

    def sample(self, plan: ArrayLike, rng: np.random.Generator) -> tuple[int, float]:
        """Plays one episode: the sequence on which it ended (0 for the root) and its return in [0, 1]."""
        plan = self.tree.check_plan(plan)
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy Generator, as numpy.random.default_rng(seed) makes, not {rng!r}")
        if plan.dtype == PLAN_DTYPE:
            ended_on, outcome = traversal.sample_deterministic(self.tree.links, self.chances, plan, rng.random())
        else:
            ended_on, outcome = traversal.sample_mixed(self.tree.links, self.chances, plan, rng)
        return int(ended_on), float(self.outcome_return[outcome])

    def save(self, path: str | os.PathLike, about: str | None = None) -> None:
        """Writes the tree and probabilities to a new directory atomically. about: a label that `load` can check."""
        contents = self.tree._contents()
        contents.update({name: getattr(self, name) for name in self._ARRAYS})
        storage.save_directory(path, {**contents, "mdp": {"about": about, "queries": self.queries}})

    @classmethod
    def load(cls, path: str | os.PathLike, names: typing.Any = None, about: str | None = None) -> TreeMDP:
        """Opens a saved TreeMDP, its arrays memory-mapped, so that several processes share them.

        Every file is compared with its checksum when it is first opened. Structure and probabilities are checked every
        time. about: the label that it must have been saved with, if given. The object is pickled as its path and opened
        again from there.
        """
        path = storage.checked_path(path).resolve()
        return cls._open(path, InfostateTree.load(path, names), about)

    @classmethod
    def _open(cls, path: os.PathLike, tree: InfostateTree, about: str | None = None) -> TreeMDP:
        with storage.opening(path) as saved:
            facts = saved.document("mdp")
            if about is not None and facts["about"] != about:
                raise ValueError(f"it was saved as {facts['about']!r}, and {about!r} is asked for; remove it")
            arrays: dict[str, typing.Any] = {name: saved.array(name) for name in cls._ARRAYS}
            mdp = cls(tree, **arrays, queries=facts["queries"])
        mdp._opened_from = path
        return mdp

    def __reduce__(self) -> tuple:
        if self._opened_from is not None:
            return TreeMDP._open, (self._opened_from, self.tree)
        return TreeMDP, (self.tree, *(getattr(self, name) for name in self._ARRAYS), False, self.queries)

    def __repr__(self) -> str:
        estimated = "" if self.queries is None else f", opponents averaged over {self.queries} queries per state"
        return f"TreeMDP({self.tree!r}, num_terminals={self.num_terminals}{estimated})"

    def _repr_html_(self) -> str:
        queries = "" if self.queries is None else f"averages of {self.queries} queries per state"
        ends = {"ends of the game": f"{self.num_terminals:,}", "opponents": queries}
        return html_table({**facts_of(self.tree), **ends})


@numba.njit(cache=True)
def _ending_values(
    first_outcome: np.ndarray, outcome_return: np.ndarray, outcome_probability: np.ndarray
) -> np.ndarray:
    """Per sequence: the sum over its outcomes of q * rho."""
    ending_value = np.zeros(len(first_outcome) - 1)
    for j in range(len(ending_value)):
        for outcome in range(first_outcome[j], first_outcome[j + 1]):
            ending_value[j] += outcome_probability[outcome] * outcome_return[outcome]
    return ending_value


@numba.njit(cache=True)
def _worst_flow_error(links: Links, chances: Chances) -> tuple[float, int]:
    """The largest |q(j) - sum over children and outcomes of q|, and the sequence j where it is.

    Infinite if a probability is negative or NaN, or if j can be reached and nothing can follow it.
    """
    worst, where = 0.0, traversal.ROOT
    state = -1
    for j in range(len(links.can_end)):
        while j >= links.first_sequence[state + 1]:
            state += 1
        rest = chances.reach[state] if state >= 0 else 1.0
        ends = rest > 0
        child, end = traversal.children(links, j)
        while child != end:
            rest -= chances.reach[child]
            ends = ends and chances.reach[child] == 0
            if not chances.reach[child] >= 0:
                return np.inf, j
            child = traversal.next_child(links, child)
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            rest -= chances.outcome_probability[outcome]
            ends = ends and chances.outcome_probability[outcome] == 0
            if not chances.outcome_probability[outcome] >= 0:
                return np.inf, j
        if ends:
            return np.inf, j
        if not abs(rest) <= worst:
            worst, where = abs(rest), j
    return worst, where


@numba.njit(cache=True)
def best_response(links: Links, chances: Chances) -> tuple[float, np.ndarray, np.ndarray]:
    """V* of the root, an optimal plan and V* of every state, bottom-up:

    V*(s) = max over a of Q*(s, a);  Q*(j) = ending value of j + sum over child states c of V*(c).
    """
    states = len(links.parent)
    plan = np.zeros(states, PLAN_DTYPE)
    value = np.empty(states)
    for state in range(states - 1, -1, -1):
        best = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total = traversal.add_children(links, j, value, chances.ending_value[j])
            if total > best:
                best = total
                plan[state] = j - links.first_sequence[state]
        value[state] = best
    return traversal.add_children(links, traversal.ROOT, value, chances.ending_value[traversal.ROOT]), plan, value


@numba.njit(cache=True)
def deterministic_value(links: Links, chances: Chances, plan: np.ndarray) -> float:
    """V(plan), visiting only what the plan can reach."""
    total = chances.ending_value[traversal.ROOT]
    reached = np.empty(len(links.parent), np.int32)
    number, at = traversal.list_children(links, traversal.ROOT, reached, 0), 0
    while at < number:
        state = reached[at]
        at += 1
        j = links.first_sequence[state] + plan[state]
        total += chances.ending_value[j]
        number = traversal.list_children(links, j, reached, number)
    return total


@numba.njit(cache=True)
def own_reach(links: Links, probabilities: np.ndarray) -> np.ndarray:
    """Per sequence: the product of the plan's probabilities on the path to it, top-down."""
    own = np.empty(len(links.can_end))
    own[traversal.ROOT] = 1.0
    for state in range(len(links.parent)):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            own[j] = own[links.parent[state]] * probabilities[j]
    return own


@numba.njit(cache=True)
def mixed_value(links: Links, chances: Chances, probabilities: np.ndarray) -> float:
    own, total = own_reach(links, probabilities), 0.0
    for j in range(len(own)):
        total += own[j] * chances.ending_value[j]
    return total


@numba.njit(cache=True)
def path_losses(links: Links, ending_value: np.ndarray, value: np.ndarray) -> np.ndarray:
    """loss(j) = loss(parent) + V(s) - Q(s, a), top-down."""
    loss = np.empty(len(links.can_end))
    loss[traversal.ROOT] = 0.0
    for state in range(len(links.parent)):
        above = loss[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            loss[j] = above + value[state] - traversal.add_children(links, j, value, ending_value[j])
    return loss
