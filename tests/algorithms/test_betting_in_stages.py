"""Bounds in stages: right at the planned number of episodes and before, also if the opponent sees all cards."""

import random

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.algorithms.betting_in_stages import BettingInStages
from tmdp_spiel.bounds.answer_values import asking_order, every_history_apart
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


def test_a_stage_can_be_ended_by_a_clock():
    game = ts.load_game("kuhn")
    tree = ts.build_infostate_tree(game, 0)
    learner = BettingInStages(build_history_tree(game, tree), planned=100_000, seed=0)
    live = EnumeratedGame(game, 0, Peeps(1), tree=tree, seed=1)
    live.play(learner, 9_000)
    before = learner.upper_bound()
    learner.end_stage()
    assert tree.to_return(best_against_peeping(game, 0)) <= learner.upper_bound() < before
    again = learner.upper_bound()
    learner.end_stage()
    assert learner.upper_bound() == again


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
