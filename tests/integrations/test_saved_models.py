"""From a saved model to a report in at most five lines, for each way in."""

import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.openspiel_exact import KUHN

SIZE, ACTIONS = KUHN.information_state_tensor_size(), KUHN.num_distinct_actions()


def torch_network():
    torch = pytest.importorskip("torch")
    return torch.nn.Sequential(torch.nn.Linear(SIZE, 8), torch.nn.ReLU(), torch.nn.Linear(8, ACTIONS))


def save_torch():
    torch = pytest.importorskip("torch")
    torch.save(torch_network().state_dict(), "weights.pt")
    return {"Network": torch_network}


def save_torchscript():
    torch = pytest.importorskip("torch")
    torch.jit.trace(torch_network(), torch.zeros(1, SIZE)).save("agent.pt")


def save_onnx():
    onnx, _ = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(np.ones((SIZE, ACTIONS), np.float32), "w")
    ends = [make.make_tensor_value_info(name, kind, ["n", size]) for name, size in (("x", SIZE), ("y", ACTIONS))]
    graph = make.make_graph([make.make_node("MatMul", ["x", "w"], ["y"])], "agent", ends[:1], ends[1:], [weights])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, "agent.onnx")


def save_flax():
    linen, jax = pytest.importorskip("flax.linen"), pytest.importorskip("jax")
    from flax import serialization

    network = linen.Sequential([linen.Dense(8), linen.relu, linen.Dense(ACTIONS)])
    params = network.init(jax.random.PRNGKey(0), np.zeros((1, SIZE), np.float32))
    pathlib.Path("params.msgpack").write_bytes(serialization.to_bytes(params))
    return {"network": network}


def save_cleanrl():
    torch = pytest.importorskip("torch")

    class Agent(torch.nn.Module):  # as in cleanrl/ppo.py
        def __init__(self):
            super().__init__()
            self.critic, self.actor = torch.nn.Linear(SIZE, 1), torch.nn.Linear(SIZE, ACTIONS)

    torch.save(Agent().state_dict(), "ppo.cleanrl_model")
    return {"Agent": Agent}


def save_stable_baselines3(kind, library="stable_baselines3"):
    module, gymnasium = pytest.importorskip(library), pytest.importorskip("gymnasium")

    class Kuhn(gymnasium.Env):  # only its spaces are needed
        observation_space = gymnasium.spaces.Box(0, 2, (KUHN.observation_tensor_size(),))
        action_space = gymnasium.spaces.Discrete(ACTIONS)

    getattr(module, kind)("MlpPolicy", Kuhn(), device="cpu").save("model.zip")


def save_rlcard():
    torch, agents = pytest.importorskip("torch"), pytest.importorskip("rlcard.agents")
    agent = agents.DQNAgent(num_actions=4, state_shape=[36], mlp_layers=[16], device="cpu")
    torch.save(agent, "rlcard.pth")  # as RLCard's examples save them


def save_openspiel(kind):
    torch = pytest.importorskip("torch")
    module = pytest.importorskip(f"open_spiel.python.pytorch.{kind.lower()}")
    arguments = {"DQN": ([8],), "NFSP": ([8], 100, 0.1)}[kind]
    pathlib.Path("agents").mkdir()

    def make(player):
        return getattr(module, kind)(player, SIZE, ACTIONS, *arguments)

    network = {"DQN": "_q_network", "NFSP": "_avg_network"}[kind]  # DQN.load() of OpenSpiel 2.0 lacks a key of save()
    for player in (0, 1):
        torch.save(getattr(make(player), network).state_dict(), f"agents/{player}")
    return {"make": make}


def save_openspiel_ppo():
    torch, ppo = pytest.importorskip("torch"), pytest.importorskip("open_spiel.python.pytorch.ppo")

    def make(player):
        return ppo.PPO((SIZE,), ACTIONS, 2, player_id=player, agent_fn=ppo.PPOAgent)

    for player in (0, 1):
        torch.save(make(player).state_dict(), f"ppo{player}.pt")
    return {"make": make}


def save_openspiel_policy_gradient():
    pytest.importorskip("torch")
    module = pytest.importorskip("open_spiel.python.pytorch.policy_gradient")

    def make(player):
        return module.PolicyGradient(player, SIZE, ACTIONS, hidden_layers_sizes=(8,))

    for player in (0, 1):
        make(player).save(".")
    return {"make": make}


def save_alphazero():
    pytest.importorskip("open_spiel.python.algorithms.alpha_zero.evaluator")
    from open_spiel.python.algorithms.alpha_zero import utils

    def build():
        return utils.api_selector("nnx").Model.build_model(
            "mlp", KUHN.observation_tensor_shape(), ACTIONS,
            nn_width=8, nn_depth=1, weight_decay=1e-4, learning_rate=0.01, path=str(pathlib.Path.cwd()),
        )  # fmt: skip

    build().save_checkpoint(0)
    return {"build": build, "game": KUHN}


def save_pettingzoo():
    torch, shimmy = pytest.importorskip("torch"), pytest.importorskip("shimmy.openspiel_compatibility")
    game = shimmy.OpenSpielCompatibilityV0(game_name="kuhn_poker")
    game.reset(seed=0)
    network = torch.nn.Linear(game.observation_space(game.possible_agents[0]).shape[0], ACTIONS)
    torch.jit.script(network).save("policy.pt")


