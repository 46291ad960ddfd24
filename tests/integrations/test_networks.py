"""Networks of PyTorch, TorchScript, ONNX and JAX: what is certified is what the library itself computes."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.openspiel_exact import KUHN, LEDUC, exact_nash_conv, greedy, information_state, observation

WIDTH, ACTIONS = LEDUC.information_state_tensor_size(), LEDUC.num_distinct_actions()
SETTINGS = {"progress": False}


@pytest.fixture(scope="module")
def module():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, 16), torch.nn.ReLU(), torch.nn.Linear(16, ACTIONS))


@pytest.fixture(scope="module")
def expected(module):
    torch = pytest.importorskip("torch")
    return exact_nash_conv(LEDUC, lambda state: module(torch.from_numpy(information_state(state))).detach())


def test_a_pytorch_module(module, expected):
    assert ts.exploit("leduc_poker", module, **SETTINGS).nash_conv.exact == pytest.approx(expected, abs=1e-5)


def test_a_torchscript_file(module, expected, tmp_path):
    torch = pytest.importorskip("torch")
    torch.jit.trace(module, torch.zeros(1, WIDTH)).save(str(tmp_path / "agent.pt"))
    found = ts.exploit("leduc_poker", str(tmp_path / "agent.pt"), **SETTINGS)
    assert found.nash_conv.exact == pytest.approx(expected, abs=1e-5) and found.opponent == "agent.pt"
    torch.save(module, tmp_path / "pickled.pt")
    with pytest.raises(ValueError, match="may run code when it is loaded"):
        ts.exploit("leduc_poker", str(tmp_path / "pickled.pt"), **SETTINGS)


@pytest.mark.parametrize("batch", ["any", "one"])
def test_an_onnx_file(module, expected, tmp_path, batch):
    onnx, _ = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper, path = onnx.helper, tmp_path / "agent.onnx"
    weights = [each.detach().numpy() for each in module.parameters()]
    nodes = [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("Gemm", ["a", "w1", "b1"], ["logits"], transB=1),
    ]
    size = 1 if batch == "one" else "batch"
    shapes = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [size, width])
              for name, width in (("x", WIDTH), ("logits", ACTIONS))]  # fmt: skip
    held = [onnx.numpy_helper.from_array(value, name) for value, name in zip(weights, ("w0", "b0", "w1", "b1"))]
    graph = helper.make_graph(nodes, "agent", shapes[:1], shapes[1:], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
    assert ts.exploit("leduc_poker", str(path), **SETTINGS).nash_conv.exact == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match=f"agent.onnx takes inputs of size {WIDTH}, but kuhn_poker has information"):
        ts.exploit("kuhn", str(path), **SETTINGS)


def test_a_jax_function_and_a_flax_module():
    jax, nnx = pytest.importorskip("jax"), pytest.importorskip("flax.nnx")
    linen = pytest.importorskip("flax.linen")
    network = linen.Sequential([linen.Dense(16), linen.relu, linen.Dense(ACTIONS)])
    weights = network.init(jax.random.PRNGKey(0), np.zeros((1, WIDTH), np.float32))
    apply = jax.jit(lambda tensors: network.apply(weights, tensors))
    expected = exact_nash_conv(LEDUC, lambda state: apply(information_state(state)))
    found = ts.exploit("leduc_poker", ts.adapters.Network(apply), **SETTINGS)
    assert found.nash_conv.exact == pytest.approx(expected, abs=1e-5)
    linear = nnx.Linear(WIDTH, ACTIONS, rngs=nnx.Rngs(0))
    expected = exact_nash_conv(LEDUC, lambda state: linear(information_state(state)))
    assert ts.exploit("leduc_poker", linear, **SETTINGS).nash_conv.exact == pytest.approx(expected, abs=1e-5)


def test_cleanrl_agents_by_their_actor_and_its_q_networks_by_their_values():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)

    class Agent(torch.nn.Module):  # as in cleanrl/ppo.py
        def __init__(self, inputs, actions):
            super().__init__()
            self.critic = torch.nn.Linear(inputs, 1)
            self.actor = torch.nn.Sequential(torch.nn.Linear(inputs, 8), torch.nn.Tanh(), torch.nn.Linear(8, actions))

        def get_action_and_value(self, x, action=None):
            raise AssertionError("not needed")

    class QNetwork(torch.nn.Module):  # as in cleanrl/dqn.py
        def __init__(self, inputs, actions):
            super().__init__()
            self.network = torch.nn.Sequential(torch.nn.Linear(inputs, 8), torch.nn.ReLU(), torch.nn.Linear(8, actions))

        def forward(self, x):
            return self.network(x)

    sizes = KUHN.observation_tensor_size(), KUHN.num_distinct_actions()
    agent, values = Agent(*sizes), QNetwork(*sizes)
    found = ts.exploit("kuhn", agent, **SETTINGS)
    asked = lambda state: agent.actor(torch.from_numpy(observation(state))).detach()  # noqa: E731
    assert found.nash_conv.exact == pytest.approx(exact_nash_conv(KUHN, asked), abs=1e-5)
    network = ts.adapters.Network(
        lambda tensors: values(torch.from_numpy(tensors)), outputs="values", tensor="observation"
    )
    found = ts.exploit("kuhn", network, **SETTINGS)
    asked = lambda state: values(torch.from_numpy(observation(state))).detach()  # noqa: E731
    assert found.nash_conv.exact == pytest.approx(exact_nash_conv(KUHN, asked, greedy), abs=1e-5)
    with pytest.raises(ValueError, match="information states of size 30 and observations of size 16"):
        ts.exploit("leduc_poker", agent, **SETTINGS)


def test_a_size_that_does_not_fit_is_named_with_those_of_the_game():
    torch = pytest.importorskip("torch")

    class Hidden(torch.nn.Module):  # a module whose input size cannot be known before it is asked
        def __init__(self, inputs, outputs):
            super().__init__()
            self.body = torch.nn.Linear(inputs, outputs)

        def forward(self, x):
            return self.body(x.flatten(1))

    tensors = "kuhn_poker has information states of size 11 and observations of size 7"
    with pytest.raises(ValueError, match=f"first linear layer has 30 inputs.*{tensors}"):
        ts.exploit("kuhn", Hidden(30, 2), **SETTINGS)
    with pytest.raises(ValueError, match=f"returns 3 numbers at a state, .* has 2 actions.*{tensors}"):
        ts.exploit("kuhn", Hidden(11, 3), **SETTINGS)
    with pytest.raises(ValueError, match=r"returns 3 numbers at a state, .* has 2 actions"):
        ts.exploit("kuhn", ts.adapters.Network(lambda given: np.zeros((len(given), 3))), **SETTINGS)
