"""Bounds against a known opponent: from above by information relaxation, from below with control variates.

Both use one function W of the player's states. The proofs are in docs/lab/theory_sharper.md, sections 1 and 2.

Let W be any numbers, one an own state, fixed beforehand, and W(end) = the return. With

    e(j) = E[W(next) | sequence j],   A(s, a) = e(s, a) - W(s),

an episode of any response pi through s_1, a_1, ..., s_n, a_n has E[e(root) + sum over k of A(s_k, a_k)] = V(pi): return
minus that sum is a sum of differences W(next) - e(j), which have mean 0. A *scenario* has one next state, or end, for
every own sequence, drawn from the true chances. The best path through it is worth at least what any response gets, so

    V* <= E[ e(root) + max over own paths through the scenario of sum of A(s_k, a_k) ].

If W is the value of the best response, A <= 0 with equality for best actions: every scenario is worth V*.
"""

from __future__ import annotations

import numba
import numpy as np

from tmdp_spiel.bounds.betting import lower_mean, upper_mean
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import TreeMDP


class Relaxation:
    """Certified bounds against the known opponent of a TreeMDP, with a fixed function W of its states.

    mdp: the tree and its true chances. state_values: W, one number a state, on the [0, 1] scale; a poor W costs width,
    never soundness. It must not depend on the scenarios and episodes that are drawn afterwards.
    """

    def __init__(self, mdp: TreeMDP, state_values):
        values = np.ascontiguousarray(state_values, np.float64)
        if values.shape != (mdp.tree.num_states,) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"state_values must be {mdp.tree.num_states} finite numbers, one for each state, not an array of shape "
                f"{values.shape}"
            )
        self.mdp, self.state_values = mdp, values
        self.expected = _expected(mdp.tree.links, mdp.chances, values)
        self.most = float(_most(mdp.tree.links, mdp.chances, values, self.expected))

    def scenarios(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """The values of the best paths through fresh scenarios; their mean is at least V*, none is above `most`."""
        links, number = self.mdp.tree.links, validation.whole_number("number", number)
        return _scenarios(links, self.mdp.chances, self.state_values, self.expected, rng, number)

    def upper_bound(self, *, scenarios: int, delta: float, rng: np.random.Generator) -> float:
        """What no response is worth more than, in [0, 1], with probability at least 1 - delta."""
        return min(upper_mean(self.scenarios(scenarios, rng), most=self.most, delta=delta), 1.0)

    def episodes(self, plan, number: int, rng: np.random.Generator, clip: float | None = None):
        """Unbiased estimates of the plan's value from fresh episodes, and what none of them is below.

        clip: A is cut off at +-clip, and the mean of what is cut off, which is known, is put in its place: that leaves
            the estimate unbiased, and proves a small range. None: no cutting.
        """
        tree = self.mdp.tree
        if clip is not None:
            clip = validation.positive("clip", clip)
        number = validation.whole_number("number", number)
        probabilities = tree.as_probabilities(plan)
        cut = np.inf if clip is None else clip
        lost = _lost(tree.links, self.mdp.chances, self.state_values, self.expected, probabilities, cut)
        least = _least(tree.links, self.mdp.chances, self.state_values, self.expected, probabilities, lost, cut)
        drawn = _episodes(
            tree.links, self.mdp.chances, self.state_values, self.expected, probabilities, lost, cut, rng, number
        )
        return drawn, float(least)

    def lower_bound(
        self, plan, *, episodes: int, delta: float, rng: np.random.Generator, clip: float | None = None
    ) -> float:
        """What the plan, and so a best response, is worth at least, in [0, 1], with probability 1 - delta."""
        drawn, least = self.episodes(plan, episodes, rng, clip)
        return max(lower_mean(drawn, least=least, delta=delta), 0.0)


@numba.njit(cache=True)
def shrunken_values(links, visits, means, weak, strong):
    """W from what was learned: per state, the best mean of its sequences, shrunk to that of the sequence before it.

    visits, means: of all sequences. An estimate (n mean + k above) / (n + k) has k = strong where the
    best is chosen, k = weak where it is handed down.
    """
    handed_down = np.empty(len(visits))
    handed_down[ROOT] = means[ROOT]
    values = np.empty(len(links.parent))
    for state in range(len(values)):
        above, best = handed_down[links.parent[state]], -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            handed_down[j] = (visits[j] * means[j] + weak * above) / (visits[j] + weak)
            best = max(best, (visits[j] * means[j] + strong * above) / (visits[j] + strong))
        values[state] = best
    return values


@kernel
def _state_reach(links, chances, sequence, state):
    """The chance of getting to a sequence; 1 for the root."""
    return 1.0 if sequence == ROOT else chances.reach[state]


@numba.njit(cache=True)
def _expected(links, chances, values):
    """e(j) for all sequences; 0 where j cannot be reached."""
    expected = np.zeros(len(links.can_end))
    for state in range(-1, len(links.parent)):
        first, end = traversal.sequences_of(links, state)
        for j in range(first, end):
            total, reach = chances.ending_value[j], _state_reach(links, chances, j, state)
            child, last = traversal.children(links, j)
            while child != last:
                total += chances.reach[child] * values[child]
                child = traversal.next_child(links, child)
            if reach > 0.0:
                expected[j] = total / reach
    return expected


@kernel
def _ends(chances, sequence):
    for outcome in range(chances.first_outcome[sequence], chances.first_outcome[sequence + 1]):
        if chances.outcome_probability[outcome] > 0.0:
            return True
    return False


@numba.njit(cache=True)
def _most(links, chances, values, expected):
    """The largest value that a scenario can have, bottom-up."""
    best = np.zeros(len(links.parent))
    for state in range(len(best) - 1, -2, -1):
        first, end = traversal.sequences_of(links, state)
        most = -np.inf
        for j in range(first, end):
            after = 0.0 if _ends(chances, j) else -np.inf
            child, last = traversal.children(links, j)
            while child != last:
                if chances.reach[child] > 0.0:
                    after = max(after, best[child] - values[child])
                child = traversal.next_child(links, child)
            most = max(most, expected[j] + after)
        if state < 0:
            return most
        best[state] = most
    return np.nan


@numba.njit(cache=True)
def _scenarios(links, chances, values, expected, rng, number):
    """Draws scenarios as far as own paths lead, the states in the order of their discovery, and solves them backwards.

    worth[j] is e(j) and, if the episode continues to c, best(c) - W(c); best(c) is the largest worth at c.
    """
    drawn = np.empty(number)
    states, before = np.empty(len(links.parent), np.int32), np.empty(len(links.parent), np.int32)
    worth = np.empty(len(links.can_end))
    for at in range(number):
        found, done, j, end = 0, -1, ROOT, ROOT + 1
        while True:
            while j < end:
                reach = 1.0 if done < 0 else chances.reach[states[done]]
                child, _, _ = traversal.follow_chance(links, chances, np.int64(j), rng.random() * reach)
                worth[j] = expected[j]
                if child >= 0:
                    worth[j] -= values[child]
                    states[found], before[found] = child, j
                    found += 1
                j += 1
            done += 1
            if done == found:
                break
            j, end = traversal.sequences_of(links, states[done])
        for index in range(found - 1, -1, -1):
            best = -np.inf
            for j in range(links.first_sequence[states[index]], links.first_sequence[states[index] + 1]):
                best = max(best, worth[j])
            worth[before[index]] += best
        drawn[at] = worth[ROOT]
    return drawn


@kernel
def _cut(advantage, clip):
    return min(max(advantage, -clip), clip)


@numba.njit(cache=True)
def _lost(links, chances, values, expected, plan, clip):
    """Per sequence: the mean of A - cut(A) at the next own decision under the plan."""
    lost = np.zeros(len(links.can_end))
    for state in range(-1, len(links.parent)):
        first, end = traversal.sequences_of(links, state)
        for j in range(first, end):
            reach = _state_reach(links, chances, j, state)
            child, last = traversal.children(links, j)
            while child != last:
                if chances.reach[child] > 0.0:
                    for after in range(links.first_sequence[child], links.first_sequence[child + 1]):
                        advantage = expected[after] - values[child]
                        chance = plan[after] * chances.reach[child] / reach
                        lost[j] += chance * (advantage - _cut(advantage, clip))
                child = traversal.next_child(links, child)
    return lost


@numba.njit(cache=True)
def _least(links, chances, values, expected, plan, lost, clip):
    """The smallest value that an episode's estimate can have, bottom-up."""
    below = np.zeros(len(links.parent))
    for state in range(len(below) - 1, -2, -1):
        first, end = traversal.sequences_of(links, state)
        least = np.inf
        for j in range(first, end):
            if state >= 0 and plan[j] <= 0.0:
                continue
            after = 0.0 if _ends(chances, j) else np.inf
            child, last = traversal.children(links, j)
            while child != last:
                if chances.reach[child] > 0.0:
                    after = min(after, below[child])
                child = traversal.next_child(links, child)
            own = expected[j] if state < 0 else _cut(expected[j] - values[state], clip)
            least = min(least, own + lost[j] + after)
        if state < 0:
            return least
        below[state] = least
    return np.nan


@numba.njit(cache=True)
def _episodes(links, chances, values, expected, plan, lost, clip, rng, number):
    drawn = np.empty(number)
    for at in range(number):
        j, rest = np.int64(ROOT), rng.random()
        total = expected[ROOT] + lost[ROOT]
        while True:
            state, outcome, rest = traversal.follow_chance(links, chances, j, rest)
            if outcome >= 0:
                break
            j = np.int64(traversal.draw_sequence(links, plan, state, rng.random()))
            total += _cut(expected[j] - values[state], clip) + lost[j]
        drawn[at] = total
    return drawn
