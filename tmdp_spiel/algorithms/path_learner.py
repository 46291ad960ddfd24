"""Shared code of learners whose policy changes only at the states that an episode visits.

An episode then takes time proportional to its length, however large the tree is. The exact value of the played policy
is measured in the same way: the loop that plays stores V(s) for every state and updates it along the path of every
episode. The learner never reads it. To measure a recommended plan, only the states that it reaches are visited.
"""

from __future__ import annotations

import abc
import types
import typing
from collections.abc import Callable

import numba
import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.core import hash_rng
from tmdp_spiel.core.jit import Direct, kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP


class PathLearner(Learner):
    """A learner whose loop updates the true value of its current policy at every state, for measuring.

    values: float64[S + 1], V(s) of the policy as a part of V; the last entry is V.
    """

    grows = True
    plays_in_rounds = False

    def __init__(self, tree: InfostateTree, seed):
        super().__init__(tree, seed)
        self.capacity, self.known_states = tree.capacity, tree.num_states
        self._path = traversal.new_path(tree.capacity.decisions)
        self._trace_back = Direct(traversal.trace_back)

    def grow(self) -> None:
        """Adapts the learner to the states that its tree has gained."""
        if self.tree.capacity != self.capacity:
            self._enlarge()
        self._prepare(self.known_states)
        self.known_states = self.tree.num_states

    def _enlarge(self) -> None:
        """Gives the learner the capacity of its tree.

        All arrays have the sizes of tree.capacity. A new learner with the same arguments is constructed, and the old
        arrays are copied to the front of the new ones. The rest is as in a learner that has seen nothing.
        """
        fresh = type(self)(self.tree, seed=self.seed, **self.hyper_parameters)
        for name, value in vars(self).items():
            if isinstance(value, (np.ndarray, tuple)):
                _copy_front(value, getattr(fresh, name))
            elif name not in ("tree", "capacity"):
                setattr(fresh, name, value)
        vars(self).update(vars(fresh))

    def _prepare(self, first: int) -> None:
        """Prepares the states from `first` on, which are new to the learner."""

    def _choose_any(self, plan: np.ndarray, first: int) -> None:
        """Sets the plan to a random action at every state from `first` on; most often this is one state."""
        if self.tree.num_states == first + 1:
            first_sequence = self.tree.links.first_sequence
            plan[first] = random_action(self.seed, first, first_sequence[first + 1] - first_sequence[first])
        else:
            plan[first : self.tree.num_states] = random_plan(self.tree.links, self.seed, first)

    @abc.abstractmethod
    def action_selector(self, draw: Callable[[], float]) -> Callable[[int], int]:
        """Returns a function from a state to the action index to play there, for playing an episode step by step.

        draw() returns a uniform number. action_selector and observe correspond to plan() and learn(), but take time
        proportional to the length of the episode. The function may be used for any number of episodes, until the
        learner grows.
        """

    def observe(self, ended_on: int, value: float, left: bool = False) -> None:
        """As learn, for an episode that was played by action_selector(), without checks.

        left: the episode continued outside the tree, which is full, and ended there.
        """
        (self._update_left if left else self._update)(ended_on, float(value))
        self.episodes += 1

    def observe_failed(self, ended_on: int, left: bool = False) -> None:
        """As observe, for an episode in which an opponent failed: its return counts as the smallest."""
        self.observe(ended_on, 0.0, left)

    def action_selectors(self, number: int) -> Callable[[Callable[[], float]], Callable[[int], int]]:
        """For `number` episodes in which nothing is learned: a function from `draw` to an action_selector.

        Call it once for each episode, in order, and then call observe in the same order. A selector depends only on
        what was learned before the first of these episodes, and on its own draws.
        """
        raise TypeError(f"{type(self).__name__} does not play in rounds")

    def _update_left(self, ended_on: int, value: float) -> None:
        """Updates on an episode that left the tree after a sequence: as if it had ended there."""
        self._update(ended_on, value)

    @abc.abstractmethod
    def init_values(self, mdp: TreeMDP) -> np.ndarray:
        """`values` of the policy as it is now, by a pass over the tree."""


def _copy_front(old, new) -> None:
    """Copies arrays, and those in named tuples, into the front of larger ones."""
    if isinstance(old, np.ndarray):
        new[: len(old)] = old
    elif isinstance(old, tuple):
        for part, new_part in zip(old, new):
            _copy_front(part, new_part)


