"""MDP-GapE (Jonsson, Kaufmann, Menard, Domingues, Leurent and Valko, NeurIPS 2020).

Confidence sets are Kullback-Leibler balls around the empirical distribution of what follows a sequence: its child
states, a win and a loss. An episode that ends with return rho counts as rho of a win and 1 - rho of a loss, which keeps
the concentration of the balls by convexity and needs no knowledge of the returns.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.algorithms.baselines.kl_ball import largest_mean, smallest_mean
from tmdp_spiel.algorithms.empirical_model import (
    OptimisticLearner,
    choose_by,
    greedy_action,
    record,
    state_bound,
    state_visits,
)
from tmdp_spiel.algorithms.path_learner import compiled_loop
from tmdp_spiel.core import hash_rng, validation
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.lazy_tree import LazyTree

# log_confidence: ln(3 (B K)^H / delta);  outcomes: B
Settings = collections.namedtuple("Settings", ["epsilon", "log_confidence", "outcomes", "seed"])
# The distribution of what follows one sequence, B entries each.
Ball = collections.namedtuple("Ball", ["weights", "values", "gaps"])
# stopped: bool[1]
MDPGapEMemory = collections.namedtuple(
    "MDPGapEMemory", ["model", "upper", "lower", "settings", "ball", "plan", "path", "stopped"]
)


class MDPGapE(OptimisticLearner):
    """PAC identification: UGapE at the first states, optimism below them.

    When the learner stops, the recommended policy is within epsilon of a best response, on the [0, 1] scale of returns,
    with probability at least 1 - delta. On a lazy tree, what can follow a sequence is not known beforehand: the
    balls are those of the tree so far, and nothing is claimed.
    """

    def __init__(self, tree: InfostateTree, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, seed)
        self.epsilon = validation.probability("epsilon", epsilon)
        self.delta = validation.probability("delta", delta)
        grows = isinstance(tree, LazyTree)
        outcomes = tree.capacity.children + 2 if grows else int(_most_followers(tree.links))
        settings = Settings(
            epsilon=self.epsilon,
            log_confidence=np.log(3.0 / self.delta) + tree.horizon * np.log(outcomes * max(tree.max_actions, 1)),
            outcomes=outcomes,
            seed=self.seed,
        )
        self._memory = MDPGapEMemory(
            model=self._model,
            upper=self._upper,
            lower=self._lower,
            settings=settings,
            ball=Ball(np.empty(outcomes), np.empty(outcomes), np.empty(outcomes)),
            plan=self._plan,
            path=self._path,
            stopped=np.zeros(1, np.bool_),
        )

    @property
    def stopped(self) -> bool:
        return bool(self._memory.stopped[0])

    @property
    def upper(self) -> np.ndarray:
        self._refresh_root()
        return super().upper

    @property
    def lower(self) -> np.ndarray:
        self._refresh_root()
        return super().lower

    def _refresh_root(self):
        """The root's own interval is not needed for playing."""
        if self.episodes > 0:
            _refresh(self.tree.links, self._memory, self.tree.root)

    def _recommend_at(self, states):
        return _recommended(self.tree.links, self._memory, states)

    def _compiled(self):
        return _observe, _play


@numba.njit(cache=True)
def _most_followers(links):
    """B, the most things that can follow one sequence: child states, a win and a loss."""
    most = 0
    for j in range(len(links.can_end)):
        most = max(most, traversal.num_children(links, j) + 2 * links.can_end[j])
    return most


@kernel
def _radius(settings, visits):
    """beta_p / n, beta_p = ln(3 (B K)^H / delta) + (B - 1) (1 + ln(1 + n / (B - 1)))."""
    beta = settings.log_confidence
    if settings.outcomes > 1:
        free = settings.outcomes - 1.0
        beta += free * (1.0 + np.log1p(visits / free))
    return beta / visits


@kernel
def _fill_ball(links, model, bound, settings, ball, sequence):
    """What follows a sequence: (its child states with their bounds, then a win and a loss); returns how many."""
    visits = model.visits[sequence]
    number, ended = 0, visits
    child, end = traversal.children(links, sequence)
    while child != end:
        went_on = state_visits(links, model.visits, child)
        ended -= went_on
        ball.weights[number], ball.values[number] = went_on / visits, state_bound(links, bound, child)
        number += 1
        child = traversal.next_child(links, child)
    if links.can_end[sequence]:
        won = model.returns[sequence] / visits
        ball.weights[number], ball.values[number] = won, 1.0
        ball.weights[number + 1], ball.values[number + 1] = max(ended / visits - won, 0.0), 0.0
        number += 2
    return number


