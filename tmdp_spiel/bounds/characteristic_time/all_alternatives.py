"""The cheapest alternative over all rivals at once, from below: one pass over the tree (docs/theory.md, section 13).

For a fixed multiplier eta, what the part of the tree below a state adds to the dual is a concave function of its nu,
one for each of three cases: only the rival reaches the state, only the answer, or both. At a sequence the functions of
its children and outcomes are added; at a state nu is divided among the actions in the best way (a sup-convolution), and
the rival takes the action that leaves least. The functions are kept as values at points, with chords between, which lie
below a concave function: so whatever the points, the result is a lower bound.
"""

from __future__ import annotations

import collections

import numpy as np

from tmdp_spiel.core.jit import tree_pass
from tmdp_spiel.trees.traversal import ROOT

RIVAL, ANSWER, BOTH = range(3)  # who reaches the state

POINTS = 320
_TAIL = 20  # of the points, on either side, for what is far from the plan
_LEAST = 1e-3  # of the own reach, the least nu
_TINY = 1e-9

# nu, value: float64[S, 3, POINTS], the functions of a state;  choice: the sequence that the rival takes there;
# given: the nu of that sequence;  part, merged: room for functions in the making
Tables = collections.namedtuple("Tables", ["nu", "value", "choice", "given", "part", "merged"])


def new_tables(states: int) -> Tables:
    return Tables(
        nu=np.zeros((states, 3, POINTS)),
        value=np.zeros((states, 3, POINTS)),
        choice=np.zeros((states, 3, POINTS), np.int32),
        given=np.zeros((states, 3, POINTS)),
        part=np.zeros((3, 2, POINTS)),
        merged=np.zeros((2, 3, 3 * POINTS)),
    )


@tree_pass
def _spread(points, least, middle, eta):
    """Points from `least` up: dense within a few eta of the middle, sparse beyond. middle: the own reach."""
    start = max(least, middle - 1.2 * eta, 0.2 * middle)
    end = max(start, middle) + 1.5 * eta
    number = len(points)
    for at in range(_TAIL):
        points[at] = least + (start - least) * at / _TAIL
        points[number - 1 - at] = end * 30.0 ** ((_TAIL - at) / _TAIL)
    if start <= least:
        for at in range(_TAIL):
            points[at] = least * (1.0 + 1e-3 * (at / _TAIL) ** 2)
        start = points[_TAIL - 1] + 1e-4 * least
        end = max(end, 1.1 * start)
    inner = number - 2 * _TAIL
    for at in range(inner):
        points[_TAIL + at] = start + (end - start) * at / (inner - 1)
    points[number - _TAIL] = end * 1.05


@tree_pass
def _interpolated(points, values, at):
    """By chords; constant beyond the last point, minus infinity before the first."""
    number = len(points)
    if at < points[0]:
        return -np.inf
    if at >= points[number - 1]:
        return values[number - 1]
    low, high = 0, number - 1
    while high - low > 1:
        middle = (low + high) // 2
        if points[middle] <= at:
            low = middle
        else:
            high = middle
    share = (at - points[low]) / (points[high] - points[low])
    return (1 - share) * values[low] + share * values[high]


@tree_pass
def _of_sequence(links, chances, reach, tables, eta, j, who, out):
    """The function of a sequence, into out[0] (points) and out[1] (values).

    sum over outcomes of x q ln((nu - eta sign return) / x), and those of the children.
    """
    sign = 1.0 if who == RIVAL else -1.0 if who == ANSWER else 0.0
    least = _LEAST * reach[j]
    if who == RIVAL and links.can_end[j]:
        least = max(least, eta + _TINY)
    for child in range(links.first_child[j], links.first_child[j + 1]):
        least = max(least, tables.nu[child, who, 0])
    _spread(out[0], least, reach[j], eta)
    for at in range(POINTS):
        nu, total = out[0, at], 0.0
        for outcome in range(chances.first_outcome[j], chances.first_outcome[j + 1]):
            weight = reach[j] * chances.outcome_probability[outcome]
            if weight > 0:
                total += weight * np.log((nu - eta * sign * chances.outcome_return[outcome]) / reach[j])
        for child in range(links.first_child[j], links.first_child[j + 1]):
            total += _interpolated(tables.nu[child, who], tables.value[child, who], nu)
        out[1, at] = total


@tree_pass
def _of_the_others(reach, chance, eta, out):
    """The function of actions that neither takes: x q ln(nu / x), x being their reach together."""
    _spread(out[0], _LEAST * reach, reach, eta)
    for at in range(POINTS):
        out[1, at] = reach * chance * np.log(out[0, at] / reach)


@tree_pass
def _merge(one, number, other, out):
    """The sup-convolution of two concave functions by points: all chords, the steepest first. Returns its points.

    one: [points, values, points of its first part]; out likewise.
    """
    i, k, at = 0, 0, 0
    size = other.shape[1]
    while True:
        out[0, at] = one[0, i] + other[0, k]
        out[1, at] = one[1, i] + other[1, k]
        out[2, at] = one[2, i]
        at += 1
        if i + 1 < number and k + 1 < size:
            rise = (one[1, i + 1] - one[1, i]) * (other[0, k + 1] - other[0, k])
            if rise >= (other[1, k + 1] - other[1, k]) * (one[0, i + 1] - one[0, i]):
                i += 1
            else:
                k += 1
        elif i + 1 < number:
            i += 1
        elif k + 1 < size:
            k += 1
        else:
            return at


