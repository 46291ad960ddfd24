"""PSRL (Strens, ICML 2000; Osband, Russo and Van Roy, NIPS 2013) on the tree: the best plan of a posterior draw."""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel import ties
from tmdp_spiel.algorithms.learner import Learner, positive
from tmdp_spiel.algorithms.path_learner import Path, follow_plan, trace_back
from tmdp_spiel.algorithms.transition_model import Model, record, state_visits
from tmdp_spiel.decision_tree import PLAN_DTYPE
from tmdp_spiel.kernels import kernel, tree_pass
from tmdp_spiel.tree_mdp import deterministic_value

# Draws per random variable, at most, so that each has keys of its own.
_KEYS = 256


class PSRL(Learner):
    """Thompson sampling of whole models. Each episode costs one pass over the tree: every sequence is drawn anew.

    prior: the weight of the prior. What follows a sequence is Dirichlet: each child state, and the end of the episode
    if it can end there, with weight prior + times seen. The mean return of the endings of a sequence is that of a
    Dirichlet process whose base is a loss and a win of that weight each; its law is replaced by the Beta law of the
    same mean and variance, which is exact if the returns are 0 and 1. So no return needs to be known beforehand.
    """

    def __init__(self, tree, *, prior: float = 1.0, seed: int = 0):
        super().__init__(tree, seed)
        self.prior = positive("prior", prior)
        sequences = tree.num_sequences + 1
        self._model = Model(np.zeros(sequences, np.int32), np.zeros(sequences), np.zeros(sequences))
        self._path = Path(np.empty(tree.horizon, np.int32), np.empty(tree.horizon, np.int32))
        self._plan = np.zeros(tree.num_states, PLAN_DTYPE)
        self._values = np.zeros(tree.num_states)
        self._planned_for = -1

    def plan(self) -> np.ndarray:
        """The best plan of this episode's draw."""
        if self._planned_for != self.episodes:
            self._best_plan(self.episodes, self._plan)
            self._planned_for = self.episodes
        return self._plan.copy()

    def recommend(self) -> np.ndarray:
        """The best plan of the posterior means."""
        plan = np.empty_like(self._plan)
        self._best_plan(-1, plan)
        return plan

    def _best_plan(self, episode, plan):
        _best_plan(self.tree.links, self._model, self.prior, self.seed, episode, self._values, plan)

    def _update(self, ended_on, value):
        record(self._model, self._path, trace_back(self.tree.links, ended_on, self._path), value)

    def _play(self, mdp, rng, episodes):
        return _play(
            self.tree.links,
            mdp.chances,
            self._model,
            self.prior,
            self.seed,
            self._values,
            np.empty_like(self._plan),
            self._path,
            self.episodes,
            rng,
            episodes,
        )


@kernel
def _gamma(shape, seed, time, key):
    """A Gamma(shape, 1) draw (Marsaglia and Tsang, 2000), from the uniform draws of keys key, key + 1, ..."""
    uniform = 1.0 - ties.uniform(seed, time, key)
    if shape == 1.0:
        return -np.log(uniform)
    boost = uniform ** (1.0 / shape) if shape < 1.0 else 1.0
    d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
    draw = d
    for attempt in range(1, _KEYS - 2, 3):
        radius = np.sqrt(-2.0 * np.log(1.0 - ties.uniform(seed, time, key + attempt)))
        normal = radius * np.cos(2.0 * np.pi * ties.uniform(seed, time, key + attempt + 1))
        v = 1.0 + normal / np.sqrt(9.0 * d)
        if v <= 0.0:
            continue
        v = v * v * v
        accept = np.log(1.0 - ties.uniform(seed, time, key + attempt + 2))
        if accept < 0.5 * normal * normal + d - d * v + d * np.log(v):
            draw = d * v
            break
    return boost * draw


@kernel
def _mean_return(model, sequence, ended, prior, seed, time, key):
    """The mean return of the endings of a sequence: a draw, or its posterior mean if time is negative."""
    total = ended + 2.0 * prior
    mean = (model.returns[sequence] + prior) / total
    if time < 0:
        return mean
    variance = ((model.squares[sequence] + prior) / total - mean * mean) / (total + 1.0)
    weight = mean * (1.0 - mean) / variance - 1.0
    wins = _gamma(weight * mean, seed, time, key)
    return wins / (wins + _gamma(weight * (1.0 - mean), seed, time, key + _KEYS))


@kernel
def _sequence_value(links, model, values, prior, sequence, seed, time):
    """The value after a sequence, in a draw of what follows it or, if time is negative, in its posterior mean."""
    states = len(links.parent)
    ended = model.visits[sequence]
    total, weights = 0.0, 0.0
    low, high = links.first_child[sequence], links.first_child[sequence + 1]
    for child in range(low, high):
        went_on = state_visits(links, model.visits, child)
        ended -= went_on
        weight = went_on + prior
        if time >= 0 and (high - low > 1 or links.can_end[sequence]):
            weight = _gamma(weight, seed, time, child * _KEYS)
        weights += weight
        total += weight * values[child]
    if links.can_end[sequence]:
        key = (states + 3 * np.int64(sequence)) * _KEYS
        weight = ended + prior
        if time >= 0 and high > low:
            weight = _gamma(weight, seed, time, key)
        weights += weight
        total += weight * _mean_return(model, sequence, ended, prior, seed, time, key + _KEYS)
    return total / weights


@tree_pass
def _best_plan(links, model, prior, seed, time, values, plan):
    """V(s) = max over a of Q(s, a), Q the mean of what follows in the draw of that time; bottom-up."""
    for state in range(len(links.parent) - 1, -1, -1):
        best = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            value = _sequence_value(links, model, values, prior, j, seed, time)
            if value > best:
                best = value
                plan[state] = j - links.first_sequence[state]
        values[state] = best


@numba.njit(cache=True)
def _play(links, chances, model, prior, seed, values, plan, path, episodes, rng, number):
    total = 0.0
    for episode in range(episodes, episodes + number):
        _best_plan(links, model, prior, seed, episode, values, plan)
        total += deterministic_value(links, chances, plan)
        length, outcome = follow_plan(links, chances, plan, rng.random(), path)
        record(model, path, length, chances.outcome_return[outcome])
    return number, total
