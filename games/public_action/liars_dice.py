"""Liar's dice in sequence form: a public tree of bids, times the private hands.

All actions are public, and the dice of the two players are independent. So a player's information state is a hand and
the set of bids so far (bids only increase, so the set determines their order), and every hand has a copy of one public
tree. An ending is a public node at which the player to move calls "liar" on the last bid. It pairs one sequence of the
caller with one of the bidder for every pair of hands, and whether the bid is true depends only on how many dice of each
hand match it. With y(h') the reach of the other's sequence with hand h', p the probability of a hand, and m(h) the
number of matching dice, the player's sequence with hand h collects

    p(h) [ payoff if true * sum of p(h') y(h') over m(h') >= quantity - m(h)  +  payoff if false * the rest ],

so a public node needs one pass over the hands instead of one over the pairs of hands.
"""

from __future__ import annotations

import collections
import itertools
import math

import numba
import numpy as np

from tmdp_spiel.games.public_action.exact_game import ExactGame
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.traversal import ROOT

MAX_BIDS = 24  # there are tables over all sets of bids
_BLOCK = 1024  # public nodes that a thread takes at a time

# The public tree of one player: the nodes are the sets of bids, as bits, at which the player is to move, in level
# order. called: the public sequence of the other player that leads to a node, -1 before the first bid.
# level_sequence: the first sequence of each level. Block i of nodes, which one thread takes at a time, is
# block_start[i] .. block_start[i + 1], all of level level_of[i].
PublicTree = collections.namedtuple(
    "PublicTree",
    [
        "bids", "called", "first_sequence", "first_child", "action", "level_start", "level_sequence",
        "level_of", "block_start",
    ],
)  # fmt: skip

# matches[b, h]: the dice of hand h that match the face of bid b; quantity[b]: how many dice bid b claims
Hands = collections.namedtuple("Hands", ["chance", "matches", "quantity"])


class LiarsDice(ExactGame):
    """The sequence form of liars_dice. Kinds of endings: player 1 wins, player 0 wins."""

    leading_one_hots = 2
    symmetric = False

    def __init__(self, game_string: str, numdice: int, dice_sides: int, bidding_rule: str = "reset-face"):
        self.numdice, self.dice_sides, self.bidding_rule = numdice, dice_sides, bidding_rule
        self.num_bids = 2 * numdice * dice_sides
        if self.num_bids > MAX_BIDS:
            raise ValueError(f"liar's dice with {self.num_bids} bids is too large; at most {MAX_BIDS} are possible")
        self.faces = list(itertools.combinations_with_replacement(range(1, dice_sides + 1), numdice))  # of each hand
        self.hands = _describe_hands(self)
        self.node_of_bids, *self.public = _public_trees(self.num_bids)
        first, second = (
            _player_tree(player, self.public[player], len(self.faces), LiarsDiceNames(self, player), game_string)
            for player in (0, 1)
        )
        super().__init__((first, second), [[-1.0, 1.0], [1.0, -1.0]])

    def bid(self, number: int) -> tuple[int, int]:
        """(quantity, face) of a bid."""
        if self.bidding_rule == "reset-face":
            return number // self.dice_sides + 1, number % self.dice_sides + 1
        return number % (2 * self.numdice) + 1, number // (2 * self.numdice) + 1

    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        won, lost = payoff[1 - player], payoff[player]
        own, other = self.public[player], self.public[1 - player]
        out[ROOT] = 0.0
        _endings(own, other, player, self.hands, self.numdice, reach, True, lost, won, out)
        _endings(other, own, 1 - player, self.hands, self.numdice, reach, False, won, lost, out)

    def place(self, player: int, state: int) -> tuple[int, int]:
        """The hand and the set of bids, as bits, of a state."""
        hand, node = _place(self.public[player].level_start, len(self.faces), state)
        return int(hand), int(self.public[player].bids[node])

    def state_at(self, hand: int, bids: int) -> int:
        """The state of a hand and a set of bids, of the player who is to move there."""
        starts = self.public[bids.bit_count() % 2].level_start
        node = int(self.node_of_bids[bids])
        level = int(np.searchsorted(starts, node, "right")) - 1
        start, end = int(starts[level]), int(starts[level + 1])
        return len(self.faces) * start + hand * (end - start) + node - start

    def history(self, player: int, state: int) -> list[int]:
        hand, bids = self.place(player, state)
        dice = [face - 1 for face in self.faces[hand]]
        return dice + dice + [number for number in range(self.num_bids) if bids >> number & 1]

    @property
    def tensor_width(self) -> int:
        return 2 + self.numdice * self.dice_sides + self.num_bids + 1

    def tensors(self, player: int, states: np.ndarray) -> np.ndarray:
        tensors = np.zeros((len(states), self.tensor_width), np.float32)
        _fill_tensors(player, self.public[player], np.array(self.faces), self.dice_sides, states, tensors)
        return tensors


