"""Bounds in stages: right at the planned number of episodes and before, also if the opponent sees all cards."""

import random

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.history_values import episodes, estimate
from tmdp_spiel.algorithms.betting_in_stages import BettingInStages
from tmdp_spiel.bounds.answer_values import asking_order, every_history_apart
from tmdp_spiel.bounds.history_values import answer_estimate, least_estimate
from tmdp_spiel.exploit.response import SAYS_SOMETHING, episodes_needed
from tmdp_spiel.openspiel.histories import build_history_tree
from tmdp_spiel.openspiel.opponents.enumerated_game import EnumeratedGame
from tmdp_spiel.trees.history_tree import OTHER

PLAYERS = (0, 1)


class Peeps:
    """Plays by the card of the other player."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def step(self, state):
        other = state.history()[1 - state.current_player()]
        return int(self.random.random() < (0.8, 0.5, 0.1)[other])


def best_against_peeping(game, player):
    """The value of the best response, by trying all pure policies."""
    tree = ts.build_infostate_tree(game, player)
    chances = (0.8, 0.5, 0.1)

    def value(state, choose):
        if state.is_terminal():
            return state.player_return(player)
        if state.is_chance_node():
            return sum(p * value(state.child(action), choose) for action, p in state.chance_outcomes())
        if state.current_player() == player:
            return value(state.child(choose[state.information_state_string(player)]), choose)
        p = chances[state.history()[1 - state.current_player()]]
        return p * value(state.child(1), choose) + (1 - p) * value(state.child(0), choose)

    strings = [tree.state_string(state) for state in range(tree.num_states)]
    numbers = range(2 ** len(strings))
    plans = ({string: number >> at & 1 for at, string in enumerate(strings)} for number in numbers)
    return max(value(game.new_initial_state(), plan) for plan in plans)


@pytest.mark.parametrize("player", PLAYERS)
def test_bounds_hold_whatever_the_opponent_sees(player):
    game = ts.load_game("kuhn")
    tree = ts.build_infostate_tree(game, player)
    learner = BettingInStages(build_history_tree(game, tree), planned=10_000, seed=0)
    live = EnumeratedGame(game, player, Peeps(0), tree=tree, seed=0)
    best = tree.to_return(best_against_peeping(game, player))
    for _ in range(20):
        live.play(learner, 500)
        assert learner.lower_bound() <= best <= learner.upper_bound()
    assert learner.episodes == 10_000
    assert learner.upper_bound() - learner.lower_bound() < 0.12
    assert learner.upper_bound(0.5) < learner.upper_bound(0.01)


@pytest.mark.parametrize("planned", [None, 3_000])
def test_what_is_played_in_a_stage_does_not_decide_where_it_ends(planned):
    """Otherwise the bound would not hold for the episodes that were played: they would be chosen."""
    game = ts.load_game("kuhn")
    tree, schedules = ts.build_infostate_tree(game, 0), []
    for seed in range(2):
        learner = BettingInStages(build_history_tree(game, tree), planned=planned, seed=seed)
        live, schedule, bound = EnumeratedGame(game, 0, Peeps(seed), tree=tree, seed=seed), [], 1.0
        for _ in range(4_000):
            looks = learner._stage, np.count_nonzero(learner._within[:, 1])
            live.play(learner, 1)
            if looks != (learner._stage, np.count_nonzero(learner._within[:, 1])):
                schedule.append(learner.episodes)
            assert learner.upper_bound() == bound or schedule[-1] == learner.episodes
            bound = learner.upper_bound()
        schedules.append(schedule)
    assert schedules[0] == schedules[1]
    assert (3_000 in schedules[0]) == (planned is not None)


def test_a_run_may_end_at_any_time():
    """After a third of a stage it has a bound that is better than that of the stages before."""
    game = ts.load_game("kuhn")
    tree = ts.build_infostate_tree(game, 0)
    learner = BettingInStages(build_history_tree(game, tree), planned=100_000, seed=0)
    live, best = EnumeratedGame(game, 0, Peeps(1), tree=tree, seed=1), tree.to_return(best_against_peeping(game, 0))
    found = {}
    for number in (1_400, 4_000, 5_000, 7_000):
        live.play(learner, number - learner.episodes)
        found[number] = learner.upper_bound()
    assert best <= found[7_000] < found[5_000] < found[1_400]
    assert found[4_000] == found[1_400]


def test_sizes_of_stages_follow_what_is_expected():
    game = ts.load_game("kuhn")
    learner = BettingInStages(build_history_tree(game, ts.build_infostate_tree(game, 0)), seed=0)
    live = EnumeratedGame(game, 0, Peeps(2), tree=learner.tree, seed=2)
    live.play(learner, 200)
    assert learner._size == 400
    learner.expect(900.0)
    assert learner._size == 700
    live.play(learner, 100)
    learner.expect(10_000.0)  # a stage that has begun keeps its size
    live.play(learner, 600)
    assert (learner.episodes, learner._began, learner._size) == (900, 900, 5_400)
    live.last_episode = 2_000
    live.play(learner, 1)
    assert learner._size == 1_100


@pytest.mark.parametrize("player", PLAYERS)
def test_estimates_of_the_answer_match_their_definition(player):
    game = ts.load_game("kuhn")
    learner = BettingInStages(build_history_tree(game, ts.build_infostate_tree(game, player)), planned=3_000, seed=0)
    EnumeratedGame(game, player, Peeps(3), tree=learner.tree, seed=3).play(learner, 1_500)
    histories, answer, mu, base = learner.rules.histories, learner._answer, learner.plan(), learner._base
    estimates = []
    for nodes in episodes(histories):
        x = answer_estimate(histories, mu, answer, base, np.array(nodes))
        assert x == pytest.approx(estimate(histories, answer, mu, base, base, nodes))
        estimates.append(x)
    assert least_estimate(histories, mu, answer, base) == pytest.approx(min(estimates))


def test_every_history_is_a_state_of_its_own():
    game = ts.load_game("kuhn")
    rules = build_history_tree(game, ts.build_infostate_tree(game, 0))
    apart = every_history_apart(rules)
    acts = apart.histories.kind == OTHER
    assert len(np.unique(asking_order(apart).state[acts])) == acts.sum()
    np.testing.assert_array_equal(apart.histories.kind, rules.histories.kind)
    for h in np.flatnonzero(acts):
        moves = apart.histories.child[apart.histories.first_move[h] : apart.histories.first_move[h + 1]]
        np.testing.assert_array_equal(apart.histories.move[moves], apart.histories.slot[h] + np.arange(len(moves)))


def test_the_episodes_that_are_needed_are_foreseen():
    game = ts.load_game("liars_dice(dice_sides=3)")
    learner = BettingInStages(build_history_tree(game, ts.build_infostate_tree(game, 0)), seed=0)
    live = EnumeratedGame(game, 0, ts.uniform(game), tree=learner.tree, seed=0)
    live.play(learner, 700)
    assert learner.upper_bound() == 1.0
    foreseen = episodes_needed(learner, 0.025)
    while learner.upper_bound(0.025) >= SAYS_SOMETHING:
        live.play(learner, 50)
    assert 0.3 * learner.episodes < foreseen < 5.0 * learner.episodes
    live.play(learner, 10)
    assert learner.foreseen_upper_bound(0.025, 1.0) == learner.upper_bound(0.025)  # until the next point
