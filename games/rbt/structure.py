"""What an enumerated RBT consists of: two decision trees, and the positions at which their states meet."""

import dataclasses
import pathlib

import numpy as np

from tmdp_spiel.games.rbt.rules import DRAW, LOSS, WIN
from tmdp_spiel.trees import storage

# How an episode can end right after an own sequence, as bits of `PlayerTree.endings`.
ENDS_LOST, ENDS_DRAWN, ENDS_WON = 1, 2, 4


@dataclasses.dataclass
class PlayerTree:
    """One player's decision tree in level order, every level's states contiguous."""

    first_sequence: np.ndarray  # int32[S + 1]
    first_child: np.ndarray  # int32[J + 1]
    parent: np.ndarray  # int32[S]; J for the first state
    action: np.ndarray  # int8[J]; squares 0..8, senses 9..12
    endings: np.ndarray  # uint8[J]; how an episode can end right after the sequence
    level_start: np.ndarray  # int64[levels + 1]; the states of level d are level_start[d] .. level_start[d + 1]
    observation: np.ndarray  # uint8[S]; what the sense before a move state showed
    opened_from: tuple | None = None  # arguments of `load`

    @property
    def num_states(self):
        return len(self.parent)

    @property
    def num_sequences(self):
        return len(self.action)

    @classmethod
    def load(cls, path, mark):
        """Opens the tree of x or o of a saved enumeration, memory-mapped. It is pickled as its path."""
        with storage.opening_again(path):
            return cls(**_open_arrays(cls, path, mark), opened_from=(pathlib.Path(path).resolve(), mark))

    def __reduce_ex__(self, protocol):
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
    def num_positions(self):
        return len(self.next_position)


@dataclasses.dataclass
class Enumeration:
    """Both trees, and the plies from the first turn on."""

    trees: tuple  # (PlayerTree of x, PlayerTree of o)
    plies: list
    description: str  # the game as OpenSpiel writes it

    def __post_init__(self):
        for part in (*self.trees, *self.plies):
            for name in _array_names(part):
                setattr(part, name, storage.read_only(getattr(part, name)))

    def endings_without_turn(self, player):
        """How a game can end before the player's first turn, as bits like `PlayerTree.endings`."""
        first = self.plies[0]
        if first.player == player:
            return 0
        of_result = {LOSS: ENDS_WON, DRAW: ENDS_DRAWN, WIN: ENDS_LOST}
        endings = 0
        for result in first.next_position[0]:
            endings |= of_result.get(int(result), 0)
        return endings

    def save(self, path):
        """Writes everything to a new directory at path, whole or not at all."""
        contents = {
            "game": {
                "description": self.description,
                "plies": [{"player": ply.player, "level": ply.level} for ply in self.plies],
            }
        }
        for prefix, part in self._parts():
            contents |= {f"{prefix}_{name}": getattr(part, name) for name in _array_names(part)}
        storage.save_directory(path, contents)

    def _parts(self):
        yield from zip("xo", self.trees)
        yield from ((f"ply{k}", ply) for k, ply in enumerate(self.plies))

    @classmethod
    def load(cls, path):
        """Opens a saved enumeration, its arrays memory-mapped."""
        facts = storage.open_json(path, "game")
        trees = tuple(PlayerTree.load(path, mark) for mark in "xo")
        plies = [Ply(**ply, **_open_arrays(Ply, path, f"ply{k}")) for k, ply in enumerate(facts["plies"])]
        return cls(trees, plies, facts["description"])


def _array_names(part):
    return [field.name for field in dataclasses.fields(part) if field.type is np.ndarray]


def _open_arrays(kind, path, prefix):
    return {name: storage.open_array(path, f"{prefix}_{name}") for name in _array_names(kind)}


def describe(start, useful_senses, forced_wins):
    """The game as OpenSpiel writes it."""
    marks = "".join(f"{'xo'[turn % 2]}{square}" for turn, square in enumerate(start))
    return f"python_rbt(forced_wins={forced_wins},start={marks},useful_senses={useful_senses})"
