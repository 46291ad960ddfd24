# Copyright 2026 DeepMind Technologies Limited
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Tests for open_spiel.python.algorithms.certified_value."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from open_spiel.python import policy
from open_spiel.python.algorithms import certified_value
from open_spiel.python.algorithms import expected_game_score
import pyspiel

_DISTRIBUTIONS = {
    "rare": (0.05, lambda rng, n: (rng.rand(n) < 0.05).astype(float)),
    "even": (0.5, lambda rng, n: rng.randint(2, size=n).astype(float)),
    "narrow": (0.5, lambda rng, n: rng.uniform(0.45, 0.55, n)),
    "skewed": (0.3 / 3.3, lambda rng, n: rng.beta(0.3, 3.0, n)),
}


class CertifiedValueTest(parameterized.TestCase):

  @parameterized.product(name=list(_DISTRIBUTIONS), size=[20, 500])
  def test_interval_fails_no_more_often_than_delta(self, name, size):
    mean, draw = _DISTRIBUTIONS[name]
    rng, delta, runs = np.random.RandomState(1), 0.2, 300
    misses = 0
    for _ in range(runs):
      low, high = certified_value.confidence_interval(draw(rng, size), delta)
      misses += not low <= mean <= high
    self.assertLessEqual(misses / runs, delta + 3 * np.sqrt(delta / runs))

  def test_interval_shrinks_with_the_variance(self):
    rng, delta, size = np.random.RandomState(2), 0.05, 10000
    hoeffding = 2 * np.sqrt(np.log(2 / delta) / (2 * size))
    widths = {}
    for name, (_, draw) in _DISTRIBUTIONS.items():
      low, high = certified_value.confidence_interval(draw(rng, size), delta)
      widths[name] = high - low
    self.assertLess(widths["narrow"], hoeffding / 5)
    self.assertLess(widths["rare"], hoeffding / 1.5)
    self.assertLess(widths["even"], 1.2 * hoeffding)

  def test_interval_in_other_units(self):
    samples = np.random.RandomState(3).rand(100)
    low, high = certified_value.confidence_interval(samples, 0.1)
    scaled = certified_value.confidence_interval(10 * samples - 4, 0.1, -4, 6)
    np.testing.assert_allclose(scaled, [10 * low - 4, 10 * high - 4])

  def test_constant_samples(self):
    low, high = certified_value.confidence_interval(np.ones(1000), 0.05)
    self.assertEqual(high, 1)
    self.assertBetween(low, 0.99, 1)
    low, high = certified_value.confidence_interval(np.zeros(1000), 0.05)
    self.assertEqual(low, 0)
    self.assertBetween(high, 0, 0.01)

  @parameterized.parameters(["kuhn_poker", "kuhn_poker(players=3)"])
  def test_values_of_policies_and_bots(self, name):
    game = pyspiel.load_game(name)
    uniform = policy.UniformRandomPolicy(game)
    players = range(game.num_players())
    exact = expected_game_score.policy_value(
        game.new_initial_state(), [uniform] * game.num_players())
    bots = [pyspiel.make_uniform_random_bot(p, 1234 + p) for p in players]
    for each in (uniform, [uniform for _ in players], bots):
      value = certified_value.play(
          game, each, num_episodes=3000, delta=1e-3,
          rng=np.random.RandomState(4))
      self.assertEqual(value.num_episodes, 3000)
      for player in players:
        self.assertBetween(exact[player], value.lower[player],
                           value.upper[player])
        self.assertBetween(value.mean[player], value.lower[player],
                           value.upper[player])
        width = value.upper[player] - value.lower[player]
        self.assertLess(width, 0.15 * (game.max_utility() - game.min_utility()))

  def test_simultaneous_moves(self):
    game = pyspiel.load_game("matrix_mp")  # Matching pennies.
    value = certified_value.play(
        game, policy.UniformRandomPolicy(game), num_episodes=3000, delta=1e-3,
        rng=np.random.RandomState(5))
    self.assertBetween(0, value.lower[0], value.upper[0])
    self.assertBetween(value.upper[0] - value.lower[0], 0, 0.3)

  def test_bad_arguments(self):
    game = pyspiel.load_game("kuhn_poker")
    uniform = policy.UniformRandomPolicy(game)
    with self.assertRaisesRegex(ValueError, "1 bots for 2 players"):
      certified_value.play(game, [uniform], num_episodes=10)
    with self.assertRaisesRegex(ValueError, "at least 1, not 0"):
      certified_value.play(game, uniform, num_episodes=0)
    with self.assertRaisesRegex(ValueError, "delta must lie"):
      certified_value.play(game, uniform, num_episodes=10, delta=1.5)
    with self.assertRaisesRegex(ValueError, "outside of"):
      certified_value.confidence_interval([0.5, 1.5], 0.05)
    with self.assertRaisesRegex(ValueError, "outside of"):
      certified_value.confidence_interval([0.5, np.nan], 0.05)
    with self.assertRaisesRegex(ValueError, "non-empty"):
      certified_value.confidence_interval([], 0.05)
    with self.assertRaisesRegex(ValueError, "lowest must be below highest"):
      certified_value.confidence_interval([0.5], 0.05, 1, 1)


if __name__ == "__main__":
  absltest.main()
