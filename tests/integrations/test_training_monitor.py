"""Evaluation during training with the real libraries: Stable-Baselines3, PyTorch modules, TensorBoard."""

import copy
import pathlib

import numpy as np
import pytest

import tmdp_spiel as ts
from reference.openspiel_exact import KUHN, exact_nash_conv, information_state, observation

SIZE, ACTIONS = KUHN.observation_tensor_size(), KUHN.num_distinct_actions()


def test_stable_baselines3(tmp_path):
    """The callback's numbers are those of the model at the steps of the copies."""
    sb3, gymnasium = pytest.importorskip("stable_baselines3"), pytest.importorskip("gymnasium")
    from stable_baselines3.common.callbacks import BaseCallback, CallbackList

    class Guess(gymnasium.Env):
        """Any environment with the spaces of Kuhn poker's observations and actions; it ends after one step."""

        observation_space = gymnasium.spaces.Box(0, 3, (SIZE,), np.float32)
        action_space = gymnasium.spaces.Discrete(ACTIONS)

        def reset(self, *, seed=None, options=None):
            self.seen = np.array(KUHN.new_initial_state().child(0).child(1).observation_tensor(0), np.float32)
            return self.seen, {}

        def step(self, action):
            return self.seen, float(action), True, False, {}

    model, kept = sb3.PPO("MlpPolicy", Guess(), n_steps=64, seed=0, device="cpu", learning_rate=0.05), {}

    class Keep(BaseCallback):
        def _on_step(self):
            kept[self.num_timesteps] = copy.deepcopy(self.model.policy)
            return True

    with ts.TrainingMonitor("kuhn", every=64, log=tmp_path / "log", max_slowdown=1e9, niceness=0) as monitor:
        model.learn(256, callback=CallbackList([Keep(), monitor.sb3_callback()]))
    assert monitor.results and monitor.results[-1]["step"] == 256
    for result in monitor.results:
        policy = kept[result["step"]]

        def asked(state, policy=policy):
            given, _ = policy.obs_to_tensor(observation(state)[0])
            return policy.get_distribution(given).distribution.logits.detach()

        assert result["exploitability"]["exact"] == pytest.approx(exact_nash_conv(KUHN, asked) / 2, abs=1e-5)


@pytest.mark.parametrize("library", ["torch.utils.tensorboard", "tensorboardX"])
def test_a_module_and_tensorboard(library, tmp_path):
    torch, writers = pytest.importorskip("torch"), pytest.importorskip(library)
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    module = torch.nn.Linear(KUHN.information_state_tensor_size(), ACTIONS)
    before = copy.deepcopy(module)
    writer = writers.SummaryWriter(str(tmp_path / "events"))
    with ts.TrainingMonitor("kuhn", log=tmp_path / "log", max_slowdown=1e9, niceness=0, writers=writer) as monitor:
        monitor.step(5, module)
        torch.nn.init.zeros_(module.weight)  # the training goes on
    writer.close()
    expected = exact_nash_conv(KUHN, lambda state: before(torch.from_numpy(information_state(state))).detach()) / 2
    assert monitor.results[0]["exploitability"]["exact"] == pytest.approx(expected, abs=1e-5)
    events = accumulator.EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    [event] = events.Scalars("exploitability/exact")
    assert event.step == 5 and event.value == pytest.approx(expected, abs=1e-5)
    assert pathlib.Path(tmp_path / "log").read_text(encoding="utf-8").count("\n") == 1
