"""OpenSpiel's agents and our learners as responders."""

import ast
import pathlib
import subprocess
import sys
import types

import numpy as np
import open_spiel.python
import pytest

from experiments.benchmarks import responding
from experiments.sweep.configuration import Problem
from reference import commands
from tmdp_spiel.openspiel import solvers

ROOT = pathlib.Path(__file__).parents[2]


def command(*flags: str) -> subprocess.CompletedProcess:
    return commands.run("experiments.benchmarks.responders", *flags)


@pytest.mark.slow
def test_a_table_a_budget_and_runs_that_are_kept(tmp_path):
    flags = ["--problems=phantom_ttt,liars_dice", "--algorithms=OpenSpielQLearner,UCT,UCBT", "--runs=2"]
    flags += ["--episodes=20,60", "--seconds=0.05", "--measured=20", "--processes=1", f"--output={tmp_path}"]
    first = command(*flags)
    assert first.returncode == 0, first.stderr
    for title in ("after 20 episodes", "after 60 episodes", "after 0.05 s of processor time"):
        assert f"| {title} | best | Q-learning | UCT | UCB-T |" in first.stdout
    rows = [line.split(" | ") for line in first.stdout.splitlines() if line.startswith("| phantom_ttt")]
    assert len(rows) == 3 and all(row[1] == "" and row[-1] == "— |" for row in rows), "it is not enumerated"
    assert first.stdout.count("| liars_dice | 0.795 |") == 3
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("seed_*.json")}
    assert len(kept) == 2 * 3 + 2 * 2 + 2 * 2
    assert command(*flags).stdout == first.stdout
    assert kept == {path: path.stat().st_mtime_ns for path in kept}


def test_without_torch_it_is_said_what_to_install():
    script = "import sys; sys.modules['torch'] = None; from tmdp_spiel.openspiel import solvers; solvers.dqn_in_torch()"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert "pip install 'tmdp-spiel[torch]'" in done.stderr


@pytest.mark.parametrize("opponent", ["uniform", "cfr+"])
def test_a_response_is_valued_exactly(opponent):
    setting = responding.Setting(Problem("kuhn", 0, opponent, 20), True)
    plan = np.ones(setting.mdp.tree.num_states, np.int32)  # always bet
    exact = setting.exact(lambda state: state.legal_actions()[-1])
    assert exact == pytest.approx(setting.mdp.value(plan))
    won = setting.won(lambda state: state.legal_actions()[-1], 0, 4000)
    assert np.mean(won) == pytest.approx(exact, abs=0.12)


def test_agents_and_searches_learn_or_plan():
    setting = responding.Setting(Problem("leduc", 0, "uniform", None), True)
    agent = responding.Agent(setting, "OpenSpielQLearner", 0, {})
    before = agent.value(0, 10)[0]
    agent.play(3000)
    assert agent.value(0, 10)[0] > before + 0.3
    search = responding.Search(setting, "OpenSpielISMCTS", 0, {"simulations": 100, "uct_c": 2.0})
    assert search.value(0, 40)[0] > 0.0


def test_our_responders_respond():
    setting = responding.Setting(Problem("kuhn", 0, "uniform", None), True)
    best = setting.mdp.best_response()[0]
    network = responding.Network(setting, "OurNetwork", 0, {})
    network.play(1_000)
    search = responding.FixedOpponentSearch(setting, "OurSearch", 0, {"simulations": 1000})
    for responder in (network, search):
        value, error = responder.value(0, 10)
        assert 0.7 * best < value <= best + 1e-9 and error == 0.0
    live = responding.Setting(Problem("kuhn", 0, "uniform", None), False)
    value, error = responding.FixedOpponentSearch(live, "OurSearch", 0, {"simulations": 1000}).value(0, 200)
    assert abs(value - best) < 4 * error + 0.05


def test_a_portfolio_is_valued_after_the_processor_time_only():
    problem = {"algorithm": "OurPortfolio", "seconds": 1.0, "seed": 0}
    setting = responding.Setting(Problem("kuhn", 0, "uniform", None), True)
    responder = responding.Portfolio(setting, "OurPortfolio", 0, {})
    asked = types.SimpleNamespace(**problem)
    values, spent = responding._valued(responder, asked, responding.Valuation(True, 10, [100]))
    assert values.keys() == {"seconds"} and values["seconds"].episodes > 0 and spent > 0.5
    assert 0 < values["seconds"].mean <= setting.mdp.best_response()[0] + 1e-9


def test_a_dqn_responds():
    pytest.importorskip("torch")
    setting = responding.Setting(Problem("kuhn", 0, "uniform", None), True)
    agent = responding.Agent(setting, "OpenSpielDQNAdam", 0, responding.AGENTS["OpenSpielDQNAdam"])
    agent.play(200)
    value, error = agent.value(0, 10)
    assert -2 <= value <= 2 and error == 0.0


@pytest.fixture
def arguments_of_dqn():
    """The names of the constructor's arguments, read from OpenSpiel's source, which only torch can import."""
    source = pathlib.Path(open_spiel.python.__file__).parent / "pytorch" / "dqn.py"
    made = next(
        each
        for kind in ast.parse(source.read_text("utf-8")).body
        if isinstance(kind, ast.ClassDef) and kind.name == "DQN"
        for each in kind.body
        if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    )
    return [each.arg for each in (*made.args.args[1:], *made.args.kwonlyargs)]


@pytest.mark.parametrize("name", solvers.IN_TORCH)
def test_without_torch_a_dqn_is_made_and_asked_as_open_spiel_has_it(name, arguments_of_dqn, monkeypatch):
    class DQN:
        def __init__(self, player, inputs, actions, **others):
            assert arguments_of_dqn[:3] == ["player_id", "state_representation_size", "num_actions"]
            assert others.keys() <= set(arguments_of_dqn)

        def step(self, now, is_evaluation=False):
            return types.SimpleNamespace(action=None if now.last() else now.observations["legal_actions"][0][0])

    monkeypatch.setattr(solvers, "dqn_in_torch", lambda: types.SimpleNamespace(DQN=DQN))
    setting = responding.Setting(Problem("kuhn", 0, "uniform", None), True)
    agent = responding.Agent(setting, name, 0, responding.RESPONDERS[name])
    agent.play(3)
    assert agent.value(0, 10) == (setting.exact(lambda state: 0), 0.0)


def test_without_torch_every_run_of_the_defaults_is_configured():
    script = """
from absl import flags
from experiments.benchmarks import responders, responding
flags.FLAGS(["responders"])
runs = [run for each in responders.PROBLEMS.values() for name in responding.RESPONDERS
        for run in responders.runs_of(each, name)]
for run in runs:
    valuation, own = responding.Valuation.split(run.hyper_parameters)
    assert own.keys() >= responding.RESPONDERS[run.algorithm].keys() and run.episodes in valuation.marks
print(len(runs), len({run.algorithm for run in runs}), len({run.key for run in runs}))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["495", "12", "495"], done.stderr


@pytest.mark.slow
def test_without_torch_the_tables_of_the_shipped_runs_are_printed(tmp_path):
    done = command("--stored", "--mix_code", "--archive=docs/runs/responders.jsonl.xz", f"--output={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| leduc, uniform | 2.088 | ") == 3 and "**1.993** ± 0.035" in done.stdout
