"""Thompson sampling on the tree of visited states, at several levels of optimism about what was never tried.

The whole algorithm:

1. Every tried action j of a visited state has the estimate q_b(j), the mean of what followed its n(j) visits, in which
   a later state counts as its best action with its noise where that is positive, and an untried action as the level b:

       q_b(j) = (returns of the episodes that ended on j + sum over the child states c of n(c) V_b(c)) / n(j),
       V_b(s) = max over the actions j of s of q_b(j) + w(j) max(z(j), 0), or b where untried.

2. At a state the action of the largest q_b(j) + w(j) z(j) is played, with independent standard normal draws z(j), made
   at each visit of the state, and w(j) = noise sigma(j) / (m(j) n(j))^(decay / 2), where m(j) >= 1 counts the episodes
   through j in which nothing was tried for the first time; an untried action has no noise.
3. sigma(j) is the standard deviation of the returns after j, or sigma, that of the returns of the episodes in which an
   action was tried for the first time, if that is larger; where the rules bound what can follow j, q_b(j) is clipped to
   these bounds and sigma(j) is at most half their distance.
4. The level of an episode, one of 1/K, 2/K, ..., 1, is that of the largest mean return + sigma z / sqrt(number of
   episodes), by the episodes that each level has played since the number of all episodes was last a power of two.
5. Recommended is the action of the largest q(j) - w(j) among the tried ones, with q(j) backed up from what is
   recommended.

All levels learn from all episodes, and an episode costs its path. The noise of later states makes an action attractive
below which much is still in doubt (deep exploration: Osband et al., Journal of Machine Learning Research, 2019). Only
positive noise is passed on (optimistic Thompson sampling: May et al., Journal of Machine Learning Research, 2012),
because a state whose last draw was negative could otherwise look bad, and not be visited, for ever.

An episode in which something new was tried tells little about what j is worth with what is known below it, but not
nothing. So the width falls with the geometric mean of m(j) and n(j): j stays in doubt for long while what lies below it
is still being discovered, but not for ever. With decay = 1/2 the width would fall as that of a posterior. A faster
decay tries as much at first, and is done earlier with actions that are about as good as the best.
Conditions and proofs: docs/lab/theory_simple_learner.md.
"""

from __future__ import annotations

import collections
import math
import typing
from collections.abc import Callable

import numba
import numpy as np

from tmdp_spiel.algorithms.level_rows import LevelLearner, follow_row, init_row_values, played_before, rescore_row
from tmdp_spiel.algorithms.path_learner import plan_values
from tmdp_spiel.algorithms.thompson_estimate import Estimate, estimate, own_deviation
from tmdp_spiel.core import validation
from tmdp_spiel.core.hash_rng import normal, uniform
from tmdp_spiel.core.jit import Direct, kernel
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP
from tmdp_spiel.trees.tree_shape import known_ranges_below

# K levels make K + 1 rows, the last one what is recommended; row k of state s is at s (K + 1) + k, likewise of j.
# visits: int32[J], state_visits: int32[S], episodes through each;  sums: float64[J rows], n(j) q(j);
# repeats: int32[J], the episodes in which nothing was tried for the first time, m(j);
# returns, squares: float64[J], of the episodes through each, summed;
# best: float64[S rows], V(s);  plans: int16[S rows], played where n(s) > 0;  first: int16[S], played elsewhere
ThompsonTables = collections.namedtuple(
    "ThompsonTables", ["visits", "state_visits", "repeats", "returns", "squares", "sums", "best", "plans", "first"]
)
# levels: float64[K];  episodes, returns: float64[K], of each level since the last restart;
# played: int64[K], its episodes in all;  current: int64[1], the level of the next episode
LevelBandit = collections.namedtuple("LevelBandit", ["levels", "episodes", "returns", "played", "current"])
# overall: float64[5], see _EPISODES;  least, most: float64[J], the range of returns after a sequence, empty if unknown
# change, value, draw: float64[rows], lead: int64[rows], scratch of _choose and _learn_at
ThompsonMemory = collections.namedtuple(
    "ThompsonMemory",
    [
        "tables",
        "bandit",
        "overall",
        "noise",
        "decay",
        "least",
        "most",
        "seed",
        "path",
        "change",
        "value",
        "draw",
        "lead",
    ],
)

