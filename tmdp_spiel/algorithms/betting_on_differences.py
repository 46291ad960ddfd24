"""Identification by bets on differences of policies: an epsilon-best response in few episodes, certified.

The certificate is in bounds/differences; docs/theory.md, section 11, has the proof. It holds for any exploration,
answer, baseline and stake that are set before an episode. Here they are set anew at *looks*, whenever the episodes have
grown by a few percent, from what was seen so far:

    the answer      plays each action by how far, in standard errors, it is behind the best one;
    the baseline    is the empirical value if the answer is followed, raised where a return could cost too much;
    the exploration minimises the variance of the differences to the rivals that lag behind, in one pass, mixed with a
                    plan that reaches every ending as often as can be;
    the stake       makes the capital of the poorest rival grow fastest, as far as can be foreseen.

What is recommended is the mixture of the answers so far, each in proportion to its stakes.
"""

from __future__ import annotations

import collections
import math

import numba
import numpy as np

from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.algorithms.one_opponent import OneOpponent
from tmdp_spiel.bounds.differences import Bet, largest_difference, least_total, settle
from tmdp_spiel.trees import checks, walk
from tmdp_spiel.trees.decision_tree import DecisionTree
from tmdp_spiel.trees.kernels import kernel
from tmdp_spiel.trees.return_ranges import ranges_below
from tmdp_spiel.trees.tree_mdp import TreeMDP, mixed_value, own_reach

# Chosen on seeds from 1000, with Liar's dice and small starts of RBT beside the poker games; docs/identification.md.
# None affects the guarantee.
_FIRST_LOOK = 16
_GROWTH = 0.03  # of the episodes between looks
_PASS_SHARE = 10  # and at least one episode for that many sequences, so that looks do not cost more than episodes
_SHARPNESS = 2.0  # of the answer, per standard error
_COVER = 0.3  # share of the exploration that covers all endings
_PRIOR_VISITS = 0.5
_PRIOR_CHANCE = 0.2  # visits that are added to every state
_PRIOR_VARIANCE = 0.5  # as a share of that of all returns
_RISK = 0.8  # of the capital, the most that one episode can cost
_RAISED = 2.0  # how far a single return may go beyond what the stake allows before the baseline is raised
_TRUST = 0.5  # in the estimated deficits of rivals, where stakes and exploration are foreseen
_CAUTION = 2.0  # standard errors that are taken off a deficit
_RAMP = 0.25  # stakes are smaller before this share of the foreseen episodes
_STEP = 0.8  # between stakes tried
_MOST_STEPS = 60
_TINY = 1e-12
_MOST_EPISODES = 2**31

# The state of a run in arrays, so that compiled code can advance it.
EPISODES, NEXT_LOOK, LAST_LOOK, LOOKS, STOPPED = range(5)
WEIGHT, FULL_STAKE, LOG_CAPITAL, RETURNS, SQUARES = range(5)

# One entry per sequence: visits int64;  returns, squares, of the episodes that ended there, and answers, summed stakes
# times the reach of the answers, float64;  log_capital: float64[J + 1];  cover: the plan of largest least reach;
# least_return, most_return: see DecisionTree;  lowest, highest: the range of all returns after a sequence;
# progress: int64[5] and numbers: float64[5], see above
Memory = collections.namedtuple(
    "Memory",
    [
        "bet",
        "log_capital",
        "visits",
        "returns",
        "squares",
        "answers",
        "cover",
        "least_return",
        "most_return",
        "lowest",
        "highest",
        "epsilon",
        "needed",
        "progress",
        "numbers",
        "path",
        "estimates",
        "weights",
    ],
)


