"""All the forms in which OpenSpiel has an opponent, and what is wrong with some of them."""

import pickle

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import best_response
from open_spiel.python.bots import policy as policy_bot, uniform_random

import tmdp_spiel as ts
from reference.stochastic_policy import StochasticBot
from tmdp_spiel.openspiel.opponents.live_game import LiveGame

KUHN = pyspiel.load_game("kuhn_poker")


def assert_same_mdp(one, other):
    np.testing.assert_allclose(one.reach, other.reach, atol=1e-12)
    np.testing.assert_allclose(one.outcome_probability, other.outcome_probability, atol=1e-12)


@pytest.mark.parametrize(
    "opponent",
    [
        pyspiel.UniformRandomPolicy(KUHN),
        pyspiel.make_uniform_random_bot(1, 0),
        uniform_random.UniformRandomBot(1, np.random.RandomState(0)),
        policy_bot.PolicyBot(1, np.random.RandomState(0), policy_lib.UniformRandomPolicy(KUHN)),
        policy_lib.TabularPolicy(KUHN),
        {1: policy_lib.UniformRandomPolicy(KUHN)},
        {0: None, 1: pyspiel.UniformRandomPolicy(KUHN)},
    ],
    ids=["C++ policy", "C++ bot", "Python bot", "policy bot", "tabular", "mapping", "mapping with ourselves"],
)
def test_every_form_of_the_uniform_opponent(opponent):
    assert_same_mdp(ts.build_tree(KUHN, 0, opponent), ts.build_tree(KUHN, 0, ts.uniform(KUHN)))


def test_every_form_of_a_random_opponent():
    game = ts.load_game("leduc")
    policy = pyspiel.GetRandomPolicy(game, 3)
    python_policy = policy_lib.pyspiel_policy_to_python_policy(game, policy)
    bot = pyspiel.make_policy_bot(game, 1, 0, policy)
    built = [ts.build_tree(game, 0, opponent) for opponent in (policy, python_policy, bot, {1: bot})]
    for mdp in built[1:]:
        assert_same_mdp(built[0], mdp)
    theirs = best_response.BestResponsePolicy(game, 0, python_policy).value(game.new_initial_state())
    assert built[0].best_response()[0] == pytest.approx(theirs, abs=1e-9)


def test_a_mapping_gives_each_opponent_its_own_policy():
    game = pyspiel.load_game("kuhn_poker(players=3)")
    opponents = {0: ts.uniform(game), 2: pyspiel.PreferredActionPolicy([1, 0])}

    class Joint(policy_lib.Policy):
        def action_probabilities(self, state, player_id=None):
            return opponents[state.current_player()].action_probabilities(state)

    assert_same_mdp(ts.build_tree(game, 1, opponents), ts.build_tree(game, 1, Joint(game, [0, 2])))


class Answering(policy_lib.Policy):
    """Plays the given distribution at Kuhn's state "1p" and uniformly elsewhere."""

    def __init__(self, answer):
        super().__init__(KUHN, [0, 1])
        self.answer = answer

    def action_probabilities(self, state, player_id=None):
        if state.information_state_string() == "1p":
            return self.answer
        return {0: 0.5, 1: 0.5}


@pytest.mark.parametrize(
    "answer, message",
    [
        ({}, "missing at state '1p' of player 1"),
        ({0: 0.5, 1: 0.6}, "at state '1p' of player 1 are not a distribution, sum 1.1"),
        ({0: 0.5}, "not a distribution"),
        ({0: 1.5, 1: -0.5}, "not a distribution"),
        ({0: float("nan"), 1: 0.5}, "not a distribution"),
        ({0: 0.5, 1: 0.25, 7: 0.25}, r"plays illegal action\(s\) \[7\] at state '1p' of player 1; legal are \[0, 1\]"),
    ],
)
def test_bad_answers_are_refused_with_the_state(answer, message):
    with pytest.raises(ValueError, match=message):
        ts.build_tree(KUHN, 0, Answering(answer))


def test_illegal_actions_with_probability_zero_do_no_harm():
    assert_same_mdp(
        ts.build_tree(KUHN, 0, Answering({0: 0.5, 1: 0.5, 7: 0.0})), ts.build_tree(KUHN, 0, ts.uniform(KUHN))
    )


def test_a_policy_that_misses_a_reachable_state():
    table = pyspiel.GetRandomPolicy(KUHN, 0).policy_table()
    del table["1p"]
    with pytest.raises(ValueError, match="missing at state '1p' of player 1"):
        ts.build_tree(KUHN, 0, pyspiel.TabularPolicy(table))
    with pytest.raises(ValueError, match="missing at state .* of player 1"):
        ts.build_tree(KUHN, 0, policy_lib.TabularPolicy(KUHN, players=(0,)))


def test_a_policy_may_miss_states_that_it_never_reaches():
    table = {"0": [(0, 1.0), (1, 0.0)], "1": [(0, 1.0), (1, 0.0)], "2": [(0, 0.0), (1, 1.0)]}
    partial = pyspiel.TabularPolicy({**table, "0pb": [(0, 1.0)], "1pb": [(0, 1.0)]})
    assert ts.build_tree(KUHN, 1, partial).tree.num_states == 6


def test_players_left_out_of_a_mapping():
    game = pyspiel.load_game("kuhn_poker(players=3)")
    with pytest.raises(ValueError, match=r"missing for player\(s\) \[2\]; given: \[1\]"):
        ts.build_tree(game, 0, {1: ts.uniform(game)})


