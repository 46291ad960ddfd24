"""Learners as OpenSpiel agents and bots."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import rl_agent, rl_environment
from open_spiel.python.algorithms import evaluate_bots, random_agent

import tmdp_spiel as ts
from tmdp_spiel.algorithms.catalogue import catalogue, find_algorithm
from tmdp_spiel.openspiel import games
from tmdp_spiel.openspiel.agent import EpisodeSession, TreeAgent, TreeBot


def stop_or_go():
    """A game that can end before the second player has decided anything."""
    return pyspiel.load_efg_game(
        """EFG 2 R "stop or go" { "A" "B" } ""
        p "" 1 1 "" { "stop" "go" } 0
        t "" 1 "" { 1 -1 }
        p "" 2 1 "" { "left" "right" } 0
        t "" 2 "" { 0 0 }
        t "" 3 "" { -1 1 }
        """
    )


def record(learner):
    """Makes the learner note its episodes."""
    episodes, learn = [], learner.learn

    def noting(ended_on, value):
        episodes.append((ended_on, value))
        learn(ended_on, value)

    learner.learn = noting
    return episodes


def play(environment, agents, episodes, **step):
    returns = []
    for _ in range(episodes):
        time_step = environment.reset()
        while not time_step.last():
            output = agents[time_step.current_player()].step(time_step, **step)
            time_step = environment.step([output.action])
        for agent in agents:
            agent.step(time_step, **step)
        returns.append(time_step.rewards)
    return np.array(returns)


def table(game, player, algorithm="UCBT", seed=0, **hyperparameters):
    """An environment, the agent as one player, and random agents as the others."""
    environment = rl_environment.Environment(game, chance_event_sampler=rl_environment.ChanceEventSampler(seed))
    agents = [random_agent.RandomAgent(other, game.num_distinct_actions()) for other in range(game.num_players())]
    agents[player] = TreeAgent(player, game, algorithm, seed=seed, **hyperparameters)
    return environment, agents


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("algorithm", ["UCBT", ts.LUCBT])
def test_leduc_through_the_environment_is_the_learner_fed_directly(leduc, player, algorithm):
    environment, agents = table(leduc, player, algorithm)
    episodes = record(agents[player].learner)
    play(environment, agents, 400)
    assert len(episodes) == 400

    direct = find_algorithm(algorithm)(ts.build_infostate_tree(leduc, player), seed=0)
    for ended_on, value in episodes:
        direct.plan()
        direct.learn(ended_on, value)
    assert np.array_equal(agents[player].learner.recommend(), direct.recommend())
    assert np.array_equal(agents[player].learner.plan(), direct.plan())


@pytest.mark.parametrize("name", catalogue())
def test_every_algorithm_plays_in_the_environment(name):
    game = ts.load_game("kuhn")
    environment, agents = table(game, 0, name)
    play(environment, agents, 60)
    assert agents[0].learner.episodes == 60
    play(environment, agents, 5, is_evaluation=True)
    assert agents[0].learner.episodes == 60


def test_an_agent_learns_what_beats_its_opponent():
    game = ts.load_game("kuhn")
    np.random.seed(1)
    environment, agents = table(game, 1)
    play(environment, agents, 4000)
    mdp = ts.build_tree(game, 1, ts.uniform(game))
    assert mdp.best_response()[0] - mdp.value(agents[1].learner.recommend()) < 0.1


def test_evaluation_plays_the_recommendation_and_learns_nothing(leduc):
    environment, agents = table(leduc, 0)
    play(environment, agents, 50)
    agent = agents[0]
    plan, before = agent.learner.recommend(), agent.learner.plays
    time_step = environment.reset()
    state = agent._state(time_step.observations)
    output = agent.step(time_step, is_evaluation=True)
    assert isinstance(output, rl_agent.StepOutput)
    assert output.action == agent.learner.tree.legal_actions(state)[plan[state]]
    assert output.probs[output.action] == 1 and sum(output.probs) == 1
    play(environment, agents, 20, is_evaluation=True)
    assert agent.learner.episodes == 50 and np.array_equal(agent.learner.plays, before)


def test_an_episode_with_an_evaluation_in_it_teaches_nothing():
    session = EpisodeSession(ts.UCBT(ts.build_infostate_tree("kuhn", 0)))
    session.act(0)
    session.end(1.0, evaluate=True)
    session.act(0, evaluate=True)
    session.end(1.0)
    assert session.learner.episodes == 0


def test_an_episode_that_is_left_is_forgotten():
    game = ts.load_game("kuhn")
    environment, agents = table(game, 1)
    agent, episodes = agents[1], record(agents[1].learner)
    for _ in range(20):
        environment.reset()
        agent.step(environment.step([1]))
    play(environment, agents, 30)
    assert len(episodes) == 30


class Scripted(ts.Learner):
    """Plays a mixed plan and remembers its episodes."""

    def __init__(self, tree, *, seed=0):
        super().__init__(tree, seed)
        self.seen = []

    def plan(self):
        plan = np.full(self.tree.sequence_end, 0.25)
        plan[2::2] = 0.75
        return plan

    def _update(self, ended_on, value):
        self.seen.append((ended_on, value))

    def recommend(self):
        return np.zeros(self.tree.num_states, np.int16)

    def _play(self, mdp, values, rng, episodes):
        raise AssertionError("a session steps its learner, it never runs the compiled loop")


def test_mixed_plans_are_sampled_with_the_agents_own_generator():
    session = EpisodeSession(Scripted(ts.build_infostate_tree("kuhn", 0)))
    actions = []
    for _ in range(2000):
        index, probabilities = session.act(0)
        assert probabilities == pytest.approx([0.25, 0.75])
        actions.append(index)
    assert np.mean(actions) == pytest.approx(0.75, abs=0.04)


def time_step(rewards, state=None, legal=(), player=0, kind=rl_environment.StepType.MID):
    tensor = [] if state is None else state.information_state_tensor(player)
    observations = {"info_state": [tensor, tensor], "legal_actions": [legal, legal], "current_player": player}
    return rl_environment.TimeStep(observations, rewards, None, kind)


def test_rewards_on_the_way_are_summed():
    game = ts.load_game("kuhn")
    agent = TreeAgent(0, game, Scripted)
    state = game.new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    agent.step(time_step(None, state, [0, 1], kind=rl_environment.StepType.FIRST))
    assert agent.step(time_step([0.5, -0.5], player=1)).action is None
    assert agent.step(time_step([1.0, -1.0], kind=rl_environment.StepType.LAST)) is None
    assert agent.learner.seen[0][1] == pytest.approx((1.5 + 2) / 4)


def test_an_episode_without_a_decision_ends_on_the_root():
    game = stop_or_go()
    bot = TreeBot(EpisodeSession(ts.UCBT(ts.build_infostate_tree(game, 1))), game)
    episodes, rng = record(bot.session.learner), np.random.default_rng(0)
    for seed in range(40):
        bots = [pyspiel.make_uniform_random_bot(0, seed), bot]
        evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
    tree = bot.session.learner.tree
    assert len(episodes) == 40
    assert (tree.root, 0.0) in episodes
    assert bot.session.learner.plays.sum() == 40


def test_a_return_outside_the_games_utilities():
    session = EpisodeSession(Scripted(ts.build_infostate_tree("kuhn", 0)))
    session.act(0)
    with pytest.raises(ValueError, match="outside the utilities"):
        session.end(3.0)


def test_save_and_restore_resume_identically(leduc, tmp_path):
    environment, agents = table(leduc, 0)
    play(environment, agents, 100)
    agents[0].save(tmp_path / "agent")
    copy = TreeAgent(0, leduc, "UCBT", seed=5)
    copy.restore(tmp_path / "agent")
    assert copy.learner.episodes == 100
    assert np.array_equal(copy.learner.plan(), agents[0].learner.plan())
    copy.learner.learn(*_an_end(copy.learner))
    assert agents[0].learner.episodes == 100
    assert [file.name for file in tmp_path.iterdir()] == ["agent"]
    with pytest.raises(ValueError, match="another tree"):
        TreeAgent(1, leduc, "UCBT").restore(tmp_path / "agent")


def _an_end(learner):
    """An end that the current plan can come to."""
    tree, plan = learner.tree, learner.plan()
    state = 0
    while True:
        sequence = int(tree.first_sequence[state] + plan[state])
        if tree.can_end[sequence]:
            return sequence, 0.5
        state = int(tree.first_child[sequence])


def test_tensors_that_do_not_tell_states_apart(monkeypatch):
    monkeypatch.setitem(games._registered, "dark_hex", games.Enumeration())  # states by strings, not by tensors
    with pytest.raises(ValueError, match="information_state tensors of dark_hex do not distinguish player 0's states"):
        TreeAgent(0, "dark_hex(board_size=2)", "UCBT")


def test_observation_tensors_with_what_the_player_did_before(leduc):
    shown = rl_environment.ObservationType.OBSERVATION
    _, agents = table(leduc, 0, observation_type=shown)
    play(rl_environment.Environment(leduc, observation_type=shown), agents, 50)
    assert agents[0].learner.episodes == 50


def test_an_environment_with_other_tensors(leduc):
    environment = rl_environment.Environment(leduc, observation_type=rl_environment.ObservationType.OBSERVATION)
    with pytest.raises(ValueError, match="same observation_type"):
        TreeAgent(0, leduc, "UCBT").step(environment.reset())


def test_a_game_without_tensors_is_for_bots():
    with pytest.raises(ValueError, match="provides no observation tensors"):
        TreeAgent(0, "coordinated_mp", "UCBT")


def test_wrong_algorithms_and_hyperparameters(leduc):
    with pytest.raises(ValueError, match="did you mean UCBT"):
        TreeAgent(0, leduc, "UCB-T")
    with pytest.raises(TypeError, match="speed"):
        TreeAgent(0, leduc, "UCBT", speed=1)
    with pytest.raises(ValueError, match="there is no player 2"):
        TreeAgent(2, leduc, "UCBT")


@pytest.mark.parametrize("player", [0, 1])
def test_bots_learn_from_the_episodes_that_evaluate_bots_plays(player):
    game = ts.load_game("kuhn")
    agent = TreeAgent(player, game, "UCBT")
    episodes, rng = record(agent.learner), np.random.default_rng(0)
    bots = [pyspiel.make_uniform_random_bot(other, other) for other in range(2)]
    bots[player] = agent.as_bot()
    for _ in range(300):
        returns = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
        assert episodes[-1][1] == pytest.approx((returns[player] + 2) / 4)
    assert agent.learner.episodes == 300
    bots[player] = agent.as_bot(evaluate=True)
    for _ in range(20):
        evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
    assert agent.learner.episodes == 300


def test_bots_play_where_openspiel_plays_bots_in_cpp():
    game = ts.load_game("kuhn")
    bot = TreeBot(EpisodeSession(ts.UCBT(ts.build_infostate_tree(game, 0))), game)
    for seed in range(50):
        pyspiel.evaluate_bots(game.new_initial_state(), [bot, pyspiel.make_uniform_random_bot(1, seed)], seed)
    assert bot.session.learner.episodes == 50


def test_a_learner_that_has_stopped_plays_its_recommendation():
    game = ts.load_game("kuhn")
    environment, agents = table(game, 0, "LUCBT", bound="simple", epsilon=0.9)
    play(environment, agents, 300)
    learner = agents[0].learner
    assert learner.stopped and learner.episodes < 300


def test_states_that_cannot_follow():
    tree = ts.build_infostate_tree("kuhn", 0)
    session = EpisodeSession(ts.UCBT(tree))
    later = next(state for state in range(tree.num_states) if tree.parent[state] != tree.root)
    with pytest.raises(ValueError, match="cannot follow"):
        session.act(later)