class BettingOnDifferences(OneOpponent, Learner):
    """PAC identification: stops with a policy that is worth at least V* - epsilon with probability at least 1 - delta.

    epsilon is on the [0, 1] scale of returns. The policy is a mixed plan. Rivals are refuted by their difference to it,
    so nothing is paid for the number of policies; where the tree knows the returns to lie in a narrow range, larger
    stakes are allowed.
    """

    def __init__(self, tree: DecisionTree, *, epsilon: float = 0.05, delta: float = 0.05, seed: int = 0):
        super().__init__(tree, seed)
        self.epsilon = checks.probability("epsilon", epsilon)
        self.delta = checks.probability("delta", delta)
        cover, width = _max_cover(tree.links)
        expected = foreseen_episodes(width, self.epsilon, self.delta)
        if expected >= _MOST_EPISODES:
            raise ValueError(
                f"epsilon = {self.epsilon} and delta = {self.delta} would take about {expected:.1e} episodes on this "
                f"tree, and a run has fewer than 2^31: ask for a larger epsilon"
            )
        least, most = tree.return_range
        lowest, highest = ranges_below(tree)
        sequences, horizon = tree.num_sequences, tree.horizon
        self._memory = Memory(
            bet=Bet(cover.copy(), np.empty(sequences), np.empty(sequences), np.zeros(1)),
            log_capital=np.zeros(sequences + 1),
            visits=np.zeros(sequences, np.int64),
            returns=np.zeros(sequences),
            squares=np.zeros(sequences),
            answers=np.zeros(sequences),
            cover=cover,
            least_return=least,
            most_return=most,
            lowest=lowest,
            highest=highest,
            epsilon=self.epsilon,
            needed=-math.log(self.delta),
            progress=np.zeros(5, np.int64),
            numbers=np.array([0.0, 1.0, 0.0, 0.0, 0.0]),
            path=walk.new_path(horizon),
            estimates=np.empty(horizon + 1),
            weights=np.empty(horizon + 1),
        )
        _redesign(tree.links, self._memory)

    def plan(self) -> np.ndarray:
        """The exploration, a mixed plan."""
        return self._memory.bet.mu.copy()

    def answer(self) -> np.ndarray:
        """The answer of the moment, a mixed plan: one of those that recommend() mixes."""
        return self._memory.bet.hat.copy()

    def recommend(self) -> np.ndarray:
        """The mixture of the answers so far in proportion to their stakes, which the certificate is about."""
        return _mixture(self.tree.links, self._memory)

    @property
    def stopped(self) -> bool:
        return bool(self._memory.progress[STOPPED])

    @property
    def certainty(self) -> float:
        """ln of the least capital at the last look, as a share of ln(1 / delta): 1 stops."""
        return float(self._memory.numbers[LOG_CAPITAL] / self._memory.needed)

    @property
    def standing(self) -> str:
        return f"{max(self.certainty, 0.0):.0%} certain that none is {self.epsilon:g} better"

    def _update(self, ended_on, value):
        least, most = 0.0, 1.0
        if ended_on < self.tree.num_sequences:
            least, most = self._memory.least_return[ended_on], self._memory.most_return[ended_on]
        if not least - 1e-9 <= value <= most + 1e-9:
            raise ValueError(
                f"by the rules an episode that ends on sequence {ended_on} returns from {least} to {most}, not {value}"
            )
        length = walk.trace_back(self.tree.links, ended_on, self._memory.path)
        _take_in(self.tree.links, self._memory, length, min(max(value, least), most))

    def new_values(self, mdp):
        """V of the exploration, alone in an array."""
        return np.array([mixed_value(self.tree.links, mdp.chances, self._memory.bet.mu)])

    def _play(self, mdp, values, rng, episodes):
        if self.check_same_opponent(mdp):
            self._check_returns(mdp)
        return _play(self.tree.links, mdp.chances, self._memory, values, rng, episodes)

    def _check_returns(self, mdp: TreeMDP) -> None:
        least, most = np.append(self._memory.least_return, 0.0), np.append(self._memory.most_return, 1.0)
        ends_on = np.repeat(np.arange(len(least)), np.diff(mdp.first_outcome))
        if np.any((mdp.outcome_return < least[ends_on]) | (mdp.outcome_return > most[ends_on])):
            raise ValueError("this environment has returns outside the ranges that the learner's tree gives them")


def foreseen_episodes(width: float, epsilon: float, delta: float) -> float:
    """About how many episodes it takes, from what was measured; width: 1 / the largest least reach of an ending."""
    return 0.3 * width * math.log(1.0 / delta) / epsilon**2


@numba.njit(cache=True)
def _max_cover(links):
    """The plan whose least reach of any ending is as large as can be, and 1 / that reach at the widest first state:

    G(s, a) = max(1, largest g of a child), g(s) = sum over a of G(s, a), action a with probability G(s, a) / g(s).
    """
    width = np.zeros(len(links.parent))
    plan = np.empty(len(links.can_end))
    widest = 1.0
    for state in range(len(width) - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = 1.0
            for child in range(links.first_child[j], links.first_child[j + 1]):
                plan[j] = max(plan[j], width[child])
            width[state] += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] /= width[state]
        widest = max(widest, width[state])
    return plan, widest


@kernel
def _state_visits(links, visits, state):
    total = 0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        total += visits[j]
    return total


