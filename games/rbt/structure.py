"""The data of an enumerated RBT: two infostate trees, and the positions that connect their states."""

from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tmdp_spiel.core import storage, validation
from tmdp_spiel.games.rbt.rules import DRAW, ILLEGAL, LOSS, NUM_SENSES, NUM_SQUARES, WIN
from tmdp_spiel.trees import infostate_tree

# How an episode can end right after a sequence, as bits of `PlayerTree.endings`.
ENDS_LOST, ENDS_DRAWN, ENDS_WON = 1, 2, 4

# What compiled passes see of a PlayerTree, in one argument.
Links = collections.namedtuple("Links", ["level_start", "first_sequence", "first_child", "parent", "action"])

# Lists of numbers in two arrays: the i-th list is items[first[i]:first[i + 1]].
Lists = collections.namedtuple("Lists", ["first", "items"])


@dataclasses.dataclass
class PlayerTree:
    """One player's infostate tree in level order; the states of a level are contiguous."""

    first_sequence: np.ndarray  # int32[S + 1]
    first_child: np.ndarray  # int32[J + 2]
    parent: np.ndarray  # int32[S]
    action: np.ndarray  # int8[J + 1]; squares 0..8, senses 9..12, 0 for the root
    endings: np.ndarray  # uint8[J + 1]; how an episode can end right after the sequence
    level_start: np.ndarray  # int64[levels + 1]; the states of level d are level_start[d] .. level_start[d + 1]
    observation: np.ndarray  # uint8[S]; what the sense before a move state showed
    opened_from: tuple | None = None  # arguments of `load`

    @property
    def num_states(self) -> int:
        return len(self.parent)

    @property
    def num_sequences(self) -> int:
        """The number of sequences besides the root."""
        return len(self.action) - 1

    @property
    def sequence_end(self) -> int:
        return len(self.action)

    @property
    def links(self) -> Links:
        return Links(self.level_start, self.first_sequence, self.first_child, self.parent, self.action)

    def uniform_plan(self) -> np.ndarray:
        """The plan that takes all actions of a state with the same probability."""
        counts = np.diff(self.first_sequence)
        return np.append(1.0, np.repeat(1.0 / counts, counts))

    @classmethod
    def load(cls, path: str | os.PathLike, mark: str) -> PlayerTree:
        """Opens the tree of x or o of a saved enumeration, memory-mapped. It is pickled as its path."""
        with storage.opening_again(path), storage.opening(path) as saved:
            tree = cls(**_arrays(cls, saved, mark), opened_from=(pathlib.Path(path).resolve(), mark))
            tree.check()
        return tree

    def check(self) -> None:
        """Raises an error for arrays that passes over the tree could not traverse."""
        _require_kinds(self)
        states, sequences, starts = self.num_states, self.sequence_end, self.level_start
        lengths = {"first_sequence": states + 1, "first_child": sequences + 1, "endings": sequences}
        for name, length in (lengths | {"observation": states}).items():
            _require(len(getattr(self, name)) == length, f"{name} must have {length} entries")
        _require(_rises(starts, states) and len(starts) > 1 and np.all(starts[1:] > starts[:-1]), "levels overlap")
        _require(self.first_sequence[0] == 1 and self.first_sequence[-1] == sequences, "sequences are missing")
        links = infostate_tree.Links(self.first_sequence, self.first_child, self.parent, self.endings > 0)
        _require(infostate_tree.is_level_order(links) and self.first_child[1] == 1, "the states are not in level order")
        for above, start, end in zip(starts[:-2], starts[1:-1], starts[2:]):
            parents = self.parent[start:end]
            in_level = self.first_sequence[above] <= parents.min() and parents.max() < self.first_sequence[start]
            _require(in_level, "a state does not follow the level above it")
        _require(self.action.min() >= 0 and self.action.max() < NUM_SQUARES + NUM_SENSES, "an action is unknown")
        _require(self.endings.max() < 8, "an ending is unknown")

    def __reduce_ex__(self, protocol) -> str | tuple:
        if self.opened_from is None:
            return super().__reduce_ex__(protocol)
        return PlayerTree.load, self.opened_from


