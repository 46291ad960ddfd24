"""Live play on lazy trees."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.bots import uniform_random

import tmdp_spiel as ts
from reference.learners import GROWING
from tmdp_spiel.openspiel.opponents import history_cache
from tmdp_spiel.openspiel.opponents.episode import Categorical, draw_outcome

pytestmark = pytest.mark.filterwarnings("ignore:the .* strings of")


def table(name, player=0, seed=0, opponent=None, **options):
    game = ts.load_game(name)
    return ts.LiveGame(
        game, player, opponent or ts.uniform(game), tree=ts.grow_tree(game, player, **options), seed=seed
    )


def make(algorithm, tree, seed=0):
    return GROWING[algorithm](tree, seed)


def exact_value(mdp, tree, plan):
    game = ts.load_game(mdp.tree.game_string)
    return mdp.value(ts.policy_to_plan(mdp.tree, ts.plan_to_policy(tree, plan, game), game))


@pytest.fixture(scope="module")
def kuhn():
    game = ts.load_game("kuhn")
    return ts.build_tree(game, 0, ts.uniform(game))


@pytest.mark.parametrize("algorithm", GROWING)
def test_every_path_learner_learns_on_a_tree_that_grows(algorithm, kuhn):
    at = table("kuhn", seed=3)
    learner = make(algorithm, at.tree)
    assert at.play(learner, 4000) == learner.episodes or learner.stopped
    assert at.tree.num_states == kuhn.tree.num_states and at.tree.num_sequences == kuhn.tree.num_sequences
    assert exact_value(kuhn, at.tree, learner.recommend()) > 0.3  # a best response has 0.5, uniform 0.125


@pytest.mark.parametrize("algorithm", GROWING)
def test_learners_are_saved_with_their_tree_and_resume_identically(algorithm, tmp_path):
    at = table("leduc", seed=1)
    learner = make(algorithm, at.tree)
    at.play(learner, 150)
    ts.save_learner(learner, tmp_path / "learner")
    tree = ts.grow_tree("leduc", 0)
    again = ts.load_learner(tmp_path / "learner", tree)
    assert again.tree is tree and tree.num_states == at.tree.num_states
    for each in (learner, again):
        fresh = ts.LiveGame("leduc", 0, ts.uniform(ts.load_game("leduc")), tree=each.tree, seed=7)
        fresh.play(each, 150)
    assert tree.fingerprint == at.tree.fingerprint
    np.testing.assert_array_equal(learner.recommend(), again.recommend())
    with pytest.raises(ValueError, match="holds another tree"):
        ts.load_learner(tmp_path / "learner", at.tree)
    with pytest.raises(ValueError, match="made for another tree"):
        ts.load_learner(tmp_path / "learner", ts.grow_tree("kuhn", 0))


@pytest.mark.parametrize("algorithm", ["UCT", "MVP", "BettingUCRL", "OutcomeSamplingMCCFR"])
def test_curves_agree_with_those_on_the_enumerated_tree(algorithm, kuhn):
    """The value of the recommended plan after 300 episodes, over seeds: within four standard errors."""
    built, on_grown = [], []
    for seed in range(40):
        learner = make(algorithm, kuhn.tree, seed)
        trace = ts.run(learner, kuhn, 300, measure_at=[300], progress=False)
        built.append(kuhn.best_response()[0] - trace.value_gap[-1])
        at = table("kuhn", seed=seed)
        learner = make(algorithm, at.tree, seed)
        at.play(learner, 300)
        on_grown.append(exact_value(kuhn, at.tree, learner.recommend()))
    error = np.sqrt((np.var(built) + np.var(on_grown)) / 40)
    assert abs(np.mean(built) - np.mean(on_grown)) < 4 * error + 0.02


def test_learners_that_plan_over_the_whole_tree_say_so():
    tree = ts.grow_tree("kuhn", 0)
    for algorithm in (ts.UCBT, ts.LUCBT, ts.LUCB):
        with pytest.raises(TypeError, match="cannot learn on one that grows"):
            algorithm(tree)
    with pytest.raises(TypeError, match="needs lazy=True"):
        ts.PSRL(tree)


def test_a_small_budget_of_states_is_kept_and_play_continues(caplog):
    at = table("leduc", max_states=20)
    learner = ts.BettingUCRL(at.tree)
    at.play(learner, 2000)
    assert at.tree.num_states == 20 and learner.episodes == 2000
    assert sum("stops growing" in record.message for record in caplog.records) == 1
    assert learner.upper_bound(0.05) > 0.9


@pytest.mark.parametrize("new_states", [1, 100])
def test_certificates_hold_on_trees_that_grow(new_states, kuhn):
    best, wrong = (kuhn.best_response()[0] + 2) / 4, 0
    for seed in range(30):
        at = table("kuhn", seed=seed, new_states=new_states)
        learner = ts.BettingUCRL(at.tree, delta=0.2, seed=seed)
        for _ in range(4):
            at.play(learner, 500)
            upper = learner.upper_bound(0.2)
            wrong += upper < best
    assert wrong <= 8 and upper < 0.75


def test_a_full_tree_stays_sound(kuhn):
    """With three of the six states, what lies outside counts as the maximum."""
    best = (kuhn.best_response()[0] + 2) / 4
    at = table("kuhn", max_states=3)
    learner = ts.BettingUCRL(at.tree)
    at.play(learner, 20_000)
    assert best <= learner.upper_bound(0.05) < 1.0
    assert best <= learner.upper[0]


def test_a_single_draw_is_that_of_a_distribution():
    rng = np.random.default_rng(0)
    for _ in range(200):
        number = rng.integers(1, 6)
        weights = rng.random(number) * rng.integers(0, 2, number)  # some of them 0
        weights[rng.integers(number)] += 0.1
        outcomes = list(enumerate((weights / weights.sum()).tolist()))
        distribution = Categorical(outcomes)
        for number in [0.0, *distribution.cumulative, *rng.random(5), 1 - 2**-53]:
            assert draw_outcome(outcomes, number) == distribution.action(number)


def test_fresh_episodes_measure_a_plan(kuhn):
    at = table("kuhn", seed=5)
    learner = ts.UCT(at.tree)
    at.play(learner, 1000)
    for plan in (learner.recommend(), at.tree.as_probabilities(learner.recommend())):
        returns = at.measure(plan, 4000)
        assert returns.mean() * 4 - 2 == pytest.approx(exact_value(kuhn, at.tree, plan), abs=0.12)
    assert at.tree.num_states == 6


def test_histories_that_are_remembered_change_nothing(monkeypatch, kuhn):
    """The same mean of many episodes of one plan, with and without."""
    means = []
    for most in (0, 100_000):
        monkeypatch.setattr(history_cache, "MOST", most)
        at = table("leduc", seed=2)
        learner = ts.UCT(at.tree)
        at.play(learner, 500)
        means.append(at.measure(np.zeros(at.tree.num_states, int), 20_000).mean())
    game = ts.load_game("leduc")
    mdp = ts.build_tree(game, 0, ts.uniform(game))
    exact = mdp.scaled_value(ts.policy_to_plan(mdp.tree, ts.plan_to_policy(at.tree, np.zeros(at.tree.num_states, int))))
    assert means == pytest.approx([exact, exact], abs=0.01)


@pytest.mark.parametrize(
    "name",
    ["phantom_ttt", "goofspiel(num_cards=5)", "negotiation", "oshi_zumo(coins=6)", "hearts", "tic_tac_toe", "pig"],
)
def test_games_of_all_kinds(name):
    """Large, simultaneous, sampled chance, four players, perfect information, observation strings alone."""
    at = table(name)
    learner = ts.UCT(at.tree)
    at.play(learner, 30)
    assert learner.episodes == 30 and at.tree.num_states > 1
    assert len(at.measure(learner.recommend(), 5)) == 5


class Stepper:
    """A bot with nothing but step()."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def step(self, state):
        self.asked += 1
        return self.answer(state, self.asked)


