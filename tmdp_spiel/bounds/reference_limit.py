"""How few episodes identification can take, asymptotically: kl(delta, 1 - delta) / D* (docs/theory.md, section 13).

Degenne and Koolen ("Pure exploration with multiple correct answers", NeurIPS 2019), for pure answers on a Tree MDP:

    D* = max over epsilon-best answers and plans x of min over rivals pi of the least cost of an alternative in which pi
         is better than the answer by epsilon,

the cost of an alternative q' being the divergence of episodes of x, the sum over outcomes of x q ln(q / q'). Its dual
is a concave problem in a multiplier eta and numbers nu that obey the flow of a plan, up to their size at the root:

    max of sum over outcomes o of x(j) q(o) ln((nu(j) - eta sign(j) return(o)) / x(j)) + 1 - nu(root) + eta epsilon,

sign(j) being 1 where only the rival plays j, -1 where only the answer does. It is solved by Newton's method for all
rivals at once; the plan by cutting planes. Both sides of the bracket are certain up to rounding: any dual point bounds
the cost from below, any alternative bounds the best plan from above.
"""

from __future__ import annotations

import collections
import itertools
import math
from typing import Any

import numpy as np
import scipy.optimize

from tmdp_spiel.trees import checks
from tmdp_spiel.trees.tree_mdp import TreeMDP

_MOST_POLICIES = 3000
_BARRIER = 1e-8
_NEWTON_STEPS = 60
_EVERY: Any = slice(None)  # rival
_SHARE_OF_COVER = 1e-3  # mixed into plans, so that nothing is never reached

# The outcomes of positive probability: the sequence of each, the root being J, its probability and its return.
Outcomes = collections.namedtuple("Outcomes", ["sequence", "probability", "value"])
Bracket = collections.namedtuple("Bracket", ["lower", "upper", "answer", "plan"])


def divergence(delta: float) -> float:
    """kl(delta, 1 - delta), of two coins."""
    return (1 - 2 * delta) * math.log((1 - delta) / delta)


def reference_limit(mdp: TreeMDP, epsilon: float, delta: float, *, precision: float = 0.01) -> tuple[float, float]:
    """Between which two numbers of episodes the asymptotic reference lies.

    Args:
        mdp: the environment, of at most 3,000 reduced policies.
        epsilon: how far from the best an answer may be, on the [0, 1] scale of returns.
        delta: with which probability it may be further, less than a half.
        precision: how far apart the two numbers may be, as a share of them.
    """
    checks.probability("epsilon", epsilon)
    if not 0 < delta < 0.5:
        raise ValueError(f"delta must lie strictly between 0 and 0.5, not {delta}")
    found = best_rate(mdp, epsilon, precision)
    return divergence(delta) / found.upper, divergence(delta) / found.lower


def best_rate(mdp: TreeMDP, epsilon: float, precision: float = 0.01) -> Bracket:
    """D* from below and from above, with an answer and a plan that have at least the lower one."""
    tree = mdp.tree
    if tree.num_policies > _MOST_POLICIES:
        raise ValueError(
            f"the reference limit lists all policies, and this tree has {tree.num_policies:.3g}, more than "
            f"{_MOST_POLICIES:,}"
        )
    plays = _policies(tree)
    ending_value = mdp.chances.ending_value
    values = plays @ ending_value[:-1] + ending_value[-1]
    answers = np.flatnonzero(values > values.max() - epsilon)
    problems = [_Problem(mdp, plays, plays[answer], epsilon) for answer in answers]
    best = Bracket(0.0, 0.0, None, None)
    while True:
        leading = max(problems, key=lambda each: each.upper)
        if leading.upper <= (1 + precision) * best.lower:
            return best._replace(upper=leading.upper)
        leading.cut()
        if leading.lower > best.lower:
            best = Bracket(leading.lower, leading.upper, leading.answer, leading.plan)