@tree_pass
def _reach_of_others(links, reach, state, taken, played):
    """The reach, together, of the actions that neither the rival nor the answer takes."""
    others = 0.0
    for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
        if j != taken and j != played:
            others += reach[j]
    return others


@tree_pass
def _share_out(links, chances, reach, tables, eta, state, taken, played):
    """max over nu_1 + nu_2 + ... = nu of sum over a of T(a, nu_a), if the rival takes `taken` and the answer `played`.

    -1 for none. Returns (how many points it has, the row of tables.merged that has them).
    """
    part, merged, number, row = tables.part, tables.merged, POINTS, 0
    main = taken if taken >= 0 else played
    who = BOTH if taken == played else RIVAL if taken >= 0 else ANSWER
    _of_sequence(links, chances, reach, tables, eta, main, who, part[0])
    for at in range(POINTS):
        merged[0, 0, at] = merged[0, 2, at] = part[0, 0, at]
        merged[0, 1, at] = part[0, 1, at]
    if taken >= 0 and played >= 0 and taken != played:
        _of_sequence(links, chances, reach, tables, eta, played, ANSWER, part[1])
        number, row = _merge(merged[row], number, part[1], merged[1 - row]), 1 - row
    others = _reach_of_others(links, reach, state, taken, played)
    if others > 0:
        _of_the_others(others, chances.reach[state], eta, part[2])
        number, row = _merge(merged[row], number, part[2], merged[1 - row]), 1 - row
    return number, row


@tree_pass
def _fill_answer(links, chances, reach, tables, eta, state, played):
    """T_answer(s, nu): the rival does not come there, and the answer takes `played`."""
    points, values = tables.nu[state, ANSWER], tables.value[state, ANSWER]
    number, row = _share_out(links, chances, reach, tables, eta, state, -1, played)
    merged = tables.merged[row]
    _spread(points, merged[0, 0], reach[links.parent[state]], eta)
    for at in range(POINTS):
        values[at] = _interpolated(merged[0, :number], merged[1, :number], points[at])


@tree_pass
def _fill(links, chances, reach, tables, eta, state, who, answer):
    """T_k(s, nu): the least over what the rival does at the state. answer: what the answer takes there, -1 for none."""
    first, last = links.first_sequence[state], links.first_sequence[state + 1]
    points, values = tables.nu[state, who], tables.value[state, who]
    least = 0.0
    for taken in range(first, last):
        _, row = _share_out(links, chances, reach, tables, eta, state, taken, answer)
        least = max(least, tables.merged[row, 0, 0])
    _spread(points, least, reach[links.parent[state]], eta)
    values[:] = np.inf
    for taken in range(first, last):
        number, row = _share_out(links, chances, reach, tables, eta, state, taken, answer)
        merged = tables.merged[row]
        for at in range(POINTS):
            value = _interpolated(merged[0, :number], merged[1, :number], points[at])
            if value < values[at]:
                values[at] = value
                tables.choice[state, who, at] = taken
                tables.given[state, who, at] = _interpolated(merged[0, :number], merged[2, :number], points[at])


@tree_pass
def least_cost(links, chances, reach, answer, epsilon, eta, tables):
    """(a lower bound on the cost of every alternative in which any rival is better by epsilon, the nu of the root).

    reach: own reach of the plan, all positive;  answer: which sequences it plays.
    """
    for state in range(len(links.parent) - 1, -1, -1):
        before = links.parent[state]
        played = -1
        if answer[before]:
            for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
                if answer[j]:
                    played = j
        if played >= 0:
            _fill(links, chances, reach, tables, eta, state, BOTH, played)
            _fill_answer(links, chances, reach, tables, eta, state, played)
        _fill(links, chances, reach, tables, eta, state, RIVAL, -1)
    best, best_nu = -np.inf, 1.0
    start = 1.0 + eta * epsilon
    for step in range(-40, 41):
        nu = start * (1.0 + 0.0005 * step)
        total = 1.0 - nu + eta * epsilon
        for outcome in range(chances.first_outcome[ROOT + 1]):
            total += chances.outcome_probability[outcome] * np.log(nu)
        for child in range(links.first_child[ROOT + 1]):
            total += _interpolated(tables.nu[child, BOTH], tables.value[child, BOTH], nu)
        if total > best:
            best, best_nu = total, nu
    return best, best_nu


@tree_pass
def read_rival(links, answer, root_nu, tables, rival, nu, who):
    """Fills in which sequences the cheapest rival plays; nu, who: room, per sequence."""
    rival[:] = 0.0
    rival[ROOT], nu[ROOT], who[ROOT] = 1.0, root_nu, BOTH
    for state in range(len(links.parent)):
        before = links.parent[state]
        if not rival[before]:
            continue
        case = who[before]
        points = tables.nu[state, case]
        at = np.searchsorted(points, nu[before])
        if at >= POINTS:
            at = POINTS - 1
        elif at > 0 and nu[before] - points[at - 1] < points[at] - nu[before]:
            at -= 1
        taken = tables.choice[state, case, at]
        rival[taken] = 1.0
        nu[taken] = tables.given[state, case, at]
        who[taken] = BOTH if case == BOTH and answer[taken] else RIVAL
