"""Bounds from answers to questions: right, narrow where the opponent is asked often, at all times."""

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.algorithms.betting_on_answers import BettingOnAnswers
from tmdp_spiel.openspiel.histories import build_history_tree


def asked_uniform(learner, rng):
    """Answers every question of a stage, all actions equally likely."""
    first, left = learner.rules.histories.first_answer, learner.questions()
    answers = [rng.integers(first[state], first[state + 1], number) for state, number in enumerate(left)]
    learner.learn_answers(rng.permutation(np.concatenate(answers)))


@pytest.fixture(scope="module", params=(0, 1))
def problem(request):
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, request.param, ts.uniform(game))
    return mdp, build_history_tree(game, mdp.tree)


@pytest.mark.parametrize("planned", [None, 20_000])
def test_bounds_hold_and_close(problem, planned):
    mdp, rules = problem
    learner, rng = BettingOnAnswers(rules, planned=planned, seed=0), np.random.default_rng(0)
    widths = []
    while learner.episodes < 20_000:
        asked_uniform(learner, rng)
        lower, upper = learner.lower_bound(), learner.upper_bound()
        assert lower <= mdp.scaled_value(learner.recommend()) + 1e-9
        assert mdp.scaled_best_value <= upper + 1e-9
        widths.append(upper - lower)
    assert widths[-1] < 0.04
    assert learner.upper_bound(0.4) < learner.upper_bound(0.01)


def test_the_order_of_answers_does_not_matter(problem):
    _, rules = problem
    learners = [BettingOnAnswers(rules, seed=0) for _ in range(2)]
    first = rules.histories.first_answer
    answers = np.repeat(first[:-1], learners[0].questions())
    learners[0].learn_answers(answers)
    for piece in np.array_split(answers[::-1], 5):
        learners[1].learn_answers(piece)
    assert learners[0].upper_bound() == learners[1].upper_bound()
    np.testing.assert_array_equal(learners[0].questions(), learners[1].questions())


def test_an_incomplete_stage_is_not_used_for_bets(problem):
    _, rules = problem
    learner, rng = BettingOnAnswers(rules, seed=0), np.random.default_rng(0)
    for _ in range(5):
        asked_uniform(learner, rng)
    before = learner.lower_bound(), learner.upper_bound()
    left = learner.questions()
    state = int(np.flatnonzero(left)[0])
    learner.learn_answers(np.full(left[state], rules.histories.first_answer[state]))
    assert (learner.lower_bound(), learner.upper_bound()) == before
    assert learner.questions()[state] == 0
    with pytest.raises(ValueError, match="more often"):
        learner.learn_answers(np.array([rules.histories.first_answer[state]]))


def test_it_learns_from_answers_only(problem):
    mdp, rules = problem
    learner = BettingOnAnswers(rules, seed=0)
    with pytest.raises(TypeError, match="answers"):
        learner.play(mdp, None, np.random.default_rng(0), 1)
    with pytest.raises(TypeError, match="learn_answers"):
        learner.learn(*mdp.sample(learner.plan(), np.random.default_rng(0)))