class LiarsDiceNames:
    """OpenSpiel's information-state strings, such as "25 1-4 4-5": the dice, then the bids."""

    def __init__(self, game: LiarsDice, player: int):
        self._game, self._player = game, player

    def string(self, state: int) -> str:
        hand, bids = self._game.place(self._player, state)
        said = [self._bid_string(number) for number in range(self._game.num_bids) if bids >> number & 1]
        return " ".join(["".join(map(str, self._game.faces[hand])), *said])

    def _bid_string(self, number: int) -> str:
        return "{}-{}".format(*self._game.bid(number))

    def index(self, string: str) -> int:
        dice, *said = string.split(" ")
        numbers = {self._bid_string(number): number for number in range(self._game.num_bids)}
        faces = tuple(map(int, dice)) if dice.isdecimal() else ()
        bids = sum(1 << numbers[bid] for bid in set(said) if bid in numbers)
        if faces in self._game.faces and bids.bit_count() % 2 == self._player:
            state = self._game.state_at(self._game.faces.index(faces), bids)
            if self.string(state) == string:
                return state
        raise KeyError(f"no legal play leads player {self._player} to the information state {string!r}")

    def __len__(self) -> int:
        return len(self._game.faces) * len(self._game.public[self._player].bids)


def count_sequences(numdice: int, dice_sides: int) -> int:
    """The number of sequences of both players: per hand, every set of bids except the empty one is bid and called."""
    return 2 * (2 ** (2 * numdice * dice_sides) - 1) * math.comb(numdice + dice_sides - 1, numdice)


def _describe_hands(game: LiarsDice) -> Hands:
    orders = [
        math.factorial(game.numdice) // math.prod(math.factorial(faces.count(face)) for face in set(faces))
        for faces in game.faces
    ]
    bids = [game.bid(number) for number in range(game.num_bids)]
    wild = game.dice_sides
    matches = [[sum(die in (face, wild) for die in faces) for faces in game.faces] for _, face in bids]
    return Hands(
        np.array(orders) / game.dice_sides**game.numdice,
        np.array(matches, np.int64),
        np.array([quantity for quantity, _ in bids], np.int64),
    )


def _public_trees(num_bids: int) -> tuple[np.ndarray, PublicTree, PublicTree]:
    """The node of every set of bids, in the public tree of the player who is to move there, and those trees."""
    trees = [_public_tree(player, num_bids) for player in (0, 1)]
    node_of_bids = np.empty(2**num_bids, np.int32)
    for tree in trees:
        node_of_bids[tree.bids] = np.arange(len(tree.bids), dtype=np.int32)
    for own, other in (trees, reversed(trees)):
        _fill_called(own, other, node_of_bids)
    return node_of_bids, trees[0], trees[1]


@numba.njit(cache=True)
def _public_tree(player, num_bids):
    """Level order: a bid is followed by the nodes after the other's higher bids."""
    nodes = 2 ** (num_bids - 1)
    bids = np.zeros(nodes, np.int32)
    first_sequence = np.zeros(nodes + 1, np.int32)
    sequences = 2**num_bids - 1
    first_child = np.empty(sequences + 1, np.int32)
    action = np.empty(sequences, np.int8)
    level_start, level_sequence = [0], [0]
    if player == 0:
        found = 1
    else:
        found = num_bids
        for bid in range(num_bids):
            bids[bid] = 1 << bid
    j = 0
    for node in range(nodes):
        if node == level_start[-1]:
            level_sequence[-1] = j
            level_start.append(found)
            level_sequence.append(0)
        lowest = 0
        while bids[node] >> lowest:
            lowest += 1
        for bid in range(lowest, num_bids + 1):
            if bid == num_bids and bids[node] == 0:
                break
            first_child[j] = found
            action[j] = bid
            j += 1
            for answer in range(bid + 1, num_bids):
                bids[found] = bids[node] | (1 << bid) | (1 << answer)
                found += 1
        first_sequence[node + 1] = j
    first_child[j] = nodes
    level_sequence[-1] = j
    level_of, block_start = [0 for _ in range(0)], [0]
    for level in range(len(level_start) - 1):
        while block_start[-1] < level_start[level + 1]:
            level_of.append(level)
            block_start.append(min(block_start[-1] + _BLOCK, level_start[level + 1]))
    return PublicTree(
        bids,
        np.full(nodes, -1, np.int32),
        first_sequence,
        first_child[: j + 1],
        action[:j],
        np.array(level_start),
        np.array(level_sequence),
        np.array(level_of),
        np.array(block_start),
    )


