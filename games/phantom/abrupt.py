"""The gradient of the abrupt versions: the same factorisation, with the times of stones and bumps mixed.

A bump ends the turn, so the players try in strict alternation: try f of player 0 comes before try f of player 1. A
player's history of k tries is its *pattern* (which of the k tries were stones), the order of the stones over the
player's cells A, and the *bumps*, one cell per bump in the order of time. As in the classical versions, a pair of
histories with final stones (A0, A1) is compatible iff every cell is. Given both patterns, the r-th bump of a player
must hit one of the first k(r) stones of the other, where k(r) is the number of stones that the other has placed by
then. So it must lie in the r-th set of a chain

    S(1) ⊂ S(2) ⊂ .. ⊂ S(b),   S(r) = the first k(r) cells in the other's order of stones,

and all orders with the same chain count as one. Again the matrix is a product, of "the other's bumps lie in my chain"
and "my bumps lie in the other's chain". For each pair of patterns, multiplying by it is

    Y(chain, t1) = sum over the bumps v1 in the chain of x(t1, v1)       `_contract`, one bump after the other
    W(chain, chain') = sum over the orders t1 of chain' of Y(chain, t1)
    g(t0, v0) += sum over the chains' that v0 lies in of W(chain of t0, chain')      `_expand`, the transpose

Bumps are numbered as the leaves of a trie: the children of a node are the remaining cells, in increasing order.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.games.phantom.abrupt_patterns import (
    FACTORIAL,
    PERMUTATIONS,
    Classes,
    ShapeTable,
    embed_bumps,
    feasible_patterns,
    group_patterns,
    next_subset,
    number_classes,
)
from tmdp_spiel.games.phantom.classical import Pairs, final_pairs, order_rank
from tmdp_spiel.games.phantom.enumeration import TRY_BITS, PlayerStates
from tmdp_spiel.games.phantom.rules import POPCOUNT, Rules
from tmdp_spiel.trees.traversal import ROOT

# What a thread works with: the rows of bumps, by their number, and the sums over chains and orders.
WorkSpace = collections.namedtuple("WorkSpace", ["buffers", "sums"])


class AbruptGradient:
    """Gradients of an abrupt version, by classes of the player's histories."""

    def __init__(self, rules: Rules, states: tuple[PlayerStates, PlayerStates]):
        self._cells = rules.num_cells
        endings = rules.endings()
        found = feasible_patterns(sorted({(*_sizes(ending), ending[2]) for ending in endings}))
        self._work = max(math.factorial(p.stones[0]) * math.factorial(p.stones[1]) for p in found)  # numbers at a time
        self._scratch: tuple[np.ndarray, np.ndarray, WorkSpace] | None = None
        table = ShapeTable()
        self._classes = number_classes(rules, 0, endings, found), number_classes(rules, 1, endings, found)
        self._patterns = tuple(group_patterns(player, found, self._classes, table) for player in (0, 1))
        self._shapes = table.shapes()
        self._pairs = tuple(final_pairs(player, endings) for player in (0, 1))
        self._parts = tuple(_by_stones(classes, pairs) for classes, pairs in zip(self._classes, self._pairs))
        self._embeddings = embed_bumps(rules.num_cells)
        self.codes = tuple(self._code(rules, player, states[player]) for player in (0, 1))

    def _code(self, rules: Rules, player: int, states: PlayerStates) -> np.ndarray:
        """int32[J + 1, 2]: the entries of the histories after a stone and after a bump; -1 if no game ends so."""
        codes = np.full((states.sequence_end, 2), -1, np.int32)
        _codes(
            self._classes[player],
            rules.num_cells,
            states.first_sequence,
            states.action,
            states.tries,
            states.own,
            states.bumps,
            codes,
        )
        codes[ROOT, 0] = self._classes[player].first[0, 0]
        return codes

    def __call__(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        """Processes histories with the same number of the player's stones together, which limits the memory."""
        mine, theirs = self._classes[player], self._classes[1 - player]
        if self._scratch is None:  # kept: fresh memory would have to be mapped at every call
            entries = max(classes.size for classes in self._classes)
            part = max(end - start for parts in self._parts for start, end, _ in parts)
            self._scratch = np.empty(entries), np.empty(part), _work_space(self._cells, self._work)
        x, work = self._scratch[0][: theirs.size], self._scratch[2]
        x.fill(0.0)
        out.fill(0.0)
        _scatter(self.codes[1 - player], reach, x)
        for start, end, tasks in self._parts[player]:
            g = self._scratch[1][: end - start]
            g.fill(0.0)
            _multiply(
                tasks,
                start,
                mine,
                theirs,
                self._pairs[player],
                self._patterns[player],
                self._shapes,
                self._embeddings,
                payoff,
                self._cells,
                work,
                x,
                g,
            )
            _gather(self.codes[player], start, g, out)


def _by_stones(classes: Classes, pairs: Pairs) -> list[tuple[int, int, np.ndarray]]:
    """For each number of own stones: where its entries begin and end, and the tasks of `pairs`."""
    numbers = [n for n in range(len(classes.first)) if (classes.first[n] >= 0).any()]
    starts = [int(classes.first[n][classes.first[n] >= 0].min()) for n in numbers] + [classes.size]
    stones = POPCOUNT[pairs.target]
    return [(starts[i], starts[i + 1], np.flatnonzero(stones == n)) for i, n in enumerate(numbers)]


def _work_space(cells: int, numbers: int) -> WorkSpace:
    threads = numba.config.NUMBA_NUM_THREADS
    return WorkSpace(np.empty((threads, cells + 1, numbers)), np.empty((threads, 3, numbers)))


def _sizes(ending: tuple[int, int, int]) -> tuple[int, int]:
    return int(POPCOUNT[ending[0]]), int(POPCOUNT[ending[1]])


# Kernels


@numba.njit(cache=True)
def _contract(n, sizes, bumps, embeddings, buffers, width, y):
    """Writes to y[chain] the sum of the rows of buffers[bumps] whose bumps lie in the chain, for all chains.

    buffers[b] has one row of `width` numbers for each node of b bumps over the cells of the set above. The sum runs
    over the last bump first, for every set that a chain can have there; then over the one before it, for every subset;
    and so on. The remaining bumps also lie in the set, so only its cells are kept.
    """
    subset = np.full(bumps + 1, -1)
    level, at = bumps, 0
    while level <= bumps:
        if level > 0:
            above = n if level == bumps else sizes[level]
            subset[level] = next_subset(subset[level], (1 << above) - 1, sizes[level - 1])
            if subset[level] < 0:
                level += 1
                continue
            first = embeddings.first[above, subset[level], level]
            _sum_last(sizes[level - 1], level, embeddings.node[first:], buffers[level], buffers[level - 1], width)
        if level > 1:
            level -= 1
            subset[level] = -1
            continue
        for i in range(width):
            y[at * width + i] = buffers[0, i]
        at += 1
        if bumps == 0:
            break


@numba.njit(cache=True)
def _expand(n, sizes, bumps, embeddings, buffers, width, w):
    """The transpose of `_contract`: adds w[chain] to the rows of buffers[bumps] whose bumps lie in the chain."""
    subset = np.full(bumps + 1, -1)
    level, at = bumps, 0
    while level <= bumps:
        if level > 0:
            above = n if level == bumps else sizes[level]
            if subset[level] >= 0:
                first = embeddings.first[above, subset[level], level]
                _add_last(sizes[level - 1], level, embeddings.node[first:], buffers[level], buffers[level - 1], width)
            subset[level] = next_subset(subset[level], (1 << above) - 1, sizes[level - 1])
            if subset[level] < 0:
                level += 1
                continue
            for i in range(PERMUTATIONS[sizes[level - 1], level - 1] * width):
                buffers[level - 1, i] = 0.0
        if level > 1:
            level -= 1
            subset[level] = -1
            continue
        for i in range(width):
            buffers[0, i] += w[at * width + i]
        at += 1
        if bumps == 0:
            break


@numba.njit(cache=True)
def _sum_last(n, bumps, nodes, rows, sums, width):
    """sums: for each node of bumps - 1 bumps over n cells, the sum of the rows of its children.

    Unsigned indices avoid the check for negative ones, which would prevent vectorisation of the inner loops.
    """
    children, width = n - bumps + 1, np.uint64(width)
    for node in range(PERMUTATIONS[n, bumps - 1]):
        to = np.uint64(node) * width
        from_ = np.uint64(nodes[node * children]) * width
        for i in range(width):
            sums[to + i] = rows[from_ + i]
        for child in range(node * children + 1, (node + 1) * children):
            from_ = np.uint64(nodes[child]) * width
            for i in range(width):
                sums[to + i] += rows[from_ + i]


@numba.njit(cache=True)
def _add_last(n, bumps, nodes, rows, sums, width):
    """The transpose of `_sum_last`: adds the sum of a node to the rows of its children."""
    children, width = n - bumps + 1, np.uint64(width)
    for node in range(PERMUTATIONS[n, bumps - 1]):
        from_ = np.uint64(node) * width
        for child in range(node * children, (node + 1) * children):
            to = np.uint64(nodes[child]) * width
            for i in range(width):
                rows[to + i] += sums[from_ + i]


@numba.njit(cache=True)
def _among(cells, other, stones):
    """`other` as a mask of the cells beside `stones`."""
    mask, place = 0, 0
    for c in range(cells):
        if not stones >> c & 1:
            mask |= (other >> c & 1) << place
            place += 1
    return mask


@numba.njit(cache=True, parallel=True)
def _codes(classes, cells, first_sequence, action, tries, own, bumps, codes):
    for s in numba.prange(len(tries)):
        mine, seen = np.int64(own[s]), np.int64(bumps[s])
        made = POPCOUNT[mine] + POPCOUNT[seen] + 1
        sequence, times = np.empty(cells, np.int64), np.empty(cells, np.int64)
        for t in range(made - 1):
            sequence[t] = np.int64((tries[s] >> np.uint64(TRY_BITS * t)) & np.uint64(15))
        for j in range(first_sequence[s], first_sequence[s + 1]):
            sequence[made - 1] = action[j]
            for bumped in range(2):
                stones = mine if bumped else mine | 1 << np.int64(action[j])
                n = POPCOUNT[stones]
                pattern, node, used, found = 0, 0, stones, 0
                for t in range(made):
                    c = sequence[t]
                    if stones >> c & 1:
                        times[POPCOUNT[stones & ((1 << c) - 1)]] = t
                        pattern |= 1 << t
                    else:
                        node = node * (cells - n - found) + c - POPCOUNT[used & ((1 << c) - 1)]
                        used |= 1 << c
                        found += 1
                place = classes.place[made, pattern]
                if place >= 0 and classes.rank[stones] >= 0:
                    row = (classes.rank[stones] * classes.num_patterns[n, made] + place) * PERMUTATIONS[
                        cells - n, found
                    ] + node
                    codes[j, bumped] = classes.first[n, made] + row * FACTORIAL[n] + order_rank(times, n)


@numba.njit(cache=True, parallel=True)
def _scatter(codes, reach, x):
    """Adds values to entries. An entry has at most one history, so no two threads write to the same one."""
    for j in numba.prange(len(codes)):
        for bumped in range(2):
            if codes[j, bumped] >= 0:
                x[codes[j, bumped]] = reach[j]


@numba.njit(cache=True, parallel=True)
def _gather(codes, start, g, out):
    """Adds the values of the entries from `start` on to their sequences."""
    end = start + len(g)
    for j in numba.prange(len(codes)):
        for bumped in range(2):
            if start <= codes[j, bumped] < end:
                out[j] += g[codes[j, bumped] - start]


@numba.njit(cache=True)
def _block(classes, stones, n, tries, pattern, cells):
    """Where the histories of these stones and this pattern begin."""
    rows = PERMUTATIONS[cells - n, tries - n] * FACTORIAL[n]
    return classes.first[n, tries] + (classes.rank[stones] * classes.num_patterns[n, tries] + pattern) * rows


@numba.njit(cache=True)
def _load(x, start, nodes, num_nodes, orders, rows):
    """Copies the histories with these bumps to rows; returns whether any of them is reached."""
    orders, reached = np.uint64(orders), False
    for node in range(num_nodes):
        from_, to = np.uint64(start) + np.uint64(nodes[node]) * orders, np.uint64(node) * orders
        for order in range(orders):
            rows[to + order] = x[from_ + order]
            reached |= x[from_ + order] != 0
    return reached


@numba.njit(cache=True)
def _sum_orders(chain_of_order, orders, width, rows, w):
    """w[chain] += the rows of the orders of that chain."""
    width = np.uint64(width)
    for order in range(orders):
        from_, to = np.uint64(order) * width, np.uint64(chain_of_order[order]) * width
        for i in range(width):
            w[to + i] += rows[from_ + i]


@numba.njit(cache=True)
def _add_rows(chain_of_order, orders, width, rows, nodes, num_nodes, weight, start, g):
    """Adds to every order of the stones the row entry of its chain."""
    orders, width = np.uint64(orders), np.uint64(width)
    for node in range(num_nodes):
        from_, to = np.uint64(node) * width, np.uint64(start) + np.uint64(nodes[node]) * orders
        for order in range(orders):
            g[to + order] += weight * rows[from_ + np.uint64(chain_of_order[order])]


@numba.njit(cache=True, parallel=True)
def _multiply(tasks, g_start, mine, theirs, pairs: Pairs, patterns, shapes, embeddings, payoff, cells, work, x, g):
    """g = (sum over pairs of final stones and of patterns of payoff * the product of both matrices) x.

    Only for the player's final stones of these tasks, whose entries begin at g_start.
    """
    for at in numba.prange(len(tasks)):
        task = tasks[at]
        target = pairs.target[task]
        n = POPCOUNT[target]
        orders = FACTORIAL[n]
        thread = numba.get_thread_id()
        buffers = work.buffers[thread]
        y, by_order, w = work.sums[thread, 0], work.sums[thread, 1], work.sums[thread, 2]
        for e in range(pairs.first[task], pairs.first[task + 1]):
            other, weight = pairs.other[e], payoff[pairs.kind[e]]
            if weight == 0:
                continue
            m = POPCOUNT[other]
            their_orders = FACTORIAL[m]
            theirs_to_hit, mine_to_hit = _among(cells, target, other), _among(cells, other, target)
            groups = patterns.first_group[n, m, pairs.kind[e]]
            for group in range(groups[0], groups[1]):
                made, their_made = patterns.tries[group, 0], patterns.tries[group, 1]
                shape = patterns.shape[group]
                their_bumps, own_bumps = their_made - m, made - n

                num_nodes = PERMUTATIONS[n, their_bumps]
                nodes = embeddings.node[embeddings.first[cells - m, theirs_to_hit, their_bumps] :]
                start = _block(theirs, other, m, their_made, patterns.other_pattern[group], cells)
                reached = _load(x, start, nodes, num_nodes, their_orders, buffers[their_bumps])
                if not reached:
                    continue
                _contract(n, shapes.sizes[shape], their_bumps, embeddings, buffers, their_orders, y)
                chains = shapes.num_chains[shape]
                for order in range(their_orders):
                    for chain in range(chains):
                        by_order[order * chains + chain] = y[chain * their_orders + order]

                num_nodes = PERMUTATIONS[m, own_bumps]
                nodes = embeddings.node[embeddings.first[cells - n, mine_to_hit, own_bumps] :]
                for member in range(patterns.first_member[group], patterns.first_member[group + 1]):
                    their_shape = patterns.other_shape[member]
                    for i in range(shapes.num_chains[their_shape] * chains):
                        w[i] = 0.0
                    _sum_orders(
                        shapes.chain_of_order[shapes.first_order[their_shape] :], their_orders, chains, by_order, w
                    )
                    for i in range(num_nodes * chains):
                        buffers[own_bumps, i] = 0.0
                    _expand(m, shapes.sizes[their_shape], own_bumps, embeddings, buffers, chains, w)
                    start = _block(mine, target, n, made, patterns.own_pattern[member], cells) - g_start
                    _add_rows(
                        shapes.chain_of_order[shapes.first_order[shape] :],
                        orders,
                        chains,
                        buffers[own_bumps],
                        nodes,
                        num_nodes,
                        weight,
                        start,
                        g,
                    )
