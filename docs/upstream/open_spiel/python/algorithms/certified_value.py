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

"""Certified estimates of the values of policies and bots, from episodes.

The value of a player is the mean of its returns, which lie between the game's
minimum and maximum utility. From n independent episodes, this module computes
an interval that contains the value with probability at least 1 - delta, for
every n and every distribution of the returns. Nothing is assumed but that the
episodes are independent and that the bots play the same policy in each.

The interval is the betting confidence interval of Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting", JRSS B, 2024. For
returns X_i in [0, 1] and a candidate mean m, let

    K_n(m) = prod_{i <= n} (1 + lambda_i(m) (X_i - m))

with stakes 0 <= lambda_i(m) <= c / m, c < 1, that depend on X_1, ..., X_{i-1}
only. At the true mean, K_n is a non-negative martingale that starts at 1, so by
Ville's inequality it reaches 1 / delta with probability at most delta. As every
factor falls as m grows, all m up to some point are rejected: this point is the
lower bound. The upper bound is the lower bound of 1 - X. With the stakes of the
paper's section 4, the interval is about as wide as the one of the central limit
theorem, and much narrower than Hoeffding's if the variance is small.

Example:

  bots = [my_bot, pyspiel.make_uniform_random_bot(1, 1234)]
  value = certified_value.play(game, bots, num_episodes=10000, delta=0.05)
  print(value.lower[0], value.mean[0], value.upper[0])
"""

import dataclasses
import math

import numpy as np

from open_spiel.python import policy as policy_lib
from open_spiel.python.algorithms import evaluate_bots
from open_spiel.python.bots import policy as policy_bot

_CAUTION = 0.75  # No bet stakes more than this share of the capital.
_BISECTIONS = 50


@dataclasses.dataclass(frozen=True)
class CertifiedValue:
  """The values of all players; arrays with one entry for each player.

  With probability at least 1 - delta, lower[p] <= value of p <= upper[p] holds
  for all players p together.
  """
  lower: np.ndarray
  upper: np.ndarray
  mean: np.ndarray
  num_episodes: int
  delta: float


def play(game, bots_or_policies, num_episodes, delta=0.05, rng=None):
  """Plays fresh episodes and certifies the values of all players.

  Args:
    game: a pyspiel.Game.
    bots_or_policies: for each player, a bot or a policy.Policy; or one
      policy.Policy for all players.
    num_episodes: the number of episodes to play. It must not depend on the
      outcomes of these episodes.
    delta: the probability with which any of the bounds may be wrong.
    rng: a np.random.RandomState; it draws chance events and the actions of
      policies.

  Returns:
    A CertifiedValue, in the game's utility units.
  """
  if num_episodes < 1:
    raise ValueError(f"num_episodes must be at least 1, not {num_episodes}")
  if not 0 < delta < 1:
    raise ValueError(f"delta must lie between 0 and 1, not {delta}")
  num_players = game.num_players()
  if isinstance(bots_or_policies, policy_lib.Policy):
    bots_or_policies = [bots_or_policies] * num_players
  if len(bots_or_policies) != num_players:
    raise ValueError(
        f"{len(bots_or_policies)} bots for {num_players} players")
  rng = rng or np.random.RandomState()
  bots = [
      policy_bot.PolicyBot(player, rng, each) if isinstance(
          each, policy_lib.Policy) else each
      for player, each in enumerate(bots_or_policies)
  ]
  returns = np.array([
      evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
      for _ in range(num_episodes)
  ])
  lowest, highest = game.min_utility(), game.max_utility()
  bounds = np.array([
      confidence_interval(column, delta / num_players, lowest, highest)
      for column in returns.T
  ])
  return CertifiedValue(
      lower=bounds[:, 0],
      upper=bounds[:, 1],
      mean=returns.mean(axis=0),
      num_episodes=num_episodes,
      delta=delta)


def confidence_interval(samples, delta, lowest=0.0, highest=1.0):
  """Returns an interval that contains the mean with probability 1 - delta.

  Args:
    samples: independent samples of one distribution on [lowest, highest], in an
      order that does not depend on their values.
    delta: the probability with which the interval may be wrong.
    lowest: the smallest possible sample.
    highest: the largest possible sample.

  Returns:
    The pair of the lower and the upper bound.
  """
  if not lowest < highest:
    raise ValueError(f"lowest must be below highest, not {lowest}, {highest}")
  samples = np.asarray(samples, dtype=np.float64)
  scaled = (samples - lowest) / (highest - lowest)
  low = _lower_bound(scaled, delta / 2)
  high = 1 - _lower_bound(1 - scaled, delta / 2)
  return lowest + (highest - lowest) * low, lowest + (highest - lowest) * high


def _lower_bound(samples, delta):
  """Returns a lower bound of the mean of samples in [0, 1]."""
  if not 0 < delta < 1:
    raise ValueError(f"delta must lie between 0 and 1, not {delta}")
  if samples.ndim != 1 or not samples.size:
    raise ValueError("samples must be a non-empty list of numbers")
  if not (samples.min() >= 0 and samples.max() <= 1):
    raise ValueError("a sample lies outside of [lowest, highest]")
  goal = math.log(1 / delta)
  stakes = np.sqrt(2 * goal / (samples.size * _variances_before(samples)))
  rejected, candidate = 0.0, float(samples.mean())
  for _ in range(_BISECTIONS):
    middle = (rejected + candidate) / 2
    if middle <= 0:
      break
    bets = np.minimum(stakes, _CAUTION / middle)
    if np.log1p(bets * (samples - middle)).sum() >= goal:
      rejected = middle
    else:
      candidate = middle
  return rejected


def _variances_before(samples):
  """Returns, for each sample, an estimated variance from earlier ones."""
  counts = np.arange(1, samples.size + 1)
  means = (0.5 + np.cumsum(samples)) / (counts + 1)
  variances = (0.25 + np.cumsum((samples - means)**2)) / (counts + 1)
  return np.concatenate([[0.25], variances[:-1]])
