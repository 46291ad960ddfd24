"""An interval at all times from everything that episodes show, against slow references and exact values."""

import itertools
import pickle

import numpy as np
import pyspiel
import pytest

import tmdp_spiel as ts
from reference.history_values import episodes, estimate
from reference.table_opponents import First
from tmdp_spiel.algorithms.betting_on_histories import BettingOnHistories
from tmdp_spiel.algorithms.betting_on_values import BettingOnValues
from tmdp_spiel.bounds import history_values
from tmdp_spiel.bounds.policy_values import LOWER, UPPER, penalty
from tmdp_spiel.openspiel.build import GameTooLargeError, build_infostate_tree
from tmdp_spiel.openspiel.histories import build_history_tree
from tmdp_spiel.openspiel.opponents.enumerated_game import EnumeratedGame
from tmdp_spiel.openspiel.opponents.fixed import uniform
from tmdp_spiel.trees.history_tree import CHANCE, OTHER, OWN


def rules_of(name: str, player: int):
    game = ts.load_game(name)
    return game, build_history_tree(game, build_infostate_tree(game, player))


def played(name: str, player: int, number: int, opponent=None, seed: int = 0, **settings):
    game, rules = rules_of(name, player)
    learner = BettingOnHistories(rules, seed=seed, **settings)
    table = EnumeratedGame(game, player, opponent or uniform(game), tree=rules.tree, seed=seed)
    assert table.play(learner, number) == number
    return learner


