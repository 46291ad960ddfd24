"""The whole game: counts, membership of random games, the shipped equilibrium and its tree MDPs."""

import copy
import functools
import json
import pathlib
import pickle
import shutil

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.bots import policy as policy_bot

import tmdp_spiel as ts
from experiments.sweep import run
from experiments.sweep.configuration import Configuration
from experiments.sweep.store import unpack_lines
from reference.plans import BothPlanners
from tmdp_spiel.bounds import widths
from tmdp_spiel.evaluation.evaluator import Evaluator
from tmdp_spiel.games.rbt import game as rbt, policy_file, solving, tree as rbt_tree

COUNTS = (
    {"states": 10_646_870, "sequences": 21_257_813, "terminals": 19_268_080, "horizon": 9},
    {"states": 8_910_453, "sequences": 23_681_808, "terminals": 32_639_016, "horizon": 8},
)


pytestmark = pytest.mark.rbt


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache directory of this module's own, emptied afterwards: the whole game takes a gigabyte."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMDP_SPIEL_CACHE", str(folder))
        rbt_tree.forget_enumeration()
        yield folder
        rbt_tree.forget_enumeration()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def game():
    return pyspiel.load_game("python_rbt")


@pytest.fixture(scope="module")
def trees(game):
    return [rbt_tree.infostate_tree(game, player) for player in (0, 1)]


@pytest.mark.parametrize("player", (0, 1))
def test_counts(trees, player):
    tree = trees[player]
    assert {
        "states": tree.num_states,
        "sequences": tree.num_sequences,
        "terminals": tree.num_terminals,
        "horizon": tree.horizon,
    } == COUNTS[player]


def test_every_state_of_random_games_is_in_the_tree_with_its_actions_and_successors(game, trees):
    rng = np.random.default_rng(8)
    for _ in range(5000):
        state = game.new_initial_state()
        last = [None, None]
        while not state.is_terminal():
            player = state.current_player()
            tree = trees[player]
            index = tree.state_index(state.information_state_string())
            assert tree.state_string(index) == state.information_state_string()
            assert list(tree.legal_actions(index)) == state.legal_actions()
            assert tree.parent[index] == (tree.root if last[player] is None else last[player])
            choice = rng.integers(len(state.legal_actions()))
            last[player] = tree.first_sequence[index] + choice
            state.apply_action(state.legal_actions()[choice])
        for player, sequence in enumerate(last):
            if sequence is not None:
                assert trees[player].can_end[sequence]


def test_unknown_states_are_named(trees):
    with pytest.raises(KeyError, match="no legal play"):
        trees[0].state_index("x 4 tl:x..o")
    with pytest.raises(KeyError, match="tree of x"):
        trees[0].state_index("o")
    with pytest.raises(KeyError, match="not an information state"):
        trees[0].state_index("nonsense")


def test_every_state_of_a_sample_has_its_own_string(trees):
    rng = np.random.default_rng(9)
    for tree in trees:
        for state in rng.integers(tree.num_states, size=2000):
            assert tree.state_index(tree.state_string(int(state))) == state


def test_the_shipped_equilibrium_is_as_good_as_it_says(game):
    policy = policy_file.shipped()
    assert str(policy.game) == str(game)
    values = solving.best_response_values(game, policy)
    assert sum(values) / 2 == pytest.approx(policy.exploitability, abs=1e-9)
    assert policy.exploitability <= 0.001
    assert values == pytest.approx((policy.facts["best_response_x"], policy.facts["best_response_o"]), abs=1e-9)
    assert -values[1] <= values[0]


@pytest.mark.parametrize("player", (0, 1))
def test_tree_mdp_against_the_shipped_equilibrium(game, player, cache):
    policy = policy_file.shipped()
    mdp = rbt_tree.build_tree_mdp(game, player, policy)
    best = policy.facts[f"best_response_{rbt.MARKS[player]}"]
    value, plan = mdp.best_response()
    assert value == pytest.approx(best, abs=1e-9)
    assert mdp.value(plan) == pytest.approx(best, abs=1e-9)
    assert mdp.num_terminals == COUNTS[player]["terminals"]
    own = mdp.value(rbt_tree.policy_to_plan(game, player, policy))
    assert own <= best and own == pytest.approx(best, abs=2 * policy.exploitability)
    files = sorted(cache.iterdir())
    again = rbt_tree.build_tree_mdp(game, player, policy)
    assert sorted(cache.iterdir()) == files, "the second time it is read from the cache"
    np.testing.assert_array_equal(again.reach, mdp.reach)
    shutil.rmtree(next(path for path in cache.iterdir() if path.name.startswith("rbt_mdp")))


