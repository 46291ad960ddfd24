"""What a learner may know: one player's information states and which can follow which.

With perfect recall, the information states of one player form a tree: every state is reached by exactly one history of
this player. A *sequence* is a state and an action taken there; the *root*, sequence 0, is the empty sequence. States
and sequences are numbered in level order: parents come before children, and the children of a sequence and the
sequences of a state are contiguous. So a loop over increasing numbers is a top-down pass, a loop over decreasing
numbers is a bottom-up pass, and no child lists are stored.
"""

from __future__ import annotations

import collections
import functools
import html
import math
import os
import typing
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from tmdp_spiel.core import storage, validation
from tmdp_spiel.trees import tree_shape
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_shape import is_level_order
from tmdp_spiel.trees.utility_scale import Amount, UtilityScale
from tmdp_spiel.version import __version__

PLAN_DTYPE = np.int16
PROBABILITY_TOLERANCE = 1e-6  # of the sum of the probabilities of a state; more than double precision needs
_ROUNDING = 1e-9  # of a return
HISTORY_MARK = "\naction "  # between a string and the action taken there, where strings alone forget

# What compiled kernels see of a tree, in one argument.
Links = collections.namedtuple("Links", ["first_sequence", "first_child", "parent", "can_end"])


# Sizes of arrays with one entry per state, per sequence, per decision of an episode, and per child of a sequence. In a
# lazy tree they include spare capacity.
Capacity = collections.namedtuple("Capacity", ["states", "sequences", "decisions", "children"])


def string_with_actions(string: str, legal: Iterable[int]) -> str:
    """A string that differs between states with the same string but different legal actions, which a player knows."""
    return f"{string}\nlegal actions: {' '.join(map(str, legal))}"