def _policies(tree) -> np.ndarray:
    """A row for each reduced policy: whether it plays each sequence."""

    def below(state):
        rows = []
        for j in range(tree.first_sequence[state], tree.first_sequence[state + 1]):
            children = [below(child) for child in range(tree.first_child[j], tree.first_child[j + 1])]
            rows += [frozenset([j]).union(*chosen) for chosen in itertools.product(*children)]
        return rows

    chosen = itertools.product(*(below(state) for state in range(tree.first_child[0])))
    policies = [frozenset().union(*each) for each in chosen]
    rows = np.zeros((len(policies), tree.num_sequences))
    for row, policy in zip(rows, policies):
        row[list(policy)] = 1.0
    return rows


class _Problem:
    """The best plan for one answer: a concave problem, from above by cuts and from below by the best plan so far."""

    def __init__(self, mdp: TreeMDP, plays: np.ndarray, answer: np.ndarray, epsilon: float):
        tree = mdp.tree
        self.tree, self.epsilon, self.answer = tree, epsilon, answer
        signs = plays - answer
        self.signs = np.hstack([signs[np.any(signs != 0, axis=1)], np.zeros((np.any(signs != 0, axis=1).sum(), 1))])
        sequence = np.repeat(np.arange(tree.num_sequences + 1), np.diff(mdp.first_outcome))
        seen = mdp.outcome_probability > 0
        self.outcomes = Outcomes(sequence[seen], mdp.outcome_probability[seen], mdp.outcome_return[seen])
        self.flow = _flow(tree)
        self.cuts: list[np.ndarray] = []
        self.upper, self.lower = math.inf, 0.0
        self.plan: np.ndarray | None = None
        self.centre = _uniform_reach(tree)
        self.cover = self.centre

    def cut(self) -> None:
        """One more cut, at a plan between the best of the cuts and the best so far."""
        if not len(self.signs):
            self.lower = self.upper = math.inf
            return
        candidate = self.centre if not self.cuts else 0.5 * self.centre + 0.5 * self._master()
        candidate = (1 - _SHARE_OF_COVER) * candidate + _SHARE_OF_COVER * self.cover
        lower, costs = cheapest_alternatives(self.outcomes, self.signs, self.flow, candidate, self.epsilon)
        near = np.argsort(lower)[:20]
        self.cuts += [costs[rival] for rival in near if lower[rival] <= 1.5 * max(lower[near[0]], 1e-6)]
        if lower[near[0]] > self.lower:
            self.lower, self.plan, self.centre = float(lower[near[0]]), candidate, candidate
        self._master()

    def _master(self) -> np.ndarray:
        """The plan that the cuts leave best; it also sets the upper bound."""
        sequences = self.tree.num_sequences
        cuts = np.array(self.cuts)
        equalities = np.hstack([self.flow, np.zeros((len(self.flow), 1))])
        solved = scipy.optimize.linprog(
            c=np.append(np.zeros(sequences + 1), -1.0),
            A_ub=np.hstack([-cuts, np.ones((len(cuts), 1))]),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.vstack([equalities, np.append(np.zeros(sequences), [1.0, 0.0])]),
            b_eq=np.append(np.zeros(len(self.flow)), 1.0),
            bounds=[(0, None)] * (sequences + 1) + [(None, None)],
        )
        self.upper = min(self.upper, -solved.fun)
        return solved.x[:-1]


def _flow(tree) -> np.ndarray:
    """A row for each state: the sum over its sequences less what leads to it. The root is the last column."""
    rows = np.zeros((tree.num_states, tree.num_sequences + 1))
    for state in range(tree.num_states):
        rows[state, tree.first_sequence[state] : tree.first_sequence[state + 1]] = 1.0
        rows[state, tree.parent[state]] -= 1.0
    return rows


