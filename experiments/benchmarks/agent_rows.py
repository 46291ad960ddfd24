"""The agents of the table of exact exploitability, and how their files are read."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import numpy as np

import tmdp_spiel as ts
from tmdp_spiel.openspiel.policy_tables import policy_table
from tmdp_spiel.planning.cfr import CFRSolver
from tmdp_spiel.trees.sequence_form import SequenceForm

FOLDER = pathlib.Path(__file__).parent / "agents"
DICE, HEX = "liars_dice(numdice=2,dice_sides=5)", "dark_hex(board_size=3)"


@dataclasses.dataclass(frozen=True)
class Row:
    """An agent of a game.

    agent: "uniform", "equilibrium" (the shipped one), "cfr+ n" (the average of n iterations), or the name of a file
    outputs: what a network returns, as in policy_table: "logits", or "values", of which the largest is played
    """

    game: str
    agent: str
    outputs: str = "logits"


ROWS = [
    Row("phantom_ttt", "uniform"),
    Row("phantom_ttt", "phantom_ttt_dqn.npz", "values"),
    Row("phantom_ttt", "phantom_ttt_nfsp.npz"),
    Row("phantom_ttt", "phantom_ttt_a2c.npz"),
    Row("phantom_ttt", "phantom_ttt_a2c_5min.npz"),
    Row("phantom_ttt", "cfr+ 10"),
    Row("phantom_ttt", "equilibrium"),
    Row("phantom_ttt(gameversion=abrupt)", "equilibrium"),
    Row(HEX, "uniform"),
    Row(HEX, "dark_hex_nfsp.npz"),
    Row(HEX, "cfr+ 10"),
    Row(HEX, "equilibrium"),
    Row("dark_hex(board_size=3,gameversion=adh)", "equilibrium"),
    Row(DICE, "uniform"),
    Row(DICE, "liars_dice_dqn.npz", "values"),
    Row(DICE, "liars_dice_nfsp.npz"),
    Row(DICE, "liars_dice_nfsp_5min.npz"),
    Row(DICE, "cfr+ 10"),
    Row(DICE, "equilibrium"),
]


class Network:
    """The network of one player in a file, as a function of a batch of tensors."""

    def __init__(self, file: pathlib.Path, player: int):
        with np.load(file, allow_pickle=False) as stored:
            numbers = sorted(int(name.rsplit("_", 1)[1]) for name in stored if name.startswith(f"weight_{player}_"))
            self.episodes = int(stored["episodes"])
            self._layers = [
                tuple(stored[f"{part}_{player}_{i}"].astype(np.float32) for part in ("weight", "bias")) for i in numbers
            ]
        if not self._layers:
            raise ValueError(f"{file} has no layers weight_{player}_0, bias_{player}_0 and so on")

    def __call__(self, tensors: np.ndarray) -> np.ndarray:
        outputs = tensors
        for i, (weight, bias) in enumerate(self._layers):
            outputs = (np.maximum(outputs, 0.0) if i else outputs) @ weight.T + bias
        return outputs


def tables(form: SequenceForm, row: Row) -> list[np.ndarray]:
    """The policy tables of both players of a row."""
    if row.agent == "uniform":
        return [form.uniform_policy(player) for player in (0, 1)]
    if row.agent == "equilibrium":
        policy = ts.equilibrium(row.game)
        return [policy_table(form, player, policy) for player in (0, 1)]
    if stopped := re.fullmatch(r"cfr\+ (\d+)", row.agent):
        solver = CFRSolver(form)
        for _ in range(int(stopped[1])):
            solver.iterate()
        return [solver.average_policy(player) for player in (0, 1)]
    file = FOLDER / row.agent
    return [policy_table(form, player, Network(file, player), outputs=row.outputs) for player in (0, 1)]
