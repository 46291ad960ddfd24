"""The cheapest alternative in which a given rival is better than the answer by epsilon (docs/theory.md, section 13).

The dual is concave, in a multiplier eta and numbers nu that obey the flow of a plan:

    max of sum over outcomes o of x(j) q(o) ln((nu(j) - eta sign(j) return(o)) / x(j)) + 1 - nu(root) + eta epsilon,

sign(j) being 1 where only the rival plays j, -1 where only the answer does. Newton's method: a step is a quadratic
problem with the flow of a plan, solved by a pass up and a pass down the tree. Any return in [0, 1] may be put after an
ending, 1 after the rival's and 0 after the answer's, which asks for nu(j) >= eta at the rival's: by a barrier.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.core.jit import tree_pass
from tmdp_spiel.trees.traversal import ROOT

_BARRIER = 1e-9
_STEPS = 100

# nu, step: per sequence;  slope[j], slope_eta[j], curve[j]: of the quadratic at j and what is below
_Scratch = collections.namedtuple("_Scratch", ["nu", "step", "slope", "slope_eta", "curve"])


@tree_pass
def _objective(links, chances, reach, signs, nu, eta, epsilon):
    """The dual with its barrier; minus infinity outside."""
    if eta <= 0:
        return -np.inf
    total = epsilon * eta - nu[ROOT] + _BARRIER * np.log(eta)
    for j in range(len(nu)):
        if j != ROOT and links.can_end[j]:
            slack = nu[j] - eta * max(signs[j], 0.0)
            if slack <= 0:
                return -np.inf
            total += _BARRIER * np.log(slack)
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            weight = reach[j] * chances.outcome_probability[outcome]
            if weight > 0:
                inner = nu[j] - eta * signs[j] * chances.outcome_return[outcome]
                if inner <= 0:
                    return -np.inf
                total += weight * np.log(inner)
    return total


@tree_pass
def _add_term(scratch, j, weight, inner, slope):
    """weight ln(nu(j) - eta slope) to second order; returns what it adds to the derivatives in eta alone."""
    first, second = weight / inner, weight / inner**2
    scratch.slope[j] += first
    scratch.slope_eta[j] += second * slope
    scratch.curve[j] += second
    return -first * slope, second * slope**2


@tree_pass
def _expand(links, chances, reach, signs, scratch, eta, epsilon):
    """Fills in the dual to second order at (nu, eta), sequence by sequence; returns its derivatives in eta alone."""
    nu = scratch.nu
    eta_slope, eta_curve = epsilon + _BARRIER / eta, _BARRIER / eta**2
    for j in range(len(nu)):
        scratch.slope[j] = scratch.slope_eta[j] = scratch.curve[j] = 0.0
        if j != ROOT and links.can_end[j]:
            sign = max(signs[j], 0.0)
            first, second = _add_term(scratch, j, _BARRIER, nu[j] - eta * sign, sign)
            eta_slope += first
            eta_curve += second
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            weight = reach[j] * chances.outcome_probability[outcome]
            if weight > 0:
                sign = signs[j] * chances.outcome_return[outcome]
                first, second = _add_term(scratch, j, weight, nu[j] - eta * sign, sign)
                eta_slope += first
                eta_curve += second
    scratch.slope[ROOT] -= 1.0
    return eta_slope, eta_curve


@tree_pass
def _eliminate(links, scratch, eta_slope, eta_curve):
    """Up the tree: solves for the steps d at every state, their sum being that of the parent; returns that of eta.

    max of sum over a of (g + g_eta d_eta) d - h d^2 / 2 adds sum(g / h) / sum(1 / h) to the slope g of the parent, and
    1 / sum(1 / h) to its curvature h; g is slope, g_eta slope_eta, h curve.
    """
    slope, slope_eta, curve = scratch.slope, scratch.slope_eta, scratch.curve
    for state in range(len(links.parent) - 1, -1, -1):
        ease, plain, by_eta = 0.0, 0.0, 0.0
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            ease += 1.0 / curve[j]
            plain += slope[j] / curve[j]
            by_eta += slope_eta[j] / curve[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            one, two = slope[j] - plain / ease, slope_eta[j] - by_eta / ease
            eta_slope += slope_eta[j] * one / curve[j]
            eta_curve -= slope_eta[j] * two / curve[j]
        before = links.parent[state]
        slope[before] += plain / ease
        slope_eta[before] += by_eta / ease
        curve[before] += 1.0 / ease
    eta_slope += slope_eta[ROOT] * slope[ROOT] / curve[ROOT]
    eta_curve -= slope_eta[ROOT] ** 2 / curve[ROOT]
    return eta_slope / eta_curve


@tree_pass
def _substitute(links, scratch, eta_step):
    """Down the tree: fills in the steps of nu, given that of eta."""
    step, slope, slope_eta, curve = scratch.step, scratch.slope, scratch.slope_eta, scratch.curve
    step[ROOT] = (slope[ROOT] + slope_eta[ROOT] * eta_step) / curve[ROOT]
    for state in range(len(links.parent)):
        ease, pull = 0.0, -step[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            ease += 1.0 / curve[j]
            pull += (slope[j] + slope_eta[j] * eta_step) / curve[j]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            step[j] = (slope[j] + slope_eta[j] * eta_step - pull / ease) / curve[j]


@tree_pass
def _newton_step(links, chances, reach, signs, scratch, eta, epsilon):
    """Fills in the step of nu, and returns that of eta (docs/theory.md, section 13, "The dual")."""
    eta_slope, eta_curve = _expand(links, chances, reach, signs, scratch, eta, epsilon)
    eta_step = _eliminate(links, scratch, eta_slope, eta_curve)
    _substitute(links, scratch, eta_step)
    return eta_step


@numba.njit(cache=True)
def solve(links, chances, reach, signs, epsilon):
    """(nu, eta) at which the dual is largest, nearly.

    reach: own reach of the plan, all positive;  signs: per sequence.
    """
    size = len(reach)
    scratch = _Scratch(reach.copy(), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))
    nu, eta = scratch.nu, 0.1 * reach.min()
    value = _objective(links, chances, reach, signs, nu, eta, epsilon)
    trial = np.empty(size)
    for _ in range(_STEPS):
        eta_step = _newton_step(links, chances, reach, signs, scratch, eta, epsilon)
        length, reached = 1.0, -np.inf
        while length > 1e-10:
            for j in range(size):
                trial[j] = nu[j] + length * scratch.step[j]
            reached = _objective(links, chances, reach, signs, trial, eta + length * eta_step, epsilon)
            if reached > value:
                break
            length *= 0.5
        if not reached > value:
            break
        nu[:] = trial
        eta += length * eta_step
        if reached - value < 1e-14 and length == 1.0:
            break
        value = reached
    return nu, eta


@numba.njit(cache=True)
def lower_bound(chances, reach, signs, epsilon, nu, eta):
    """The dual: what any alternative costs at least, at any nu and eta that are allowed."""
    total = 1.0 - nu[ROOT] + epsilon * eta
    for j in range(len(nu)):
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            weight = reach[j] * chances.outcome_probability[outcome]
            if weight > 0:
                total += weight * np.log((nu[j] - eta * signs[j] * chances.outcome_return[outcome]) / reach[j])
    return total


@numba.njit(cache=True)
def least_cost(links, chances, reach, signs, epsilon):
    """A lower bound on the cost of every alternative, tight up to the barrier."""
    nu, eta = solve(links, chances, reach, signs, epsilon)
    return lower_bound(chances, reach, signs, epsilon, nu, eta)


@numba.njit(cache=True)
def read_alternative(links, chances, reach, signs, epsilon, nu, eta, cost, value):
    """Fills in the cost and value of an alternative near the one of nu and eta; False if it falls short of epsilon.

    cost, value: per sequence j, the sums over its outcomes of q ln(q / q') and of q' times the return.
    What nu and eta give to the outcomes is made to add up at every sequence; that is mixed with the truth as far as a
    difference of epsilon allows. So it is an alternative whatever nu and eta are.
    """
    states, sequences = len(links.parent), len(nu)
    mass, after, extra = np.zeros(states), np.zeros(sequences), np.zeros(sequences)
    given = np.zeros(len(chances.outcome_return))
    for j in range(sequences):
        if j != ROOT and links.can_end[j]:
            extra[j] = _BARRIER / (nu[j] - eta * max(signs[j], 0.0))
        after[j] = extra[j]
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            weight = reach[j] * chances.outcome_probability[outcome]
            if weight > 0:
                given[outcome] = weight / (nu[j] - eta * signs[j] * chances.outcome_return[outcome])
                after[j] += given[outcome]
    for state in range(states - 1, -1, -1):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            mass[state] += after[j] * reach[j] / reach[links.parent[state]]
        after[links.parent[state]] += mass[state]
    scale = np.empty(sequences)
    scale[ROOT] = 1.0 / after[ROOT]
    for state in range(states):
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            scale[j] = scale[links.parent[state]] * mass[state] / after[j]
    before, gain = 0.0, 0.0
    for j in range(sequences):
        value[j] = extra[j] * scale[j] if signs[j] > 0 else 0.0
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            value[j] += given[outcome] * scale[j] * chances.outcome_return[outcome]
        before += signs[j] * chances.ending_value[j]
        gain += signs[j] * value[j]
    if gain < epsilon:
        return False
    share = (epsilon - before) / (gain - before)
    for j in range(sequences):
        value[j] = (1 - share) * chances.ending_value[j] + share * value[j]
        cost[j] = 0.0
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            chance = chances.outcome_probability[outcome]
            if chance > 0:
                cost[j] -= chance * np.log(1 - share + share * given[outcome] * scale[j] / chance)
    return True
