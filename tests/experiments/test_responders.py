"""OpenSpiel's agents and our learners as responders."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

from experiments.sweep import responding

ROOT = pathlib.Path(__file__).parents[2]


def command(*flags: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "experiments.responders", *flags], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


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
    script = "import sys; sys.modules['torch'] = None; from tmdp_spiel.spiel import rl_agents; rl_agents.dqn_in_torch()"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert "pip install 'tmdp-spiel[torch]'" in done.stderr


@pytest.mark.parametrize("opponent", ["uniform", "cfr+"])
def test_a_response_is_valued_exactly(opponent):
    setting = responding.Setting("kuhn", opponent, 20, True)
    plan = np.ones(setting.mdp.tree.num_states, np.int32)  # always bet
    exact = setting.exact(lambda state: state.legal_actions()[-1])
    assert exact == pytest.approx(setting.mdp.value(plan))
    won = setting.won(lambda state: state.legal_actions()[-1], 0, 4000)
    assert np.mean(won) == pytest.approx(exact, abs=0.12)


def test_agents_and_searches_learn_or_plan():
    setting = responding.Setting("leduc", "uniform", None, True)
    agent = responding.Agent(setting, "OpenSpielQLearner", 0, {})
    before = agent.value(0, 10)[0]
    agent.play(3000)
    assert agent.value(0, 10)[0] > before + 0.3
    search = responding.Search(setting, "OpenSpielISMCTS", 0, {"simulations": 100, "uct_c": 2.0})
    assert search.value(0, 10)[0] > 0.0


def test_a_dqn_responds():
    pytest.importorskip("torch")
    setting = responding.Setting("kuhn", "uniform", None, True)
    agent = responding.Agent(setting, "OpenSpielDQNAdam", 0, responding.AGENTS["OpenSpielDQNAdam"])
    agent.play(200)
    value, error = agent.value(0, 10)
    assert -2 <= value <= 2 and error == 0.0