def _uniform_reach(tree) -> np.ndarray:
    reach = np.ones(tree.num_sequences + 1)
    for state in range(tree.num_states):
        number = tree.first_sequence[state + 1] - tree.first_sequence[state]
        reach[tree.first_sequence[state] : tree.first_sequence[state + 1]] = reach[tree.parent[state]] / number
    return reach


def cheapest_alternatives(outcomes: Outcomes, signs, flow, reach, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Per rival: a lower bound on the cost of its cheapest alternative, and a cut: the cost of one by sequences.

    signs: a row for each rival;  flow: see _flow;  reach: own reach of the plan, the root last, all positive.
    """
    rivals, size = signs.shape
    states = len(flow)
    at, weight = outcomes.sequence, reach[outcomes.sequence] * outcomes.probability
    slope = signs[:, at] * outcomes.value
    can_end = np.unique(at[at < size - 1])
    # Any return in [0, 1] may be put after an ending: 1 after the rival's, 0 after the answer's.
    extra_slope = np.maximum(signs[:, can_end], 0.0)
    equalities = np.hstack([flow, np.zeros((states, 1))])
    points = np.hstack([np.tile(reach, (rivals, 1)), np.full((rivals, 1), 0.1 * reach.min())])

    def arguments(points):
        inner = points[:, at] - points[:, -1:] * slope
        extra = points[:, can_end] - points[:, -1:] * extra_slope
        return inner, extra

    def objective(points):
        inner, extra = arguments(points)
        inside = (inner.min(axis=1) > 0) & (extra.min(axis=1) > 0) & (points[:, -1] > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.log(inner) @ weight - points[:, -2] + epsilon * points[:, -1]
            value += _BARRIER * (np.log(extra).sum(axis=1) + np.log(points[:, -1]))
        return np.where(inside, value, -np.inf)

    for _ in range(_NEWTON_STEPS):
        inner, extra = arguments(points)
        gradient = np.zeros((rivals, size + 1))
        hessian = np.zeros((rivals, size + 1, size + 1))
        for index, value, slopes, weights in (
            (at, inner, slope, weight),
            (can_end, extra, extra_slope, np.full(len(can_end), _BARRIER)),
        ):
            first, second = weights / value, weights / value**2
            np.add.at(gradient, (_EVERY, index), first)
            gradient[:, -1] -= (first * slopes).sum(axis=1)
            np.add.at(hessian, (_EVERY, index, index), -second)
            np.add.at(hessian, (_EVERY, index, size), second * slopes)
            np.add.at(hessian, (_EVERY, size, index), second * slopes)
            hessian[:, -1, -1] -= (second * slopes**2).sum(axis=1)
        gradient[:, -2] -= 1.0
        gradient[:, -1] += epsilon + _BARRIER / points[:, -1]
        hessian[:, -1, -1] -= _BARRIER / points[:, -1] ** 2
        system = np.zeros((rivals, size + 1 + states, size + 1 + states))
        system[:, : size + 1, : size + 1] = hessian
        system[:, : size + 1, size + 1 :] = equalities.T
        system[:, size + 1 :, : size + 1] = equalities
        right = np.concatenate([-gradient, np.zeros((rivals, states))], axis=1)
        step = np.linalg.solve(system, right[..., None])[:, : size + 1, 0]
        gain = (gradient * step).sum(axis=1)
        if gain.max() < 1e-13:
            break
        before, length = objective(points), np.ones(rivals)
        for _ in range(50):
            worse = objective(points + length[:, None] * step) < before + 0.1 * length * gain - 1e-15
            if not worse.any():
                break
            length[worse] *= 0.5
        length[worse] = 0.0
        points = points + length[:, None] * step
    inner, _ = arguments(points)
    lower = np.log(inner / reach[at]) @ weight + 1.0 - points[:, -2] + epsilon * points[:, -1]
    costs = np.zeros((rivals, size))
    np.add.at(costs, (_EVERY, at), outcomes.probability * np.log(inner / reach[at]))
    return lower, costs
