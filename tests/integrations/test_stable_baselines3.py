"""Stable-Baselines3 and sb3-contrib, trained on PettingZoo's form of a game that Shimmy makes of OpenSpiel's."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.openspiel_exact import KUHN, exact_nash_conv, greedy, observation

gymnasium = pytest.importorskip("gymnasium")
sb3 = pytest.importorskip("stable_baselines3")
sb3_contrib = pytest.importorskip("sb3_contrib")
openspiel_compatibility = pytest.importorskip("shimmy.openspiel_compatibility")
SETTINGS = {"progress": False}


class AgainstRandom(gymnasium.Env):
    """Shimmy's AEC environment of Kuhn poker as one player sees it, the other one at random."""

    def __init__(self):
        self.game = openspiel_compatibility.OpenSpielCompatibilityV0(game_name="kuhn_poker")
        self.game.reset(seed=0)
        agent = self.game.possible_agents[0]
        self.observation_space = self.game.observation_space(agent)
        self.action_space = self.game.action_space(agent)
        self.rng = np.random.default_rng(0)

    def _until_own_turn(self):
        while not self._done() and self.game.agent_selection != self.own:
            self.game.step(int(self.rng.choice(self.game.game_state.legal_actions())))
        if self._done():
            return np.zeros(self.observation_space.shape, np.float32)
        return self.game.observe(self.own).astype(np.float32)

    def _done(self):
        # Shimmy 2.0.1 counts moves of chance, and so cuts the longest hands of Kuhn poker short.
        return self.game.game_state.is_terminal() or any(self.game.truncations.values())

    def reset(self, *, seed=None, options=None):
        self.game.reset(seed=int(self.rng.integers(2**31)))
        self.number = int(self.rng.integers(2))
        self.own = self.game.possible_agents[self.number]
        return self._until_own_turn(), {}

    def step(self, action):
        self.game.step(int(action))
        seen, won = self._until_own_turn(), self.game.game_state.returns()
        return seen, float(won[self.number]), self._done(), False, {}

    def action_masks(self):
        return np.asarray(self.game.game_state.legal_actions_mask(), bool)


@pytest.mark.parametrize("kind", ["PPO", "A2C", "DQN", "MaskablePPO", "QRDQN"])
def test_a_saved_model(kind, tmp_path):
    library = sb3 if hasattr(sb3, kind) else sb3_contrib
    options = {"n_steps": 64} if "PPO" in kind else {"learning_starts": 64} if "DQN" in kind else {}
    model = getattr(library, kind)("MlpPolicy", AgainstRandom(), seed=0, device="cpu", **options)
    model.learn(256)
    model.save(tmp_path / "model.zip")
    loaded = getattr(library, kind).load(tmp_path / "model.zip", device="cpu")
    found = ts.exploit("kuhn", loaded, **SETTINGS)
    assert found.opponent == kind and not found.black_box

    def asked(state):
        given, _ = loaded.policy.obs_to_tensor(observation(state)[0])
        if kind in ("DQN", "QRDQN"):
            action = loaded.predict(observation(state)[0], deterministic=True)[0]
            return np.eye(2)[int(action)]
        return loaded.policy.get_distribution(given).distribution.probs.detach().log()

    expected = exact_nash_conv(KUHN, asked, greedy if "DQN" in kind else None)
    assert found.nash_conv.exact == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match=f"{kind} takes inputs of size 7, but leduc_poker has information states"):
        ts.exploit("leduc_poker", loaded, **SETTINGS)


def test_a_recurrent_model_is_refused():
    model = sb3_contrib.RecurrentPPO("MlpLstmPolicy", AgainstRandom(), n_steps=32, device="cpu")
    with pytest.raises(ValueError, match="RecurrentPPO is recurrent"):
        ts.exploit("kuhn", model, **SETTINGS)


def test_a_pettingzoo_policy_that_chooses_actions():
    def policy(observed, action_mask):  # of PettingZoo's loops: agent.act(observation, info["action_mask"])
        return int(np.flatnonzero(action_mask)[-1]) if observed[2:5].argmax() else 0

    network = ts.adapters.Network(policy, outputs="actions", tensor="observation", with_mask=True)
    found = ts.exploit("kuhn", network, episodes=2000, **SETTINGS)
    assert found.black_box
    table = lambda state: np.eye(2)[policy(observation(state)[0], [1, 1])]  # noqa: E731
    assert found.nash_conv.lower <= exact_nash_conv(KUHN, table, greedy) <= found.nash_conv.upper


def test_an_observation_that_merges_information_states_is_one_policy():
    """Shimmy gives observation tensors. In Leduc they leave out the order of the bets."""
    import pyspiel

    game = pyspiel.load_game("leduc_poker")
    seen: dict[tuple, set[str]] = {}
    waiting = [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            key = (state.current_player(), *state.observation_tensor(state.current_player()))
            seen.setdefault(key, set()).add(state.information_state_string())
        waiting += [state.child(action) for action in state.legal_actions()]
    assert max(map(len, seen.values())) > 1
    weights = np.random.default_rng(0).normal(size=(game.observation_tensor_size(), 3))
    network = ts.adapters.Network(lambda tensors: tensors @ weights, tensor="observation")
    expected = exact_nash_conv(game, lambda state: observation(state) @ weights)
    assert ts.exploit(game, network, **SETTINGS).nash_conv.exact == pytest.approx(expected, abs=1e-5)
