r"""The exact exploitability of small trained agents, recomputed from their files; and the training of such agents.

  python -m experiments.benchmarks.agents_table
  python -m experiments.benchmarks.agents_table --games=phantom_ttt
  python -m experiments.benchmarks.agents_table --train=nfsp --games=phantom_ttt --seconds=60 --output=my_nfsp.npz

A row is one line in ROWS, and for a network a file in experiments/benchmarks/agents: float16 layers of both players,
weight_{player}_{layer} and bias_{player}_{layer}, with ReLU between them. The networks have two layers of 64 and were
trained by OpenSpiel's own algorithms in self-play for one or five minutes of processor time, so they are weak. The
number of episodes, which is recorded, depends on the machine. Training needs PyTorch.
"""

from __future__ import annotations

import dataclasses
import pathlib
import random
import re
import time
from typing import Any

import numpy as np
from absl import app, flags
from open_spiel.python import rl_environment

import tmdp_spiel as ts
from experiments.sweep.binary import run_binary
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


# Training -----------------------------------------------------------------------------------------------------------

# Where an agent keeps the network that it plays by.
_NETWORK = {"dqn": "_q_network", "nfsp": "_avg_network", "a2c": "_pi_network"}


def make_agent(algorithm: str, player: int, width: int, num_actions: int) -> Any:
    """An agent of open_spiel.python.pytorch."""
    from open_spiel.python.pytorch import dqn, nfsp, policy_gradient

    replay = {"replay_buffer_capacity": 50_000, "batch_size": 64, "min_buffer_size_to_learn": 1000}
    if algorithm == "dqn":
        rates = {"learning_rate": 0.01, "epsilon_decay_duration": 100_000, "epsilon_end": 0.05}
        sizes = {"hidden_layers_sizes": [64, 64], "learn_every": 20, "update_target_network_every": 1000}
        return dqn.DQN(player, width, num_actions, **sizes, **rates, **replay)
    if algorithm == "nfsp":
        rates = {"rl_learning_rate": 0.01, "sl_learning_rate": 0.01, "epsilon_start": 0.06, "epsilon_end": 0.001}
        return nfsp.NFSP(player, width, num_actions, [64, 64], 200_000, 0.1, learn_every=32, **rates, **replay)
    return policy_gradient.PolicyGradient(
        player,
        width,
        num_actions,
        loss_str="a2c",
        hidden_layers_sizes=(64, 64),
        batch_size=32,
        entropy_cost=0.01,
        critic_learning_rate=0.01,
        pi_learning_rate=0.01,
        num_critic_before_pi=4,
    )


def train(environment: rl_environment.Environment, agents: list, seconds: float) -> int:
    """Plays until the time is up; returns the number of episodes."""
    start, episodes = time.process_time(), 0
    while time.process_time() - start < seconds:
        step = environment.reset()
        while not step.last():
            step = environment.step([agents[step.observations["current_player"]].step(step).action])
        for agent in agents:
            agent.step(step)
        episodes += 1
    return episodes


def layers(network, player: int) -> dict[str, np.ndarray]:
    """The linear layers of a network, by the names that agents_table expects."""
    arrays = [value.detach().cpu().numpy().astype(np.float16) for value in network.state_dict().values()]
    named = {f"weight_{player}_{i}": weight for i, weight in enumerate(arrays[::2])}
    return named | {f"bias_{player}_{i}": bias for i, bias in enumerate(arrays[1::2])}


def write_agent(algorithm: str, game: str, seconds: float, output: str) -> None:
    """Trains with seed 0 and writes the file."""
    import torch

    np.random.seed(0)
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    environment = rl_environment.Environment(game)
    width = environment.observation_spec()["info_state"][0]
    num_actions = environment.action_spec()["num_actions"]
    agents = [make_agent(algorithm, player, width, num_actions) for player in (0, 1)]
    episodes = train(environment, agents, seconds)
    weights: dict[str, Any] = {}
    for player, agent in enumerate(agents):
        weights |= layers(getattr(agent, _NETWORK[algorithm]), player)
    np.savez_compressed(output, episodes=np.array(episodes), seconds=np.array(seconds), **weights)
    print(f"{algorithm} on {game}: {episodes:,} episodes, {output}")


def main() -> None:
    games = [game for game in flags.FLAGS.games.split(";") if game]
    if flags.FLAGS.train is not None:
        if len(games) != 1 or flags.FLAGS.output is None:
            raise app.UsageError("--train needs one of --games, and --output, the .npz file to write")
        write_agent(flags.FLAGS.train, games[0], flags.FLAGS.seconds, flags.FLAGS.output)
        return
    unknown = set(games) - {row.game for row in ROWS}
    if unknown:
        raise app.UsageError(f"no rows of {', '.join(sorted(unknown))}; there are {', '.join({r.game for r in ROWS})}")
    print("| game | agent | best response of player 0 | of player 1 | value of player 0 | exploitability |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for row in ROWS:
        if not games or row.game in games:
            report(row)


def define_flags() -> None:
    """Defines the flags of the command; not at import, because other commands import the rows."""
    flags.DEFINE_string("games", "", "Only these games, with semicolons between them; all of them if empty.")
    flags.DEFINE_enum("train", None, list(_NETWORK), "Train an agent with this algorithm of OpenSpiel instead.")
    flags.DEFINE_float("seconds", 60, "With --train, its processor time.", lower_bound=0)
    flags.DEFINE_string("output", None, "With --train, the .npz file to write.")


if __name__ == "__main__":
    define_flags()
    run_binary(main)