@numba.njit(cache=True)
def _estimate(links, memory, hat, means, variances, deficits):
    """Sets the answer, the mean of what follows each sequence if the answer is followed, its variance, and how far the
    mean is behind that of the state, bottom-up.

    Visits are added that saw the mean of the children, or of all returns, with a share of the variance of all returns,
    both within the range that the rules allow.
    With e(j) the squared standard error of the mean, the answer plays a in proportion to
    exp(-sharpness (best mean - mean(s, a)) / sqrt(e(best) + e(s, a))).
    """
    episodes, prior = memory.progress[EPISODES], _PRIOR_VISITS
    overall = (2.0 + memory.numbers[RETURNS]) / (4.0 + episodes)
    spread = memory.numbers[SQUARES] - memory.numbers[RETURNS] ** 2 / max(episodes, 1)
    spread = _PRIOR_VARIANCE * (0.4 + max(spread, 0.0)) / (4.0 + episodes)
    states = len(links.parent)
    value, error = np.empty(states), np.empty(states)
    errors = np.empty(len(links.can_end))
    for state in range(states - 1, -1, -1):
        best = links.first_sequence[state]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total, squares, below = memory.returns[j], memory.squares[j], 0.0
            guess, children = 0.0, links.first_child[j + 1] - links.first_child[j]
            for child in range(links.first_child[j], links.first_child[j + 1]):
                number = _state_visits(links, memory.visits, child)
                total += number * value[child]
                squares += number * value[child] ** 2
                below += number * number * error[child]
                guess += value[child] / children
            if children == 0:
                guess = min(max(overall, memory.lowest[j]), memory.highest[j])
            unknown = min(spread, 0.25 * (memory.highest[j] - memory.lowest[j]) ** 2)
            visits = memory.visits[j]
            means[j] = (total + prior * guess) / (visits + prior)
            scatter = max(squares - total * total / max(visits, 1), 0.0)
            variances[j] = (scatter + prior * unknown) / (visits + prior)
            errors[j] = variances[j] / (visits + prior) + below / (visits + prior) ** 2
            if means[j] > means[best]:
                best = j
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            behind = (means[best] - means[j]) / math.sqrt(errors[j] + errors[best] + _TINY)
            hat[j] = math.exp(-_SHARPNESS * behind)
            total += hat[j]
        value[state], error[state] = 0.0, 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            hat[j] /= total
            value[state] += hat[j] * means[j]
            error[state] += hat[j] ** 2 * errors[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            sure = value[state] - means[j] - _CAUTION * math.sqrt(errors[j] + error[state])
            deficits[j] = max(sure, 0.0)


@numba.njit(cache=True)
def _chance_reach(links, memory):
    """Per sequence: the estimated probability of its state if the own actions on the path are taken, top-down."""
    reach = np.empty(len(links.can_end))
    for state in range(len(links.parent)):
        number = _state_visits(links, memory.visits, state) + _PRIOR_CHANCE
        if state < links.first_child[0]:
            share = number / (memory.progress[EPISODES] + _PRIOR_CHANCE * links.first_child[0])
        else:
            above = links.parent[state]
            siblings = links.first_child[above + 1] - links.first_child[above]
            share = reach[above] * number / (memory.visits[above] + _PRIOR_CHANCE * (siblings + 1))
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            reach[j] = share
    return reach


@numba.njit(cache=True)
def _rivals(links, costs):
    """Per sequence: the probability that a pure policy plays it that is drawn in proportion to exp(-its costs)."""
    states = len(links.parent)
    plan, log_sum = np.empty(len(links.can_end)), np.empty(states)
    for state in range(states - 1, -1, -1):
        most = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = -costs[j]
            for child in range(links.first_child[j], links.first_child[j + 1]):
                plan[j] += log_sum[child]
            most = max(most, plan[j])
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = math.exp(plan[j] - most)
            total += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] /= total
        log_sum[state] = most + math.log(total)
    return own_reach(links, plan)


@numba.njit(cache=True)
def _neyman(links, costs):
    """The plan mu that minimises the sum over sequences of costs(j) / (own reach of j under mu), bottom-up:

    F(s) = (sum over a of sqrt(G(s, a)))^2, G(j) = costs(j) + sum over children c of F(c), mu in proportion to sqrt(G).
    """
    plan, least = np.empty(len(links.can_end)), np.empty(len(links.parent))
    for state in range(len(links.parent) - 1, -1, -1):
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            cost = costs[j] + _TINY
            for child in range(links.first_child[j], links.first_child[j + 1]):
                cost += least[child]
            plan[j] = math.sqrt(cost)
            total += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] /= total
        least[state] = total * total
    return plan


