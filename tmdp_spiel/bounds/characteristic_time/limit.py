"""The smallest number of episodes for identification, asymptotically: kl(delta, 1 - delta) / D* (docs/theory.md,
section 13).

Degenne and Koolen ("Pure exploration with multiple correct answers", NeurIPS 2019), for pure answers on a Tree MDP:

    D* = max over epsilon-best answers and plans x of min over rivals pi of the least cost of an alternative in which pi
         is better than the answer by epsilon,

the cost of an alternative q' being the divergence of episodes of x, the sum over outcomes of x q ln(q / q'). For a
given plan the rivals are listed where they are few, and bounded all at once by a pass over the tree
(all_alternatives.py) where they are many. The plan is found by cutting planes. Both sides are certain up to rounding:
any dual point bounds a cost from below, any alternative bounds the best plan from above.
"""

from __future__ import annotations

import collections
import itertools
import math

import numpy as np
import scipy.optimize
import scipy.sparse

from tmdp_spiel.bounds.characteristic_time import all_alternatives, cheapest_alternative
from tmdp_spiel.core import validation
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import TreeMDP

_LISTED = 3000  # policies
_SHARE_OF_COVER = 1e-4  # mixed into plans, so that nothing is never reached
_MARGIN = 1e-3  # by which alternatives are asked for more than epsilon, so that they have it
_CUTS_A_STEP = 8
_CUTS_IN_A_BOX = 300
_STEPS_TO_A_FAR_ONE = 3  # towards the plan that all cuts leave best
_PASSES = 8  # values of eta for one plan
_FIRST_LOG_ETAS = np.log(np.geomspace(1e-3, 3.0, 12)).tolist()
_SCALE = 100.0  # of costs in linear programs, whose tolerances are absolute

Bracket = collections.namedtuple("Bracket", ["lower", "upper", "answer", "plan"])
Limit = collections.namedtuple("Limit", ["least", "most", "for_every_answer"])


def divergence(delta: float) -> float:
    """kl(delta, 1 - delta), of two coins."""
    return (1 - 2 * delta) * math.log((1 - delta) / delta)


def asymptotic_sample_complexity(
    mdp: TreeMDP, epsilon: float, delta: float, *, precision: float = 0.01, steps: int = 100
) -> Limit:
    """Two numbers of episodes between which the asymptotic minimum lies.

    Where there are more than 3,000 reduced policies, `most` holds all the same, but `least` only for algorithms that
    answer with the best response itself: for_every_answer is False.

    Args:
        mdp: the environment.
        epsilon: how far from the best an answer may be, on the [0, 1] scale of returns.
        delta: the probability with which it may be further from the best, less than a half.
        precision: how far apart the two numbers may be, relative to their size.
        steps: the most plans to try; then it ends, however far apart the two numbers are.
    """
    validation.probability("epsilon", epsilon)
    if not 0 < delta < 0.5:
        raise ValueError(f"delta must lie strictly between 0 and 0.5, not {delta}")
    found = best_rate(mdp, epsilon, precision, steps)
    return Limit(divergence(delta) / found.upper, divergence(delta) / found.lower, mdp.tree.num_policies <= _LISTED)


def best_rate(mdp: TreeMDP, epsilon: float, precision: float = 0.01, steps: int = 100) -> Bracket:
    """D* from below and from above, with an answer and a plan that have at least the lower one.

    With more than 3,000 policies the upper one is for a best response as the answer.
    """
    pool = _Pool(mdp, epsilon)
    if mdp.tree.num_policies <= _LISTED:
        plays = _policies(mdp.tree)
        values = plays @ mdp.chances.ending_value
        answers = plays[values > values.max() - epsilon]
        problems = [_Problem(pool, answer, _Listed(pool, answer, plays)) for answer in answers]
    else:
        answer = _played(mdp.tree, mdp.best_response()[1])
        problems = [_Problem(pool, answer, _Searched(pool, answer))]
    best = Bracket(0.0, math.inf, None, None)
    for _ in range(steps * len(problems)):
        leading = max(problems, key=lambda each: each.upper)
        if leading.upper <= (1 + precision) * best.lower:
            break
        leading.step()
        if leading.lower > best.lower:
            best = Bracket(leading.lower, math.inf, leading.answer, leading.plan)
    return best._replace(upper=max(each.upper for each in problems))


def _policies(tree) -> np.ndarray:
    """A row for each reduced policy: whether it plays each sequence."""

    def from_(sequence):
        children = range(tree.first_child[sequence], tree.first_child[sequence + 1])
        chosen = itertools.product(*(below(child) for child in children))
        return [frozenset([sequence]).union(*each) for each in chosen]

    def below(state):
        own = range(tree.first_sequence[state], tree.first_sequence[state + 1])
        return [each for j in own for each in from_(j)]

    policies = from_(ROOT)
    rows = np.zeros((len(policies), tree.sequence_end))
    for row, policy in zip(rows, policies):
        row[list(policy)] = 1.0
    return rows


