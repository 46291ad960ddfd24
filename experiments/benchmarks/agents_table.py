r"""The exact exploitability of small trained agents, recomputed from their files.

  python -m experiments.benchmarks.agents_table
  python -m experiments.benchmarks.agents_table --rows_of=phantom_ttt

A row is one line in ROWS, and for a network a file in experiments/benchmarks/agents: float16 layers of both players,
weight_{player}_{layer} and bias_{player}_{layer}, with ReLU between them. The networks were trained by OpenSpiel's own
algorithms in self-play for one minute of processor time, so they are weak.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

import numpy as np
from absl import app, flags

import tmdp_spiel as ts
from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.openspiel.policy_tables import policy_table
from tmdp_spiel.planning.cfr import CFRSolver
from tmdp_spiel.trees import sequence_form
from tmdp_spiel.trees.sequence_form import SequenceForm

FOLDER = pathlib.Path(__file__).parent / "agents"
DICE, HEX = "liars_dice(numdice=2,dice_sides=5)", "dark_hex(board_size=3)"


@dataclasses.dataclass(frozen=True)
class Row:
    """An agent of a game.

    agent: "uniform", "equilibrium" (the shipped one), "cfr+ n" (the average of n iterations), or the name of a file
    outputs: what a network gives, as in policy_table: "logits", or "values" where the largest is played
    """

    game: str
    agent: str
    outputs: str = "logits"


ROWS = [
    Row("phantom_ttt", "uniform"),
    Row("phantom_ttt", "phantom_ttt_dqn.npz", "values"),
    Row("phantom_ttt", "phantom_ttt_nfsp.npz"),
    Row("phantom_ttt", "phantom_ttt_a2c.npz"),
    Row("phantom_ttt", "cfr+ 10"),
    Row("phantom_ttt", "equilibrium"),
    Row(HEX, "uniform"),
    Row(HEX, "dark_hex_nfsp.npz"),
    Row(HEX, "cfr+ 10"),
    Row(HEX, "equilibrium"),
    Row(DICE, "uniform"),
    Row(DICE, "liars_dice_dqn.npz", "values"),
    Row(DICE, "liars_dice_nfsp.npz"),
    Row(DICE, "cfr+ 10"),
    Row(DICE, "equilibrium"),
]

_GAMES = flags.DEFINE_string("rows_of", "", "Only these games, with semicolons between them; all of them if empty.")


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


def report(row: Row) -> None:
    """Prints a line of the table."""
    form = exact_form(row.game)
    found = sequence_form.exploitability(form, tables(form, row))
    trained = f", {Network(FOLDER / row.agent, 0).episodes:,} episodes" if row.agent.endswith(".npz") else ""
    first, second = found.best_responses
    print(
        f"| `{row.game}` | {row.agent}{trained} | {first:.6f} | {second:.6f} | {found.values[0]:.6f} | "
        f"{found.exploitability:.6f} |",
        flush=True,
    )


def main(_) -> None:
    games = [game for game in _GAMES.value.split(";") if game]
    unknown = set(games) - {row.game for row in ROWS}
    if unknown:
        raise app.UsageError(f"no rows of {', '.join(sorted(unknown))}; there are {', '.join({r.game for r in ROWS})}")
    print("| game | agent | best response of player 0 | of player 1 | value of player 0 | exploitability |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for row in ROWS:
        if not games or row.game in games:
            report(row)


if __name__ == "__main__":
    app.run(main)
