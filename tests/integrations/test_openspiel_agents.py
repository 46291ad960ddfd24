"""The agents of the installed OpenSpiel, in PyTorch and in JAX."""

import importlib

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.openspiel_exact import KUHN, exact_nash_conv

SIZE, ACTIONS = KUHN.information_state_tensor_size(), KUHN.num_distinct_actions()
SETTINGS = {"progress": False}


def agents_of(library: str, name: str, kind: str, *arguments, **options):
    module = pytest.importorskip(f"open_spiel.python.{library}.{name}")
    return [getattr(module, kind)(player, SIZE, ACTIONS, *arguments, **options) for player in (0, 1)]


MADE = {
    "dqn": ("DQN", ([8],), {}),
    "nfsp": ("NFSP", ([8], 100, 0.1), {}),
    "policy_gradient": ("PolicyGradient", (), {"hidden_layers_sizes": (8,)}),
}


@pytest.mark.parametrize("library", ["pytorch", "jax"])
@pytest.mark.parametrize("name", list(MADE))
def test_an_rl_agent(library, name):
    kind, arguments, options = MADE[name]
    agents = agents_of(library, name, kind, *arguments, **options)
    found = ts.exploit("kuhn", agents, **SETTINGS)
    assert kind in found.opponent and not found.black_box

    from open_spiel.python import rl_agent_policy

    def asked(state):
        player = state.current_player()
        agent = agents[player]
        policy = rl_agent_policy.RLAgentPolicy(KUHN, agent, player, use_observation=False)
        if name == "nfsp":
            average = importlib.import_module(f"open_spiel.python.{library}.nfsp").MODE.AVERAGE_POLICY
            with agent.temp_mode_as(average):
                return np.array(list(policy.action_probabilities(state).values()))
        return np.array(list(policy.action_probabilities(state).values()))

    expected = exact_nash_conv(KUHN, asked, lambda given: given / given.sum())
    assert found.nash_conv.exact == pytest.approx(expected, abs=1e-5)


def test_deep_cfr():
    deep_cfr = pytest.importorskip("open_spiel.python.pytorch.deep_cfr")
    solver = deep_cfr.DeepCFRSolver(
        KUHN, policy_network_layers=(8,), advantage_network_layers=(8,), num_iterations=3, num_traversals=40,
        policy_network_train_steps=5, advantage_network_train_steps=5,
    )  # fmt: skip
    solver.solve()
    found = ts.exploit("kuhn", solver, **SETTINGS)
    asked = lambda state: np.array(list(solver.action_probabilities(state).values()))  # noqa: E731
    expected = exact_nash_conv(KUHN, asked, lambda given: given / given.sum())
    assert found.nash_conv.exact == pytest.approx(expected, abs=1e-5)


def test_an_evaluator_of_alphazero_is_judged_by_its_prior():
    mcts = importlib.import_module("open_spiel.python.algorithms.mcts")

    class Evaluator(mcts.Evaluator):  # as AlphaZero's: evaluate() and prior()
        def evaluate(self, state):
            return np.zeros(2)

        def prior(self, state):
            legal = state.legal_actions()
            return [(action, (rank + 1) / sum(range(1, len(legal) + 1))) for rank, action in enumerate(legal)]

    found = ts.exploit("kuhn", Evaluator(), **SETTINGS)
    assert found.opponent == "Evaluator" and not found.black_box
    expected = exact_nash_conv(KUHN, lambda state: [1.0, 2.0], lambda given: np.array(given) / sum(given))
    assert found.nash_conv.exact == pytest.approx(expected)


@pytest.mark.parametrize("api", ["nnx", "linen"])
def test_openspiels_alphazero(api):
    """The real evaluator, and a search with it."""
    pytest.importorskip("orbax.checkpoint")
    evaluator = pytest.importorskip("open_spiel.python.algorithms.alpha_zero.evaluator")
    from open_spiel.python.algorithms.alpha_zero import utils

    model = utils.api_selector(api).Model.build_model(
        "mlp", KUHN.observation_tensor_shape(), KUHN.num_distinct_actions(),
        nn_width=8, nn_depth=1, weight_decay=1e-4, learning_rate=0.01, path=None,
    )  # fmt: skip
    found = ts.exploit("kuhn", evaluator.AlphaZeroEvaluator(KUHN, model), **SETTINGS)
    assert found.opponent == "AlphaZeroEvaluator" and not found.black_box

    def asked(state):
        return model.inference(np.array(state.observation_tensor()), np.array(state.legal_actions_mask()))[1]

    expected = exact_nash_conv(KUHN, asked, lambda given: given / given.sum())
    assert found.nash_conv.exact == pytest.approx(expected, abs=1e-5)


def test_alphazero_with_search():
    evaluator = pytest.importorskip("open_spiel.python.algorithms.alpha_zero.evaluator")
    import pyspiel
    from open_spiel.python.algorithms import mcts
    from open_spiel.python.algorithms.alpha_zero import utils

    game = pyspiel.load_game("tic_tac_toe")
    model = utils.api_selector("nnx").Model.build_model(
        "mlp", game.observation_tensor_shape(), game.num_distinct_actions(),
        nn_width=8, nn_depth=1, weight_decay=1e-4, learning_rate=0.01, path=None,
    )  # fmt: skip
    bot = mcts.MCTSBot(game, 1.0, 2, evaluator.AlphaZeroEvaluator(game, model), random_state=np.random.RandomState(0))
    found = ts.exploit(game, bot, player=1, episodes=100, max_nodes=100, responder="tree", **SETTINGS)
    assert found.black_box and -1 <= found.lower <= found.upper <= 1 and not found.seats[1].failures
