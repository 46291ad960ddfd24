"""Bets on answers to questions, against brute force: all answers, all policies of Kuhn, a twin in plain Python."""

import itertools
import math

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.bounds.answer_values import asking_order, settle_answers
from tmdp_spiel.openspiel.histories import build_history_tree
from tmdp_spiel.trees.history_tree import CHANCE, END, OTHER, OWN


@pytest.fixture(scope="module", params=(0, 1))
def rules(request):
    game = ts.load_game("kuhn")
    return build_history_tree(game, ts.build_infostate_tree(game, request.param))


def plans(tree, number, rng):
    """Pure plans as probabilities of sequences."""
    for _ in range(number):
        plan = np.zeros(tree.sequence_end)
        for state in range(tree.num_states):
            plan[rng.integers(tree.first_sequence[state], tree.first_sequence[state + 1])] = 1.0
        yield plan


def paths(histories):
    """Every end, with the histories on the way to it."""
    waiting = [[0]]
    while waiting:
        path = waiting.pop()
        h = path[-1]
        if histories.kind[h] == END:
            yield path
        moves = histories.child[histories.first_move[h] : histories.first_move[h + 1]]
        waiting += [[*path, int(child)] for child in moves]


def probability(histories, path, shares, plan):
    product = 1.0
    for above, h in itertools.pairwise(path):
        kind = histories.kind[above]
        product *= {CHANCE: histories.chance, OTHER: shares, OWN: plan}[kind][
            h if kind == CHANCE else histories.move[h]
        ]
    return product


def value(rules, shares, plan):
    histories = rules.histories
    return sum(probability(histories, path, shares, plan) * histories.value[path[-1]] for path in paths(histories))


def bracket(rules, asked, shares, base, plan, stake, sign, everything=None):
    """What a policy pays: the totals of the sequences that it plays."""
    totals = np.zeros(rules.tree.sequence_end)
    weights = np.ones(rules.tree.sequence_end) if everything is None else everything
    settle_answers(rules.histories, asking_order(rules), asked, shares, base, weights, stake, sign, totals)
    links, reach = rules.tree.links, np.ones(rules.tree.sequence_end)
    for state in range(rules.tree.num_states):
        above = reach[links.parent[state]]
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            reach[j] = above * plan[j]
    return float(totals @ (reach if everything is None else np.ones(len(reach))))


def random_base(rules, rng):
    """B of histories: anything, but means where chance moves."""
    histories, base = rules.histories, rng.random(len(rules))
    for h in range(len(base) - 1, -1, -1):
        if histories.kind[h] == CHANCE:
            after = histories.child[histories.first_move[h] : histories.first_move[h + 1]]
            base[h] = histories.chance[after] @ base[after]
    return base


def all_answers(rules, shares, asked):
    """Every way to answer, as shares, with its probability."""
    first = rules.histories.first_answer
    of_states = []
    for state in range(len(first) - 1):
        p, n = shares[first[state]], int(asked[state])
        of_states.append([(k, math.comb(n, k) * p**k * (1 - p) ** (n - k)) for k in range(n + 1)])
    for answers in itertools.product(*of_states):
        given = np.zeros(first[-1])
        for state, (k, _) in enumerate(answers):
            if asked[state]:
                given[first[state] : first[state + 1]] = k / asked[state], 1 - k / asked[state]
        yield given, math.prod(p for _, p in answers)


def random_shares(rules, rng):
    first = rules.histories.first_answer
    p = rng.random(len(first) - 1)
    return np.ravel(np.stack([p, 1 - p], axis=1))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("stake", [0.4, 2.0, 8.0])
def test_capital_has_mean_one_at_most(rules, sign, stake):
    """exp(lambda V(pi) - bracket(pi)), over all answers, with states that are asked once, twice, or not at all."""
    rng = np.random.default_rng(int(10 * stake) + rules.tree.player)
    shares = random_shares(rules, rng)
    states = len(rules.histories.first_answer) - 1
    asked = rng.integers(0 if sign < 0 else 1, 3, states).astype(float)
    base = random_base(rules, rng)
    for plan in plans(rules.tree, 3, rng):
        truth = sign * stake * value(rules, shares, plan)
        mean = 0.0
        for given, chance in all_answers(rules, shares, asked):
            mean += chance * math.exp(truth - bracket(rules, asked, given, base, plan, stake, sign))
        assert mean <= 1 + 1e-12


def test_a_policy_of_its_own_is_bounded_more_tightly(rules):
    """The lower side knows the plan: its states are asked with what the plan makes of their probability."""
    rng = np.random.default_rng(5)
    shares, states = random_shares(rules, rng), len(rules.histories.first_answer) - 1
    asked, base = np.ones(states), random_base(rules, rng)
    plan = next(plans(rules.tree, 1, rng))
    mean = 0.0
    for given, chance in all_answers(rules, shares, asked):
        own = bracket(rules, asked, given, base, plan, 3.0, -1.0, everything=plan)
        assert own <= bracket(rules, asked, given, base, plan, 3.0, -1.0) + 1e-12
        mean += chance * math.exp(-3.0 * value(rules, shares, plan) - own)
    assert 0.5 < mean <= 1 + 1e-12


def test_too_few_answers_would_show(rules):
    """With twice the answers that there were, the capital is too large for some policy: the test above can fail."""
    rng = np.random.default_rng(1)
    shares, states = random_shares(rules, rng), len(rules.histories.first_answer) - 1
    asked, base = np.ones(states), np.full(len(rules), 0.5)
    means = []
    for plan in plans(rules.tree, 8, rng):
        truth = 3.0 * value(rules, shares, plan)
        means.append(
            sum(
                chance * math.exp(truth - bracket(rules, 8 * asked, given, base, plan, 3.0, 1.0))
                for given, chance in all_answers(rules, shares, asked)
            )
        )
    assert max(means) > 1.0


def test_settling_against_a_reference(rules):
    """Many answers, so that nothing is cut: every end by itself."""
    rng = np.random.default_rng(2)
    histories, order = rules.histories, asking_order(rules)
    given, base, stake = random_shares(rules, rng), random_base(rules, rng), 2.0
    asked = rng.integers(100, 200, len(histories.first_answer) - 1).astype(float)
    ones = np.ones(rules.tree.sequence_end)
    likely = np.zeros(len(asked))
    seen = set()
    for path in paths(histories):
        for k, h in enumerate(path):
            if histories.kind[h] == OTHER and h not in seen:
                seen.add(h)
                likely[order.state[h]] += probability(histories, path[: k + 1], given, ones)
    expected = np.zeros(rules.tree.sequence_end)
    for path in paths(histories):
        x, theta, sequence = histories.value[path[-1]], 0.0, 0
        for above, h in itertools.pairwise(path):
            if histories.kind[above] == CHANCE:
                x += base[above] - base[h]
            if histories.kind[above] == OTHER:
                state = order.state[above]
                theta = max(theta, stake * likely[state] / asked[state])
            if histories.kind[above] == OWN:
                sequence = histories.move[h]
        cost = base[0] - math.log(1 + theta * (base[0] - x)) / theta
        expected[sequence] += stake * probability(histories, path, given, ones) * cost
    totals = np.zeros(rules.tree.sequence_end)
    settle_answers(histories, order, asked, given, base, ones, stake, 1.0, totals)
    np.testing.assert_allclose(totals, expected, rtol=1e-10)
