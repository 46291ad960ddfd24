"""Bets on differences of policies, which certify that an answer is within epsilon of the best.

The proof is in docs/theory.md, section 11.

An episode is played by a mixed plan mu. For any baseline Q and any policy pi, pure or mixed, the estimate

    X(s) = sum over a of pi(a | s) Q(s, a) + pi(a_t | s) / mu(a_t | s) (X(next) - Q(s, a_t)),   X(end) = the return,

followed along the path from its first state, is unbiased for V(pi). Let hat be the current answer and D(pi) = X(pi) -
X(hat). A gambler who bets that V(pi) - V(hat) is below epsilon, with stake lambda, multiplies the capital by

    1 + lambda (epsilon - D(pi)).

A pure policy either plays the whole path, or leaves it at one state by one action: the factor depends on that sequence
alone. So ln of the capital against pi is a sum over the sequences that pi plays, and the least over all policies is one
pass.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.bounds.policy_values import largest_total
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.trees.traversal import ROOT

# What is set before an episode. mu, hat: float64[J + 1], the plan that plays and the answer, as probabilities of
# sequences;  baseline: float64[J + 1], Q;  stake: float64[1], lambda
Bet = collections.namedtuple("Bet", ["mu", "hat", "baseline", "stake"])


@kernel
def expected_baseline(links, bet, state):
    """The sum over a of hat(a | s) Q(s, a)."""
    total = 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        total += bet.hat[j] * bet.baseline[j]
    return total


@tree_pass
def settle(links, bet, epsilon, path, length, value, estimates, weights, log_capital):
    """Adds to log_capital what an episode means for every policy; the root takes what it means for all of them.

    For the policies that play the path up to its k-th state, estimates[k] + weights[k] Q(s_k, a) is X if they leave it
    there by a, and estimates[length] + weights[length] value if they never do. Both are scratch, length + 1 entries.
    """
    stake = bet.stake[0]
    if length == 0:
        log_capital[ROOT] += np.log1p(stake * epsilon)
        return
    estimates[0], weights[0] = 0.0, 1.0
    hat_before, hat_weight = 0.0, 1.0
    for k in range(length):
        state, j = path.states[k], path.sequences[k]
        ratio = bet.hat[j] / bet.mu[j]
        hat_before += hat_weight * (expected_baseline(links, bet, state) - ratio * bet.baseline[j])
        hat_weight *= ratio
        weights[k + 1] = weights[k] / bet.mu[j]
        estimates[k + 1] = estimates[k] + (weights[k] - weights[k + 1]) * bet.baseline[j]
    hat = hat_before + hat_weight * value
    for k in range(length):
        state, played = path.states[k], path.sequences[k]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if j != played:
                difference = estimates[k] + weights[k] * bet.baseline[j] - hat
                log_capital[j] += np.log1p(stake * (epsilon - difference))
    difference = estimates[length] + weights[length] * value - hat
    log_capital[path.sequences[length - 1]] += np.log1p(stake * (epsilon - difference))


@numba.njit(cache=True)
def largest_difference(links, bet, least_return, most_return):
    """The most that D can be for any policy and any episode that the rules allow, top-down.

    On one path, D is the largest of some numbers and linear functions of the return, less a linear function of it: it
    is convex, so it is largest at one of the ends of the range.
    """
    number = len(links.can_end)
    before, weight = np.zeros(number), np.ones(number)
    hat_before, hat_weight = np.zeros(number), np.ones(number)
    left = np.full(number, -np.inf)  # the largest X of a policy that has left the path
    largest = 0.0
    for state in range(len(links.parent)):
        above = links.parent[state]
        expected = expected_baseline(links, bet, state)
        first, second = -np.inf, -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            if bet.baseline[j] > first:
                first, second = bet.baseline[j], first
            elif bet.baseline[j] > second:
                second = bet.baseline[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            other = second if bet.baseline[j] == first else first
            left[j] = max(left[above], before[above] + weight[above] * other)
            ratio = bet.hat[j] / bet.mu[j]
            hat_before[j] = hat_before[above] + hat_weight[above] * (expected - ratio * bet.baseline[j])
            hat_weight[j] = hat_weight[above] * ratio
            weight[j] = weight[above] / bet.mu[j]
            before[j] = before[above] + (weight[above] - weight[j]) * bet.baseline[j]
            if links.can_end[j]:
                for value in (least_return[j], most_return[j]):
                    most = max(left[j], before[j] + weight[j] * value)
                    largest = max(largest, most - hat_before[j] - hat_weight[j] * value)
    return largest


@numba.njit(cache=True)
def least_total(links, costs):
    """The least over all pure policies of the summed costs of the sequences they play; the root's is paid by all."""
    return -largest_total(links, -costs)