@dataclasses.dataclass
class Ply:
    """The positions after a given number of moves. States are numbered within the level of move states they form."""

    player: int
    level: int  # the level of the mover's tree that holds its move states
    next_position: np.ndarray  # int32[N, 9]; the position in the next ply, or ILLEGAL, LOSS, DRAW, WIN
    first_live: np.ndarray  # int64[N + 1]; the live states of position h are live[first_live[h] .. first_live[h + 1]]
    live: np.ndarray  # int32[...]
    first_where: np.ndarray  # int64[states + 1]; state s is live at where[first_where[s] .. first_where[s + 1]]
    where: np.ndarray  # int32[...]

    @property
    def num_positions(self) -> int:
        return len(self.next_position)

    @property
    def live_states(self) -> Lists:
        """For each position its live states."""
        return Lists(self.first_live, self.live)

    @property
    def positions(self) -> Lists:
        """For each move state of the level the positions at which it is live, in increasing order."""
        return Lists(self.first_where, self.where)

    def check(self, tree: PlayerTree, positions_after: int) -> None:
        """Raises an error for arrays that passes over the positions could not traverse."""
        _require(self.player in (0, 1) and 0 <= self.level < len(tree.level_start) - 1, "a ply has no level")
        _require_kinds(self)
        start, end = (int(number) for number in tree.level_start[self.level : self.level + 2])
        _require(self.next_position.shape[1:] == (NUM_SQUARES,), "next_position must have nine columns")
        least, most = self.next_position.min(initial=0), self.next_position.max(initial=-1)
        _require(min(ILLEGAL, LOSS, DRAW, WIN) <= least and most < positions_after, "a move leads nowhere")
        _require(len(self.first_live) == self.num_positions + 1, "positions and live states do not fit together")
        _require(_rises(self.first_live, len(self.live)), "the live states of positions overlap")
        _require(
            len(self.first_where) == end - start + 1, "the states of a ply and their positions do not fit together"
        )
        _require(_rises(self.first_where, len(self.where)), "the positions of states overlap")
        for numbers, bound in ((self.live, end - start), (self.where, self.num_positions)):
            _require(not len(numbers) or (numbers.min() >= 0 and numbers.max() < bound), "a state is out of range")
        moves = tree.action[tree.first_sequence[start] : tree.first_sequence[end]]
        _require(moves.max() < NUM_SQUARES, "a state that moves has a sense")


@dataclasses.dataclass
class Enumeration:
    """Both trees, and the plies from the first turn on."""

    trees: tuple[PlayerTree, PlayerTree]  # of x and of o
    plies: list[Ply]
    description: str  # the game as OpenSpiel writes it

    def __post_init__(self) -> None:
        for _, part in self._parts():
            for name in _array_names(part):
                setattr(part, name, validation.read_only(getattr(part, name)))

    def save(self, path: str | os.PathLike) -> None:
        """Writes everything to a new directory at path atomically."""
        contents: dict = {
            "game": {
                "description": self.description,
                "plies": [{"player": ply.player, "level": ply.level} for ply in self.plies],
            }
        }
        for prefix, part in self._parts():
            contents |= {f"{prefix}_{name}": getattr(part, name) for name in _array_names(part)}
        storage.save_directory(path, contents)

    def _parts(self) -> Iterator[tuple[str, PlayerTree | Ply]]:
        yield from zip("xo", self.trees)
        yield from ((f"ply{k}", ply) for k, ply in enumerate(self.plies))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Enumeration:
        """Opens a saved enumeration, its arrays memory-mapped; see storage.SavedDirectory for what is checked."""
        trees = PlayerTree.load(path, "x"), PlayerTree.load(path, "o")
        with storage.opening(path) as saved:
            facts = saved.document("game")
            plies = [Ply(**ply, **_arrays(Ply, saved, f"ply{k}")) for k, ply in enumerate(facts["plies"])]
            _require(len(plies) > 0, "there are no positions")
            for ply, after in zip(plies, [*plies[1:], None]):
                _require(isinstance(ply.level, int) and ply.player in (0, 1), "a ply has no level")
                ply.check(trees[ply.player], after.num_positions if after else 0)
                _require(after is None or after.player == 1 - ply.player, "the players do not take turns")
            _require(plies[0].num_positions == 1, "there is not one position at the start")
            return cls(trees, plies, facts["description"])


def _array_names(part: PlayerTree | Ply | type) -> list[str]:
    return [field.name for field in dataclasses.fields(part) if field.type == "np.ndarray"]


def _arrays(kind: type, saved: storage.SavedDirectory, prefix: str) -> dict[str, Any]:
    return {name: saved.array(f"{prefix}_{name}") for name in _array_names(kind)}


def _require(holds: bool | np.bool_, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _require_kinds(part: PlayerTree | Ply) -> None:
    """Whole numbers in as many dimensions as kernels index."""
    for name in _array_names(part):
        array = getattr(part, name)
        dimensions = 2 if name == "next_position" else 1
        _require(array.dtype.kind in "iu" and array.ndim == dimensions, f"{name} is not an array of whole numbers")


def _rises(starts: np.ndarray, end: int) -> bool:
    """Whether these are the starts of ranges that follow each other from 0 to `end`."""
    return len(starts) > 0 and starts[0] == 0 and starts[-1] == end and bool(np.all(starts[1:] >= starts[:-1]))


def describe(start: tuple[int, ...], useful_senses: bool, forced_wins: bool) -> str:
    """The game as OpenSpiel writes it."""
    marks = "".join(f"{'xo'[turn % 2]}{square}" for turn, square in enumerate(start))
    return f"python_rbt(forced_wins={forced_wins},start={marks},useful_senses={useful_senses})"