# Of all episodes: their number, and the return of those that ended before an own decision. Of those in which an action
# was tried for the first time, and of one imagined pair of a loss and a win of weight one half each: number, sum of
# returns, sum of squares.
_EPISODES, _AT_ROOT, _NEW, _NEW_SUM, _NEW_SQUARES = range(5)
_LEVEL_KEY = 1 << 31  # keys below are sequences, counted without the root
_COPY_KEY = 1 << 32  # episodes that are played at the same time have keys of their own
_SECOND_KEY = 1 << 62  # a draw takes two uniform numbers
_START_KEY = 1 << 61  # the action of a state that is looked at first


class ThompsonTree(LevelLearner):
    """Thompson sampling on the visited tree, at several levels of optimism.

    noise: the width of the draws of an action of one visit, in standard deviations of a return. With 1, it is the
        uncertainty after one visit.
    decay: the width falls as the geometric mean of the visits and of those in which nothing new was tried, to the power
        of -decay; 1/2 is the rate of a standard error. With a larger decay, regret is lower where most actions are
        about equally good, as against an equilibrium, but more mistakes are kept.
    num_levels: K. The levels are 1/K, 2/K, ..., 1 of the range of returns. Level 1 tries all that could be best, the
        lowest level exploits soon on a tree that is too large for that.

    On every finite tree, almost surely, the recommended policy is a best response from some episode on, and the regret
    of T episodes is O((log T)^(1 / (2 decay))) unless the value of an action that is not best happens to equal that of
    a best one once what was never tried counts as all that the rules allow: docs/lab/theory_simple_learner.md. This
    needs returns in [0, 1], opponents who do not change, and episodes that are independent given the policy. This says
    nothing about the time until then, whose mean may be infinite, so it does not bound the mean regret.
    """

    def __init__(
        self, tree: InfostateTree, *, noise: float = 0.5, decay: float = 2 / 3, num_levels: int = 3, seed: int = 0
    ):
        super().__init__(tree, seed)
        number = validation.whole_number("num_levels", num_levels)
        levels = np.arange(1, number + 1) / number
        rows, room = len(levels) + 1, tree.capacity
        least, most = known_ranges_below(tree)
        self._memory = ThompsonMemory(
            tables=ThompsonTables(
                visits=np.zeros(room.sequences, np.int32),
                state_visits=np.zeros(room.states, np.int32),
                repeats=np.zeros(room.sequences, np.int32),
                returns=np.zeros(room.sequences),
                squares=np.zeros(room.sequences),
                sums=np.zeros(room.sequences * rows),
                best=np.zeros(room.states * rows),
                plans=np.zeros(room.states * rows, PLAN_DTYPE),
                first=np.zeros(room.states, PLAN_DTYPE),
            ),
            bandit=LevelBandit(
                levels=levels,
                episodes=np.zeros(len(levels)),
                returns=np.zeros(len(levels)),
                played=np.zeros(len(levels), np.int64),
                current=np.zeros(1, np.int64),
            ),
            overall=np.array([0.0, 0.0, 1.0, 0.5, 0.5]),
            noise=validation.positive("noise", noise),
            decay=validation.positive("decay", decay),
            least=least,
            most=most,
            seed=self.seed,
            path=self._path,
            change=np.zeros(rows),
            value=np.zeros(rows),
            draw=np.zeros(rows),
            lead=np.zeros(rows, np.int64),
        )
        self._in_flight: list[int] = []  # levels of the episodes of a round that are still to be learned from
        self._observe, self._redraw = Direct(_observe), Direct(_redraw)
        self._prepare(0)

    @property
    def levels(self) -> np.ndarray:
        """The levels, the lowest first."""
        return self._memory.bandit.levels.copy()

    @property
    def played(self) -> np.ndarray:
        """The episodes that each level has played."""
        return self._memory.bandit.played.copy()

    @property
    def _current(self) -> np.ndarray:
        return self._memory.bandit.current

    def action_selector(self, draw: Callable[[], float]) -> Callable[[int], int]:
        self._in_flight = []
        return super().action_selector(draw)

    def action_selectors(self, number: int) -> Callable[[Callable[[], float]], Callable[[int], int]]:
        """For `number` episodes in which nothing is learned: a function from `draw` to an action_selector.

        Each episode has its own level and its own Thompson draws. Call observe for them in the order of these calls.
        """
        self._in_flight, links, memory = [], self.tree.links, self._memory
        visits, first = memoryview(memory.tables.state_visits), memoryview(memory.tables.first)

        def selector_of_one(draw):
            copy = len(self._in_flight)
            level = int(_draw_level(memory, copy))
            self._in_flight.append(level)
            return lambda state: self._redraw(links, memory, state, level, copy) if visits[state] > 0 else first[state]

        return selector_of_one

    def observe(self, ended_on: int, value: float, left: bool = False) -> None:
        if self._in_flight:
            self._memory.bandit.current[0] = self._in_flight.pop(0)
        super().observe(ended_on, value, left)

    def _update(self, ended_on, value):
        links = self.tree.links
        self._observe(links, self._memory, self._trace_back(links, ended_on, self._path), value)

    def estimate(self, *, confidence: float = 0.9, draws: int = 100) -> Estimate:
        """The value of recommend() and its gap to the best policy, by draws of what each mean could be.

        confidence: of the intervals. Each draw costs a pass over the tree. See thompson_estimate for the model.
        """
        memory = self._memory
        new = memory.overall[_NEW_SUM] / memory.overall[_NEW], _deviation(memory.overall)
        root = memory.overall[_EPISODES], memory.overall[_AT_ROOT]
        ranges = memory.least, memory.most
        return estimate(self.tree, memory.tables, ranges, new, root, self.seed, confidence, draws)

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        first = plan_values(self.tree.links, mdp.chances, self._memory.tables.first)
        return init_row_values(self.tree.links, mdp.chances, self._memory.tables, self._rows, first)

    def _play(self, mdp, values, rng, episodes):
        return _play(self.tree.links, mdp.chances, self._memory, values, rng, episodes)


