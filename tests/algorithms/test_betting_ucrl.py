import numpy as np
import pyspiel
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.empirical_model import Episodes, best_values, play
from tmdp_spiel.algorithms import betting_ucrl
from tmdp_spiel.bounds.sequence_values import upper_values
from tmdp_spiel.evaluation.evaluator import Evaluator


def written_out_bound(values_of_children, returns, log_confidence):
    """The least refuted mean on a fine grid, with the capital of the returns themselves instead of their sums."""
    followed = np.concatenate([values_of_children, returns])
    means = np.linspace(min(followed.mean(), 1 - 1e-9), 1, 4001)[:-1]
    y = (means[:, None] - followed) / (1 - means[:, None])
    capital = np.max([np.log1p(0.9 / 2**g * y).sum(axis=1) for g in range(14)], axis=0)
    refuted = np.flatnonzero(capital >= log_confidence + np.log(14))
    return means[refuted[0]] if len(refuted) else 1.0


@pytest.mark.slow
@pytest.mark.parametrize("game, player", [("kuhn", 0), ("leduc", 1)])
def test_bounds_are_those_of_the_capital_written_out(game, player, mdp_of):
    mdp, rng = mdp_of(game, player), np.random.default_rng(0)
    learner, twin = ts.BettingUCRL(mdp.tree, delta=0.1, seed=1), Episodes(mdp.tree)
    play(learner, mdp, rng, 2000, twin)
    log_confidence = np.log(mdp.tree.sequence_end / 0.1)

    def bounds(j, state_upper, state_lower):
        children = np.array([state_upper[x] for kind, x in twin.after[j] if kind == "state"])
        returns = np.array([x for kind, x in twin.after[j] if kind == "return"])
        return written_out_bound(children, returns, log_confidence), 0

    exact = twin.bottom_up(bounds)[0][0]
    by_policy = learner.upper_bound(0.1)
    model = learner._model
    assert by_policy == upper_values(mdp.tree, model.visits, model.returns, model.squares, 0.1)[0]
    learner._shares_by_policy = False  # as on larger trees
    # Knowing the returns by their sums alone costs a little, and must not gain anything.
    assert exact - 1e-3 <= learner.upper_bound(0.1) <= exact + 0.05


@pytest.mark.parametrize("player", [0, 1])
def test_the_bounds_hold_at_all_times_together(player, mdp_of):
    mdp, delta, runs, wrong = mdp_of("kuhn", player), 0.2, 200, 0
    truth = best_values(mdp)
    possible = ~np.isnan(truth)
    for seed in range(runs):
        learner, rng = ts.BettingUCRL(mdp.tree, delta=delta, seed=seed), np.random.default_rng(seed)
        evaluator = Evaluator(learner, mdp)
        for _ in range(10):
            evaluator.play(rng, 100)
        # Its own bounds are the smallest of all times.
        wrong += np.any(learner.upper[possible] < truth[possible] - 1e-12)
    assert wrong / runs <= delta + 3 * np.sqrt(delta / runs)


@pytest.mark.slow
def test_a_bound_without_choices_fails_with_about_the_stated_probability():
    """One state, one action: the mean of a coin, so that a bound that is far too wide would show."""
    tree = ts.InfostateTree(
        first_sequence=[1, 2], first_child=[0, 1, 1], parent=[0], action=[0, 0], can_end=[False, True]
    )
    delta, runs, wrong, rng = 0.5, 2000, 0, np.random.default_rng(0)
    for _ in range(runs):
        learner = ts.BettingUCRL(tree, delta=delta)
        for value in rng.integers(0, 2, 60):
            learner.learn(1, float(value))
        wrong += learner.upper[1] < 0.5
    assert 0.001 <= wrong / runs <= delta / 2 + 3 * np.sqrt(delta / 2 / runs)


def test_the_bound_is_above_the_best_response_and_closes_in_on_it(mdp_of):
    mdp = mdp_of("leduc", 0)
    learner = ts.BettingUCRL(mdp.tree, seed=0)
    assert learner.upper_bound(0.05) == 1.0
    excess = []
    for episodes in (30_000, 270_000):
        Evaluator(learner, mdp).play(np.random.default_rng(episodes), episodes)
        excess.append((learner.upper_bound(0.05) - mdp.scaled_best_value) * mdp.tree.utility_range)
    assert 0 < excess[1] < 0.8 and excess[1] < excess[0] / 3
    assert learner.upper_bound(0.01) > learner.upper_bound(0.05)
    assert learner.upper_bound(0.05) >= learner.upper[0] - 1e-3