class InfostateTree:
    """One player's states, actions, and which state can follow which action: the rules alone, no probabilities.

    There are S states and J sequences besides the root, which is sequence 0.

    first_sequence: int32[S + 1]  sequences of state s are first_sequence[s] .. first_sequence[s + 1], from 1 on
    first_child:    int32[J + 2]  child states of sequence j are first_child[j] .. first_child[j + 1]
    parent:         int32[S]      the sequence that leads to s
    action:         int16[J + 1]  the game's action of sequence j; 0 for the root
    can_end:        bool [J + 1]  an episode can end right after j: for the root, before the player has acted at all

    num_terminals counts terminal states as pairs (last sequence of the player, return). num_merged_terminals counts
    them as the paper does, as pairs (last sequence of the player, what the others did after it), whatever cards they
    hold. names maps states to information-state strings and back. least_return, most_return: float64[J + 1], bounds by
    the rules on the return of an episode that ends on j, on the [0, 1] scale; None if no bounds but 0 and 1 are known.
    They may also be functions, which are called when the bounds are needed.
    """

    _ARRAYS = ("first_sequence", "first_child", "parent", "action", "can_end")
    _RANGES = ("least_return", "most_return")
    _FACTS = (
        "player",
        "min_utility",
        "max_utility",
        "num_terminals",
        "num_merged_terminals",
        "game_string",
    )

    def __init__(
        self,
        *,
        first_sequence: ArrayLike,
        first_child: ArrayLike,
        parent: ArrayLike,
        action: ArrayLike,
        can_end: ArrayLike,
        player: int = 0,
        min_utility: float = 0.0,
        max_utility: float = 1.0,
        num_terminals: int | None = None,
        num_merged_terminals: int | None = None,
        names: typing.Any = None,
        game_string: str | None = None,
        least_return: ArrayLike | Callable[[], ArrayLike] | None = None,
        most_return: ArrayLike | Callable[[], ArrayLike] | None = None,
    ):
        self.first_sequence = validation.read_only(first_sequence, np.int32)
        self.first_child = validation.read_only(first_child, np.int32)
        self.parent = validation.read_only(parent, np.int32)
        self.action = validation.read_only(action)
        self.can_end = validation.read_only(can_end, np.bool_)
        self.player = int(player)
        self.min_utility = float(min_utility)
        self.max_utility = float(max_utility)
        endings = int(np.count_nonzero(self.can_end))
        self.num_terminals = endings if num_terminals is None else int(num_terminals)
        self.num_merged_terminals = self.num_terminals if num_merged_terminals is None else int(num_merged_terminals)
        self.names = names
        self.game_string = game_string
        self._least_return, self._most_return = _as_range(least_return), _as_range(most_return)
        self._opened_from: os.PathLike | None = None
        self._check_shape()
        self._check_ranges()

    def _check_shape(self) -> None:
        for name in self._ARRAYS:
            if getattr(self, name).ndim != 1:
                raise ValueError(f"{name} must have one dimension, not {getattr(self, name).ndim}")
        states, sequences = self.num_states, self.sequence_end
        if len(self.first_sequence) != states + 1 or len(self.first_child) != sequences + 1 or not sequences:
            raise ValueError(
                f"first_sequence needs {states + 1} entries for {states} states and first_child {sequences + 1} for "
                f"{sequences} sequences, of which the root is the first; they have {len(self.first_sequence)} and "
                f"{len(self.first_child)}"
            )
        if len(self.action) != sequences:
            raise ValueError(f"action needs one entry for each of the {sequences} sequences, not {len(self.action)}")
        if self.action.dtype.kind not in "iu":
            raise ValueError(f"actions must be whole numbers, not {self.action.dtype}")
        if not (self.max_utility > self.min_utility and math.isfinite(self.utility_range)):
            raise ValueError(
                f"max_utility must exceed min_utility, both finite, not {self.max_utility} and {self.min_utility}"
            )
        if self.first_sequence[0] != ROOT + 1 or self.first_sequence[-1] != sequences:
            raise ValueError(f"first_sequence must run from 1, after the root, to the number of sequences, {sequences}")
        if self.max_actions > np.iinfo(PLAN_DTYPE).max:
            raise ValueError(f"a state has {self.max_actions} actions; plans hold at most {np.iinfo(PLAN_DTYPE).max}")
        if not is_level_order(self.links):
            raise ValueError(
                "the tree is not in level order: every state needs at least one sequence, the children of a sequence "
                "must be contiguous, agree with `parent`, and come after it, and a sequence without children must be "
                "able to end"
            )

    def _check_ranges(self) -> None:
        given = self._least_return, self._most_return
        if all(each is None for each in given) or any(callable(each) for each in given):
            return
        least, most = self.return_range
        if len(least) != self.sequence_end or len(most) != self.sequence_end:
            raise ValueError(
                f"least_return and most_return need one entry for each of the {self.sequence_end} sequences, not "
                f"{len(least)} and {len(most)}"
            )
        wrong = np.flatnonzero(self.can_end & ~((least >= 0) & (least <= most) & (most <= 1)))
        if len(wrong):
            j = int(wrong[0])
            raise ValueError(
                f"returns after sequence {j} must lie in a part of [0, 1], not from {least[j]} to {most[j]}"
            )

    @property
    def least_return(self) -> np.ndarray | None:
        if callable(self._least_return):
            self._least_return = validation.read_only(self._least_return(), np.float64)
        return self._least_return

    @property
    def most_return(self) -> np.ndarray | None:
        if callable(self._most_return):
            self._most_return = validation.read_only(self._most_return(), np.float64)
        return self._most_return

    @property
    def return_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Per sequence: the smallest and largest return of an episode that ends on it; 0 and 1 if not known.

        The arrays are always read-only, because numba would compile kernels once more for writable ones.
        """
        least = np.zeros(self.sequence_end) if self.least_return is None else self.least_return.view()
        most = np.ones(self.sequence_end) if self.most_return is None else self.most_return.view()
        least.flags.writeable = most.flags.writeable = False
        return least, most

    @property
    def num_states(self) -> int:
        return len(self.parent)

    @property
    def num_sequences(self) -> int:
        """The number of sequences besides the root, J: they are 1 .. J."""
        return self.sequence_end - 1

    @property
    def sequence_end(self) -> int:
        """One more than the largest sequence, J + 1: the number of entries of a mixed plan."""
        return len(self.can_end)

    @property
    def root(self) -> int:
        """The number of the root sequence, 0, on which episodes end that the player never acts in."""
        return ROOT

    @property
    def root_can_end(self) -> bool:
        """Whether an episode can end before the player has acted at all."""
        return bool(self.can_end[ROOT])

    @functools.cached_property
    def capacity(self) -> Capacity:
        """The sizes of a learner's arrays."""
        children = int(np.diff(self.first_child).max(initial=0))
        return Capacity(self.num_states, self.sequence_end, self.horizon, children)

    @property
    def utility_range(self) -> float:
        return self.max_utility - self.min_utility

    @property
    def utility_scale(self) -> UtilityScale:
        """Converts between utilities and returns in [0, 1], also in compiled code."""
        return UtilityScale(self.min_utility, self.utility_range)

    def to_utility(self, value: Amount) -> Amount:
        """The utility of a return in [0, 1], or of an array of them."""
        return self.utility_scale.to_utility(value)

    def to_utility_difference(self, difference: Amount) -> Amount:
        """Converts a difference of returns in [0, 1], such as a regret, to utility units."""
        return self.utility_range * difference

    def to_return_difference(self, difference: Amount) -> Amount:
        """Converts a difference of utilities to the [0, 1] scale of returns."""
        return difference / self.utility_range

    def to_return(self, utility: float) -> float:
        """The return in [0, 1] of an episode with this utility."""
        value = self.utility_scale.to_return(utility)
        if not -_ROUNDING <= value <= 1 + _ROUNDING:
            raise ValueError(
                f"an episode brought player {self.player} {utility}, outside the utilities {self.min_utility} .. "
                f"{self.max_utility} that {self.game_string or 'the game'} declares; give the right min_utility and "
                "max_utility"
            )
        return min(max(value, 0.0), 1.0)

    @functools.cached_property
    def links(self) -> Links:
        return Links(self.first_sequence, self.first_child, self.parent, self.can_end)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of the arrays and attributes of the tree.

        As in stored runs, it is that of arrays without the root, to which `parent` refers as J.
        """
        parent = np.where(self.parent == ROOT, self.num_sequences, self.parent - 1).astype(np.int32)
        links = self.first_sequence - 1, self.first_child[1:], parent, self.action[1:], self.can_end[1:]
        scale = self.player, self.min_utility, self.max_utility
        counts = self.root_can_end, self.num_terminals, self.num_merged_terminals
        return storage.fingerprint(*links, *scale, *counts, self.game_string)

    @functools.cached_property
    def max_actions(self) -> int:
        return int(np.diff(self.first_sequence).max(initial=0))

    @functools.cached_property
    def horizon(self) -> int:
        """The largest number of decisions of the player in one episode."""
        return int(tree_shape.horizon(self.links))

    @functools.cached_property
    def log_num_policies(self) -> float:
        """ln of the number of reduced policies, N(s) = sum over a of the product over children c of N(c).

        Policies that differ only at states that they never reach count once.
        """
        return float(tree_shape.log_num_reduced_policies(self.links))

    @functools.cached_property
    def log_num_unreduced_policies(self) -> float:
        """ln of the paper's count: the product over all states of the number of legal actions."""
        return float(np.log(np.diff(self.first_sequence)).sum())

    @property
    def num_policies(self) -> float:
        """The number of reduced policies; infinite if it does not fit a float."""
        log_number = self.log_num_policies
        if log_number < 34:
            return float(round(math.exp(log_number)))
        return math.exp(log_number) if log_number < 709 else math.inf

    @functools.cached_property
    def max_ending_sequences(self) -> int:
        """The most sequences on which one policy can end: k(s) = max over a of [a can end] + sum over children k(c)."""
        return int(tree_shape.max_ending_sequences(self.links))

    def state_string(self, state: int) -> str:
        """The information-state string of a state.

        If other states have the same string, because the game's strings forget, it is preceded by the strings of the
        states before it, each with the action taken there.
        """
        if not 0 <= state < self.num_states:
            raise IndexError(f"state {state} is not one of 0 .. {self.num_states - 1}")
        names = self._named()
        string = names.string(state)
        if string not in getattr(names, "ambiguous", ()):
            return string
        parent = int(self.parent[state])
        while parent != ROOT:
            above = self.state_of(parent)
            string = f"{names.string(above)}{HISTORY_MARK}{self.action[parent]}\n{string}"
            parent = int(self.parent[above])
        return string

    def state_index(self, string: str) -> int:
        """The state for which state_string returns this string."""
        names = self._named()
        if self.strings_forget:
            state = self._states_by_string().get(string)
            if state is not None:
                return state
        return names.index(string)

    def _states_by_string(self) -> dict[str, int]:
        known = self.__dict__.get("_by_string", {})
        if len(known) != self.num_states:
            known = self._by_string = {self.state_string(state): state for state in range(self.num_states)}
        return known

    def state_after(self, sequence: int, string: str) -> int | None:
        """The state after a sequence that has this string in the game, ambiguous or not; None if there is none."""
        names = self._named()
        if not self.strings_forget:
            try:
                state = names.index(string)
            except KeyError:
                return None
            return state if self.parent[state] == sequence else None
        return self._states_after.get((sequence, string))

    @functools.cached_property
    def _states_after(self) -> dict[tuple[int, str], int]:
        return {(int(self.parent[state]), self.names.string(state)): state for state in range(self.num_states)}

    def state_of(self, sequence: int) -> int:
        """The state of a sequence other than the root."""
        return int(np.searchsorted(self.first_sequence, sequence, "right")) - 1

    @property
    def strings_forget(self) -> bool:
        """Whether several states share one of the game's strings."""
        return bool(getattr(self.names, "ambiguous", None))

    def _named(self) -> typing.Any:
        if self.names is None:
            raise ValueError("this tree was made without information-state strings")
        return self.names

    def has_the_states_of(self, other: InfostateTree) -> bool:
        """Whether both trees have the same player, states, actions and successors, so that plans fit both."""
        return self is other or (
            self.player == other.player
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("first_sequence", "first_child", "action")
            )
        )

    def legal_actions(self, state: int) -> np.ndarray:
        """The game's actions of a state, in the order that plans index."""
        return self.action[self.first_sequence[state] : self.first_sequence[state + 1]]

    def check_plan(self, plan: ArrayLike) -> np.ndarray:
        """The plan as a checked array: an action index per state (integers) or a probability per sequence (floats).

        The entry of the root, the first, is not used and may be left out.
        """
        plan = np.asarray(plan)
        if plan.ndim == 1 and np.issubdtype(plan.dtype, np.integer):
            return self._check_deterministic(plan)
        if plan.ndim == 1 and np.issubdtype(plan.dtype, np.floating):
            return self._check_mixed(plan)
        raise ValueError(
            f"a plan is a one-dimensional array of {self.num_states} integers (an action index per state) or of "
            f"{self.sequence_end} floats (a probability per sequence), not {plan.dtype} of shape {plan.shape}"
        )

    def _check_deterministic(self, plan: np.ndarray) -> np.ndarray:
        if len(plan) != self.num_states:
            raise ValueError(f"a deterministic plan needs {self.num_states} entries, one per state, not {len(plan)}")
        wrong = np.flatnonzero((plan < 0) | (plan >= np.diff(self.first_sequence)))
        if len(wrong):
            state = int(wrong[0])
            raise ValueError(
                f"the plan has action index {plan[state]} at state {state}, which has "
                f"{len(self.legal_actions(state))} legal actions (indices from 0)"
            )
        return np.ascontiguousarray(plan, PLAN_DTYPE)

    def with_root(self, plan: np.ndarray) -> np.ndarray:
        """A probability for every sequence, from an array that may lack the entry of the root, 1."""
        return np.append(1.0, plan) if len(plan) == self.num_sequences else plan

    def _check_mixed(self, plan: np.ndarray) -> np.ndarray:
        plan = self.with_root(plan)
        if len(plan) != self.sequence_end:
            raise ValueError(
                f"a mixed plan needs {self.sequence_end} entries, one per sequence, the root's first, not {len(plan)}"
            )
        if not self.num_states:
            return np.ascontiguousarray(plan, np.float64)
        totals = np.add.reduceat(plan, self.first_sequence[:-1])
        lowest = np.minimum.reduceat(plan, self.first_sequence[:-1])
        wrong = np.flatnonzero(~(np.abs(totals - 1) <= PROBABILITY_TOLERANCE) | ~(lowest >= 0))
        if len(wrong):
            state = int(wrong[0])
            probabilities = plan[self.first_sequence[state] : self.first_sequence[state + 1]]
            raise ValueError(f"the plan at state {state} is not a distribution over its actions: {probabilities}")
        return np.ascontiguousarray(plan, np.float64)

    def as_probabilities(self, plan: ArrayLike) -> np.ndarray:
        """The plan as one probability per sequence."""
        plan = self.check_plan(plan)
        if plan.dtype != PLAN_DTYPE:
            return plan
        probabilities = np.zeros(self.sequence_end)
        probabilities[ROOT] = 1.0
        probabilities[self.first_sequence[:-1] + plan] = 1.0
        return probabilities

    def save(self, path: str | os.PathLike) -> None:
        """Writes the tree to a new directory at path atomically."""
        storage.save_directory(path, self._contents())

    def _contents(self) -> dict:
        contents = {name: getattr(self, name) for name in self._ARRAYS}
        contents.update({name: getattr(self, name) for name in self._RANGES if getattr(self, name) is not None})
        contents["tree"] = {"version": __version__, **{name: getattr(self, name) for name in self._FACTS}}
        if isinstance(self.names, StateNames):
            contents["names"] = self.names._strings
        return contents

    @classmethod
    def load(cls, path: str | os.PathLike, names: typing.Any = None) -> InfostateTree:
        """Opens a saved tree, its arrays memory-mapped. names: for trees whose strings are computed, not stored.

        Every file is compared with its checksum when it is first opened. What kernels rely on is checked every time.
        The tree is pickled as its path and opened again from there, so that processes share the memory.
        """
        path = storage.checked_path(path).resolve()
        with storage.opening(path) as saved:
            arrays: dict[str, typing.Any] = {name: saved.array(name) for name in cls._ARRAYS}
            arrays.update({name: saved.array(name) for name in cls._RANGES if f"{name}.npy" in saved})
            if names is None and "names.json" in saved:
                strings = saved.document("names")
                if not (isinstance(strings, list) and all(isinstance(string, str) for string in strings)):
                    raise ValueError("names.json must hold a list of strings")
                if len(strings) != len(arrays["parent"]):
                    raise ValueError(f"names.json holds {len(strings)} strings for {len(arrays['parent'])} states")
                names = StateNames(strings)
            tree = cls(**arrays, **_facts_of(saved), names=names)
        tree._opened_from = path
        return tree

    @classmethod
    def _open_again(cls, path: os.PathLike, names: typing.Any, num_states: int, num_sequences: int) -> InfostateTree:
        with storage.opening_again(path):
            tree = cls.load(path, names)
        if (tree.num_states, tree.num_sequences) != (num_states, num_sequences):
            raise ValueError(f"{path} is not the saved tree that it was when {cls.__name__} was pickled: {tree!r}")
        return tree

    def __reduce_ex__(self, protocol: typing.SupportsIndex) -> typing.Any:
        if self._opened_from is None:
            return super().__reduce_ex__(protocol)
        names = None if isinstance(self.names, StateNames) else self.names
        return self._open_again, (self._opened_from, names, self.num_states, self.num_sequences)

    def __getstate__(self) -> dict:
        return {name: getattr(self, name) for name in (*self._ARRAYS, *self._RANGES, *self._FACTS, "names")}

    def __setstate__(self, state: dict) -> None:
        type(self).__init__(self, **state)

    def __repr__(self) -> str:
        return (
            f"InfostateTree(player={self.player}, num_states={self.num_states}, num_sequences={self.num_sequences}, "
            f"horizon={self.horizon})"
        )

    def _repr_html_(self) -> str:
        return html_table(facts_of(self))


