"""The table of agents: its files, and its figures on a game that OpenSpiel can traverse."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import exploitability

from experiments.benchmarks import agents_table
from experiments.benchmarks.agents_table import ROWS, Row
from tmdp_spiel.openspiel.exact_games import exact_form

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
