"""An infostate tree that grows: a state is added when an episode visits it for the first time.

Nothing is enumerated, so states are numbered in the order of their first visits. All legal actions of a state are known
when it is added, so its sequences are contiguous, as in any tree. The child states of a sequence are added later, so
they are linked as siblings:

    first_child:  int32[J + 1]  the newest child state of sequence j, -1 if it has none yet
    next_sibling: int32[S]      the next older child state of the same sequence, -1 after the oldest

As in any tree the root is sequence 0, and a state comes after the sequence that leads to it, so a loop over decreasing
numbers is a bottom-up pass here as well. Arrays double in size when they are full.
"""

from __future__ import annotations

import bisect
import collections
import logging

import numba
import numpy as np

from tmdp_spiel.core import storage, validation
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import Capacity, InfostateTree, StateNames, string_with_actions
from tmdp_spiel.trees.traversal import ROOT

OUTSIDE = -1  # the state of whoever has left the tree
DEFAULT_MAX_STATES = 5_000_000

_LEAST_CAPACITY = Capacity(states=256, sequences=1024, decisions=16, children=16)
_log = logging.getLogger("tmdp_spiel")

# What compiled kernels see of a grown tree, in one argument.
LazyLinks = collections.namedtuple("LazyLinks", ["first_sequence", "first_child", "next_sibling", "parent", "can_end"])

# The arrays, with spare capacity. followers: int32[J + 1], child states of a sequence;  depth: int32[S], decisions up
# to it
_Arrays = collections.namedtuple(
    "_Arrays",
    ["first_sequence", "first_child", "next_sibling", "parent", "can_end", "action", "followers", "depth"],
)


