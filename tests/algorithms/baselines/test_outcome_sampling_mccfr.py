import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr

import tmdp_spiel as ts
from reference.enumeration import counterfactual_regrets, expected_update


@pytest.mark.parametrize("player", [0, 1])
def test_the_first_expected_update_is_the_counterfactual_regret_of_openspiel(player, mdp_of):
    """At the start the policy is uniform, as is that of CFR on the game with the opponent turned into chance."""
    game = ts.load_game("kuhn")
    mdp = mdp_of("kuhn", player)
    solver = cfr.CFRSolver(ts.fixed_opponent_game(game, player, ts.equilibrium(game, iterations=200)))
    solver.evaluate_and_update_policy()
    expected = expected_update(ts.OutcomeSamplingMCCFR(mdp.tree), mdp, lambda learner: learner.regrets)
    for state in range(mdp.tree.num_states):
        regrets = solver._info_state_nodes[mdp.tree.state_string(state)].cumulative_regret
        for action, j in zip(mdp.tree.legal_actions(state), range(*mdp.tree.first_sequence[state : state + 2])):
            assert expected[j] == pytest.approx(regrets[action], abs=1e-9)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("episodes", [0, 7, 100])
def test_the_expected_update_is_exact_at_any_time(player, episodes, mdp_of):
    mdp = mdp_of("kuhn", player)
    learner = ts.OutcomeSamplingMCCFR(mdp.tree, epsilon=0.3, seed=episodes)
    if episodes:
        ts.run(learner, mdp, episodes, progress=False)
    regrets = expected_update(learner, mdp, lambda each: each.regrets)
    np.testing.assert_allclose(regrets, counterfactual_regrets(mdp, learner.current()), atol=1e-9)
    average = expected_update(learner, mdp, lambda each: each._average.copy())
    np.testing.assert_allclose(average[1:], mdp.sequence_reach(learner.current())[1:], atol=1e-9)


def test_plays_the_exploring_policy(mdp_of):
    mdp = mdp_of("kuhn", 0)
    learner = ts.OutcomeSamplingMCCFR(mdp.tree, epsilon=0.2, seed=1)
    ts.run(learner, mdp, 1000, progress=False)
    np.testing.assert_allclose(learner.plan()[1:], 0.8 * learner.current()[1:] + 0.2 / 2)
    positive = np.maximum(learner.regrets[1:], 0).reshape(-1, 2)
    matched = positive / positive.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(learner.current()[1:].reshape(-1, 2)[positive.sum(axis=1) > 0], matched)


@pytest.mark.parametrize("player", [0, 1])
def test_converges_like_the_solver_of_openspiel(player):
    """Value gaps against a uniform opponent after the same episodes, in the mean over some seeds."""
    game = ts.load_game("kuhn")
    opponent = ts.uniform(game)
    mdp = ts.build_tree(game, player, opponent)
    fixed = pyspiel.convert_to_cached_tree(ts.fixed_opponent_game(game, player, opponent))
    best, _ = mdp.best_response()
    seeds, episodes = range(10), 2000
    ours = [
        ts.run(ts.OutcomeSamplingMCCFR(mdp.tree, epsilon=0.6, seed=seed), mdp, episodes, progress=False).value_gap[-1]
        for seed in seeds
    ]
    theirs = []
    for seed in seeds:
        solver = pyspiel.OutcomeSamplingMCCFRSolver(fixed, 0.6, seed + 1)
        for _ in range(episodes):
            solver.run_iteration()
        average = solver.average_policy()
        tables = [average.get_state_policy(mdp.tree.state_string(state)) for state in range(mdp.tree.num_states)]
        theirs.append(best - mdp.value(np.array([probability for table in tables for _, probability in sorted(table)])))
    assert np.mean(theirs) / 1.7 < np.mean(ours) < np.mean(theirs) * 1.7
    assert np.mean(ours) < 0.05
