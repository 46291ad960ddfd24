r"""Trains a small agent with one of OpenSpiel's algorithms in self-play, and writes it in the format of agents_table.

  python -m experiments.benchmarks.train_agents --algorithm=nfsp --game=phantom_ttt --seconds=60 --output=my_nfsp.npz

Needs PyTorch. Both players have two layers of 64. The time is processor time, so the number of episodes, which is
recorded, depends on the machine.
"""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
from absl import app, flags
from open_spiel.python import rl_environment

_ALGORITHM = flags.DEFINE_enum("algorithm", "dqn", ["dqn", "nfsp", "a2c"], "OpenSpiel's algorithm.")
_GAME = flags.DEFINE_string("game", "phantom_ttt", "An OpenSpiel game string.")
_SECONDS = flags.DEFINE_float("seconds", 60, "Processor time of training.", lower_bound=0)
_OUTPUT = flags.DEFINE_string("output", None, "The .npz file to write.", required=True)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of all random numbers.")

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


def main(_) -> None:
    import torch

    np.random.seed(_SEED.value)
    random.seed(_SEED.value)
    torch.manual_seed(_SEED.value)
    torch.set_num_threads(1)
    environment = rl_environment.Environment(_GAME.value)
    width = environment.observation_spec()["info_state"][0]
    num_actions = environment.action_spec()["num_actions"]
    agents = [make_agent(_ALGORITHM.value, player, width, num_actions) for player in (0, 1)]
    episodes = train(environment, agents, _SECONDS.value)
    weights: dict[str, Any] = {}
    for player, agent in enumerate(agents):
        weights |= layers(getattr(agent, _NETWORK[_ALGORITHM.value]), player)
    np.savez_compressed(_OUTPUT.value, episodes=np.array(episodes), seconds=np.array(_SECONDS.value), **weights)
    print(f"{_ALGORITHM.value} on {_GAME.value}: {episodes:,} episodes, {_OUTPUT.value}")


if __name__ == "__main__":
    app.run(main)