class LazyTree(InfostateTree):
    """One player's states, actions, and which state followed which action, as far as episodes have shown.

    A state is identified by its string and the sequence before it, so that recall is perfect even if the strings
    forget. can_end also reflects only the episodes so far: whether one ended, or left the tree, right after a sequence.

    max_states: the most states that are stored. When this number is reached, the tree logs a message and stops growing;
    states that are not in it are OUTSIDE. new_states: how many states an episode may add. The moves after the last new
    state of an episode are outside the tree, and their states are added by later episodes. So most of the rarely
    visited states, which are most of a large tree, take no memory.

    first_of[state] is first_sequence[state], read fast from Python.

    In the arrays a state takes 16 bytes and each of its sequences 17; its string, and the dictionary that finds it
    again, take about 350 bytes and the length of the string.
    """

    least_return = most_return = None

    def __init__(
        self,
        *,
        player: int = 0,
        min_utility: float = 0.0,
        max_utility: float = 1.0,
        max_states: int = DEFAULT_MAX_STATES,
        new_states: int = 1,
        game_string: str | None = None,
    ):
        if not max_utility > min_utility:
            raise ValueError(f"max_utility must exceed min_utility, not {max_utility} and {min_utility}")
        self.player, self.game_string = int(player), game_string
        self.min_utility, self.max_utility = float(min_utility), float(max_utility)
        self.max_states = validation.whole_number("max_states", max_states)
        self.new_states = validation.whole_number("new_states", new_states)
        self.is_full = False
        self.names = StateNames([])
        self._opened_from = None
        self._states, self._end = 0, ROOT + 1
        self._numbers: dict[tuple[int, str], int] = {}
        self._legal: list[tuple[int, ...]] = []
        self._same_legal: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._unlinked: list[int] = []  # the parents of the newest states, which the links do not have yet
        self._horizon, self._max_actions, self._most_children = 0, 0, 0
        self._set_capacity(_LEAST_CAPACITY, None)
        self._arrays.first_sequence[0] = self._end
        self._arrays.first_child[ROOT] = -1

    def _set_capacity(self, capacity: Capacity, old: _Arrays | None) -> None:
        """Arrays of this size, with the contents of the old ones."""
        states, sequences = capacity.states, capacity.sequences
        self._capacity = capacity
        self._arrays = _Arrays(
            first_sequence=np.zeros(states + 1, np.int32),
            first_child=np.zeros(sequences, np.int32),
            next_sibling=np.zeros(states, np.int32),
            parent=np.zeros(states, np.int32),
            can_end=np.zeros(sequences, np.bool_),
            action=np.zeros(sequences, np.int64),
            followers=np.zeros(sequences, np.int32),
            depth=np.zeros(states, np.int32),
        )
        if old is not None:
            for array, old_array in zip(self._arrays, old):
                size = min(len(array), len(old_array))
                array[:size] = old_array[:size]
        self._look()

    def _look(self) -> None:
        """Views that are fast to read and write from Python."""
        self._views = _Arrays(*(memoryview(array.data) for array in self._arrays))
        self.first_of, self._can_end = self._views.first_sequence, self._views.can_end
        self._links: LazyLinks | None = None

    def _reserve(self, states: int, sequences: int, decisions: int = 0, children: int = 0) -> None:
        needed = Capacity(states, sequences, decisions, children)
        if any(need > have for need, have in zip(needed, self._capacity)):
            capacity = Capacity(
                *(have if need <= have else max(2 * have, need) for need, have in zip(needed, self._capacity))
            )
            self._set_capacity(capacity, self._arrays)

    def get_or_add(self, sequence: int, string: str, legal: tuple[int, ...]) -> int:
        """The state after a sequence with this string and these legal actions; added if it is new.

        If the string has occurred with other legal actions, the legal actions become part of the string. OUTSIDE if the
        tree is full.
        """
        state = self._numbers.get((sequence, string))
        if state is not None:
            if self._legal[state] == legal:
                return state
            string = string_with_actions(string, legal)
            state = self._numbers.get((sequence, string))
            if state is not None:
                return state
        if self._states >= self.max_states:
            self._say_full()
            return OUTSIDE
        return self._add(sequence, string, legal)

    def find(self, sequence: int, string: str, legal: tuple[int, ...]) -> int:
        """As get_or_add, but nothing is added: OUTSIDE if the state is not in the tree."""
        state = self._numbers.get((sequence, string), OUTSIDE)
        if state == OUTSIDE or self._legal[state] == legal:
            return state
        return self._numbers.get((sequence, string_with_actions(string, legal)), OUTSIDE)

    def _say_full(self) -> None:
        if not self.is_full:
            self.is_full = True
            _log.warning(
                "the tree of %s has reached its limit of %s states and stops growing; episodes that leave it continue "
                "at random and count as the maximum utility in upper bounds. Raise max_states to store more states",
                self.game_string or "the game",
                f"{self.max_states:,}",
            )

    def _add(self, sequence: int, string: str, legal: tuple[int, ...]) -> int:
        """Numbers a new state. It is linked later, together with others, when the links are needed."""
        state, end = self._states, self._end + len(legal)
        if state >= self._capacity.states or end > self._capacity.sequences:
            self._link()
            self._reserve(state + 1, end)
        self.first_of[state + 1] = end
        self.names.append(string)
        self._legal.append(self._same_legal.setdefault(legal, legal))
        self._numbers[sequence, string] = state
        self._unlinked.append(sequence)
        self._states, self._end = state + 1, end
        return state

    def _link(self) -> None:
        """Links the states that were added since the last call."""
        if not self._unlinked:
            return
        first = self._states - len(self._unlinked)
        if len(self._unlinked) == 1:
            depth, children, legal_actions = self._link_one(first, self._unlinked[0])
        else:
            parents = np.array(self._unlinked, np.int32)
            actions = np.array([action for legal in self._legal[first:] for action in legal], np.int64)
            depth, children, legal_actions = _link_states(self._arrays, first, parents, actions)
        self._horizon = max(self._horizon, depth)
        self._most_children = max(self._most_children, children)
        self._max_actions = max(self._max_actions, legal_actions)
        self._unlinked.clear()
        self._links = None
        if self._horizon > self._capacity.decisions or self._most_children > self._capacity.children:
            self._reserve(0, 0, self._horizon, self._most_children)

    def _link_one(self, state: int, parent: int) -> tuple[int, int, int]:
        """As _link_states, for one state, in plain Python: for a single state this is faster than a compiled call."""
        views, legal = self._views, self._legal[state]
        views.parent[state], views.next_sibling[state] = parent, views.first_child[parent]
        views.first_child[parent] = state
        views.followers[parent] += 1
        views.depth[state] = 1 if parent == ROOT else views.depth[self.state_of(parent)] + 1
        for j, action in enumerate(legal, views.first_sequence[state]):
            views.first_child[j], views.action[j] = -1, action
        return views.depth[state], views.followers[parent], len(legal)

    def end(self, sequence: int) -> None:
        """Records that an episode ended, or left the tree, right after the sequence."""
        self._can_end[sequence] = True

    @property
    def links(self) -> LazyLinks:  # type: ignore[override]
        """The used parts of the arrays."""
        self._link()
        if self._links is None:
            arrays, states, end = self._arrays, self._states, self._end
            self._links = LazyLinks(
                arrays.first_sequence[: states + 1],
                arrays.first_child[:end],
                arrays.next_sibling[:states],
                arrays.parent[:states],
                arrays.can_end[:end],
            )
        return self._links

    @property
    def capacity(self) -> Capacity:
        self._link()
        return self._capacity

    @property
    def horizon(self) -> int:
        """The largest number of decisions of the player in one episode so far."""
        self._link()
        return self._horizon

    @property
    def max_actions(self) -> int:
        self._link()
        return self._max_actions

    def with_root(self, plan: np.ndarray) -> np.ndarray:
        """The plan as it is: a shorter one is of an earlier time."""
        return plan

    def state_after(self, sequence: int, string: str) -> int | None:
        """The state with this string after a sequence; None if it is not in the tree."""
        return self._numbers.get((sequence, string))

    def state_of(self, sequence: int) -> int:
        """The state of a sequence other than the root."""
        return bisect.bisect_right(self.first_of, sequence, 0, self._states + 1) - 1

    @property
    def sequence_end(self) -> int:
        return self._end

    @property
    def num_states(self) -> int:
        return self._states

    @property
    def num_terminals(self) -> int:  # type: ignore[override]
        """The sequences on which episodes have ended so far."""
        return int(np.count_nonzero(self.can_end))

    num_merged_terminals = num_terminals

    @property
    def first_sequence(self) -> np.ndarray:  # type: ignore[override]
        return self.links.first_sequence

    @property
    def first_child(self) -> np.ndarray:  # type: ignore[override]
        return self.links.first_child

    @property
    def parent(self) -> np.ndarray:  # type: ignore[override]
        return self.links.parent

    @property
    def can_end(self) -> np.ndarray:  # type: ignore[override]
        return self.links.can_end

    @property
    def action(self) -> np.ndarray:  # type: ignore[override]
        self._link()
        return self._arrays.action[: self._end]

    @property
    def fingerprint(self) -> str:
        """A hash of the tree as it is now."""
        return storage.fingerprint(*self.links, self.action, self.player, self.min_utility, self.max_utility)

    def state_dict(self) -> dict:
        """The whole tree as numbers, strings and arrays; states in the order in which they were added."""
        self._link()
        states = self._states
        facts = ("player", "min_utility", "max_utility", "max_states", "new_states", "game_string")
        return {
            "facts": {name: getattr(self, name) for name in facts},
            "strings": [self.names.string(state) for state in range(states)],
            "parents": self._arrays.parent[:states].copy(),
            "legal": np.diff(self._arrays.first_sequence[: states + 1]),
            "actions": self._arrays.action[ROOT + 1 : self._end].copy(),
            "can_end": self._arrays.can_end[: self._end].copy(),
            "is_full": self.is_full,
            "capacity": list(self._capacity),
        }

    @classmethod
    def from_state_dict(cls, state: dict) -> LazyTree:
        """The tree that state_dict() was called on; raises a ValueError if the contents are invalid."""
        try:
            tree = cls(**state["facts"])
            tree._restore(state["strings"], state["parents"], state["legal"], state["actions"])
            if len(state["can_end"]) != tree._end or state["can_end"].dtype != np.bool_:
                raise ValueError("can_end does not fit the sequences")
            tree._arrays.can_end[: tree._end] = state["can_end"]
            tree.is_full = bool(state["is_full"])
            capacity = Capacity(*state["capacity"])
            needed = Capacity(tree._states, tree._end, tree._horizon, tree._most_children)
            for kept, need, least in zip(capacity, needed, _LEAST_CAPACITY):
                if not (type(kept) is int and max(need, least) <= kept <= 4 * max(need, least)):
                    raise ValueError(f"capacity {capacity} does not fit a tree of this size")
            tree._set_capacity(capacity, tree._arrays)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"this is not the state of a LazyTree: {error!r}") from error
        return tree

    def _restore(self, strings: list[str], parents: np.ndarray, legal: np.ndarray, actions: np.ndarray) -> None:
        ends = np.cumsum(legal)
        if len({len(strings), len(parents), len(legal)}) > 1 or (ends[-1] if len(ends) else 0) != len(actions):
            raise ValueError("strings, parents and actions do not fit together")
        for string, parent, number, end in zip(strings, parents.tolist(), legal.tolist(), ends.tolist()):
            known = (parent, string) in self._numbers
            if known or not isinstance(string, str) or number < 1 or not ROOT <= parent < self._end:
                raise ValueError(f"state {self._states} cannot follow sequence {parent}, or occurs twice")
            self._add(parent, string, tuple(actions[end - number : end].tolist()))
        self._link()

    def copy_from(self, other: LazyTree) -> None:
        """Replaces the contents of this tree by those of the other."""
        self.__setstate__(other.__getstate__())

    def __reduce_ex__(self, protocol):
        return object.__reduce_ex__(self, protocol)

    def __getstate__(self) -> dict:
        self._link()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("_links", "_views", "first_of", "_can_end")
        }

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._look()

    def __repr__(self) -> str:
        return (
            f"LazyTree(player={self.player}, num_states={self.num_states}, num_sequences={self.num_sequences}, "
            f"horizon={self.horizon}, max_states={self.max_states})"
        )


@numba.njit(cache=True)
def _link_states(arrays, first, parents, actions):
    """Fills the arrays for new states, given their parents and actions.

    Returns the largest depth, number of children of one sequence, and number of actions among them.
    """
    deepest, most_children, most_actions, at = 0, 0, 0, 0
    for state in range(first, first + len(parents)):
        parent = parents[state - first]
        arrays.parent[state] = parent
        arrays.next_sibling[state] = arrays.first_child[parent]
        arrays.first_child[parent] = state
        arrays.followers[parent] += 1
        arrays.depth[state] = 1
        if parent != ROOT:
            before = traversal.bisect_states(arrays.first_sequence, state, parent)
            arrays.depth[state] = arrays.depth[before] + 1
        for j in range(arrays.first_sequence[state], arrays.first_sequence[state + 1]):
            arrays.first_child[j] = -1
            arrays.action[j] = actions[at]
            at += 1
        deepest = max(deepest, arrays.depth[state])
        most_children = max(most_children, arrays.followers[parent])
        most_actions = max(most_actions, arrays.first_sequence[state + 1] - arrays.first_sequence[state])
    return deepest, most_children, most_actions