def test_bots_with_only_step_and_bots_of_openspiel(kuhn):
    bots = [
        Stepper(lambda state, _: state.legal_actions()[0]),
        uniform_random.UniformRandomBot(1, np.random.RandomState(0)),
        pyspiel.make_uniform_random_bot(1, 3),
    ]
    for bot in bots:
        at = table("kuhn", opponent={1: bot})
        learner = ts.UCT(at.tree)
        assert at.play(learner, 200) == 200 == learner.episodes


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda state, asked: 1 / 0 if asked == 20 else state.legal_actions()[0], "player 1 .* failed after the moves"),
        (lambda state, asked: 99 if asked == 20 else state.legal_actions()[0], "returned 99 after the moves"),
        (lambda state, asked: None if asked == 20 else state.legal_actions()[0], "returned None after the moves"),
    ],
)
def test_an_opponent_that_fails_is_named_and_its_episode_not_counted(answer, message):
    at = table("kuhn", opponent=Stepper(answer))
    learner = ts.UCT(at.tree)
    with pytest.raises(ts.OpponentError, match=message):
        at.play(learner, 1000)
    before = learner.episodes
    assert 0 < before < 40 and learner.visits[at.tree.first_sequence[0] :].sum() >= before
    at.play(learner, 10)
    assert learner.episodes == before + 10


def test_a_game_that_does_not_end_in_time():
    game = ts.load_game("phantom_ttt")
    at = ts.LiveGame(game, 0, ts.uniform(game), max_moves=3)
    with pytest.raises(ts.EpisodeTooLongError, match="did not end within 3 moves"):
        at.play(ts.UCT(at.tree), 1)


def test_bad_tables():
    game = ts.load_game("kuhn")
    with pytest.raises(ValueError, match="opponents are missing"):
        ts.LiveGame(game, 0, {})
    with pytest.raises(ValueError, match="needs a tree from grow_tree for player 0"):
        ts.LiveGame(game, 0, ts.uniform(game), tree=ts.grow_tree(game, 1))
    at = table("kuhn")
    with pytest.raises(ValueError, match="made for another tree"):
        at.play(ts.UCT(ts.grow_tree("kuhn", 0)), 1)
    with pytest.raises(ValueError, match="mean-field"):
        ts.grow_tree("mfg_crowd_modelling", 0)
