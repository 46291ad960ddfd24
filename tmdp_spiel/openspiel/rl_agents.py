"""OpenSpiel's agents that can learn a response in rl_environment, unmodified, by name."""

from open_spiel.python import rl_agent, rl_environment
from open_spiel.python.algorithms import tabular_qlearner

# As its examples/rl_response.py sets it, but for the optimizer.
_DQN = {
    "hidden_layers_sizes": [64, 64, 64],
    "replay_buffer_capacity": 100_000,
    "batch_size": 32,
    "discount_factor": 0.99,
    "epsilon_start": 0.5,
    "epsilon_end": 0.1,
}
IN_TORCH = {
    "OpenSpielDQN": {**_DQN, "optimizer_str": "sgd", "learning_rate": 0.01},
    "OpenSpielDQNAdam": {**_DQN, "optimizer_str": "adam", "learning_rate": 0.001},
}
AGENTS = {**IN_TORCH, "OpenSpielQLearner": {}}


def new_agent(
    name: str, player: int, environment: rl_environment.Environment, seed: int, hyper_parameters: dict
) -> rl_agent.AbstractAgent:
    """One of AGENTS, untrained; the tabular one always uses numpy's global generator and ignores the seed."""
    actions = environment.game.num_distinct_actions()
    if name not in IN_TORCH:
        return tabular_qlearner.QLearner(player, actions, **hyper_parameters)
    inputs = environment.observation_spec()["info_state"][0]
    return dqn_in_torch().DQN(player, inputs, actions, seed=seed, **hyper_parameters)


def dqn_in_torch():
    """OpenSpiel's module of DQN, on one thread."""
    try:
        import torch
        from open_spiel.python.pytorch import dqn
    except ImportError as error:
        raise ValueError(f"DQN needs torch ({error}): pip install 'tmdp-spiel[torch]', or give --algorithms") from None
    torch.set_num_threads(1)
    return dqn
