"""Many episodes at once: rounds, executors, batches."""

import concurrent.futures

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import table_opponents
from tmdp_spiel.openspiel.opponents.parallel import BatchedPolicy, ExecutorOpponents


def threads(number=8):
    return lambda: concurrent.futures.ThreadPoolExecutor(number)


def play(rounds, episodes, name="kuhn", algorithm=ts.UCT, **options):
    at = ts.LiveGame(name, 0, None, batched_opponent=rounds, **options)
    learner = algorithm(at.tree)
    try:
        assert at.play(learner, episodes) == episodes == learner.episodes
    finally:
        rounds.close()
    return at, learner


def exact_value(name, tree, plan, opponent=None):
    game = ts.load_game(name)
    mdp = ts.build_tree(game, 0, opponent or ts.uniform(game))
    return mdp.value(ts.policy_to_plan(mdp.tree, ts.plan_to_policy(tree, plan, game), game))


def test_learning_on_an_executor():
    at, learner = play(ExecutorOpponents(threads(), make_opponent=table_opponents.make_random, in_flight=16), 3000)
    assert exact_value("kuhn", at.tree, learner.recommend()) > 0.3
    assert at.tree.num_states >= 5


@pytest.mark.parametrize("algorithm", [ts.AMB, ts.BettingUCRL, ts.BPIUCRL, ts.MDPGapE, ts.MVP, ts.StrongEuler])
def test_learners_with_a_plan_learn_in_rounds(algorithm):
    play(ExecutorOpponents(threads(), table_opponents.First(), in_flight=4), 40, algorithm=algorithm)


def test_the_episodes_do_not_depend_on_the_number_of_workers():
    """The opponent answers from the uniform number of the question, so all draws are those of the episodes."""
    game = ts.load_game("leduc")
    found = []
    for workers in (1, 5):
        at, learner = play(ExecutorOpponents(threads(workers), ts.uniform(game), in_flight=10), 300, "leduc")
        found.append((at.tree.fingerprint, learner.visits))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_bounds_hold_in_rounds():
    game = ts.load_game("kuhn")
    best, wrong = (ts.build_tree(game, 0, ts.uniform(game)).best_response()[0] + 2) / 4, 0
    for seed in range(15):
        rounds = ExecutorOpponents(threads(2), ts.uniform(game), in_flight=16)
        at = ts.LiveGame(game, 0, None, batched_opponent=rounds, seed=seed)
        learner = ts.BettingUCRL(at.tree, delta=0.2)
        for _ in range(3):
            at.play(learner, 400)
            wrong += learner.upper_bound(0.2) < best
        rounds.close()
    assert wrong <= 5


def test_a_worker_that_dies_loses_no_episode(tmp_path):
    (tmp_path / "alive").touch()
    opponent = {1: table_opponents.Mortal(tmp_path / "alive")}
    play(ExecutorOpponents(2, opponent, in_flight=6), 60)
    assert not (tmp_path / "alive").exists()


def test_processes_and_bots_of_openspiel():
    at, _ = play(ExecutorOpponents(2, make_opponent=table_opponents.make_uniform_bot, in_flight=8), 50)
    assert at.tree.num_states > 1


@pytest.mark.parametrize(
    "make, seconds, message",
    [
        (table_opponents.make_illegal, None, "returned 77 after the moves"),
        (table_opponents.make_hanging, 0.3, "has not answered within 0.3 s after the moves"),
        (table_opponents.make_failing, None, "player 1 .* failed after the moves"),
    ],
)
def test_a_round_with_a_failure_is_not_counted(make, seconds, message):
    rounds = ExecutorOpponents(1, make_opponent=make, in_flight=4, seconds=seconds)
    at = ts.LiveGame("kuhn", 0, None, batched_opponent=rounds)
    learner = ts.UCT(at.tree)
    with pytest.raises(ts.OpponentError, match=message):
        at.play(learner, 10)
    assert learner.episodes == 0 and at.tree.num_states == 0


def test_measuring_in_rounds():
    game = ts.load_game("kuhn")
    rounds = ExecutorOpponents(threads(), ts.uniform(game), in_flight=32)
    at = ts.LiveGame(game, 0, None, batched_opponent=rounds)
    learner = ts.UCT(at.tree)
    at.play(learner, 500)
    returns = at.measure(learner.recommend(), 3000)
    rounds.close()
    assert returns.mean() * 4 - 2 == pytest.approx(exact_value("kuhn", at.tree, learner.recommend()), abs=0.15)


def test_a_policy_is_asked_in_batches_and_only_once():
    game, calls, seen = ts.load_game("leduc"), [], set()

    def of_many(states):
        calls.append(len(states))
        for state in states:
            name = state.information_state_string(1)
            assert name not in seen
            seen.add(name)
        return [dict.fromkeys(state.legal_actions(), 1 / len(state.legal_actions())) for state in states]

    at, learner = play(BatchedPolicy(game, of_many, in_flight=64), 2000, "leduc")
    assert max(calls) > 3 and sum(calls) == len(seen)
    assert exact_value("leduc", at.tree, learner.recommend()) > 0.5  # uniform has -0.7 or so


def test_batches_as_arrays_and_bad_ones():
    game = ts.load_game("kuhn")
    play(BatchedPolicy(game, lambda states: np.full((len(states), 2), 0.5), in_flight=4), 50)
    for bad, message in [
        (lambda states: np.full((len(states), 2), 0.9), "the probabilities at state .* are not a distribution"),
        (lambda states: [], "gave 0 answers"),
        (lambda states: 1 / 0, "the policy failed"),
    ]:
        with pytest.raises(ts.OpponentError, match=message):
            play(BatchedPolicy(game, bad), 50)


def test_learners_that_cannot_play_in_rounds_are_refused():
    game = ts.load_game("kuhn")
    with pytest.raises(ValueError, match="give its class.*takes seed"):
        ExecutorOpponents(1, lambda state: 0)
    rounds = ExecutorOpponents(threads(), ts.uniform(game))
    at = ts.LiveGame(game, 0, None, batched_opponent=rounds)
    with pytest.raises(TypeError, match="cannot play in rounds; use one of .*ThompsonTree"):
        at.play(ts.OutcomeSamplingMCCFR(at.tree), 10)


def test_exploit_on_processes():
    found = ts.exploit("kuhn", "ismcts", simulations=5, player=0, episodes=300, executor=2, progress=False)
    assert found.lower <= found.upper
