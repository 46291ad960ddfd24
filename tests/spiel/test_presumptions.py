"""What certified numbers presume: what breaks it is refused, and what may break it is said."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.bots import policy as policy_bot

import tmdp_spiel as ts
from tmdp_spiel.spiel.exploit.response import KnownOpponent, respond
from tmdp_spiel.spiel.presumptions import OpponentChangesWarning, seems_to_change
from twins.moody import Moody

KUHN = pyspiel.load_game("kuhn_poker")


def live(bots, player=0, game=KUHN):
    return ts.LiveGame(game, player, bots)


def uniform_bot(seat=1):
    return pyspiel.make_uniform_random_bot(seat, 3)


class Bot(pyspiel.Bot):
    """Answers by a function of the state and of how often it was asked."""

    def __init__(self, answer):
        super().__init__()
        self.answer, self.asked = answer, 0

    def step(self, state):
        self.asked += 1
        return self.answer(state, self.asked)

    def restart_at(self, state):
        pass

    def inform_action(self, state, player_id, action):
        pass


def test_a_bot_for_the_learners_own_seat_does_not_play_in_its_place():
    """A plan that was never played would be certified."""
    asked = Bot(lambda state, asked: 0)
    opponent = live({0: asked, 1: uniform_bot()})
    found = respond(ts.BettingUCRL(opponent.tree), opponent, episodes=500)
    assert asked.asked == 0 and 0 < found.episodes <= 500
    with pytest.raises(ValueError, match=r"missing for player\(s\) \[1\]"):
        live({})
    with pytest.raises(ValueError, match="seat"):
        ts.exploit(KUHN, policy_bot.PolicyBot(0, np.random.RandomState(0), ts.uniform(KUHN)), player=0, episodes=10)


def test_a_learner_that_has_learned_already_is_refused(mdp_of):
    game = ts.load_game("kuhn")
    one, other = KnownOpponent(mdp_of("kuhn", 0)), KnownOpponent(ts.build_tree(game, 0, ts.uniform(game)))
    learner = ts.BettingUCRL(one.tree)
    respond(learner, one, episodes=1000)
    with pytest.raises(ValueError, match="has learned from .* episodes already, perhaps against another opponent"):
        respond(learner, other, episodes=1000)


@pytest.mark.parametrize(
    "made_for, played", [(("leduc", 0), ("kuhn", 0)), (("kuhn", 0), ("leduc", 0)), (("kuhn", 1), ("kuhn", 0))]
)
def test_a_learner_of_another_tree_or_player_is_refused(made_for, played, mdp_of):
    """Kernels would read and write beyond its arrays."""
    learner, mdp = ts.BettingUCRL(mdp_of(*made_for).tree), mdp_of(*played)
    with pytest.raises(ValueError, match="made for another tree"):
        respond(learner, KnownOpponent(mdp), episodes=1000)
    with pytest.raises(ValueError, match="made for another tree"):
        learner.play(mdp, learner.new_values(mdp_of(*made_for)), np.random.default_rng(0), 10)
    assert learner.episodes == 0


@pytest.mark.parametrize("episodes", [-1, 0, 1.5, float("nan"), None, "ten"])
def test_a_number_of_episodes_that_is_none(episodes, mdp_of):
    mdp = mdp_of("kuhn", 0)
    learner = ts.UCT(mdp.tree)
    with pytest.raises(ValueError, match="episodes must be a whole number from 1"):
        learner.play(mdp, learner.new_values(mdp), np.random.default_rng(0), episodes)
    assert learner.episodes == 0


@pytest.mark.parametrize("answer", [7, -1, None, "fold", 0.5, float("nan"), True])
def test_an_illegal_answer_of_a_bot_is_refused(answer):
    opponent = live({1: Bot(lambda state, asked: answer)})
    with pytest.raises(ts.OpponentError, match=r"player 1 .*after the moves .*"):
        respond(ts.BettingUCRL(opponent.tree), opponent, episodes=100)


def test_the_class_instead_of_a_learner(mdp_of):
    with pytest.raises(TypeError, match="not by the class BettingUCRL"):
        respond(ts.BettingUCRL, KnownOpponent(mdp_of("kuhn", 0)), episodes=100)


@pytest.mark.parametrize("budget", ["episodes", "seconds", "target_width"])
@pytest.mark.parametrize("value", [0, -5, float("nan"), float("inf"), "much"])
def test_budgets_that_are_none(budget, value, mdp_of):
    opponent = KnownOpponent(mdp_of("kuhn", 0))
    with pytest.raises(ValueError, match=f"{budget} must be"):
        respond(ts.BettingUCRL(opponent.tree), opponent, **{budget: value})
    with pytest.raises(ValueError, match=f"{budget} must be"):
        ts.exploit("kuhn", "uniform", **{budget: value})


def test_averages_of_a_search_bot_are_not_certified():
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    mdp = ts.build_tree(KUHN, 0, pyspiel.ISMCTSBot(1, evaluator, 1.0, 10), queries=5)
    with pytest.raises(ValueError, match="mean of 5 answers a state, not of the bot"):
        KnownOpponent(mdp)


class Drifting:
    """Whatever is played against it wins 0.3 on average, and 0.6 once it has been measured for a while."""

    mdp = None

    def __init__(self):
        self.tree = ts.DecisionTree(
            first_sequence=[0, 2], first_child=[1, 1, 1], parent=[2], action=[0, 1], can_end=[True, True]
        )
        self._rng, self._measured = np.random.default_rng(0), 0

    def play(self, learner, number):
        for _ in range(number):
            learner.learn(int(learner.plan()[0]), 1.0)
        return number

    def measure(self, plan, number):
        self._measured += number
        return self._rng.random(number) * 0.4 + (0.1 if self._measured <= 400 else 0.4)


def test_an_opponent_that_changes_is_warned_of():
    opponent = Drifting()
    with pytest.warns(
        OpponentChangesWarning, match=r"won 0\.\d* an episode early on won 0\.\d* at the end: the opponent seems"
    ):
        found = respond(ts.BettingUCRL(opponent.tree), opponent, episodes=6000)
    assert found.seems_to_change and found.episodes <= 6000


def test_an_opponent_that_stays_the_same_is_not_warned_of(recwarn):
    for seed in range(20):
        opponent = live({1: pyspiel.make_uniform_random_bot(1, seed)})
        found = respond(ts.BettingUCRL(opponent.tree, seed=seed), opponent, episodes=1500)
        assert not found.seems_to_change and found.episodes <= 1500
    assert not [warning for warning in recwarn if issubclass(warning.category, OpponentChangesWarning)]


def test_what_chance_explains_is_no_change():
    rng = np.random.default_rng(0)
    alarms = sum(seems_to_change(rng.random(200) < 0.5, rng.random(200) < 0.5) for _ in range(2000))
    assert alarms <= 3
    assert seems_to_change(np.zeros(100), np.ones(100)) and not seems_to_change(np.ones(1), np.zeros(100))


def test_a_change_is_seen_and_chance_raises_alarms_no_more_often_than_stated():
    rng = np.random.default_rng(1)
    alarms = sum(seems_to_change(rng.random(60) ** 4, rng.random(60) ** 4, 0.2) for _ in range(500))
    assert alarms <= 130
    assert all(seems_to_change(rng.random(2000) < 0.5, rng.random(2000) < 0.65) for _ in range(20))


class Turncoat(pyspiel.Bot):
    """Bets seldom for a while, then often."""

    def __init__(self):
        super().__init__()
        self.asked, self._rng = 0, np.random.default_rng(0)

    def step(self, state):
        self.asked += 1
        return int(self._rng.random() < (0.3 if self.asked < 20_000 else 0.8))

    def restart_at(self, state):
        pass


def test_exploit_remarks_on_an_opponent_that_changes():
    with pytest.warns(OpponentChangesWarning):
        found = ts.exploit(KUHN, Turncoat(), player=0, episodes=40_000, progress=False)
    assert any("seems to change" in remark for remark in found.remarks) and "seems to change" in str(found)


def test_what_is_no_policy_is_played_live_by_exploit():
    """On average it is the uniform policy, and that is what the numbers must enclose; not one frozen answer a state."""
    found = ts.exploit(KUHN, Moody(KUHN), player=0, episodes=4000, progress=False)
    mdp = ts.build_tree(KUHN, 0, ts.uniform(KUHN))
    seat = found.seats[0]
    assert seat.exact_best is None
    plan = ts.policy_to_plan(mdp.tree, ts.plan_to_policy(seat.tree, seat.plan, KUHN), KUHN)  # states numbered anew
    assert seat.lower <= mdp.value(plan) <= mdp.best_response()[0] <= seat.upper