def _played(tree, plan) -> np.ndarray:
    """Whether a pure plan plays each sequence."""
    plays = np.zeros(tree.sequence_end)
    plays[ROOT] = 1.0
    for state in range(tree.num_states):
        if plays[tree.parent[state]]:
            plays[tree.first_sequence[state] + plan[state]] = 1.0
    return plays


def _uniform_reach(tree) -> np.ndarray:
    reach = np.ones(tree.sequence_end)
    for state in range(tree.num_states):
        number = tree.first_sequence[state + 1] - tree.first_sequence[state]
        reach[tree.first_sequence[state] : tree.first_sequence[state + 1]] = reach[tree.parent[state]] / number
    return reach


class _Pool:
    """The alternatives found so far, each a cut for every answer that is worse in it by epsilon than some policy."""

    def __init__(self, mdp: TreeMDP, epsilon: float):
        self.mdp, self.tree, self.epsilon = mdp, mdp.tree, epsilon
        self.costs: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self.best: list[float] = []

    def cheapest(self, plan, signs) -> tuple[float, float | None]:
        """(a lower bound on what an alternative costs this plan, what one found costs), which joins the pool.

        signs: rival less answer.
        """
        links, chances = self.tree.links, self.mdp.chances
        nu, eta = cheapest_alternative.solve(links, chances, plan, signs, self.epsilon * (1 + _MARGIN))
        lower = cheapest_alternative.lower_bound(chances, plan, signs, self.epsilon, nu, eta)
        cost, value = np.zeros(len(plan)), np.zeros(len(plan))
        enough = self.epsilon * (1 + 1e-9)
        if not cheapest_alternative.read_alternative(links, chances, plan, signs, enough, nu, eta, cost, value):
            return lower, None
        self.costs.append(cost)
        self.values.append(value)
        self.best.append(self._best_value(value))
        return lower, float(cost @ plan)

    def _best_value(self, value) -> float:
        """What the best policy is worth in an alternative."""
        total, tree = value.copy(), self.tree
        for state in range(tree.num_states - 1, -1, -1):
            total[tree.parent[state]] += total[tree.first_sequence[state] : tree.first_sequence[state + 1]].max()
        return float(total[ROOT])


class _Listed:
    """The rivals of an answer, one by one."""

    def __init__(self, pool: _Pool, answer, plays):
        self.pool, self.signs = pool, plays[np.any(plays != answer, axis=1)] - answer

    def search(self, plan) -> float:
        """A lower bound on the least cost over all rivals; the alternatives of the poorest join the pool."""
        links, chances, epsilon = self.pool.tree.links, self.pool.mdp.chances, self.pool.epsilon
        lower = np.array([cheapest_alternative.least_cost(links, chances, plan, each, epsilon) for each in self.signs])
        near = np.argsort(lower)[:_CUTS_A_STEP]
        for rival in near[lower[near] <= 1.5 * max(lower[near[0]], 1e-9)]:
            self.pool.cheapest(plan, self.signs[rival])
        return float(lower[near[0]])


class _Searched:
    """The rivals of an answer, all at once."""

    def __init__(self, pool: _Pool, answer):
        self.pool, self.answer = pool, answer
        self.tables = all_alternatives.new_tables(pool.tree.num_states)
        self.log_eta: float | None = None
        self.first = _first_states(pool.tree)

    def search(self, plan) -> float:
        """As for _Listed."""
        found: dict[bytes, np.ndarray] = {}
        best = -math.inf

        def loss(log_eta):
            nonlocal best
            lower, rival = self._pass(plan, math.exp(log_eta))
            found[rival.tobytes()] = rival
            if lower > best:
                best, self.log_eta = lower, log_eta
            return -max(lower, -1.0)

        if self.log_eta is None:
            self.log_eta = max(_FIRST_LOG_ETAS, key=lambda each: self._pass(plan, math.exp(each))[0])
        around = (self.log_eta - 0.4, self.log_eta + 0.4)
        scipy.optimize.minimize_scalar(loss, bracket=around, options={"maxiter": _PASSES, "xtol": 0.01})
        costs = [(self._cost(plan, rival), rival) for rival in found.values()]
        ranked = [rival for cost, rival in sorted(costs, key=lambda each: each[0]) if cost < math.inf]
        if len(ranked) > 1:
            self._recombine(plan, *ranked[:2])
        return best

    def _pass(self, plan, eta) -> tuple[float, np.ndarray]:
        links, chances = self.pool.tree.links, self.pool.mdp.chances
        lower, nu = all_alternatives.least_cost(links, chances, plan, self.answer, self.pool.epsilon, eta, self.tables)
        rival = np.zeros(len(plan))
        all_alternatives.read_rival(
            links, self.answer, nu, self.tables, rival, np.zeros(len(plan)), np.zeros(len(plan), np.int64)
        )
        return lower, rival

    def _cost(self, plan, rival) -> float:
        signs = rival - self.answer
        cost = self.pool.cheapest(plan, signs)[1] if signs.any() else None
        return math.inf if cost is None else cost

    def _recombine(self, plan, rival, other) -> None:
        """What lies below each first state from either of two rivals, as long as it gets cheaper."""
        least = self._cost(plan, rival)
        for state in range(self.pool.tree.first_child[ROOT + 1]):
            mixed = np.where(self.first == state, other, rival)
            if np.any(mixed != rival) and (cost := self._cost(plan, mixed)) < least:
                least, rival = cost, mixed