@kernel
def _deviation(overall):
    """sigma."""
    mean = overall[_NEW_SUM] / overall[_NEW]
    return math.sqrt(overall[_NEW_SQUARES] / overall[_NEW] - mean * mean)


@kernel
def _range(memory, sequence):
    """The least and the most that an episode through a sequence can return."""
    if len(memory.least) == 0:
        return 0.0, 1.0
    return memory.least[sequence], memory.most[sequence]


@kernel
def _draw_level(memory, copy):
    """The level of the next episode, or of another one that is played at the same time."""
    bandit, overall = memory.bandit, memory.overall
    deviation, largest, chosen = _deviation(overall), -np.inf, 0
    for level in range(len(bandit.levels)):
        number, draw = bandit.episodes[level], np.inf
        if number > 0.0:
            key = copy * _COPY_KEY + _LEVEL_KEY + level
            noise = normal(memory.seed, np.int64(overall[_EPISODES]), key, _SECOND_KEY + key)
            draw = bandit.returns[level] / number + deviation * noise / math.sqrt(number)
        if draw > largest:
            largest, chosen = draw, level
    return chosen


@kernel
def _begin(memory, length, value):
    """Counts an episode and chooses the next level; returns whether nothing was tried for the first time."""
    bandit, overall, path = memory.bandit, memory.overall, memory.path
    overall[_EPISODES] += 1.0
    # If the last action was tried before, so was all that leads to it.
    repeated = length == 0 or memory.tables.visits[path.sequences[length - 1]] > 0
    if length == 0:
        overall[_AT_ROOT] += value
    elif not repeated:
        overall[_NEW] += 1.0
        overall[_NEW_SUM] += value
        overall[_NEW_SQUARES] += value * value
    level = bandit.current[0]
    bandit.episodes[level] += 1.0
    bandit.returns[level] += value
    bandit.played[level] += 1
    episodes = np.int64(overall[_EPISODES])
    if episodes & (episodes - 1) == 0:  # a power of two
        for each in range(len(bandit.levels)):
            bandit.episodes[each], bandit.returns[each] = 0.0, 0.0
    bandit.current[0] = _draw_level(memory, 0)
    return repeated