@pytest.mark.slow
def test_experiments_meet_the_opponent_of_the_stored_runs():
    lines = unpack_lines(pathlib.Path(__file__).parents[2] / "docs/runs/learning.jsonl.xz")
    stored = [each for each in map(json.loads, lines) if each["configuration"]["game"] == "rbt"]
    asked = Configuration(**stored[0]["configuration"]).problem
    of_player = [each for each in stored if each["configuration"]["player"] == asked.player]
    assert {each["environment"]["fingerprint"] for each in of_player} == {run.environment(asked).fingerprint}


def test_uniform_opponent_is_worth_what_games_against_it_show(game):
    """Sampled episodes of the tree MDP and games of the OpenSpiel game have the same mean return."""
    mdp = rbt_tree.build_tree_mdp(game, 0, policy_lib.UniformRandomPolicy(game))
    uniform = rbt_tree.policy_to_plan(game, 0, policy_lib.UniformRandomPolicy(game))
    rng = np.random.default_rng(4)
    returns = []
    for _ in range(3000):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        returns.append(state.returns()[0])
    assert abs(mdp.value(uniform) - np.mean(returns)) < 4 * np.std(returns) / np.sqrt(len(returns))


def test_bots_play_the_shipped_equilibrium(game):
    policy = policy_file.shipped()
    rng = np.random.RandomState(6)
    bot = policy_bot.PolicyBot(0, rng, policy)
    returns = []
    for _ in range(300):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            if state.current_player() == 1:
                state.apply_action(rng.choice(legal))
            else:  # OpenSpiel's PolicyBot takes [0] for no action at all
                state.apply_action(0 if legal == [0] else bot.step(state))
        returns.append(state.returns()[0])
    assert np.mean(returns) > 0.5, "a random player loses to it most of the time"


@pytest.mark.parametrize(
    "learner",
    [
        ts.UCT,
        ts.OutcomeSamplingMCCFR,
        ts.OPF,
        ts.BPIUCRL,
        ts.MVP,
        functools.partial(ts.PSRL, lazy=True),
    ],
    ids=["UCT", "MCCFR", "OPF", "BPI-UCRL", "MVP", "PSRL, lazy"],
)
def test_learners_are_measured_exactly(game, learner, tmp_path):
    """Regret and value gap from what episodes touch, against the value of whole plans; and on from a file."""
    mdp = rbt_tree.build_tree_mdp(game, 0, policy_lib.UniformRandomPolicy(game))
    first, rng = learner(mdp.tree, seed=2), np.random.default_rng(2)
    evaluator = Evaluator(first, mdp)
    for episodes in (1, 3000):
        evaluator.play(rng, episodes)
        assert evaluator.recommended_value() == pytest.approx(mdp.value(first.recommend()), abs=1e-9)
    ts.save_learner(first, tmp_path / "learner")
    again = ts.load_learner(tmp_path / "learner", mdp.tree)
    played = mdp.value(first.plan())
    _, regret = evaluator.play(copy.deepcopy(rng), 1)
    assert regret == pytest.approx(mdp.best_response()[0] - played, abs=1e-9)
    assert Evaluator(again, mdp).play(rng, 1) == (1, pytest.approx(regret, abs=1e-9))
    np.testing.assert_array_equal(again.plan(), first.plan())
    (tmp_path / "learner").unlink()


@pytest.mark.parametrize(
    "player, learner, settings",
    [
        (0, ts.LUCBT, dict()),
        (1, ts.UCBT, dict(c=1e-3, optimistic=True, baseline="adaptive")),
    ],
    ids=["LUCB-T, x", "UCB-T, o"],
)
def test_incremental_plans_equal_plain_passes(game, player, learner, settings):
    mdp = rbt_tree.build_tree_mdp(game, player, ts.equilibrium(game))
    learner = learner(mdp.tree, bound="simple", seed=3, **settings)
    planners = BothPlanners(mdp, learner.optimistic, learner.seed, learner._arms.estimates)
    evaluator, rng = Evaluator(learner, mdp), np.random.default_rng(3)
    for episodes in (200, 3000):
        evaluator.play(rng, episodes)
        planners.compare(widths.simple_beta(1, learner.episodes + 2, learner.c, learner.delta), learner.episodes)


def test_a_tree_mdp_is_pickled_as_its_path(game):
    mdp = rbt_tree.build_tree_mdp(game, 0, policy_lib.UniformRandomPolicy(game))
    content = pickle.dumps(mdp)
    assert len(content) < 2000
    assert pickle.loads(content).tree.state_string(1000) == mdp.tree.state_string(1000)