@numba.njit(cache=True)
def _mix(links, one, other, share, mixed):
    """Sets `mixed` to `other` with probability `share` for a whole episode, else `one`, as one plan."""
    first, second = own_reach(links, one), own_reach(links, other)
    for state in range(len(links.parent)):
        above = 1.0
        if state >= links.first_child[0]:
            parent = links.parent[state]
            above = (1.0 - share) * first[parent] + share * second[parent]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            mixed[j] = ((1.0 - share) * first[j] + share * second[j]) / above


@numba.njit(cache=True)
def _raised(links, memory, reach, means, variances, most_gain, baseline):
    """Raises the baseline above the means until no single step of an estimate gains more than most_gain, bottom-up.

    A step from j gains at most (largest X after j - Q(j)) / (own reach of j). Returns the variances about the baseline.
    """
    mu = memory.bet.mu
    highest = np.empty(len(links.parent))
    about = np.empty(len(links.can_end))
    for state in range(len(links.parent) - 1, -1, -1):
        highest[state] = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            after = memory.most_return[j] if links.can_end[j] else -np.inf
            for child in range(links.first_child[j], links.first_child[j + 1]):
                after = max(after, highest[child])
            baseline[j] = max(means[j], after - most_gain * reach[j])
            about[j] = variances[j] + (baseline[j] - means[j]) ** 2
            highest[state] = max(highest[state], baseline[j] + max(after - baseline[j], 0.0) / mu[j])
    return about


@numba.njit(cache=True)
def _second_moments(links, chance, variances, hat_reach, reach):
    """The variance of D(pi) as a sum over the sequences that pi plays, and what all pay, at the root.

    It is the sum over j of chance(j) variance(j) (pi(j) - hat(j))^2 / reach(j), pi(j) and hat(j) being own reaches.
    """
    moments = np.zeros(len(chance) + 1)
    for j in range(len(chance)):
        moment = chance[j] * variances[j] / reach[j]
        moments[j] = moment * (1.0 - 2.0 * hat_reach[j])
        moments[len(chance)] += moment * hat_reach[j] ** 2
    return moments


@numba.njit(cache=True)
def _foresee(log_capital, gains, moments, ahead, stake, costs):
    """Sets costs to ln capital + ahead (lambda gain - lambda^2 / 2 moment): what bets are expected to have come to."""
    for j in range(len(costs)):
        costs[j] = log_capital[j] + ahead * stake * (gains[j] - 0.5 * stake * moments[j])


@numba.njit(cache=True)
def _best_stake(links, log_capital, gains, moments, ahead, largest):
    """The stake with which the poorest rival is expected to have most, `ahead` episodes from now, and how much.

    It is a concave function of the stake; tried from the largest downwards.
    """
    costs = np.empty(len(log_capital))
    best, stake, most = largest, largest, -np.inf
    for _ in range(_MOST_STEPS):
        _foresee(log_capital, gains, moments, ahead, stake, costs)
        value = least_total(links, costs)
        if value < most:
            break
        best, most = stake, value
        stake *= _STEP
    return best, most


@numba.njit(cache=True)
def _redesign(links, memory):
    """Sets answer, exploration, baseline and stake for the episodes until the next look."""
    bet, epsilon, episodes = memory.bet, memory.epsilon, memory.progress[EPISODES]
    sequences = len(links.can_end)
    means, variances, gains = np.empty(sequences), np.empty(sequences), np.empty(sequences + 1)
    _estimate(links, memory, bet.hat, means, variances, gains)
    hat_reach, chance = own_reach(links, bet.hat), _chance_reach(links, memory)
    ahead, stake = max(float(episodes), 20.0), memory.numbers[FULL_STAKE]
    for j in range(sequences):
        gains[j] *= _TRUST * chance[j]
    gains[sequences] = epsilon

    moments = _second_moments(links, chance, variances, hat_reach, own_reach(links, bet.mu))
    costs, apart = np.empty(sequences + 1), np.empty(sequences)
    _foresee(memory.log_capital, gains, moments, ahead, stake, costs)
    played = _rivals(links, costs)
    for j in range(sequences):
        squared = played[j] * (1.0 - hat_reach[j]) ** 2 + (1.0 - played[j]) * hat_reach[j] ** 2
        apart[j] = chance[j] * variances[j] * squared
    _mix(links, _neyman(links, apart), memory.cover, _COVER, bet.mu)
    reach = own_reach(links, bet.mu)

    bet.baseline[:] = means
    moments = _second_moments(links, chance, variances, hat_reach, reach)
    largest = max(2.0 * stake, _largest_stake(links, memory))
    stake, _ = _best_stake(links, memory.log_capital, gains, moments, ahead, largest)
    about = _raised(links, memory, reach, means, variances, _RAISED * _RISK / stake, bet.baseline)
    moments = _second_moments(links, chance, about, hat_reach, reach)
    largest = _largest_stake(links, memory)
    stake, _ = _best_stake(links, memory.log_capital, gains, moments, ahead, largest)
    _, growth = _best_stake(links, np.zeros(sequences + 1), gains, moments, 1.0, largest)
    remaining = max(memory.needed - memory.numbers[LOG_CAPITAL], 0.0) / max(growth, 1e-9)
    share = episodes / (episodes + remaining + _TINY)
    memory.numbers[FULL_STAKE] = stake
    bet.stake[0] = stake * min(1.0, share / _RAMP)


