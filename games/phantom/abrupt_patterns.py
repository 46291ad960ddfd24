"""Which patterns of an abrupt version are compatible, the chains of their stones, and the numbering of bumps.

See `abrupt` for what patterns, chains and bumps are.
"""

from __future__ import annotations

import collections
import itertools
import math

import numba
import numpy as np

from tmdp_spiel.games.phantom.rules import DRAW, POPCOUNT, WIN_0, Rules

# The histories of one player, by the number of stones and of tries: where the class begins (-1: no game ends so), and
# the number of patterns. place: of a pattern in its class, or -1. rank: of a mask among those of its size.
Classes = collections.namedtuple("Classes", ["first", "num_patterns", "place", "rank", "size"])

# Chain shapes k(1) .. k(b): sizes[i, :b], the number of chains, and the chain of every order from first_order[i] on.
Shapes = collections.namedtuple("Shapes", ["sizes", "num_chains", "first_order", "chain_of_order"])

# Pairs of patterns by (own stones, other's stones, kind of ending): the groups first_group[n, m, kind] and following.
# A group has one pattern of the other and one shape of own chains; its members have the own pattern and the shape of
# the other's chains.
Patterns = collections.namedtuple(
    "Patterns",
    ["first_group", "tries", "other_pattern", "shape", "first_member", "own_pattern", "other_shape"],
)

# Bumps over some of k cells among the bumps over all of them: node[first[k, mask, b] + i] is the node, in the trie over
# k cells, of the i-th node of b bumps in the trie over the cells of a mask.
Embeddings = collections.namedtuple("Embeddings", ["first", "node"])

MAX = 10
FACTORIAL = np.array([math.factorial(n) for n in range(MAX)])
PERMUTATIONS = np.array([[math.perm(n, b) for b in range(MAX)] for n in range(MAX)])


# A pair of patterns with what follows from it: the numbers of stones and tries, the patterns as masks of tries, and per
# player the shape of its chain, k(r) for the bumps of the other.
_PatternPair = collections.namedtuple("_PatternPair", ["stones", "kind", "tries", "patterns", "shapes"])


def feasible_patterns(sizes: list[tuple[int, int, int]]) -> list[_PatternPair]:
    found = []
    for first, second, kind in sizes:
        for tries in range(max(first, 1), first + second + 1):
            # player 0 made `tries`; player 1 as many if it moved last, otherwise one less
            for last in (0, 1) if kind == DRAW else (0,) if kind == WIN_0 else (1,):
                made = (tries, tries - 1 + last)
                if made[1] < second or made[0] - first > second or made[1] - second > first:
                    continue
                for stones in itertools.product(
                    _stone_times(first, made[0], last == 0), _stone_times(second, made[1], last == 1)
                ):
                    shapes = _shape(stones[0], stones[1], made[1], 0), _shape(stones[1], stones[0], made[0], 1)
                    if all(k >= r for shape in shapes for r, k in enumerate(shape, start=1)):
                        masks = tuple(sum(1 << t - 1 for t in times) for times in stones)
                        found.append(_PatternPair((first, second), kind, made, masks, shapes))
    return found


def _stone_times(stones: int, tries: int, ends_with_stone: bool) -> list[tuple[int, ...]]:
    if ends_with_stone:
        if stones == 0:
            return []
        return [(*times, tries) for times in itertools.combinations(range(1, tries), stones - 1)]
    return list(itertools.combinations(range(1, tries + 1), stones))


def _shape(own: tuple[int, ...], others: tuple[int, ...], made: int, player: int) -> tuple[int, ...]:
    """k(r): the player's stones before the other's r-th bump; the other made `made` tries, its stones at `others`."""
    bumps = [t for t in range(1, made + 1) if t not in others]
    return tuple(sum(t <= bump - player for t in own) for bump in bumps)


def number_classes(rules: Rules, player: int, endings, found: list[_PatternPair]) -> Classes:
    cells = rules.num_cells
    first, num_patterns = np.full((MAX, MAX), -1), np.zeros((MAX, MAX), np.int64)
    place = np.full((MAX, 1 << cells), -1)  # by the number of tries and the pattern
    rank = np.full(1 << cells, -1)
    counts = np.zeros(MAX, np.int64)
    for mask in sorted({ending[player] for ending in endings}):
        rank[mask] = counts[POPCOUNT[mask]]
        counts[POPCOUNT[mask]] += 1
    size = 0
    for n, k, pattern in sorted({(p.stones[player], p.tries[player], p.patterns[player]) for p in found}):
        place[k, pattern] = num_patterns[n, k]
        num_patterns[n, k] += 1
    for n in range(cells + 1):
        for k in range(cells + 1):
            if num_patterns[n, k]:
                first[n, k] = size
                size += counts[n] * num_patterns[n, k] * math.perm(cells - n, k - n) * math.factorial(n)
    return Classes(first, num_patterns, place, rank, int(size))