def _first_states(tree) -> np.ndarray:
    """The first state of the episodes that come to a sequence, -1 for the root."""
    first = np.full(tree.sequence_end, -1)
    for state in range(tree.num_states):
        before = first[tree.parent[state]]
        first[tree.first_sequence[state] : tree.first_sequence[state + 1]] = state if before < 0 else before
    return first


class _Problem:
    """The best plan for one answer: from above by cuts, from below by the best plan so far, with boxes around it."""

    def __init__(self, pool: _Pool, answer, search):
        self.pool, self.answer, self._rivals = pool, answer, search
        self.upper, self.lower = math.inf, 0.0
        self.plan: np.ndarray | None = None
        self._cover = self._centre = _uniform_reach(pool.tree)
        self._radius, self._steps = 0.5, 0
        self._known, self._costs = 0, np.zeros((0, len(answer)))

    def _cuts(self) -> np.ndarray:
        """The costs, a row each, of the alternatives in which the answer falls short by epsilon."""
        new = slice(self._known, len(self.pool.costs))
        if not self.pool.costs[new]:
            return self._costs
        self._known = len(self.pool.costs)
        counts = np.array(self.pool.best[new]) - np.array(self.pool.values[new]) @ self.answer >= self.pool.epsilon
        self._costs = np.vstack([self._costs, np.array(self.pool.costs[new])[counts]])
        return self._costs

    def step(self) -> None:
        """The cuts that came from other answers if they say more, else one more plan, and the cuts found there."""
        if isinstance(self._rivals, _Listed) and not len(self._rivals.signs):
            self.lower = self.upper = math.inf
            return
        if self._known < len(self.pool.costs) and len(self._cuts()):
            before = self.upper
            self._raise()
            if self.upper < before:
                return
        plan, hoped, far = self._centre, math.inf, self._steps % _STEPS_TO_A_FAR_ONE == 1
        if len(self._costs):
            hoped, plan = self._master(math.inf if far else self._radius)
            if far:
                self.upper, plan = min(self.upper, hoped), 0.5 * plan + 0.5 * self._centre
            plan = (1 - _SHARE_OF_COVER) * plan + _SHARE_OF_COVER * self._cover
        lower = self._rivals.search(plan)
        self._steps += 1
        if lower > self.lower:
            self.lower, self.plan = lower, plan
        costs = self._cuts()
        if not len(costs):
            return
        value, before = (costs @ plan).min(), (costs @ self._centre).min()
        if not far:
            grow = 1.5 if value > before + 0.3 * (hoped - before) else 0.6
            self._radius = float(np.clip(grow * self._radius, 0.01, 3.0))
        if value > before:
            self._centre = plan

    def _raise(self) -> None:
        self.upper = min(self.upper, self._master(math.inf)[0])

    def _master(self, radius: float) -> tuple[float, np.ndarray]:
        """The plan that the cuts leave best, among those that differ from the best so far by a share or all."""
        tree, sequences = self.pool.tree, self.pool.tree.sequence_end
        cuts, bounds = self._costs, [(0.0, None)] * sequences
        if radius < math.inf:
            cuts = cuts[np.argsort(cuts @ self._centre)[:_CUTS_IN_A_BOX]]
            bounds = [(max(0.0, each * (1 - radius)), each * (1 + radius) + 0.003 * radius) for each in self._centre]
        states = np.repeat(np.arange(tree.num_states), np.diff(tree.first_sequence))
        rows = np.concatenate([[tree.num_states], states, np.arange(tree.num_states)])
        columns = np.concatenate([np.arange(sequences), tree.parent])
        entries = np.concatenate([np.ones(sequences), -np.ones(tree.num_states)])
        solved = scipy.optimize.linprog(
            c=np.append(np.zeros(sequences), -1.0),
            A_ub=np.hstack([-_SCALE * cuts, np.ones((len(cuts), 1))]),
            b_ub=np.zeros(len(cuts)),
            A_eq=scipy.sparse.csr_array((entries, (rows, columns)), shape=(tree.num_states + 1, sequences + 1)),
            b_eq=np.append(np.zeros(tree.num_states), 1.0),
            bounds=[*bounds, (None, None)],
        )
        return -solved.fun / _SCALE, np.maximum(solved.x[:-1], 0.0)