@numba.njit(cache=True)
def _fill_called(own, other, node_of_bids):
    for node in range(len(own.bids)):
        last = -1
        while own.bids[node] >> (last + 1):
            last += 1
        if last >= 0:
            above = node_of_bids[own.bids[node] ^ (1 << last)]
            lowest = other.action[other.first_sequence[above]]
            own.called[node] = other.first_sequence[above] + last - lowest


def _player_tree(player: int, public: PublicTree, num_hands: int, names, game_string: str) -> InfostateTree:
    """A copy of the public tree for every hand, level by level."""
    states, sequences = num_hands * len(public.bids), 1 + num_hands * len(public.action)
    first_sequence = np.empty(states + 1, np.int32)
    first_child = np.empty(sequences + 1, np.int32)
    parent = np.zeros(states, np.int32)
    action = np.zeros(sequences, np.int16)
    _copy_for_hands(public, num_hands, first_sequence, first_child, parent, action)
    return InfostateTree(
        first_sequence=first_sequence,
        first_child=first_child,
        parent=parent,
        action=action,
        can_end=np.arange(sequences) != ROOT,
        player=player,
        min_utility=-1.0,
        max_utility=1.0,
        names=names,
        game_string=game_string,
    )


@numba.njit(cache=True)
def _copy_for_hands(public, num_hands, first_sequence, first_child, parent, action):
    s, j, child = 0, ROOT + 1, num_hands * public.level_start[1]
    first_child[ROOT] = 0
    for level in range(len(public.level_start) - 1):
        for _ in range(num_hands):
            for node in range(public.level_start[level], public.level_start[level + 1]):
                first_sequence[s] = j
                s += 1
                for k in range(public.first_sequence[node], public.first_sequence[node + 1]):
                    action[j] = public.action[k]
                    first_child[j] = child
                    for _ in range(public.first_child[k], public.first_child[k + 1]):
                        parent[child] = j
                        child += 1
                    j += 1
    first_sequence[s] = j
    first_child[j] = s


@numba.njit(cache=True, parallel=True)
def _endings(caller, bidder, calling, hands, numdice, reach, own_call, if_true, if_false, out):
    """Endings at the nodes of the caller, who is player `calling`.

    If own_call, writes the values that the caller's sequences collect from the bidder's reach; otherwise the values
    that the bidder's sequences collect from the caller's reach.
    """
    num_hands = len(hands.chance)
    for block in numba.prange(len(caller.level_of)):
        level = caller.level_of[block]
        if level >= 1 - calling:  # player 0 cannot call before the first bid
            call_base, call_size = _copies(caller.level_sequence, level, num_hands)
            bid_base, bid_size = _copies(bidder.level_sequence, level - 1 + calling, num_hands)
            mass, value = np.empty(numdice + 1), np.empty(numdice + 1)  # by the number of matching dice
            for node in range(caller.block_start[block], caller.block_start[block + 1]):
                bid = bidder.action[caller.called[node]]
                call = call_base + caller.first_sequence[node + 1] - 1
                called = bid_base + caller.called[node]
                from_, from_size = (called, bid_size) if own_call else (call, call_size)
                to, to_size = (call, call_size) if own_call else (called, bid_size)
                mass[:] = 0.0
                for h in range(num_hands):
                    mass[hands.matches[bid, h]] += hands.chance[h] * reach[from_ + h * from_size]
                for own in range(numdice + 1):
                    true, false = 0.0, 0.0
                    for m in range(numdice + 1):
                        if own + m >= hands.quantity[bid]:
                            true += mass[m]
                        else:
                            false += mass[m]
                    value[own] = if_true * true + if_false * false
                for h in range(num_hands):
                    out[to + h * to_size] = hands.chance[h] * value[hands.matches[bid, h]]


@numba.njit(cache=True, inline="always")
def _copies(level_sequence, level, num_hands):
    """(base, size): public sequence j of this level, with hand h, is sequence base + j + h * size, after the root."""
    size = level_sequence[level + 1] - level_sequence[level]
    return 1 + (num_hands - 1) * level_sequence[level], size


@numba.njit(cache=True)
def _place(level_start, num_hands, state):
    """The hand and the public node of a state."""
    level = 0
    while num_hands * level_start[level + 1] <= state:
        level += 1
    start, end = level_start[level], level_start[level + 1]
    hand = (state - num_hands * start) // (end - start)
    return hand, state - num_hands * start - hand * (end - start) + start


@numba.njit(cache=True)
def _fill_tensors(player, public, faces, dice_sides, states, tensors):
    numdice = faces.shape[1]
    for i in range(len(states)):
        hand, node = _place(public.level_start, len(faces), states[i])
        tensors[i, player] = 1
        for die in range(numdice):
            tensors[i, 2 + die * dice_sides + faces[hand, die] - 1] = 1
        bids, place = public.bids[node], 2 + numdice * dice_sides
        while bids:
            if bids & 1:
                tensors[i, place] = 1
            bids >>= 1
            place += 1
