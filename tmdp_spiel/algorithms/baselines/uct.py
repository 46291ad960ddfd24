"""UCT (Kocsis and Szepesvari, ECML 2006): a UCB1 bandit at every state, fed with the returns of the episodes."""

from __future__ import annotations

import bisect
import collections
import itertools
from collections.abc import Callable

import numba
import numpy as np

from tmdp_spiel.algorithms.path_learner import DeterministicLearner, compiled_loop
from tmdp_spiel.core import hash_rng, validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree

# visits, returns: one entry per sequence, the episodes through it and the sum of their returns;  c: on the [0, 1] scale
UCTMemory = collections.namedtuple("UCTMemory", ["visits", "returns", "c", "seed", "plan", "path"])


class UCT(DeterministicLearner):
    """c: the exploration constant, in the game's utility units; a quarter of the utility range if not given.

    The paper has 0.5 on Kuhn (range 4), 5 on Leduc (26) and 2 on RBT (2). With a much smaller c, UCT can be stuck
    forever.
    """

    def __init__(self, tree: InfostateTree, *, c: float | None = None, seed: int = 0):
        super().__init__(tree, seed)
        self.c = validation.positive("c", tree.to_utility_difference(0.25) if c is None else c)
        self._memory = UCTMemory(
            visits=np.zeros(tree.capacity.sequences, np.int32),
            returns=np.zeros(tree.capacity.sequences),
            c=tree.to_return_difference(self.c),
            seed=self.seed,
            plan=self._plan,
            path=self._path,
        )

    @property
    def visits(self) -> np.ndarray:
        """N(s, a): the episodes through each sequence."""
        return self._memory.visits[: self.tree.sequence_end].copy()

    def action_selectors(self, number: int) -> Callable[[Callable[[], float]], Callable[[int], int]]:
        """Draws actions as often as UCT would play them if all future returns equalled the mean so far."""
        links, memory, buffer = self.tree.links, self._memory, np.zeros(self.tree.max_actions + 1, np.int64)
        part, parts = number / max(self.episodes, 1), {}

        def parts_of(state):
            first, end = links.first_sequence[state], links.first_sequence[state + 1]
            visits = max(1, int(np.ceil(part * memory.visits[first:end].sum())))
            counts = buffer[: end - first]
            _spread(memory.visits[first:end], memory.returns[first:end], memory.c, min(visits, number), counts)
            return list(itertools.accumulate((counts / counts.sum()).tolist()))[:-1]

        def action_selector(draw):
            def choose(state):
                if state not in parts:
                    parts[state] = parts_of(state)
                return bisect.bisect_right(parts[state], draw())

            return choose

        return action_selector

    def _recommend_at(self, states):
        """Greedy: the largest mean return."""
        return _greedy_plan(self.tree.links, self._memory.visits, self._memory.returns, self.seed, states)

    def _compiled(self):
        return _observe, _play


@kernel
def _choose(links, visits, returns, c, state, seed):
    """argmax over a of Q(s, a) + c sqrt(ln N(s) / N(s, a)), Q the mean return; unvisited first, random ties."""
    total = 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        total += visits[j]
    wide = c * np.sqrt(np.log(total)) if total > 0 else 0.0
    lead, best, tied = links.first_sequence[state], -np.inf, 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        score = returns[j] / visits[j] + wide / np.sqrt(visits[j]) if visits[j] > 0 else np.inf
        takes, tied = hash_rng.takes_lead(score, best, tied, seed, total, hash_rng.sequence_key(j))
        if takes:
            lead, best = j, score
    return lead - links.first_sequence[state]


@kernel
def _spread(visits, returns, c, number, counts):
    """How often each action is played in n visits of UCB1 if each visit returns the mean so far of the action.

    For an action that was never tried, this is the mean of all.
    """
    total, won = 0, 0.0
    for j in range(len(visits)):
        counts[j], total, won = 0, total + visits[j], won + returns[j]
    mean = won / total if total > 0 else 0.5
    for _ in range(number):
        lead, best = 0, -np.inf
        wide = c * np.sqrt(np.log(total)) if total > 0 else 0.0
        for j in range(len(visits)):
            now = visits[j] + counts[j]
            q = returns[j] / visits[j] if visits[j] > 0 else mean
            score = q + wide / np.sqrt(now) if now > 0 else np.inf
            if score > best:
                lead, best = j, score
        counts[lead] += 1
        total += 1


@kernel
def _observe(links, memory, length, value):
    """Credits the return to every sequence of the path, and chooses again at its states."""
    for at in range(length):
        state, j = memory.path.states[at], memory.path.sequences[at]
        memory.visits[j] += 1
        memory.returns[j] += value
        memory.plan[state] = _choose(links, memory.visits, memory.returns, memory.c, state, memory.seed)


@numba.njit(cache=True)
def _greedy_plan(links, visits, returns, seed, states):
    plan = np.empty(len(states), PLAN_DTYPE)
    for at, state in enumerate(states):
        lead, best, tied = 0, -np.inf, 0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            mean = returns[j] / visits[j] if visits[j] > 0 else -1.0
            takes, tied = hash_rng.takes_lead(mean, best, tied, seed, 0, hash_rng.sequence_key(j))
            if takes:
                lead, best = j, mean
        plan[at] = lead - links.first_sequence[state]
    return plan


_play = compiled_loop(_observe)
