"""The table of agents: its files, and its figures on a game that OpenSpiel can traverse."""

import json
import pathlib

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import exploitability

import tmdp_spiel as ts
from experiments.benchmarks import agents_table
from experiments.benchmarks.agents_table import ROWS, Row
from reference import commands
from tmdp_spiel.games import phantom, public_action
from tmdp_spiel.openspiel.exact_games import exact_form, shipped_file

SMALL = "liars_dice(numdice=1,dice_sides=2)"


def test_every_file_is_a_row_and_takes_the_tensors_of_its_game():
    rows = [row for row in ROWS if row.agent.endswith(".npz")]
    assert {row.agent for row in rows} == {file.name for file in agents_table.FOLDER.glob("*.npz")}
    for row in rows:
        game = pyspiel.load_game(row.game)
        for player in (0, 1):
            network = agents_table.Network(agents_table.FOLDER / row.agent, player)
            outputs = network(np.zeros((3, game.information_state_tensor_size()), np.float32))
            assert outputs.shape == (3, game.num_distinct_actions()) and np.isfinite(outputs).all()


class NetworkPolicy(policy_lib.Policy):
    """The network of a file, layer by layer at one state: the slow reference."""

    def __init__(self, game, file):
        super().__init__(game, [0, 1])
        self._stored = np.load(file)

    def action_probabilities(self, state, player_id=None):
        player = state.current_player()
        hidden = np.maximum(self._layer(player, 0, np.array(state.information_state_tensor(player))), 0)
        logits = self._layer(player, 1, hidden)[state.legal_actions()]
        weights = np.exp(logits - logits.max())
        return dict(zip(state.legal_actions(), weights / weights.sum()))

    def _layer(self, player, i, x):
        return self._stored[f"weight_{player}_{i}"].astype(float) @ x + self._stored[f"bias_{player}_{i}"]


def test_figures_are_openspiels(monkeypatch, tmp_path, capsys):
    game, rng = pyspiel.load_game(SMALL), np.random.default_rng(0)
    shapes = [(4, game.information_state_tensor_size()), (game.num_distinct_actions(), 4)]
    arrays = {"episodes": np.array(7)}
    for player in (0, 1):
        for i, shape in enumerate(shapes):
            arrays[f"weight_{player}_{i}"] = rng.normal(size=shape).astype(np.float16)
            arrays[f"bias_{player}_{i}"] = rng.normal(size=shape[0]).astype(np.float16)
    np.savez(tmp_path / "small.npz", **arrays)
    monkeypatch.setattr(agents_table, "FOLDER", tmp_path)
    agents_table.report(Row(SMALL, "small.npz"))
    agents_table.report(Row(SMALL, "uniform"))
    network, uniform = (line.split("|") for line in capsys.readouterr().out.splitlines())
    expected = exploitability.exploitability(game, NetworkPolicy(game, tmp_path / "small.npz"))
    assert float(network[6]) == pytest.approx(expected, abs=2e-6)
    assert "7 episodes" in network[2]
    expected = exploitability.exploitability(game, policy_lib.UniformRandomPolicy(game))
    assert float(uniform[6]) == pytest.approx(expected, abs=2e-6)


def test_cfr_stopped_early_is_a_row():
    form = exact_form(SMALL)
    few, many = (agents_table.tables(form, Row(SMALL, f"cfr+ {n}")) for n in (1, 50))
    values = [agents_table.sequence_form.exploitability(form, each).exploitability for each in (few, many)]
    assert values[1] < 0.2 * values[0]


def test_a_file_without_layers_is_named(tmp_path):
    np.savez(tmp_path / "empty.npz", episodes=np.array(0))
    with pytest.raises(ValueError, match="empty.npz has no layers weight_0_0"):
        agents_table.Network(tmp_path / "empty.npz", 0)


def page_rows():
    """The cells of the page's rows; the second ones without, and in the second list with, the number of episodes."""
    lines = (pathlib.Path(__file__).parents[2] / "docs/lab/agents_table.md").read_text(encoding="utf-8").splitlines()
    lines = [line.strip("|").split("|") for line in lines if line.startswith("| `")]
    rows = [[cell.strip().strip("`") for cell in line] for line in lines]
    return [[game, agent.split(", ")[0], *rest] for game, agent, *rest in rows], rows


def test_the_page_has_the_rows_and_the_episodes_of_the_files():
    rows, whole = page_rows()
    assert [(game, agent) for game, agent, *_ in rows] == [(row.game, row.agent) for row in ROWS]
    for row, cells in zip(ROWS, whole):
        if row.agent.endswith(".npz"):
            network = agents_table.Network(agents_table.FOLDER / row.agent, 0)
            assert cells[1].endswith(f", {network.episodes:,} episodes")


def test_the_page_has_the_figures_of_the_shipped_equilibria():
    folders = [pathlib.Path(phantom.__file__).parent / "data", pathlib.Path(public_action.__file__).parent / "data"]
    for game, agent, first, second, value, exploitable in page_rows()[0]:
        if agent != "equilibrium":
            continue
        files = [shipped_file(folder, ts.load_game(game)) for folder in folders]
        facts = json.loads(next(file for file in files if file.exists()).read_bytes().partition(b"\n")[0])
        recorded = [*facts["best_responses"], facts["value"], facts["exploitability"]]
        assert [float(each) for each in (first, second, value, exploitable)] == pytest.approx(recorded, abs=1e-6)


@pytest.mark.slow
def test_the_page_has_the_figures_of_the_files():
    """Of one game; those of all games take minutes, and the command of the page recomputes them."""
    game = "dark_hex(board_size=3)"
    done = commands.run("experiments.benchmarks.agents_table", f"--games={game}")
    assert done.returncode == 0, done.stderr
    printed = [[float(cell) for cell in line.split("|")[3:7]] for line in done.stdout.splitlines()[2:]]
    expected = [[float(cell) for cell in rest] for of_game, _, *rest in page_rows()[0] if of_game == game]
    np.testing.assert_allclose(printed, expected, atol=2e-6)


@pytest.mark.slow
def test_an_agent_can_be_trained(tmp_path):
    pytest.importorskip("torch")
    flags = ["--games=kuhn_poker", "--train=nfsp", "--seconds=0.1", f"--output={tmp_path}/agent.npz"]
    done = commands.run("experiments.benchmarks.agents_table", *flags)
    assert done.returncode == 0, done.stderr
    assert agents_table.Network(tmp_path / "agent.npz", 1)(np.zeros((2, 11), np.float32)).shape == (2, 2)
