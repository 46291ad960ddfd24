import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.algorithms.baselines import uct


@pytest.fixture
def tree():
    """One state with the sequences 1 and 2; after 2 a second state with 3 and 4. Utilities from -1 to 1."""
    return ts.InfostateTree(
        first_sequence=[1, 3, 5],
        first_child=[0, 1, 1, 2, 2, 2],
        parent=[0, 2],
        action=[0, 0, 1, 0, 1],
        can_end=[False, True, False, True, True],
        min_utility=-1.0,
        max_utility=1.0,
    )


def test_a_game_worked_by_hand(tree):
    learner = ts.UCT(tree, c=2.0, seed=0)  # 1 on the scale of returns

    def play(sequence, value):
        state = int(sequence >= 3)
        assert learner.plan()[state] == sequence - 1 - 2 * state
        learner.learn(sequence, value)

    # Untried actions first, in any order.
    firsts = [1, 3 + learner.plan()[1]]
    values = {1: 0.5, firsts[1]: 0.8}
    for ended_on in firsts if learner.plan()[0] == 0 else firsts[::-1]:
        learner.learn(ended_on, values[ended_on])
    other = 7 - firsts[1]
    # 0.5 + sqrt(ln 2 / 1) = 1.33 against 0.8 + sqrt(ln 2 / 1) = 1.63. In the second state, the other action is untried.
    assert learner.plan()[0] == 1
    play(other, 0.1)
    # 0.5 + sqrt(ln 3 / 1) = 1.548 against 0.45 + sqrt(ln 3 / 2) = 1.191.
    assert learner.plan()[0] == 0
    play(1, 0.5)
    # 0.5 + sqrt(ln 4 / 2) = 1.333 against 0.45 + sqrt(ln 4 / 2) = 1.283.
    play(1, 0.5)
    # 0.5 + sqrt(ln 5 / 3) = 1.232 against 0.45 + sqrt(ln 5 / 2) = 1.347; below: 0.8 and 0.1, each + sqrt(ln 2 / 1).
    assert learner.plan()[0] == 1
    play(firsts[1], 0.9)
    # Below: 0.85 + sqrt(ln 3 / 2) = 1.591 against 0.1 + sqrt(ln 3 / 1) = 1.148.
    assert learner.plan()[1] == firsts[1] - 3
    # Greedy: 0.5 against (0.8 + 0.1 + 0.9) / 3 = 0.6.
    np.testing.assert_array_equal(learner.recommend(), [1, firsts[1] - 3])
    visits = np.zeros(5, int)
    visits[[1, 2, firsts[1], other]] = 3, 3, 2, 1
    np.testing.assert_array_equal(learner.visits, visits)


def test_c_is_in_the_units_of_the_game(tree):
    arrays = {name: getattr(tree, name) for name in ("first_sequence", "first_child", "parent", "action", "can_end")}
    rescaled = ts.InfostateTree(**arrays, min_utility=0.0, max_utility=20.0)
    one, other = ts.UCT(tree, c=1.0, seed=3), ts.UCT(rescaled, c=10.0, seed=3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        np.testing.assert_array_equal(one.plan(), other.plan())
        ended_on = 1 if one.plan()[0] == 0 else 3 + int(one.plan()[1])
        value = rng.random()
        one.learn(ended_on, value)
        other.learn(ended_on, value)


def test_untried_actions_are_tried_in_random_order():
    tree = ts.InfostateTree(
        first_sequence=[1, 5],
        first_child=[0] + [1] * 5,
        parent=[0],
        action=[0, 0, 1, 2, 3],
        can_end=[False] + [True] * 4,
    )
    orders = set()
    for seed in range(60):
        learner, order = ts.UCT(tree, seed=seed), []
        for _ in range(4):
            order.append(int(learner.plan()[0]))
            learner.learn(1 + order[-1], 0.5)
        assert sorted(order) == [0, 1, 2, 3]
        orders.add(tuple(order))
    assert len(orders) > 15


@pytest.mark.parametrize("number", [1, 2, 37])
def test_actions_in_a_round_have_the_frequencies_of_visits_with_mean_returns(number):
    rng = np.random.default_rng(number)
    visits, returns = rng.integers(1, 9, 4), rng.random(4)
    counts, now = np.zeros(4, np.int64), visits.astype(float)
    uct._spread(visits.astype(np.int32), returns * visits, 0.7, number, counts)
    for _ in range(number):
        now[np.argmax(returns + 0.7 * np.sqrt(np.log(now.sum()) / now))] += 1
    np.testing.assert_array_equal(counts, now - visits)


def test_in_a_round_untried_actions_come_first_and_choices_follow_the_draws(tree):
    learner = ts.UCT(tree, c=2.0)
    learner.learn(1, 0.5)
    action_selectors = learner.action_selectors(
        8
    )  # eight more episodes: the first state is seen in all of them, the second in one
    low, high = action_selectors(lambda: 0.0), action_selectors(lambda: 0.999)
    assert (low(0), high(0)) == (0, 1) and low(1) == high(1)
    counts = np.zeros(2, np.int64)
    uct._spread(np.array([1, 0], np.int32), np.array([0.5, 0.0]), 1.0, 1, counts)
    assert counts.tolist() == [0, 1]
