"""PSRL (Strens, ICML 2000; Osband, Russo and Van Roy, NIPS 2013) on the tree: the best plan of a posterior draw."""

from __future__ import annotations

import collections
import typing

import numba
import numpy as np

from tmdp_spiel.algorithms.empirical_model import new_model, record, state_visits
from tmdp_spiel.algorithms.path_learner import DeterministicLearner, rescore_plan, sequence_value
from tmdp_spiel.core import hash_rng, validation
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.lazy_tree import LazyTree
from tmdp_spiel.trees.traversal import follow_plan, trace_back
from tmdp_spiel.trees.tree_mdp import TreeMDP, deterministic_value

# One entry per state. means: V(s) in the posterior mean;  values: V(s) in the draw;  order: scratch, visited states,
# parents first;  redrawn: int64[1], the episodes after which all visited states were last drawn
PSRLMemory = collections.namedtuple(
    "PSRLMemory", ["model", "means", "values", "order", "redrawn", "prior", "lazy", "seed", "plan", "path"]
)


class PSRL(DeterministicLearner):
    """Thompson sampling of whole models. Each episode costs one pass over the tree: every sequence is redrawn.

    prior: the weight of the prior. What follows a sequence is Dirichlet: each child state, and the end of the episode
    if it can end there, with weight prior + times seen. The mean return of the endings of a sequence is that of a
    Dirichlet process whose base is a loss and a win of that weight each; its law is replaced by the Beta law of the
    same mean and variance, which is exact if the returns are 0 and 1. So no return needs to be known beforehand.

    lazy: draw only what episodes touch, for trees too large for a pass per episode. Draws are kept, in the spirit of
    lazy posterior sampling (Abbasi-Yadkori and Szepesvari, UAI 2015), and renewed at the states that an episode visits.
    They are renewed at all visited states whenever the number of episodes has grown by a tenth, because a low draw off
    the path would otherwise never be renewed. The value of a state that was never visited is a single draw from
    Beta(prior, prior), and its plan is arbitrary. The posterior, the recommendation, the regret and the value gap are
    as exact as without `lazy`. But the plan played is not the best one for a single posterior draw, because its parts
    were drawn at different times and unvisited states have another distribution. The regret bounds of PSRL do not cover
    it.
    """

    def __init__(self, tree: InfostateTree, *, prior: float = 1.0, lazy: bool = False, seed: int = 0):
        super().__init__(tree, seed)
        self.prior = validation.positive("prior", prior)
        self.lazy = bool(lazy)
        if isinstance(tree, LazyTree) and not self.lazy:
            raise TypeError("PSRL draws the whole tree for every episode, so on a lazy tree it needs lazy=True")
        self._model = new_model(tree)
        self._memory = PSRLMemory(
            model=self._model,
            means=np.full(tree.capacity.states, 0.5),
            values=np.zeros(tree.capacity.states),
            order=np.empty(tree.capacity.states if self.lazy else 0, np.int32),
            redrawn=np.zeros(1, np.int64),
            prior=self.prior,
            lazy=self.lazy,
            seed=self.seed,
            plan=self._plan,
            path=self._path,
        )
        self._planned_for = -1

    def plan(self) -> np.ndarray:
        """The best plan of this episode's draw."""
        if not self.lazy and self._planned_for != self.episodes:
            _draw_all(self.tree.links, self._memory, self.episodes)
            self._planned_for = self.episodes
        return super().plan()

    def _recommend_at(self, states):
        """The best plan of the posterior means."""
        return _mean_plan(self.tree.links, self._memory, states)

    def _update(self, ended_on, value):
        links, length = self.tree.links, trace_back(self.tree.links, ended_on, self._path)
        _observe(links, self._memory, length, value)
        if self.lazy:
            _renew(links, self._memory, length, self.episodes + 1)

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        return super().init_values(mdp) if self.lazy else None

    def _play(self, mdp, values, rng, episodes):
        if self.lazy:
            return _play_lazy(self.tree.links, mdp.chances, self._memory, values, self.episodes, rng, episodes)
        self._planned_for = -1
        return _play_exact(self.tree.links, mdp.chances, self._memory, self.episodes, rng, episodes)


@kernel
def _gamma(shape, seed, time, key):
    """A Gamma(shape, 1) draw (Marsaglia and Tsang, 2000), from the uniform draws of keys key, key + 1, ..."""
    uniform = 1.0 - hash_rng.uniform(seed, time, key)
    if shape == 1.0:
        return -np.log(uniform)
    boost = uniform ** (1.0 / shape) if shape < 1.0 else 1.0
    d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
    draw = d
    for attempt in range(1, hash_rng.DRAWS - 2, 3):
        radius = np.sqrt(-2.0 * np.log(1.0 - hash_rng.uniform(seed, time, key + attempt)))
        normal = radius * np.cos(2.0 * np.pi * hash_rng.uniform(seed, time, key + attempt + 1))
        v = 1.0 + normal / np.sqrt(9.0 * d)
        if v <= 0.0:
            continue
        v = v * v * v
        accept = np.log(1.0 - hash_rng.uniform(seed, time, key + attempt + 2))
        if accept < 0.5 * normal * normal + d - d * v + d * np.log(v):
            draw = d * v
            break
    return boost * draw


@kernel
def _mean_return(model, sequence, ended, prior, seed, time, key):
    """The mean return of the endings of a sequence: a draw from two streams of keys, its mean if time is negative."""
    total = ended + 2.0 * prior
    mean = (model.returns[sequence] + prior) / total
    if time < 0:
        return mean
    variance = ((model.squares[sequence] + prior) / total - mean * mean) / (total + 1.0)
    weight = mean * (1.0 - mean) / variance - 1.0
    wins = _gamma(weight * mean, seed, time, key)
    return wins / (wins + _gamma(weight * (1.0 - mean), seed, time, key + hash_rng.DRAWS))