def save_program():
    pathlib.Path("bot.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    return {"python": sys.executable}


def save_server():
    pathlib.Path("server.py").write_text(textwrap.dedent(SERVER), encoding="utf-8")
    return {"python": sys.executable, "subprocess": subprocess}


def save_acpc():
    pathlib.Path("player.py").write_text(textwrap.dedent(ACPC), encoding="utf-8")
    return {"python": sys.executable}


PROGRAM = """
    import json, sys
    for line in sys.stdin:
        print(json.loads(line)["legal_actions"][-1], flush=True)
    """
SERVER = """
    import http.server, json
    class Server(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(str(asked["legal_actions"][-1]).encode())
        def log_message(self, *arguments):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    server.serve_forever()
    """
ACPC = """
    import socket, sys
    lines = socket.create_connection((sys.argv[1], int(sys.argv[2]))).makefile("rw", newline="")
    print("VERSION:2.0.0", end="\\r\\n", file=lines, flush=True)
    for line in lines:
        position, hand, betting = line.strip().split(":")[1:4]
        if len(betting) % 2 == int(position) and betting not in ("cc", "rc", "crc", "rf", "crf"):
            print(line.strip() + ":c", end="\\r\\n", file=lines, flush=True)
    """


SAVED = {  # who saves it, and the lines that a user writes
    "torch": (save_torch, """
        model = Network()
        model.load_state_dict(torch.load("weights.pt"))
        ts.exploit("kuhn", model).save_report("report.html")"""),
    "torchscript": (save_torchscript, """
        ts.exploit("kuhn", "agent.pt").save_report("report.html")"""),
    "onnx": (save_onnx, """
        ts.exploit("kuhn", "agent.onnx").save_report("report.html")"""),
    "flax": (save_flax, """
        params = serialization.msgpack_restore(open("params.msgpack", "rb").read())
        agent = ts.adapters.Network(jax.jit(lambda tensors: network.apply(params, tensors)))
        ts.exploit("kuhn", agent).save_report("report.html")"""),
    "cleanrl": (save_cleanrl, """
        agent = Agent()
        agent.load_state_dict(torch.load("ppo.cleanrl_model"))
        ts.exploit("kuhn", agent).save_report("report.html")"""),
    "stable-baselines3": (lambda: save_stable_baselines3("PPO"), """
        from stable_baselines3 import PPO
        ts.exploit("kuhn", PPO.load("model.zip")).save_report("report.html")"""),
    "sb3-contrib": (lambda: save_stable_baselines3("MaskablePPO", "sb3_contrib"), """
        from sb3_contrib import MaskablePPO
        ts.exploit("kuhn", MaskablePPO.load("model.zip")).save_report("report.html")"""),
    "rlcard": (save_rlcard, """
        agent = torch.load("rlcard.pth", weights_only=False)
        ts.exploit(ts.adapters.RLCARD_GAMES["leduc-holdem"], agent).save_report("report.html")"""),
    "openspiel_dqn": (lambda: save_openspiel("DQN"), """
        agents = [make(player) for player in (0, 1)]
        for player, agent in enumerate(agents):
            agent._q_network.load_state_dict(torch.load(f"agents/{player}"))
        ts.exploit("kuhn", agents).save_report("report.html")"""),
    "openspiel_nfsp": (lambda: save_openspiel("NFSP"), """
        agents = [make(player) for player in (0, 1)]
        for player, agent in enumerate(agents):
            agent._avg_network.load_state_dict(torch.load(f"agents/{player}"))
        ts.exploit("kuhn", agents).save_report("report.html")"""),
    "openspiel_alphazero": (save_alphazero, """
        model = build()
        model.load_checkpoint(0)
        from open_spiel.python.algorithms.alpha_zero.evaluator import AlphaZeroEvaluator
        ts.exploit("kuhn", AlphaZeroEvaluator(game, model)).save_report("report.html")"""),
    "openspiel_ppo": (save_openspiel_ppo, """
        agents = [make(player) for player in (0, 1)]
        for player, agent in enumerate(agents):
            agent.load_state_dict(torch.load(f"ppo{player}.pt"))
        ts.exploit("kuhn", agents).save_report("report.html")"""),
    "openspiel_policy_gradient": (save_openspiel_policy_gradient, """
        agents = [make(player) for player in (0, 1)]
        for agent in agents:
            agent.restore(".")
        ts.exploit("kuhn", agents).save_report("report.html")"""),
    "pettingzoo": (save_pettingzoo, """
        ts.exploit("kuhn", "policy.pt").save_report("report.html")"""),
    "process": (save_program, """
        found = ts.exploit("kuhn", f"process:{python} bot.py", episodes=400)
        found.save_report("report.html")"""),
    "server": (save_server, """
        server = subprocess.Popen([python, "server.py"], stdout=subprocess.PIPE, text=True)
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}/act"
        ts.exploit("kuhn", address, episodes=400).save_report("report.html")
        server.kill()"""),
    "acpc": (save_acpc, """
        found = ts.exploit("kuhn5", f"acpc:{python} player.py", episodes=400)
        found.save_report("report.html")"""),
}  # fmt: skip


@pytest.mark.parametrize("way", SAVED)
def test_five_lines(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save, lines = SAVED[way]
    names = {"ts": ts, "pathlib": pathlib, **(save() or {})}
    if "torch." in lines:
        names["torch"] = pytest.importorskip("torch")
    if "jax." in lines:
        from flax import serialization

        names |= {"jax": pytest.importorskip("jax"), "serialization": serialization}
    lines = textwrap.dedent(lines).strip()
    assert len(lines.splitlines()) <= 5
    exec(compile(lines, way, "exec"), names)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!") and "exploitab" in page and len(page) > 10_000