@kernel
def _choose(links, memory, state, copy):
    """Of every row: `value`, V(s), and `lead`, the sequence of the largest draw."""
    tables, levels = memory.tables, memory.bandit.levels
    rows, time, deviation = len(memory.change), tables.state_visits[state], _deviation(memory.overall)
    for row in range(rows):
        memory.value[row], memory.draw[row], memory.lead[row] = -np.inf, -np.inf, links.first_sequence[state]
    first, key = links.first_sequence[state], copy * _COPY_KEY - 1
    actions = links.first_sequence[state + 1] - first
    start = int(
        uniform(memory.seed, time, _START_KEY + key + first) * actions
    )  # of equal actions the next one is taken
    for at in range(start, start + actions):
        j = first + at % actions
        number, (low, high) = tables.visits[j], _range(memory, j)
        own = min(max(deviation, own_deviation(tables, j)), 0.5 * (high - low))
        known = max(tables.repeats[j], 1) * float(max(number, 1))
        width = memory.noise * own * known ** (-0.5 * memory.decay)
        noise = width * normal(memory.seed, time, key + j, _SECOND_KEY + key + j) if number > 0 else 0.0
        for row in range(rows - 1):
            mean = tables.sums[np.int64(j) * rows + row] / number if number > 0 else levels[row]
            mean = min(max(mean, low), high)
            memory.value[row] = max(memory.value[row], mean + max(noise, 0.0))
            drawn = mean + noise
            if drawn > memory.draw[row]:
                memory.draw[row], memory.lead[row] = drawn, j
        if number > 0 or low == high:
            mean = tables.sums[np.int64(j) * rows + rows - 1] / number if number > 0 else low
            lower = min(max(mean, low), high) - width
            if lower > memory.value[rows - 1]:
                memory.value[rows - 1], memory.lead[rows - 1] = lower, j


@kernel
def _redraw(links, memory, state, level, copy):
    """The action index of a level at a visited state, in an episode that is played at the same time as others."""
    _choose(links, memory, state, copy)
    return memory.lead[level] - links.first_sequence[state]


@kernel
def _learn_at(links, memory, at, length, value, repeated):
    """Counts the visit of one state on the path, whose child on the path has been updated, and updates its leads."""
    tables, rows = memory.tables, len(memory.change)
    state, j = np.int64(memory.path.states[at]), np.int64(memory.path.sequences[at])
    tables.visits[j] += 1
    tables.repeats[j] += repeated
    tables.state_visits[state] += 1
    tables.returns[j] += value
    tables.squares[j] += value * value
    for row in range(rows):
        tables.sums[j * rows + row] += value if at == length - 1 else memory.change[row]
    _choose(links, memory, state, 0)
    number = tables.state_visits[state]
    for row in range(rows):
        cell = state * rows + row
        memory.change[row] = number * memory.value[row] - (number - 1) * tables.best[cell]
        tables.best[cell] = memory.value[row]


@kernel
def _observe(links, memory, length, value):
    """Updates on an episode whose path is in memory."""
    rows = len(memory.change)
    repeated = _begin(memory, length, value)
    for at in range(length - 1, -1, -1):
        _learn_at(links, memory, at, length, value, repeated)
        state = np.int64(memory.path.states[at])
        for row in range(rows):
            memory.tables.plans[state * rows + row] = memory.lead[row] - links.first_sequence[state]


@kernel
def _observe_scored(links, chances, memory, values, length, value):
    """_observe, which also updates the true values."""
    tables, path, rows = memory.tables, memory.path, len(memory.change)
    repeated = _begin(memory, length, value)
    for at in range(length - 1, -1, -1):
        state = np.int64(path.states[at])
        _learn_at(links, memory, at, length, value, repeated)
        for row in range(rows):
            cell, lead = state * rows + row, memory.lead[row]
            before = played_before(links, tables, cell, state)
            tables.plans[cell] = lead - links.first_sequence[state]
            rescore_row(links, chances, tables, values, path, at, length, row, before, lead)


@numba.njit(cache=True)
def _play(links, chances, memory, values, rng, number):
    total, rows, current = 0.0, len(values.change), memory.bandit.current
    for _ in range(number):
        total += values.rows[len(values.rows) - rows + current[0]]
        length, outcome = follow_row(links, chances, memory.tables, memory.path, current[0], rows, rng.random())
        _observe_scored(links, chances, memory, values, length, chances.outcome_return[outcome])
    return number, total
