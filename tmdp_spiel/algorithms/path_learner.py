"""What learners share whose policy changes only at the states that an episode visits.

An episode then costs what it touches, however large the tree. The exact value of the played policy is measured the same
way: V(s) per state, kept by the loop that plays, brought up to date along the path of every episode, and never read by
the learner. A recommended plan is measured by walking what it reaches.
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
    """Plays with the true value of its current policy below every state at hand for measuring.

    values: float64[S + 1], V(s) of the policy as a part of V, and V last.
    """

    grows = True
    plays_in_rounds = False

    def __init__(self, tree: InfostateTree, seed):
        super().__init__(tree, seed)
        self.capacity, self.known_states = tree.capacity, tree.num_states
        self._path = traversal.new_path(tree.capacity.decisions)
        self._trace_back = Direct(traversal.trace_back)

    def grow(self) -> None:
        """Makes the learner ready for what its tree has met since."""
        if self.tree.capacity != self.capacity:
            self._enlarge()
        self._prepare(self.known_states)
        self.known_states = self.tree.num_states

    def _enlarge(self) -> None:
        """Gives the learner the capacity of its tree.

        All that it keeps lies in arrays of the sizes of tree.capacity. A new learner, made as this one was, takes over
        the front of every array; beyond that it is as one that has seen nothing.
        """
        fresh = type(self)(self.tree, seed=self.seed, **self.hyper_parameters)
        for name, value in vars(self).items():
            if isinstance(value, (np.ndarray, tuple)):
                _copy_front(value, getattr(fresh, name))
            elif name not in ("tree", "capacity"):
                setattr(fresh, name, value)
        vars(self).update(vars(fresh))

    def _prepare(self, first: int) -> None:
        """Readies the states from the first one on, which the learner has not known."""

    def _choose_any(self, plan: np.ndarray, first: int) -> None:
        """Sets the plan to any action at every state from the first one on; most often that is one state."""
        if self.tree.num_states == first + 1:
            first_sequence = self.tree.links.first_sequence
            plan[first] = random_action(self.seed, first, first_sequence[first + 1] - first_sequence[first])
        else:
            plan[first : self.tree.num_states] = random_plan(self.tree.links, self.seed, first)

    @abc.abstractmethod
    def action_selector(self, draw: Callable[[], float]) -> Callable[[int], int]:
        """A function from a state that an episode has come to, to the action index to play there.

        draw(): a uniform number. Together with observe this is plan() and learn() for whoever plays an episode step by
        step, at the cost of its path. It is right until the learner grows; in between it may be used for any
        number of episodes.
        """

    def observe(self, ended_on: int, value: float, left: bool = False) -> None:
        """As learn, for an episode that was played by action_selector(), so that nothing is checked.

        left: the episode continued outside the tree, which is full, and ended there.
        """
        (self._update_left if left else self._update)(ended_on, float(value))
        self.episodes += 1

    def observe_failed(self, ended_on: int, left: bool = False) -> None:
        """As observe, for an episode whose return is not known, as an opponent failed in it: the least return."""
        self.observe(ended_on, 0.0, left)

    def action_selectors(self, number: int) -> Callable[[Callable[[], float]], Callable[[int], int]]:
        """For `number` episodes in which nothing is learned: a function from `draw` to the selector of one of them.

        It is called once for each episode, in order, and so is observe afterwards. The action_selector of every episode
        is settled by what was learned before, and its own draws.
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
        """The plan, in all of them."""
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
    root = traversal.root(links)
    total, states = chances.ending_value[root], _children(links, np.array([root], np.int32))
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
    """Any of the given number of actions, each with the same chance; always the same one."""
    return int(hash_rng.uniform(seed, 0, state) * number)


@numba.njit(cache=True)
def random_plan(links, seed, first):
    """Any action at every state from the first one on, each with the same chance."""
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
    values[states] = sequence_value(links, chances, values, traversal.root(links))
    return values


@kernel
def rescore_plan(links, chances, plan, path, length, values):
    """Brings V(s) of a deterministic plan up to date after changes on the path."""
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

    numba does not keep compiled code that was given a function, and recompiles it only when the file of a function has
    changed, not one that calls it. So the loop is compiled as if it stood in the file of `observe`, with these names.

    Args:
        observe: a kernel (links, memory, length, value): updates memory and memory.plan on an episode of memory.path.
        has_stopped: a kernel (links, memory): whether the learner plays no more.
    """
    own = observe.py_func.__code__
    code = _loop.__code__.replace(co_filename=own.co_filename, co_firstlineno=own.co_firstlineno)
    play = types.FunctionType(code, {**globals(), "observe": observe, "has_stopped": has_stopped})
    play.__module__ = observe.py_func.__module__
    return numba.njit(cache=True)(play)