@tree_pass
def _refresh(links, memory, sequence):
    """U = max and L = min over the ball of the expected bound of what follows."""
    model, ball, settings = memory.model, memory.ball, memory.settings
    radius = _radius(settings, model.visits[sequence])
    number = _fill_ball(links, model, memory.upper, settings, ball, sequence)
    memory.upper[sequence] = largest_mean(ball.weights, ball.values, ball.gaps, number, radius)
    number = _fill_ball(links, model, memory.lower, settings, ball, sequence)
    memory.lower[sequence] = smallest_mean(ball.weights, ball.values, ball.gaps, number, radius)


@kernel
def _guess_and_rival(links, memory, state):
    """UGapE: b = argmin over a of [max over others of U - L(a)], c = argmax over others than b of U.

    c is -1 if there is no other.
    """
    upper, lower, seed = memory.upper, memory.lower, memory.settings.seed
    time = state_visits(links, memory.model.visits, state)
    first, end = links.first_sequence[state], links.first_sequence[state + 1]
    guess, best, tied = np.int64(first), -np.inf, 0
    for j in range(first, end):
        others = -np.inf
        for other in range(first, end):
            if other != j:
                others = max(others, upper[other])
        takes, tied = hash_rng.takes_lead(lower[j] - others, best, tied, seed, time, hash_rng.sequence_key(j))
        if takes:
            guess, best = np.int64(j), lower[j] - others
    rival, best, tied = np.int64(-1), -np.inf, 0
    for j in range(first, end):
        if j == guess:
            continue
        takes, tied = hash_rng.takes_lead(upper[j], best, tied, seed, time, hash_rng.sequence_key(j))
        if takes:
            rival, best = np.int64(j), upper[j]
    return guess, rival


@numba.njit(cache=True)
def _recommended(links, memory, states):
    """UGapE's best guess at first states, the largest lower bound at others."""
    plan = np.empty(len(states), PLAN_DTYPE)
    for at, state in enumerate(states):
        if traversal.is_first(links, state):
            guess, _ = _guess_and_rival(links, memory, state)
            plan[at] = guess - links.first_sequence[state]
        else:
            plan[at] = greedy_action(links, memory.model, memory.lower, state, memory.settings.seed)
    return plan


@kernel
def _choose_first(links, memory, state):
    """Plays the one of the guess and its rival with the wider interval."""
    upper, lower = memory.upper, memory.lower
    played, rival = _guess_and_rival(links, memory, state)
    if rival >= 0 and upper[rival] - lower[rival] > upper[played] - lower[played]:
        played = rival
    memory.plan[state] = played - links.first_sequence[state]


@tree_pass
def _is_certain(links, memory):
    """Whether U(c) - L(b) <= epsilon in expectation over the first states, for every distribution in the root's ball.

    With one first state this is the rule of the source.
    """
    ball, settings = memory.ball, memory.settings
    visits = memory.model.visits[traversal.ROOT]
    number, mean, ended = 0, 0.0, 1.0
    state, end = traversal.children(links, traversal.ROOT)
    while state != end:
        guess, rival = _guess_and_rival(links, memory, state)
        ball.weights[number] = state_visits(links, memory.model.visits, state) / visits
        ball.values[number] = max(memory.upper[rival] - memory.lower[guess], 0.0) if rival >= 0 else 0.0
        mean += ball.weights[number] * ball.values[number]
        ended -= ball.weights[number]
        number += 1
        state = traversal.next_child(links, state)
    if mean > settings.epsilon:
        return False
    if links.can_end[traversal.ROOT]:
        ball.weights[number], ball.values[number] = max(ended, 0.0), 0.0
        number += 1
    return largest_mean(ball.weights, ball.values, ball.gaps, number, _radius(settings, visits)) <= settings.epsilon


@tree_pass
def _observe(links, memory, length, value):
    path = memory.path
    record(links, memory.model, path, length, value)
    for at in range(length - 1, -1, -1):
        _refresh(links, memory, path.sequences[at])
        if at > 0:
            choose_by(links, memory.model, memory.upper, memory.plan, path.states[at], memory.settings.seed)
        else:
            _choose_first(links, memory, path.states[0])
    memory.stopped[0] = _is_certain(links, memory)


@kernel
def _has_stopped(links, memory):
    return memory.stopped[0]


_play = compiled_loop(_observe, _has_stopped)