def group_patterns(
    player: int, found: list[_PatternPair], classes: tuple[Classes, Classes], table: ShapeTable
) -> Patterns:
    groups = collections.defaultdict(list)
    for pair in found:
        n, m = pair.stones[player], pair.stones[1 - player]
        k, k_other = pair.tries[player], pair.tries[1 - player]
        theirs = int(classes[1 - player].place[k_other, pair.patterns[1 - player]])
        mine = int(classes[player].place[k, pair.patterns[player]])
        group = (n, m, pair.kind, k, k_other, theirs, table.number(n, pair.shapes[player]))
        groups[group].append((mine, table.number(m, pair.shapes[1 - player])))
    keys = sorted(groups)
    first_group = np.zeros((MAX, MAX, 3, 2), np.int64)
    for at, (n, m, kind, *_) in enumerate(keys):
        if not first_group[n, m, kind, 1]:
            first_group[n, m, kind, 0] = at
        first_group[n, m, kind, 1] = at + 1
    members = [member for key in keys for member in groups[key]]
    return Patterns(
        first_group,
        np.array([key[3:5] for key in keys]),
        np.array([key[5] for key in keys]),
        np.array([key[6] for key in keys]),
        np.cumsum([0] + [len(groups[key]) for key in keys]),
        np.array([mine for mine, _ in members]),
        np.array([shape for _, shape in members]),
    )


class ShapeTable:
    """Numbers the shapes of chains over n cells, and computes which chain every order of the cells has."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}

    def number(self, n: int, shape: tuple[int, ...]) -> int:
        return self._numbers.setdefault((n, shape), len(self._numbers))

    def shapes(self) -> Shapes:
        sizes = np.zeros((len(self._numbers), MAX), np.int64)
        parts, num_chains = [], []
        first = np.zeros(len(self._numbers), np.int64)
        orders = {n: _orders(n) for n in range(MAX)}
        total = 0
        for (n, shape), i in self._numbers.items():
            sizes[i, : len(shape)] = shape
            # the cells in S(r) and not in S(r - 1) are those of block r - 1; a chain is the block of every cell
            blocks = np.searchsorted(np.array(shape), orders[n], side="left") if shape else np.zeros_like(orders[n])
            codes = blocks @ (len(shape) + 1) ** np.arange(n)
            listed = np.empty(len(codes), np.int64)
            number = int(_list_chains(n, sizes[i], len(shape), listed))
            by_code = np.argsort(listed[:number])
            parts.append(by_code[np.searchsorted(listed[:number], codes, sorter=by_code)])
            num_chains.append(number)
            first[i] = total
            total += len(codes)
        return Shapes(sizes, np.array(num_chains), first, np.concatenate(parts).astype(np.int32))


def _orders(n: int) -> np.ndarray:
    """int64[n!, n]: the place of every cell in each order, by `order_rank`."""
    orders = np.array(list(itertools.permutations(range(1, n + 1))), np.int64).reshape(math.factorial(n), n)
    ranks = np.zeros(len(orders), np.int64)
    for i in range(n):
        ranks = ranks * (n - i) + (orders[:, i + 1 :] < orders[:, i : i + 1]).sum(axis=1)
    return orders[np.argsort(ranks)]


def embed_bumps(cells: int) -> Embeddings:
    first = np.zeros((cells + 1, 1 << cells, cells + 1), np.int64)
    total = 0
    for k in range(cells + 1):
        for mask in range(1 << k):
            for b in range(mask.bit_count() + 1):
                first[k, mask, b] = total
                total += math.perm(mask.bit_count(), b)
    node = np.zeros(total, np.int32)
    _fill_embeddings(cells, first, node)
    return Embeddings(first, node)


# Kernels


@numba.njit(cache=True)
def next_subset(after, allowed, size):
    """The next larger mask than `after` of `size` cells of `allowed`; -1 if there is none."""
    for subset in range(after + 1, allowed + 1):
        if subset & ~allowed == 0 and POPCOUNT[subset] == size:
            return subset
    return -1


@numba.njit(cache=True)
def _list_chains(n, sizes, bumps, listed):
    """Lists the chains of a shape in the order of `_contract`, as the blocks of the cells; returns their number."""
    chain = np.full(bumps + 2, -1)
    chain[bumps + 1] = (1 << n) - 1
    level, at = bumps, 0
    while level <= bumps:
        if level > 0:
            chain[level] = next_subset(chain[level], chain[level + 1], sizes[level - 1])
            if chain[level] < 0:
                level += 1
                continue
        if level > 1:
            level -= 1
            chain[level] = -1
            continue
        code = 0
        for c in range(n - 1, -1, -1):
            block = 0
            while block < bumps and not chain[block + 1] >> c & 1:
                block += 1
            code = code * (bumps + 1) + block
        listed[at] = code
        at += 1
        if bumps == 0:
            break
    return at


@numba.njit(cache=True)
def _fill_embeddings(cells, first, nodes):
    used = np.zeros((cells + 1, FACTORIAL[cells]), np.int64)  # the cells of a node, by the number of bumps
    for k in range(cells + 1):
        for mask in range(1 << k):
            size = POPCOUNT[mask]
            nodes[first[k, mask, 0]] = 0
            for b in range(1, size + 1):
                node = 0
                for parent in range(PERMUTATIONS[size, b - 1]):
                    taken = used[b - 1, parent]
                    for c in range(k):
                        if mask >> c & 1 and not taken >> c & 1:
                            place = c - POPCOUNT[taken & ((1 << c) - 1)]
                            above = nodes[first[k, mask, b - 1] + parent]
                            nodes[first[k, mask, b] + node] = above * (k - b + 1) + place
                            used[b, node] = taken | 1 << c
                            node += 1
