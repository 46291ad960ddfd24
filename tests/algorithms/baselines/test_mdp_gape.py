import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.empirical_model import Episodes, best_values, play
from reference.kl_dual import dual
from tmdp_spiel.trees.random_tree import random_tree_mdp


def written_out_bounds(tree, reference, delta):
    b = max(len(range(*tree.first_child[j : j + 2])) + 2 * tree.can_end[j] for j in range(tree.sequence_end))
    log_confidence = np.log(3 * (b * tree.max_actions) ** tree.horizon / delta)

    def bounds(j, state_upper, state_lower):
        after = reference.after[j]
        n = len(after)
        beta = log_confidence + ((b - 1) * (1 + np.log(1 + n / (b - 1))) if b > 1 else 0)
        children = range(*tree.first_child[j : j + 2])
        weights = [sum(thing == ("state", child) for thing in after) / n for child in children]
        uppers, lowers = state_upper[children].tolist(), state_lower[children].tolist()
        if tree.can_end[j]:
            won = sum(x for kind, x in after if kind == "return") / n
            weights += [won, max(1 - sum(weights) - won, 0.0)]
            uppers, lowers = [*uppers, 1.0, 0.0], [*lowers, 1.0, 0.0]
        weights = np.array(weights)
        return dual(weights, np.array(uppers), beta / n), 1 - dual(weights, 1 - np.array(lowers), beta / n)

    return bounds


def test_bounds_are_those_of_a_whole_pass_and_play_is_that_of_ugape(mdp_of):
    rng = np.random.default_rng(0)
    for mdp in [mdp_of("kuhn", 0), mdp_of("leduc", 1)] + [brute_force.random_mdp(rng) for _ in range(10)]:
        tree = mdp.tree
        learner, reference = ts.MDPGapE(tree, delta=0.1, seed=2), Episodes(tree)
        play(learner, mdp, rng, 150, reference)
        upper, lower = reference.bottom_up(written_out_bounds(tree, reference, 0.1))
        np.testing.assert_allclose(learner.upper, upper, atol=1e-8)
        np.testing.assert_allclose(learner.lower, lower, atol=1e-8)
        for state in range(tree.num_states):
            own = slice(tree.first_sequence[state], tree.first_sequence[state + 1])
            u, low, played, guess = upper[own], lower[own], learner.plan()[state], learner.recommend()[state]
            if state >= tree.first_child[1]:
                assert u[played] == pytest.approx(u.max(), abs=1e-7)
                assert low[guess] == pytest.approx(low.max(), abs=1e-7)
            elif len(u) > 1:
                regrets = np.array([np.delete(u, a).max() - low[a] for a in range(len(u))])
                assert regrets[guess] == pytest.approx(regrets.min(), abs=1e-7)
                rivals = [a for a in range(len(u)) if a != guess and u[a] > np.delete(u, guess).max() - 1e-7]
                assert played in [guess, *rivals]
                assert u[played] - low[played] > max((u - low)[guess], min((u - low)[rivals])) - 1e-7


@pytest.mark.slow
def test_intervals_contain_the_true_values():
    mdp = random_tree_mdp(np.random.default_rng(4), max_states=10, first_states=2)
    truth, runs, delta, failed = best_values(mdp), 100, 0.1, 0
    for seed in range(runs):
        learner, ever = ts.MDPGapE(mdp.tree, epsilon=0.001, delta=delta, seed=seed), False
        rng = np.random.default_rng(seed)
        for episodes in (1, 3, 10, 30, 100, 300, 1000, 3000):
            ts.run(learner, mdp, episodes, rng=rng, progress=False)
            ever |= bool(np.any((learner.upper < truth - 1e-9) | (learner.lower > truth + 1e-9)))
        failed += ever
        assert learner.upper[0] - learner.lower[0] < 0.5
    assert failed / runs <= delta


def test_stops_at_an_epsilon_best_response(mdp_of):
    rng = np.random.default_rng(1)
    missed = 0
    problems = [mdp_of("kuhn", 0), mdp_of("kuhn", 1)] + [brute_force.random_mdp(rng) for _ in range(20)]
    for seed, mdp in enumerate(problems):
        result = ts.run_until_stopped(
            ts.MDPGapE(mdp.tree, epsilon=0.15, delta=0.1, seed=seed), mdp, max_episodes=10**6, progress=False
        )
        assert result.stopped
        missed += result.gap > 0.15 * mdp.tree.utility_range
    assert missed <= 0.1 * len(problems)


def test_one_action_needs_no_learning():
    tree = ts.InfostateTree(
        first_sequence=[1, 2], first_child=[0, 1, 1], parent=[0], action=[0, 0], can_end=[False, True]
    )
    learner = ts.MDPGapE(tree)
    learner.learn(1, 0.5)
    assert learner.stopped