@numba.njit(cache=True)
def _largest_stake(links, memory):
    """The stake at which the worst episode that the rules allow costs the share _RISK of a capital."""
    worst = largest_difference(links, memory.bet, memory.least_return, memory.most_return) - memory.epsilon
    return _RISK / max(worst, 1e-6)


@numba.njit(cache=True)
def _look(links, memory):
    """Takes the answer of the last episodes into the mixture; stops if every rival is refuted, else designs anew."""
    progress, numbers, stake = memory.progress, memory.numbers, memory.bet.stake[0]
    weight = stake * (progress[EPISODES] - progress[LAST_LOOK])
    reach = own_reach(links, memory.bet.hat)
    for j in range(len(reach)):
        memory.answers[j] += weight * reach[j]
    numbers[WEIGHT] += weight
    progress[LAST_LOOK] = progress[EPISODES]
    numbers[LOG_CAPITAL] = least_total(links, memory.log_capital)
    progress[LOOKS] += 1
    if numbers[LOG_CAPITAL] >= memory.needed:
        progress[STOPPED] = 1
        return
    _redesign(links, memory)
    step = max(int(_GROWTH * progress[EPISODES]), len(reach) // _PASS_SHARE, 1)
    progress[NEXT_LOOK] = progress[EPISODES] + step


@numba.njit(cache=True)
def _take_in(links, memory, length, value):
    """Counts an episode and settles its bets; whether it brought a look."""
    progress, path = memory.progress, memory.path
    if progress[STOPPED]:
        return False
    settle(links, memory.bet, memory.epsilon, path, length, value, memory.estimates, memory.weights, memory.log_capital)
    for at in range(length):
        memory.visits[path.sequences[at]] += 1
    if length > 0:
        memory.returns[path.sequences[length - 1]] += value
        memory.squares[path.sequences[length - 1]] += value * value
    memory.numbers[RETURNS] += value
    memory.numbers[SQUARES] += value * value
    progress[EPISODES] += 1
    if progress[EPISODES] < max(progress[NEXT_LOOK], _FIRST_LOOK):
        return False
    _look(links, memory)
    return True


@numba.njit(cache=True)
def _mixture(links, memory):
    """The plan that reaches every sequence as the mixture of the answers does; else the current answer."""
    bet, progress = memory.bet, memory.progress
    weight = bet.stake[0] * (progress[EPISODES] - progress[LAST_LOOK])
    reach = own_reach(links, bet.hat)
    plan = np.empty(len(reach))
    for state in range(len(links.parent)):
        total = 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = memory.answers[j] + weight * reach[j]
            total += plan[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            plan[j] = plan[j] / total if total > 0.0 else bet.hat[j]
    return plan


@numba.njit(cache=True)
def _play(links, chances, memory, values, rng, number):
    path, total = memory.path, 0.0
    for played in range(number):
        if memory.progress[STOPPED]:
            return played, total
        total += values[0]
        j, rest, length = np.int64(len(links.can_end)), rng.random(), 0
        while True:
            state, outcome, rest = walk.follow_chance(links, chances, j, rest)
            if outcome >= 0:
                break
            j = np.int64(walk.draw_sequence(links, memory.bet.mu, state, rng.random()))
            path.states[length], path.sequences[length] = state, j
            length += 1
        if _take_in(links, memory, length, chances.outcome_return[outcome]) and not memory.progress[STOPPED]:
            values[0] = mixed_value(links, chances, memory.bet.mu)
    return number, total