@kernel
def _child_value(links, memory, values, child, went_on, time):
    """V of a child state; in lazy draws, a draw from Beta(prior, prior) if it was never visited."""
    if went_on > 0 or time < 0 or not memory.lazy:
        return values[child]
    wins = _gamma(memory.prior, memory.seed, time, hash_rng.value_stream(links, child, 0))
    return wins / (wins + _gamma(memory.prior, memory.seed, time, hash_rng.value_stream(links, child, 1)))


@kernel
def _sequence_value(links, memory, values, sequence, time):
    """The value after a sequence, in a draw of what follows it or, if time is negative, in its posterior mean."""
    model, prior, seed = memory.model, memory.prior, memory.seed
    ended = model.visits[sequence]
    total, weights, followers = 0.0, 0.0, traversal.num_children(links, sequence)
    child, end = traversal.children(links, sequence)
    while child != end:
        went_on = state_visits(links, model.visits, child)
        ended -= went_on
        weight = went_on + prior
        if time >= 0 and (followers > 1 or links.can_end[sequence]):
            weight = _gamma(weight, seed, time, hash_rng.weight_stream(child))
        weights += weight
        total += weight * _child_value(links, memory, values, child, went_on, time)
        child = traversal.next_child(links, child)
    if links.can_end[sequence] or followers == 0:  # an untried sequence of a lazy tree has neither
        weight = ended + prior
        if time >= 0 and followers > 0:
            weight = _gamma(weight, seed, time, hash_rng.ending_stream(links, sequence, 0))
        weights += weight
        key = hash_rng.ending_stream(links, sequence, 1)
        total += weight * _mean_return(model, sequence, ended, prior, seed, time, key)
    return total / weights


@kernel
def _best_action(links, memory, values, state, time):
    """V(s) = max over a of Q(s, a), Q the mean of what follows in the draw of that time: (an action index, V)."""
    action, best = 0, -np.inf
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        value = _sequence_value(links, memory, values, j, time)
        if value > best:
            action, best = j - links.first_sequence[state], value
    return action, best


@kernel
def _draw(links, memory, state, time):
    memory.plan[state], memory.values[state] = _best_action(links, memory, memory.values, state, time)


@tree_pass
def _draw_all(links, memory, time):
    """The best plan of a draw, bottom-up."""
    for state in range(len(links.parent) - 1, -1, -1):
        _draw(links, memory, state, time)


@numba.njit(cache=True)
def _mean_plan(links, memory, states):
    plan = np.empty(len(states), PLAN_DTYPE)
    for at, state in enumerate(states):
        plan[at], _ = _best_action(links, memory, memory.means, state, -1)
    return plan


@kernel
def _observe(links, memory, length, value):
    """Counts an episode; the posterior means change along its path. Those of unvisited states are 1/2."""
    record(links, memory.model, memory.path, length, value)
    for at in range(length - 1, -1, -1):
        state = memory.path.states[at]
        _, memory.means[state] = _best_action(links, memory, memory.means, state, -1)


@kernel
def _list_followers(links, memory, sequence, number):
    """As traversal.list_children, for those child states that were visited."""
    child, end = traversal.children(links, sequence)
    while child != end:
        if state_visits(links, memory.model.visits, child) > 0:
            memory.order[number] = child
            number += 1
        child = traversal.next_child(links, child)
    return number


@tree_pass
def _list_visited(links, memory):
    """Fills `order` with the visited states, parents first; returns how many there are."""
    number, at = _list_followers(links, memory, traversal.ROOT, 0), 0
    while at < number:
        state = memory.order[at]
        at += 1
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            number = _list_followers(links, memory, j, number)
    return number


@tree_pass
def _renew(links, memory, length, episodes):
    """Lazy draws after that many episodes: those of the path, or all. Returns how many of `order` if all, else 0."""
    if 10 * episodes < 11 * memory.redrawn[0]:
        for at in range(length - 1, -1, -1):
            _draw(links, memory, memory.path.states[at], episodes)
        return 0
    memory.redrawn[0] = episodes
    number = _list_visited(links, memory)
    for at in range(number - 1, -1, -1):
        _draw(links, memory, memory.order[at], episodes)
    return number


@kernel
def _rescore_listed(links, chances, memory, number, values):
    """Updates V(s) of the plan after changes at the states of `order`."""
    for at in range(number - 1, -1, -1):
        state = memory.order[at]
        values[state] = sequence_value(links, chances, values, links.first_sequence[state] + memory.plan[state])
    values[len(values) - 1] = sequence_value(links, chances, values, traversal.ROOT)


@numba.njit(cache=True)
def _play_lazy(links, chances, memory, values, episodes, rng, number):
    total = 0.0
    for episode in range(episodes, episodes + number):
        total += values[len(values) - 1]
        length, outcome = follow_plan(links, chances, memory.plan, rng.random(), memory.path)
        _observe(links, memory, length, chances.outcome_return[outcome])
        redrawn = _renew(links, memory, length, episode + 1)
        if redrawn > 0:
            _rescore_listed(links, chances, memory, redrawn, values)
        else:
            rescore_plan(links, chances, memory.plan, memory.path, length, values)
    return number, total


@numba.njit(cache=True)
def _play_exact(links, chances, memory, episodes, rng, number):
    total = 0.0
    for episode in range(episodes, episodes + number):
        _draw_all(links, memory, episode)
        total += deterministic_value(links, chances, memory.plan)
        length, outcome = follow_plan(links, chances, memory.plan, rng.random(), memory.path)
        _observe(links, memory, length, chances.outcome_return[outcome])
    return number, total
