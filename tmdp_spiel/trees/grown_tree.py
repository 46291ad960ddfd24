"""A decision tree that grows as it is played: states are added when an episode first meets them.

Nothing is enumerated, so states are numbered in the order of their appearance. All legal actions of a state are known when
it is met, so its sequences are contiguous, as in any tree; what follows a sequence turns up later, so its child states are
linked as siblings:

    first_child:  int32[J + 1]  the newest child state of sequence j, -1 if none was met
    next_sibling: int32[S]      the next older child state of the same sequence, -1 after the oldest

The root is sequence 0, whatever the room; own sequences are 1 .. J. A state comes after the sequence that leads to it, so
a loop downwards over the numbers is a bottom-up pass here as well. Arrays double when they are full.
"""

from __future__ import annotations

import bisect
import collections
import logging

import numpy as np

from tmdp_spiel.trees import checks, storage
from tmdp_spiel.trees.decision_tree import DecisionTree, Room, StateNames, string_with_actions

ROOT = 0
OUTSIDE = -1  # the state of whoever has left a tree that is full

DEFAULT_MAX_STATES = 5_000_000
_LEAST_ROOM = Room(states=256, sequences=1024, decisions=16, children=16)
_log = logging.getLogger("tmdp_spiel")

# What compiled kernels see of a grown tree, in one argument. The arrays have room to spare.
GrownLinks = collections.namedtuple(
    "GrownLinks", ["first_sequence", "first_child", "next_sibling", "parent", "can_end"]
)