def _facts_of(saved: storage.SavedDirectory) -> dict[str, typing.Any]:
    """The attributes of a saved tree, without the version that wrote them."""
    facts = saved.document("tree")
    if not isinstance(facts, dict):
        raise ValueError(f"tree.json must hold an object, not {facts!r}")
    version = facts.pop("version", None)
    if "root_can_end" in facts:
        raise ValueError(
            f"version {version or '0.2.0 or an earlier one'} saved it with other numbers of sequences; build and save "
            "it again"
        )
    return facts


def _as_range(given: typing.Any) -> typing.Any:
    return given if given is None or callable(given) else validation.read_only(given, np.float64)


def facts_of(tree: InfostateTree) -> dict[str, str]:
    """Names and values that describe an InfostateTree."""
    return {
        "game": tree.game_string or "",
        "player": str(tree.player),
        "states": f"{tree.num_states:,}",
        "sequences": f"{tree.num_sequences:,}",
        "decisions in an episode": f"{tree.horizon:,} at most",
        "utilities": f"{tree.min_utility:g} to {tree.max_utility:g}",
    }


def html_table(facts: dict[str, str]) -> str:
    """Names and values in HTML; empty ones are left out."""
    rows = [f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items() if value]
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


class StateNames:
    """Maps the states of a tree to their information-state strings, and back.

    A game's strings may forget. States after different histories of the player then share a string, which is
    `ambiguous`.
    """

    def __init__(self, strings: Iterable[str]):
        self._strings: list[str] = []
        self._seen: set[str] = set()
        self.ambiguous: set[str] = set()
        for string in strings:
            self.append(string)

    def append(self, string: str) -> None:
        """The string of the next state."""
        (self.ambiguous if string in self._seen else self._seen).add(string)
        self._strings.append(string)
        self._indices: dict[str, int] | None = None

    def string(self, state: int) -> str:
        return self._strings[state]

    def index(self, string: str) -> int:
        if self._indices is None:
            self._indices = {each: state for state, each in enumerate(self._strings) if each not in self.ambiguous}
        try:
            return self._indices[string]
        except KeyError:
            raise KeyError(f"no information state {string!r} in this tree") from None

    def __len__(self) -> int:
        return len(self._strings)
