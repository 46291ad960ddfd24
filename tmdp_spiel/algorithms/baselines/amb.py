"""AMB (Xu, Ma and Du, COLT 2021, Fine-Grained Gap-Dependent Bounds for Tabular MDPs via Adaptive Multi-Step Bootstrap).

Actions are eliminated by their bounds. If only one action of a state is left, the state is decided. The bounds above it
are then updated with what followed, up to the next undecided state, instead of with the bounds of the decided state.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.algorithms.path_learner import DeterministicLearner, compiled_loop
from tmdp_spiel.core import hash_rng, validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree

# One entry per sequence. upper, lower: running averages, not clipped to [0, 1];  active: not eliminated
Estimates = collections.namedtuple("Estimates", ["visits", "upper", "lower", "active"])
# width: c sqrt(iota), the bonus after one visit;  horizon: that of the learning rate
AMBMemory = collections.namedtuple("AMBMemory", ["estimates", "width", "horizon", "seed", "plan", "path"])


class AMB(DeterministicLearner):
    """Regret minimisation by elimination.

    c: the constant of the bonus c sqrt(iota / n), iota = ln(number of sequences / delta). Eliminated actions are never
    played again, so c must not be too small. The source has 4 sqrt(H^3 ln(S A T / delta) / n) for returns up to H: on
    [0, 1] c = 4 sqrt(H), with which nothing is eliminated on Leduc in a million episodes. The source also clips the
    averages themselves, which is a flaw according to Zhang, Zheng and Xue (2025, arXiv 2510.06647); here they are
    clipped only when they are read.
    """

    def __init__(self, tree: InfostateTree, *, c: float = 0.4, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, seed)
        self.c = validation.positive("c", c)
        self.delta = validation.probability("delta", delta)
        sequences = tree.capacity.sequences
        self._estimates = Estimates(
            visits=np.zeros(sequences, np.int32),
            upper=np.ones(sequences),
            lower=np.zeros(sequences),
            active=np.ones(sequences, np.bool_),
        )
        self._memory = AMBMemory(
            estimates=self._estimates,
            width=self.c * np.sqrt(np.log((sequences - 1) / self.delta)),
            horizon=float(max(tree.horizon, 1)),
            seed=self.seed,
            plan=self._plan,
            path=self._path,
        )

    @property
    def active(self) -> np.ndarray:
        """Per sequence: whether its action has not been eliminated."""
        return self._estimates.active[: self.tree.sequence_end].copy()

    def _recommend_at(self, states):
        """The active action with the largest midpoint of its bounds, in which the bonuses cancel."""
        return _middle_plan(self.tree.links, self._estimates, states)

    def _compiled(self):
        return _observe, _play


@kernel
def _bounds(links, estimates, state):
    """V-upper(s) and V-lower(s), the largest of the active actions' bounds, and how many actions are active."""
    upper, lower, number = 0.0, 0.0, 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        if estimates.active[j]:
            upper = max(upper, min(estimates.upper[j], 1.0))
            lower = max(lower, estimates.lower[j])
            number += 1
    return upper, lower, number


@kernel
def _choose(links, estimates, plan, state, seed):
    """Eliminates actions whose upper bound is below the state's lower bound; plays the widest interval of the rest."""
    _, best_lower, _ = _bounds(links, estimates, state)
    time, lead, widest, tied = 0, links.first_sequence[state], -np.inf, 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        time += estimates.visits[j]
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        if estimates.upper[j] < best_lower:
            estimates.active[j] = False
        if not estimates.active[j]:
            continue
        wide = min(estimates.upper[j], 1.0) - max(estimates.lower[j], 0.0)
        takes, tied = hash_rng.takes_lead(wide, widest, tied, seed, time, hash_rng.sequence_key(j))
        if takes:
            lead, widest = j, wide
    plan[state] = lead - links.first_sequence[state]


@kernel
def _observe(links, memory, length, value):
    """At every undecided state of the path, with rate a = (H + 1) / (H + n) and target the bound of the next undecided
    state, or the return if there is none:  Q-upper = (1 - a) Q-upper + a (target + b), Q-lower likewise with - b.

    All targets are those before the episode: states are taken from the first on.
    """
    estimates, path = memory.estimates, memory.path
    for at in range(length):
        state, j = path.states[at], path.sequences[at]
        _, _, number = _bounds(links, estimates, state)
        if number == 1:
            continue
        target_upper, target_lower = value, value
        for later in range(at + 1, length):
            upper, lower, number = _bounds(links, estimates, path.states[later])
            if number > 1:
                target_upper, target_lower = upper, lower
                break
        estimates.visits[j] += 1
        visits = estimates.visits[j]
        rate = (memory.horizon + 1.0) / (memory.horizon + visits)
        bonus = memory.width / np.sqrt(visits)
        estimates.upper[j] += rate * (target_upper + bonus - estimates.upper[j])
        estimates.lower[j] += rate * (target_lower - bonus - estimates.lower[j])
        _choose(links, estimates, memory.plan, state, memory.seed)


@numba.njit(cache=True)
def _middle_plan(links, estimates, states):
    plan = np.empty(len(states), PLAN_DTYPE)
    for at, state in enumerate(states):
        best = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            middle = estimates.upper[j] + estimates.lower[j]
            if estimates.active[j] and middle > best:
                best = middle
                plan[at] = j - links.first_sequence[state]
    return plan


_play = compiled_loop(_observe)
