"""Balanced levels: several degrees of optimism on shared counts, played in turn as their regrets are balanced.

At level b, an action that was never tried at a visited state counts as b, both in the choice and in the backup:

    q_b(j) = (returns of the episodes that ended on j + sum over the child states c of n(c) V_b(c)) / n(j),
    V_b(s) = max over the actions a of q_b(s, a), or b where untried.

The choice is by Thompson sampling: the largest q_b(j) + c_b(n(s)) g(j) sigma(j) z / sqrt(n(j)), with n(j) = 1 where
untried, z a standard normal draw, and

    c_b(n) = noise b (1 + surge * n / (n + surge_from) * surge_to / (n + surge_to)),
    g(j) = 1 + ((1 + n(s) / patience)^insistence - 1) fresh(j) / n(j),
    sigma(j)^2 = u^2 + max(v^2 - u^2, 0) 80 / (80 + n(j)),

where u is sigma, the standard deviation of all returns so far, or half of what the rules leave open after j if that is
less, and v the standard deviation of the returns after j and of two imagined ones, each as far off as half of what is
open, but at most 2 sigma. (v = u where the rules are not known.)

So doubt swells where a state has been visited a few times, and ebbs once it has been visited often: early episodes on
a large tree do not scatter, first returns that mislead are looked at again, and late episodes are not wasted. fresh(j)
counts the episodes through j in which something at or below j was tried for the first time. While that is most of them,
the returns of j speak of actions tried at random, not of j: the more often the state is met, the more that is doubted.
Where the rules allow one return only, as after a fold, it is known before it is tried; and who always folds sees
returns without spread, so an action of few visits goes by its own. A tree of J < 300 sequences is soon explored
whole, so there surge_to counts (300 / J)^2 times.

A high level explores all of a small tree soon; on a large one it never ends, and only a low level ever comes to
exploit. Which one suits is not known before, so the level of the next episode is chosen by data-driven regret balancing
(D3RB of Dann, Gentile and Pacchiano, 2023) from the returns since the episodes last doubled. All episodes feed all
levels.

What is recommended is one more row of the same tables, cautious instead of optimistic: untried actions do not count,
and each mean counts `caution` standard errors less. See docs/theory.md, section 10, for what is guaranteed.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.algorithms.level_rows import LevelLearner, follow_row, init_row_values, played_before, rescore_row
from tmdp_spiel.algorithms.path_learner import plan_values
from tmdp_spiel.algorithms.regret_balancing import new_balance, next_to_play, spread_of, weigh
from tmdp_spiel.core import hash_rng, validation
from tmdp_spiel.core.jit import Direct, kernel
from tmdp_spiel.core.normal_draws import normal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE
from tmdp_spiel.trees.lazy_tree import LazyTree
from tmdp_spiel.trees.return_ranges import known_ranges_below

_IMAGINED = 2.0  # returns after a sequence
_IMAGINED_AT_MOST = 2.0  # standard deviations of all returns
_OWN_SPREAD_UNTIL = 80.0  # visits
_SMALL_TREE = 300.0  # sequences

# K levels make K + 1 rows, the last of them what is recommended; row k of state s is at s (K + 1) + k, likewise of j.
# visits: int32[J], state_visits: int32[S], episodes through each;  fresh: int32[J], fresh(j);
# totals, squares: float64[J], the returns after each sequence summed, and their squares; empty if ranges are not known;
# sums: float64[J rows], n(j) q(j);
# best: float64[S rows], V(s);  plans: int16[S rows], what is played where n(s) > 0;  first: int16[S], played elsewhere;
# change: float64[rows], scratch, how much n(s) V(s) of the last state has grown
Tables = collections.namedtuple(
    "Tables", ["visits", "state_visits", "fresh", "totals", "squares", "sums", "best", "plans", "first", "change"]
)

# levels, noises: float64[K], b and noise b;  caution: as given to the learner;
# least, most: float64[J], the range of returns after a sequence, empty if it is not known
BalancedLevelsMemory = collections.namedtuple(
    "BalancedLevelsMemory",
    ["tables", "balance", "levels", "noises", "doubt", "caution", "least", "most", "seed", "path"],
)
# what c_b(n) and g(j) are made of: as given to the learner, but surge_to, which is longer on small trees
Doubt = collections.namedtuple("Doubt", ["surge", "surge_from", "surge_to", "patience", "insistence"])


class BalancedLevels(LevelLearner):
    """Balances levels of optimism; recommends with caution.

    lowest, highest, number: the levels are that many numbers in [0, 1], from lowest to highest in equal ratios.
    noise, surge, surge_from, surge_to: c_b(n), above.
    patience, insistence: g(j), above.
    caution: the standard errors by which a recommended mean is reduced.
    confidence: the width of the intervals of the levels' mean returns, in standard deviations of the returns.
    guess: the regret coefficient that every level is first credited with, likewise.
    """

    def __init__(
        self,
        tree,
        *,
        lowest: float = 0.35,
        highest: float = 0.7,
        number: int = 3,
        noise: float = 0.6,
        surge: float = 3.0,
        surge_from: float = 80.0,
        surge_to: float = 300.0,
        patience: float = 10_000.0,
        insistence: float = 0.35,
        caution: float = 0.5,
        confidence: float = 0.3,
        guess: float = 0.3,
        seed: int = 0,
    ):
        super().__init__(tree, seed)
        number = validation.whole_number("number", number)
        if not 0 < lowest <= highest <= 1:
            raise ValueError(f"the levels must lie in (0, 1], lowest first, not from {lowest} to {highest}")
        for name, value in (("caution", caution), ("surge", surge)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number of at least 0, not {value}")
        if not 0 <= insistence <= 0.5:
            raise ValueError(f"insistence must be in [0, 0.5], not {insistence}")
        size = math.inf if isinstance(tree, LazyTree) else tree.num_sequences
        levels = np.geomspace(lowest, highest, number)
        rows = number + 1
        least, most = known_ranges_below(tree)
        self._memory = BalancedLevelsMemory(
            tables=Tables(
                visits=np.zeros(tree.capacity.sequences, np.int32),
                state_visits=np.zeros(tree.capacity.states, np.int32),
                fresh=np.zeros(tree.capacity.sequences, np.int32),
                totals=np.zeros(len(least)),
                squares=np.zeros(len(least)),
                sums=np.zeros(tree.capacity.sequences * rows),
                best=np.zeros(tree.capacity.states * rows),
                plans=np.zeros(tree.capacity.states * rows, PLAN_DTYPE),
                first=np.zeros(tree.capacity.states, PLAN_DTYPE),
                change=np.zeros(rows),
            ),
            balance=new_balance(number, confidence, guess),
            levels=levels,
            noises=validation.positive("noise", noise) * levels,
            doubt=Doubt(
                surge=float(surge),
                surge_from=validation.positive("surge_from", surge_from),
                surge_to=validation.positive("surge_to", surge_to) * max(1.0, _SMALL_TREE / size) ** 2,
                patience=validation.positive("patience", patience),
                insistence=float(insistence),
            ),
            caution=float(caution),
            least=least,
            most=most,
            seed=self.seed,
            path=self._path,
        )
        self._observe = Direct(_observe)
        self._in_flight: list[int] = []  # the levels that play the episodes of a round
        self._prepare(0)

    @property
    def levels(self) -> np.ndarray:
        """The levels, the lowest first."""
        return self._memory.levels.copy()

    @property
    def played(self) -> np.ndarray:
        """The episodes that each level has played."""
        return self._memory.balance.played.copy()

    @property
    def _current(self) -> np.ndarray:
        return self._memory.balance.current

    def action_selectors(self, number):
        """The levels play as they would if the returns to come refuted none of them; each episode has its own draws."""
        memory, links, tables = self._memory, self.tree.links, self._memory.tables
        self._in_flight = next_to_play(memory.balance, number)
        spread = spread_of(memory.balance)
        episodes = iter(enumerate(list(self._in_flight)))

        def action_selector(draw):
            episode, level = next(episodes)

            def choose(state):
                if tables.state_visits[state] == 0:
                    return int(tables.first[state])
                return _redraw(links, memory, state, level, spread, episode << 32)

            return choose

        return action_selector

    def _update(self, ended_on, value):
        links = self.tree.links
        if self._in_flight:
            self._memory.balance.current[0] = self._in_flight.pop(0)
        self._observe(links, self._memory, self._trace_back(links, ended_on, self._path), value)

    def init_values(self, mdp):
        first = plan_values(self.tree.links, mdp.chances, self._memory.tables.first)
        return init_row_values(self.tree.links, mdp.chances, self._memory.tables, self._rows, first)

    def _play(self, mdp, values, rng, episodes):
        return _play(self.tree.links, mdp.chances, self._memory, values, rng, episodes)


@kernel
def _possible(memory, sequence, mean):
    """The mean, moved to where the rules allow it to be."""
    if len(memory.least) == 0:
        return mean
    return min(max(mean, memory.least[sequence]), memory.most[sequence])


@kernel
def _deviation(memory, sequence, spread):
    """sigma(j)."""
    if len(memory.least) == 0:
        return spread
    tables, number = memory.tables, memory.tables.visits[sequence]
    half_open = 0.5 * (memory.most[sequence] - memory.least[sequence])
    usual = min(spread, half_open) ** 2
    own = _IMAGINED * min(_IMAGINED_AT_MOST * spread, half_open) ** 2
    if number > 0:
        own += max(tables.squares[sequence] - tables.totals[sequence] ** 2 / number, 0.0)
    more = max(own / (number + _IMAGINED) - usual, 0.0)
    return math.sqrt(usual + more * _OWN_SPREAD_UNTIL / (number + _OWN_SPREAD_UNTIL))


@kernel
def _is_settled(memory, sequence):
    """Whether the rules allow one return only."""
    return len(memory.least) > 0 and memory.least[sequence] == memory.most[sequence]


@kernel
def _choose_optimistic(links, memory, state, row, spread, salt):
    """Of a level: (V(s), the sequence of the largest draw). salt: other draws for other numbers."""
    tables, level, doubt = memory.tables, memory.levels[row], memory.doubt
    rows, time = len(tables.change), tables.state_visits[state]
    swell = doubt.surge * time / (time + doubt.surge_from) * doubt.surge_to / (time + doubt.surge_to)
    noise = memory.noises[row] * (1.0 + swell)
    growth = (1.0 + time / doubt.patience) ** doubt.insistence - 1.0
    best, lead, largest = -np.inf, np.int64(0), -np.inf
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        number = tables.visits[j]
        mean, unexplored = level, 1.0
        if number > 0:
            mean, unexplored = tables.sums[j * rows + row] / number, tables.fresh[j] / number
        mean = _possible(memory, j, mean)
        width = noise * (1.0 + growth * unexplored) * _deviation(memory, j, spread) / math.sqrt(max(number, 1))
        key = 2 * (np.int64(j) * rows + row)
        draw = mean + width * normal(memory.seed, time + salt, key, key + 1)
        best = max(best, mean)
        if draw > largest:
            lead, largest = np.int64(j), draw
    return best, lead


@kernel
def _choose_cautious(links, memory, state, row, spread):
    """Of what is recommended: (V(s), the sequence of the largest lower estimate, ties uniformly at random)."""
    tables = memory.tables
    rows, time = len(tables.change), tables.state_visits[state]
    best, lead, tied = -np.inf, np.int64(0), 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        number = tables.visits[j]
        if _is_settled(memory, j):
            lower = memory.least[j]
        elif number > 0:
            mean = _possible(memory, j, tables.sums[j * rows + row] / number)
            lower = mean - memory.caution * _deviation(memory, j, spread) / math.sqrt(number)
        else:
            continue
        takes, tied = hash_rng.takes_lead(lower, best, tied, memory.seed, time, np.int64(j))
        if takes:
            best, lead = lower, np.int64(j)
    return best, lead


@numba.njit(cache=True)
def _redraw(links, memory, state, row, spread, salt):
    """The action index that a level chooses with draws of their own."""
    return _choose_optimistic(links, memory, state, row, spread, salt)[1] - links.first_sequence[state]


@kernel
def _choose(links, memory, state, row, spread):
    if row < len(memory.levels):
        return _choose_optimistic(links, memory, state, row, spread, 0)
    return _choose_cautious(links, memory, state, row, spread)


@kernel
def _learn_at(memory, at, length, value, fresh):
    """Counts the visit of one state on the path, whose child on the path is up to date, in all rows but the plans.

    fresh: whether something was tried for the first time below. Returns whether it was at or below.
    """
    tables, state, j = memory.tables, memory.path.states[at], memory.path.sequences[at]
    rows = len(tables.change)
    fresh = fresh or tables.visits[j] == 0
    if fresh:
        tables.fresh[j] += 1
    tables.visits[j] += 1
    if len(tables.totals) > 0:
        tables.totals[j] += value
        tables.squares[j] += value * value
    tables.state_visits[state] += 1
    for row in range(rows):
        tables.sums[np.int64(j) * rows + row] += value if at == length - 1 else tables.change[row]
    return fresh


@kernel
def _choose_at(links, memory, state, row, spread):
    """Chooses again for one row; notes by how much n(s) V(s) has grown; returns the sequence."""
    tables = memory.tables
    number, cell = tables.state_visits[state], np.int64(state) * len(tables.change) + row
    best, lead = _choose(links, memory, state, row, spread)
    tables.change[row] = number * best - (number - 1) * tables.best[cell]
    tables.best[cell] = best
    tables.plans[cell] = lead - links.first_sequence[state]
    return lead


@kernel
def _observe(links, memory, length, value):
    spread, fresh = weigh(memory.balance, value), False
    for at in range(length - 1, -1, -1):
        fresh = _learn_at(memory, at, length, value, fresh)
        for row in range(len(memory.tables.change)):
            _choose_at(links, memory, memory.path.states[at], row, spread)


@kernel
def _observe_scored(links, chances, memory, values, length, value):
    """_observe, with the true values brought up to date."""
    tables, path, rows = memory.tables, memory.path, len(memory.tables.change)
    spread, fresh = weigh(memory.balance, value), False
    for at in range(length - 1, -1, -1):
        state = np.int64(path.states[at])
        fresh = _learn_at(memory, at, length, value, fresh)
        for row in range(rows):
            before = played_before(links, tables, state * rows + row, state)
            lead = _choose_at(links, memory, state, row, spread)
            rescore_row(links, chances, tables, values, path, at, length, row, before, lead)


@numba.njit(cache=True)
def _play(links, chances, memory, values, rng, number):
    total, rows, current = 0.0, len(values.change), memory.balance.current
    for _ in range(number):
        total += values.rows[len(values.rows) - rows + current[0]]
        length, outcome = follow_row(links, chances, memory.tables, memory.path, current[0], rows, rng.random())
        _observe_scored(links, chances, memory, values, length, chances.outcome_return[outcome])
    return number, total