class GrownTree(DecisionTree):
    """One player's states, actions, and which state followed which action, as far as episodes have shown.

    A state is told apart by the sequence before it and its string, so that recall is perfect whatever the strings forget.
    max_states: the most states that are kept. Once there, the tree says so and grows no more: what was not met before
    is OUTSIDE. can_end is what episodes have shown, too.

    In the arrays a state takes 32 bytes, each of its sequences 21; its string and the dictionary that finds it again
    take about 250 bytes and the length of the string.
    """

    def __init__(
        self,
        *,
        player: int = 0,
        min_utility: float = 0.0,
        max_utility: float = 1.0,
        max_states: int = DEFAULT_MAX_STATES,
        game_string: str | None = None,
    ):
        if not max_utility > min_utility:
            raise ValueError(f"max_utility must exceed min_utility, not {max_utility} and {min_utility}")
        self.player, self.game_string = int(player), game_string
        self.min_utility, self.max_utility = float(min_utility), float(max_utility)
        self.max_states = checks.whole_number("max_states", max_states)
        self.is_full = False
        self.root_can_end = False
        self.horizon, self.max_actions, self.most_children = 0, 0, 0
        self._states, self._end = 0, ROOT + 1
        self.names = StateNames([])
        self._numbers: dict[tuple[int, str], int] = {}
        self._opened_from = None
        self._arrays = {}
        self._make_room(_LEAST_ROOM)
        self._cut_links()

    def _make_room(self, room: Room) -> None:
        """Larger arrays, with what the old ones hold."""
        self.room = room
        states, sequences = room.states, room.sequences
        sizes = dict(
            first_sequence=(states + 1, np.int32),
            first_child=(sequences, np.int32),
            next_sibling=(states, np.int32),
            parent=(states, np.int32),
            can_end=(sequences, np.bool_),
            action=(sequences, np.int64),
            followers=(sequences, np.int32),
            depth=(states, np.int32),
        )
        old, self._arrays = self._arrays, {name: np.zeros(*size) for name, size in sizes.items()}
        for name, array in old.items():
            self._arrays[name][: len(array)] = array
        if not old:
            self._arrays["first_sequence"][0] = self._end
            self._arrays["first_child"][ROOT] = -1

    def _cut_links(self) -> None:
        """The arrays as far as they are in use."""
        arrays, states, end = self._arrays, self._states, self._end
        self.links = GrownLinks(
            arrays["first_sequence"][: states + 1],
            arrays["first_child"][:end],
            arrays["next_sibling"][:states],
            arrays["parent"][:states],
            arrays["can_end"][:end],
        )

    def state_after(self, sequence: int, string: str) -> int | None:
        """The state with this string that follows a sequence; None if it was not met."""
        return self._numbers.get((sequence, string))

    def meet(self, sequence: int, string: str, legal) -> int:
        """The state with this string and these legal actions that follows a sequence; added if it was not met before.

        If the same string comes with other legal actions, they belong to the string. OUTSIDE if there is no room for it.
        """
        state = self._numbers.get((sequence, string))
        if state is not None and self._has_legal(state, legal):
            return state
        if state is not None:
            string = string_with_actions(string, legal)
            state = self._numbers.get((sequence, string))
            if state is not None:
                return state
        if self.num_states >= self.max_states:
            self._say_full()
            return OUTSIDE
        return self._add(sequence, string, legal)

    def _has_legal(self, state: int, legal) -> bool:
        return self.legal_actions(state).tolist() == list(legal)

    def _say_full(self) -> None:
        if not self.is_full:
            self.is_full = True
            _log.warning(
                "the tree of %s has its %s states and grows no more; episodes that leave it are played on, at random, and "
                "count at the maximum utility in upper bounds. More states: raise max_states",
                self.game_string or "the game",
                f"{self.max_states:,}",
            )

    def _add(self, sequence: int, string: str, legal) -> int:
        arrays, state, first = self._arrays, self._states, self._end
        end = first + len(legal)
        decisions = 1 if sequence == ROOT else int(arrays["depth"][self.state_of(sequence)]) + 1
        self.horizon = max(self.horizon, decisions)
        self.max_actions = max(self.max_actions, len(legal))
        self.most_children = max(self.most_children, int(arrays["followers"][sequence]) + 1)
        needed = Room(state + 1, end, self.horizon, self.most_children)
        if any(need > have for need, have in zip(needed, self.room)):
            self._make_room(
                Room(*(have if need <= have else max(2 * have, need) for need, have in zip(needed, self.room)))
            )
            arrays = self._arrays
        arrays["parent"][state], arrays["depth"][state] = sequence, decisions
        arrays["next_sibling"][state] = arrays["first_child"][sequence]
        arrays["first_child"][sequence] = state
        arrays["followers"][sequence] += 1
        arrays["first_child"][first:end] = -1
        arrays["action"][first:end] = legal
        arrays["first_sequence"][state + 1] = end
        self.names.append(string)
        self._numbers[sequence, string] = state
        self._states, self._end = state + 1, end
        self._cut_links()
        return state

    def end(self, sequence: int) -> None:
        """An episode ended right after the sequence."""
        if sequence == ROOT:
            self.root_can_end = True
        self._arrays["can_end"][sequence] = True

    def state_of(self, sequence: int) -> int:
        """The state of an own sequence."""
        return bisect.bisect_right(self.links.first_sequence, sequence) - 1

    @property
    def root(self) -> int:
        return ROOT

    @property
    def sequence_end(self) -> int:
        return self._end

    @property
    def num_states(self) -> int:
        return self._states

    @property
    def num_sequences(self) -> int:
        """Own sequences, the root not counted: they are 1 .. num_sequences."""
        return self._end - 1

    @property
    def num_terminals(self) -> int:
        """The sequences on which episodes were seen to end."""
        return int(np.count_nonzero(self.can_end))

    num_merged_terminals = num_terminals

    @property
    def fingerprint(self) -> str:
        """A hash of the tree as it is now."""
        return storage.fingerprint(*self.links, self.action, self.player, self.min_utility, self.max_utility)

    def __reduce_ex__(self, protocol):
        return object.__reduce_ex__(self, protocol)

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name != "links"}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._cut_links()

    @property
    def first_sequence(self) -> np.ndarray:
        return self.links.first_sequence

    @property
    def first_child(self) -> np.ndarray:
        return self.links.first_child

    @property
    def next_sibling(self) -> np.ndarray:
        return self.links.next_sibling

    @property
    def parent(self) -> np.ndarray:
        return self.links.parent

    @property
    def can_end(self) -> np.ndarray:
        return self.links.can_end

    @property
    def action(self) -> np.ndarray:
        return self._arrays["action"][: self._end]

    def __repr__(self) -> str:
        return (
            f"GrownTree(player={self.player}, num_states={self.num_states}, num_sequences={self.num_sequences}, "
            f"horizon={self.horizon}, max_states={self.max_states})"
        )