def pure_plans(tree):
    """A few pure plans as probabilities of sequences."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        plan = np.zeros(tree.sequence_end)
        plan[[rng.integers(a, b) for a, b in zip(tree.first_sequence, tree.first_sequence[1:])]] = 1.0
        yield plan


def probability(histories, mu, answers, nodes) -> float:
    total = 1.0
    for node, after in itertools.pairwise(nodes):
        kind = histories.kind[node]
        total *= mu[histories.move[after]] if kind == OWN else answers[after] if kind == OTHER else 1.0
        total *= histories.chance[after]
    return total


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", ["kuhn_poker", "tiny_bridge_2p", "kuhn_poker(players=3)"])
def test_a_history_tree_has_the_histories_of_the_game(name, player):
    game, rules = rules_of(name, player)
    histories, seen = rules.histories, 0
    stack = [(game.new_initial_state(), 0)]
    while stack:
        state, node = stack.pop()
        seen += 1
        children = histories.child[histories.first_move[node] : histories.first_move[node + 1]]
        assert sorted(histories.action[children]) == sorted(state.legal_actions())
        if state.is_terminal():
            assert rules.tree.to_utility(histories.value[node]) == pytest.approx(state.player_return(player))
            assert rules.nodes_of(state.history())[-1] == node
            continue
        assert (histories.kind[node] == CHANCE) == state.is_chance_node()
        assert (histories.kind[node] == OWN) == (state.current_player() == player)
        if state.is_chance_node():
            chances = dict(state.chance_outcomes())
            assert all(histories.chance[c] == chances[histories.action[c]] for c in children)
        elif state.current_player() == player:
            own = histories.slot[node]
            assert rules.tree.names.string(own).startswith(state.information_state_string())
            assert histories.move[children].tolist() == list(
                range(rules.tree.first_sequence[own], rules.tree.first_sequence[own + 1])
            )
        stack += [(state.child(int(histories.action[child])), child) for child in children]
    assert seen == len(rules)


@pytest.mark.parametrize("player", [0, 1])
def test_estimates_have_the_value_as_their_mean_even_if_the_opponent_sees_all_cards(player):
    learner = played("kuhn_poker", player, 300)
    histories, memory, mu = learner.rules.histories, learner._memory, learner.plan()
    answers, rng = np.ones(len(learner.rules)), np.random.default_rng(1)
    for node in np.flatnonzero(histories.kind == OTHER):  # another answer at every history
        children = histories.child[histories.first_move[node] : histories.first_move[node + 1]]
        answers[children] = rng.dirichlet(np.ones(len(children)))
    for baseline in (memory.base, memory.raised):
        for plan in pure_plans(learner.tree):
            mean = value = total = 0.0
            for nodes in episodes(histories):
                weight = probability(histories, mu, answers, nodes)
                total += weight
                mean += weight * estimate(histories, plan, mu, memory.base, baseline, nodes)
                value += probability(histories, plan, answers, nodes) * histories.value[nodes[-1]]
            assert total == pytest.approx(1.0)
            assert mean == pytest.approx(value, abs=1e-12)


def test_what_is_settled_is_the_definition_and_stays_within_the_reaches():
    learner = played("kuhn_poker", 0, 40, planned=40)
    rules, memory, links = learner.rules, learner._memory, learner.tree.links
    histories, bet, plans = rules.histories, memory.bet, list(pure_plans(learner.tree))
    assert max(memory.raised - memory.base) > 1e-6  # some are
    for nodes in episodes(histories):
        totals = np.zeros_like(memory.totals)
        lower = history_values.settle(
            links, histories, bet, memory.base, memory.raised, np.array(nodes, np.int32), len(nodes), totals
        )
        x = estimate(histories, bet.answer, bet.mu, memory.base, memory.base, nodes)
        about, stake = bet.centres[LOWER], bet.stakes[LOWER]
        assert x >= about - bet.reaches[LOWER] - 1e-9
        assert lower == pytest.approx(stake * x - penalty(stake, bet.reaches[LOWER]) * (x - about) ** 2)
        for plan in plans:
            x = estimate(histories, plan, bet.mu, memory.base, memory.raised, nodes)
            about, stake = bet.centres[UPPER], bet.stakes[UPPER]
            assert x <= about + bet.reaches[UPPER] + 1e-9
            own = np.array([plan_reaches(learner.tree, plan, j) for j in range(learner.tree.sequence_end)])
            expected = stake * x + penalty(stake, bet.reaches[UPPER]) * (x - about) ** 2
            assert (own * totals).sum() == pytest.approx(expected)


def plan_reaches(tree, plan, sequence) -> float:
    reach = 1.0
    while sequence != tree.root:
        reach *= plan[sequence]
        sequence = tree.parent[np.searchsorted(tree.first_sequence, sequence, "right") - 1]
    return reach


def test_the_interval_closes_faster_than_without_the_histories():
    for player in range(2):
        learner = played("leduc_poker", player, 6_000, planned=6_000)
        blind = BettingOnValues(learner.tree, planned=6_000, seed=0)
        table = EnumeratedGame(pyspiel.load_game("leduc_poker"), player, uniform("leduc_poker"), tree=learner.tree)
        table.play(blind, 6_000)
        exact = ts.build_tree("leduc_poker", player, uniform(ts.load_game("leduc_poker")))
        value = exact.scaled_value(learner.recommend())
        assert learner.lower_bound() <= value <= exact.scaled_best_value <= learner.upper_bound()
        width = learner.upper_bound() - learner.lower_bound()
        assert width < 0.7 * (blind.upper_bound() - blind.lower_bound())


class SeesTheCards(pyspiel.Bot):
    """Bets if and only if its card is the higher one, which it cannot know."""

    def __init__(self, player):
        super().__init__()
        self.player = player

    def player_id(self):
        return self.player

    def step(self, state):
        cards = state.history()[:2]
        return int(cards[self.player] > cards[1 - self.player])


def test_an_opponent_that_sees_the_cards_is_bounded_too():
    game, rules = rules_of("kuhn_poker", 0)
    learner = BettingOnHistories(rules, planned=4_000, seed=0)
    table = EnumeratedGame(game, 0, SeesTheCards(1), tree=rules.tree, seed=0)
    table.play(learner, 4_000)
    # Passing loses 1 with the lower card, and wins 1 with the higher: 0 on average. Betting is called by a higher card
    # alone, and loses 2 then: worse. After a pass and a bet, folding loses 1 instead of 2.
    best = rules.tree.to_return(0.0)
    assert learner.lower_bound() <= best <= learner.upper_bound()
    assert learner.upper_bound() - learner.lower_bound() < 0.1


def test_a_learner_can_be_pickled_and_resumes_identically():
    one, other = played("kuhn_poker", 0, 100), played("kuhn_poker", 0, 100)
    other = pickle.loads(pickle.dumps(other))
    rng = np.random.default_rng(0)
    ends = list(episodes(one.rules.histories))
    for _ in range(200):
        nodes = ends[rng.integers(len(ends))]
        actions = one.rules.histories.action[nodes[1:]].tolist()
        one.learn_actions(actions)
        other.learn_actions(actions)
    assert (one.lower_bound(), one.upper_bound()) == (other.lower_bound(), other.upper_bound())


def test_invalid_calls():
    _, rules = rules_of("kuhn_poker", 0)
    learner = BettingOnHistories(rules)
    with pytest.raises(ValueError, match="not an episode"):
        learner.learn_actions([0, 1])
    with pytest.raises(ValueError, match="not an episode"):
        learner.learn_actions([0, 1, 7, 0])
    with pytest.raises(TypeError, match="learn_actions"):
        learner.learn(1, 0.5)
    game = ts.load_game("leduc_poker")
    with pytest.raises(GameTooLargeError, match="max_nodes = 100"):
        build_history_tree(game, build_infostate_tree(game, 0), max_nodes=100)


def test_intervals_that_are_looked_at_all_the_time_are_wrong_no_more_often_than_promised():
    game, rules = rules_of("kuhn_poker", 1)
    mdp, delta, runs, wrong, broken = ts.build_tree(game, 1, uniform(game)), 0.5, 60, 0, 0
    for seed in range(runs):
        learner = BettingOnHistories(rules, planned=100, delta=delta, seed=seed)
        table = EnumeratedGame(game, 1, uniform(game), tree=rules.tree, seed=seed)
        was_wrong = was_broken = False
        for _ in range(100):
            table.play(learner, 1)
            lower, upper = learner.lower_bound(), learner.upper_bound()
            value = mdp.scaled_value(learner.recommend()) if lower > 0 else 0.0
            was_wrong |= lower > value or upper < mdp.scaled_best_value
            was_broken |= (lower + upper) / 2 + (upper - lower) / 40 < mdp.scaled_best_value
        wrong, broken = wrong + was_wrong, broken + was_broken
    assert wrong <= delta * runs < broken


@pytest.mark.parametrize("episodes", [2_000, 20_000])
def test_an_early_answer_without_variance_is_not_staked_on_for_ever(episodes):
    """The value of a uniform answer to a rock is known at once; paper, learned later, has to outweigh it."""
    found = ts.exploit("matrix_rps", First, player=1, episodes=episodes, progress=False)
    assert found.lower > 0.9