def test_episodes_without_decisions_count():
    game = pyspiel.load_efg_game(
        """EFG 2 R "stop or go" { "A" "B" } ""
        p "" 1 1 "" { "stop" "go" } 0
        t "" 1 "" { -1 1 }
        p "" 2 1 "" { "left" "right" } 0
        t "" 2 "" { 0 0 }
        t "" 3 "" { 1 -1 }
        """
    )
    mdp = ts.build_tree(game, 1, ts.uniform(game))
    learner = ts.BettingUCRL(mdp.tree)
    Evaluator(learner, mdp).play(np.random.default_rng(0), 20_000)
    assert mdp.scaled_best_value == pytest.approx(0.75)
    assert learner.estimate() == pytest.approx(0.75, abs=0.02)
    assert 0.75 <= learner.upper_bound(0.05) <= 0.8


def test_it_plays_the_largest_bound_and_recommends_the_largest_mean():
    rng = np.random.default_rng(3)
    for _ in range(10):
        mdp = brute_force.random_mdp(rng)
        learner, twin = ts.BettingUCRL(mdp.tree, seed=2), Episodes(mdp.tree)
        play(learner, mdp, rng, 300, twin)
        plan, upper = learner.plan(), learner.upper
        for state in range(mdp.tree.num_states):
            own = upper[mdp.tree.first_sequence[state] : mdp.tree.first_sequence[state + 1]]
            assert own[plan[state]] == own.max()
        means, _ = twin.bottom_up(lambda j, state_mean, _: (twin.followed_by(j, state_mean).mean(),) * 2)
        means[[not after for after in twin.after]] = 0.0
        recommended = learner.recommend()
        for state in np.flatnonzero([twin.visits(s) for s in range(mdp.tree.num_states)]):
            own = means[mdp.tree.first_sequence[state] : mdp.tree.first_sequence[state + 1]]
            assert own[recommended[state]] == pytest.approx(own.max())


def least_refuted(memory, followers, ended, total, squares, needed, mean):
    """Halving over all means, with all stakes tried at each: the slow way."""
    below, above = mean, 1.0
    for _ in range(45):
        middle = (below + above) / 2
        stakes = [0.9 / 2**g for g in range(14)] if middle < 1 else []
        refuted = any(
            betting_ucrl._log_capital(memory, followers, ended, total, squares, stake, middle) >= needed
            for stake in stakes
        )
        below, above = (below, middle) if refuted else (middle, above)
    return above


@pytest.mark.parametrize("precision", [2.0**-26, 2.0**-9])
@pytest.mark.parametrize("episodes", [3, 40, 3000])
def test_bounds_are_never_below_the_least_refuted_mean_and_as_near_as_they_say(precision, episodes, mdp_of):
    mdp = mdp_of("leduc", 0)
    learner, links = ts.BettingUCRL(mdp.tree, delta=0.1, seed=1), mdp.tree.links
    Evaluator(learner, mdp).play(np.random.default_rng(0), episodes)
    memory = learner._memory
    needed = np.log(mdp.tree.sequence_end / 0.1) + np.log(14)
    visited = np.flatnonzero(memory.model.visits)
    for j in visited[:: max(1, len(visited) // 40)]:
        found = betting_ucrl._bound(links, memory, j, 1.0, precision)
        children = mdp.tree.first_child[j : j + 2]
        followers = int(children[1] - children[0])  # _bound has left their numbers and values in the scratch
        ended = int(memory.model.visits[j] - memory.numbers[:followers].sum())
        total, squares = memory.model.returns[j], memory.model.squares[j]
        mean = (total + memory.numbers[:followers] @ memory.values[:followers]) / memory.model.visits[j]
        exact = least_refuted(memory, followers, ended, total, squares, needed, mean)
        assert exact - 1e-12 <= found <= exact + precision * (found - mean) + 1e-12
        assert betting_ucrl._bound(links, memory, j, found, precision) <= found


def test_returns_that_are_all_the_largest_but_for_rounding(mdp_of):
    """A mean of 1 with a variance above 0 can only be rounding: all returns are 1, and nothing is divided by 0."""
    memory = ts.BettingUCRL(mdp_of("kuhn", 0).tree)._memory
    capital = betting_ucrl._log_capital(memory, 0, 3, 3.0, np.nextafter(3.0, 4.0), 0.9, 0.5)
    assert capital == pytest.approx(3 * np.log1p(-0.9))