@pytest.mark.parametrize(
    "opponent",
    [
        pyspiel.PreferredActionPolicy([0, 1]),
        pyspiel.load_bot("fixed_action_preference", KUHN, 1),
        policy_bot.PolicyBot(1, np.random.RandomState(0), pyspiel.PreferredActionPolicy([0, 1])),
    ],
    ids=["C++ policy", "registered bot", "Python bot"],
)
def test_an_opponent_that_only_plays_action_0(opponent):
    assert ts.build_tree(KUHN, 0, opponent).best_response()[0] == pytest.approx(1.0)


def test_a_bot_that_hides_its_policy():
    hiding = pyspiel.MCTSBot(KUHN, pyspiel.RandomRolloutEvaluator(1, 0), 2.0, 5, 1, False, 0, False)
    with pytest.raises(ValueError, match="bot for player 1 does not expose its policy"):
        ts.build_tree(KUHN, 0, hiding)


@pytest.mark.parametrize("opponent", [None, 0.5, [0.5, 0.5], lambda state: {0: 1.0}])
def test_other_objects_are_refused(opponent):
    with pytest.raises(TypeError, match="must be an OpenSpiel policy or a bot"):
        ts.build_tree(KUHN, 0, opponent)


def ismcts(simulations=20):
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    return pyspiel.ISMCTSBot(
        1, evaluator, 1.0, simulations, -1, pyspiel.ISMCTSFinalPolicyType.NORMALIZED_VISIT_COUNT, False, False
    )


def test_a_search_bot_is_not_a_policy():
    """It would be asked once a state, and the best response to one random search be called exact."""
    with pytest.raises(ValueError, match="player 1's answers change from query to query.*Play it live.*queries="):
        ts.build_tree(KUHN, 0, ismcts())


def test_answers_of_a_search_bot_can_be_averaged_and_then_nothing_is_exact(tmp_path):
    mdp = ts.build_tree(KUHN, 0, ismcts(), queries=30)
    assert mdp.queries == 30 and "averaged over 30 queries per state" in repr(mdp)
    assert pickle.loads(pickle.dumps(mdp)).queries == 30
    mdp.save(tmp_path / "averaged")
    assert ts.TreeMDP.load(tmp_path / "averaged").queries == 30
    assert ts.build_tree(KUHN, 0, ts.uniform(KUHN)).queries is None
    with pytest.raises(ValueError, match="queries must be a whole number from 1"):
        ts.build_tree(KUHN, 0, ismcts(), queries=0)


def test_averages_are_those_of_the_answers():
    class Alternating(policy_lib.Policy):
        asked = 0

        def action_probabilities(self, state, player_id=None):
            self.asked += 1
            return {0: 1.0, 1: 0.0} if self.asked % 2 else {0: 0.0, 1: 1.0}

    with pytest.raises(ValueError, match=r"\{0: 1, 1: 0\}, then \{0: 0, 1: 1\}"):
        ts.build_tree(KUHN, 0, Alternating(KUHN, [1]))
    assert_same_mdp(ts.build_tree(KUHN, 0, Alternating(KUHN, [1]), queries=4), ts.build_tree(KUHN, 0, ts.uniform(KUHN)))


def test_changing_answers_are_not_cached_in_live_play():
    game = LiveGame(KUHN, 0, StochasticBot(KUHN), seed=2, asked_every_time=True)
    learner = ts.UCT(game.tree)
    game.play(learner, 500)
    uniform = LiveGame(KUHN, 0, ts.uniform(KUHN), tree=game.tree, seed=3)
    plan = learner.recommend()
    ours, theirs = game.measure(plan, 4000), uniform.measure(plan, 4000)
    assert ours.mean() == pytest.approx(theirs.mean(), abs=5 * np.sqrt((ours.var() + theirs.var()) / 4000))
    assert game.opponents.changing == {1} and not uniform.opponents.changing


class Peeking(policy_lib.Policy):
    """Bets after the other player's card 2, whatever its own: nobody can see that."""

    def action_probabilities(self, state, player_id=None):
        bets = state.history()[0] == 2
        return {0: 1.0 - bets, 1: float(bets)}


@pytest.mark.parametrize("form", ["policy", "mapping", "bot"])
def test_a_policy_that_looks_at_hidden_cards_is_found_out(form):
    peeking = Peeking(KUHN, [0, 1])
    opponent = {
        "policy": peeking,
        "mapping": {1: peeking},
        "bot": policy_bot.PolicyBot(1, np.random.RandomState(0), peeking),
    }[form]
    with pytest.raises(ValueError, match="player 1's policy depends on what the player cannot see: at its state"):
        ts.build_tree(KUHN, 0, opponent)


@pytest.mark.parametrize(
    "answer, message",
    [(None, "answers None"), ("fold", "answers 'fold'"), ({0: "all"}, "answers {0: 'all'}"), (Exception(), "fails at")],
)
def test_answers_that_are_no_distribution_at_all(answer, message):
    class Odd(policy_lib.Policy):
        def action_probabilities(self, state, player_id=None):
            if isinstance(answer, Exception):
                raise answer
            return answer

    with pytest.raises(ValueError, match=message):
        ts.build_tree(KUHN, 0, Odd(KUHN, [1]))


def test_opponents_by_anything_but_their_number():
    with pytest.raises(ValueError, match="by the player's number, 0 .. 1; there is no '1p'"):
        ts.build_tree(KUHN, 0, {1: ts.uniform(KUHN), "1p": {0: 1.0}})