class DeterministicLearner(PathLearner):
    """A PathLearner that plays a deterministic plan, at first any action anywhere; what it learns is in _memory."""

    plays_in_rounds = True
    _memory: typing.Any
    _observe: Direct | None = None

    def __init__(self, tree: InfostateTree, seed):
        super().__init__(tree, seed)
        self._plan = np.zeros(tree.capacity.states, PLAN_DTYPE)
        self._prepare(0)

    def _prepare(self, first):
        self._choose_any(self._plan, first)

    def action_selector(self, draw: Callable[[], float]) -> Callable[[int], int]:
        return memoryview(self._plan.data).__getitem__

    def action_selectors(self, number: int) -> Callable[[Callable[[], float]], Callable[[int], int]]:
        """The same plan for all episodes."""
        action_selector = self.action_selector(lambda: 0.0)  # a deterministic plan draws nothing
        return lambda draw: action_selector

    def plan(self) -> np.ndarray:
        return self._plan[: self.tree.num_states].copy()

    def _compiled(self):
        """The algorithm's kernel observe(links, memory, length, value), and the loop that compiled_loop made of it."""
        raise NotImplementedError(f"{type(self).__name__} needs _compiled(), or _update() and _play() of its own")

    def _update(self, ended_on, value):
        if self._observe is None:
            self._observe = Direct(self._compiled()[0])
        links = self.tree.links
        self._observe(links, self._memory, self._trace_back(links, ended_on, self._path), value)

    def _play(self, mdp, values, rng, episodes):
        _, play = self._compiled()
        return play(self.tree.links, mdp.chances, self._memory, values, rng, episodes)

    @abc.abstractmethod
    def _recommend_at(self, states) -> np.ndarray:
        """The recommended action index at each of these states."""

    def recommend(self) -> np.ndarray:
        return self._recommend_at(np.arange(self.tree.num_states, dtype=np.int32))

    def recommended_value(self, mdp: TreeMDP, values: typing.Any) -> float:
        return mdp.to_utility(reached_value(self.tree.links, mdp.chances, self._recommend_at))

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        return plan_values(self.tree.links, mdp.chances, self._plan)


def reached_value(links, chances, plan_at) -> float:
    """V of a deterministic plan on the [0, 1] scale, exactly, level by level through the states that it reaches.

    plan_at(states): the plan's action index at each of these states.
    """
    total, states = chances.ending_value[traversal.ROOT], _children(links, np.array([traversal.ROOT], np.int32))
    while len(states):
        sequences = links.first_sequence[states] + plan_at(states)
        total += chances.ending_value[sequences].sum()
        states = _children(links, sequences)
    return float(total)


@numba.njit(cache=True)
def _children(links, sequences):
    number = 0
    for j in sequences:
        number += traversal.num_children(links, j)
    children = np.empty(number, np.int32)
    number = 0
    for j in sequences:
        number = traversal.list_children(links, j, children, number)
    return children


@kernel
def random_action(seed, state, number):
    """A uniformly random action index, which is always the same for the same seed and state."""
    return int(hash_rng.uniform(seed, 0, state) * number)


@numba.njit(cache=True)
def random_plan(links, seed, first):
    """A uniformly random action at every state from `first` on."""
    plan = np.empty(len(links.parent) - first, PLAN_DTYPE)
    for at in range(len(plan)):
        number = links.first_sequence[first + at + 1] - links.first_sequence[first + at]
        plan[at] = random_action(seed, first + at, number)
    return plan


@kernel
def sequence_value(links, chances, values, sequence):
    """Q(j) = ending value of j + sum over child states c of V(c); V if j is the root."""
    return traversal.add_children(links, sequence, values, chances.ending_value[sequence])


@numba.njit(cache=True)
def plan_values(links, chances, plan):
    """V(s) of a deterministic plan at every state, bottom-up, and V last."""
    states = len(links.parent)
    values = np.empty(states + 1)
    for state in range(states - 1, -1, -1):
        values[state] = sequence_value(links, chances, values, links.first_sequence[state] + plan[state])
    values[states] = sequence_value(links, chances, values, traversal.ROOT)
    return values


@kernel
def rescore_plan(links, chances, plan, path, length, values):
    """Updates V(s) of a deterministic plan after changes on the path."""
    if length == 0:
        return
    before = values[path.states[0]]
    for at in range(length - 1, -1, -1):
        state = path.states[at]
        values[state] = sequence_value(links, chances, values, links.first_sequence[state] + plan[state])
    values[len(values) - 1] += values[path.states[0]] - before


@kernel
def _never(links, memory):
    return False


def _loop(links, chances, memory, values, rng, number):
    total = 0.0
    for played in range(number):
        if has_stopped(links, memory):  # type: ignore[name-defined]  # noqa: F821
            return played, total
        total += values[len(values) - 1]
        length, outcome = traversal.follow_plan(links, chances, memory.plan, rng.random(), memory.path)
        observe(links, memory, length, chances.outcome_return[outcome])  # type: ignore[name-defined]  # noqa: F821
        rescore_plan(links, chances, memory.plan, memory.path, length, values)
    return number, total


def compiled_loop(observe, has_stopped=_never):
    """The loop play(links, chances, memory, values, rng, number) of a DeterministicLearner: (episodes, summed values).

    numba does not cache compiled code that takes a function as an argument, and it recompiles a function only if its
    own file has changed. So the loop is compiled as if it were in the file of `observe`, with these names.

    Args:
        observe: a kernel (links, memory, length, value): updates memory and memory.plan on an episode of memory.path.
        has_stopped: a kernel (links, memory): whether the learner has stopped.
    """
    own = observe.py_func.__code__
    code = _loop.__code__.replace(co_filename=own.co_filename, co_firstlineno=own.co_firstlineno)
    play = types.FunctionType(code, {**globals(), "observe": observe, "has_stopped": has_stopped})
    play.__module__ = observe.py_func.__module__
    return numba.njit(cache=True)(play)
