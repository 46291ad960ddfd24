"""Bounds from both sides on deep trees: by sequences from above, by the answers' own episodes from below."""

import itertools

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.history_values import episodes, estimate
from tmdp_spiel.algorithms.betting_ucrl_on_histories import BettingUCRLOnHistories
from tmdp_spiel.bounds import history_values
from tmdp_spiel.bounds.sequence_values import upper_values
from tmdp_spiel.openspiel.build import build_infostate_tree
from tmdp_spiel.openspiel.histories import build_history_tree
from tmdp_spiel.openspiel.opponents.enumerated_game import EnumeratedGame
from tmdp_spiel.openspiel.opponents.fixed import uniform


def played(name: str, player: int, number: int, seed: int = 0):
    game = ts.load_game(name)
    rules = build_history_tree(game, build_infostate_tree(game, player))
    learner = BettingUCRLOnHistories(rules, planned=number, seed=seed)
    assert EnumeratedGame(game, player, uniform(game), tree=rules.tree, seed=seed).play(learner, number) == number
    return learner, ts.build_tree(game, player, uniform(game))


@pytest.mark.parametrize("player", [0, 1])
def test_the_interval_closes_around_the_best_response(player):
    widths = []
    for number in (400, 4_000):
        learner, mdp = played("kuhn_poker", player, number)
        value = mdp.scaled_value(learner.recommend())
        assert learner.lower_bound() <= value <= mdp.scaled_best_value <= learner.upper_bound()
        widths.append(learner.upper_bound() - learner.lower_bound())
        assert learner.lower_bound(0.001) < learner.lower_bound() < learner.lower_bound(0.5)
        assert learner.upper_bound(0.001) > learner.upper_bound() > learner.upper_bound(0.5)
    assert widths[1] < 0.6 * widths[0] < 0.6


def test_all_episodes_count_for_the_upper_bound():
    learner, _ = played("kuhn_poker", 0, 500)
    model = learner.optimist._model
    assert model.visits[learner.tree.root] == learner.episodes == 500
    assert learner.upper_bound(0.1) == upper_values(learner.tree, model.visits, model.returns, model.squares, 0.1)[-1]


def test_estimates_of_the_answer_match_their_definition():
    learner, _ = played("kuhn_poker", 1, 503)
    histories, answer, base = learner.rules.histories, learner._answer, learner._base
    possible = []
    for nodes in episodes(histories):
        sequences = [histories.move[b] for a, b in itertools.pairwise(nodes) if histories.kind[a] == 2]
        if all(answer[j] > 0 for j in sequences):
            x = history_values.answer_estimate(histories, answer, base, np.array(nodes))
            assert x == pytest.approx(estimate(histories, answer, answer, base, base, nodes))
            possible.append(x)
    least = history_values.least_of_answer(histories, answer, base)
    assert least == pytest.approx(min(possible))


def test_nothing_is_said_before_anything_is_known():
    game = ts.load_game("kuhn_poker")
    learner = BettingUCRLOnHistories(build_history_tree(game, build_infostate_tree(game, 0)))
    assert (learner.lower_bound(), learner.upper_bound()) == (0.0, 1.0)
    assert "0.000 to 1.000" in learner.status
    with pytest.raises(ValueError, match="not an episode"):
        learner.learn_actions([0, 1])
