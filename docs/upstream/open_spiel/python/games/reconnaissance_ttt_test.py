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

"""Tests for Reconnaissance Blind Tic-Tac-Toe."""

import random

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from open_spiel.python import rl_environment
from open_spiel.python.games import reconnaissance_ttt  # pylint: disable=unused-import
from open_spiel.python.observation import make_observation
import pyspiel

_GAME = "python_reconnaissance_ttt"
_TOP_LEFT, _TOP_RIGHT, _BOTTOM_LEFT, _BOTTOM_RIGHT = range(9, 13)


def _play(actions, **params):
  """Returns the state after the actions, each of which has to be legal."""
  state = pyspiel.load_game(_GAME, params).new_initial_state()
  for action in actions:
    assert action in state.legal_actions(), (action, str(state))
    state.apply_action(action)
  return state


class ReconnaissanceTTTTest(parameterized.TestCase):

  @parameterized.parameters([
      {},
      {"useful_senses": False},
      {"forced_wins": False},
      {"useful_senses": False, "forced_wins": False},
  ])
  def test_game_from_cc(self, **params):
    """Runs our standard game tests, checking API consistency."""
    game = pyspiel.load_game(_GAME, params)
    pyspiel.random_sim_test(game, num_sims=10, serialize=True, verbose=False)

  def test_first_turn_has_no_sense(self):
    state = _play([])
    self.assertEqual(state.current_player(), 0)
    self.assertEqual(state.legal_actions(), list(range(9)))
    state.apply_action(4)
    self.assertEqual(state.current_player(), 1)
    self.assertEqual(
        state.legal_actions(),
        [_TOP_LEFT, _TOP_RIGHT, _BOTTOM_LEFT, _BOTTOM_RIGHT])

  def test_sense_shows_true_board_until_next_move(self):
    state = _play([4, _TOP_LEFT])
    self.assertEqual(state.view(1), "..?.x????")
    self.assertEqual(state.information_state_string(1), "o tl:...x")
    self.assertEqual(state.legal_actions(), [0, 1, 2, 3, 5, 6, 7, 8])
    state.apply_action(0)
    self.assertEqual(state.view(1), "o???x????")
    self.assertEqual(state.information_state_string(0), "x 4")

  def test_moving_on_a_hidden_mark_loses(self):
    state = _play([4, _TOP_LEFT, 0, _BOTTOM_RIGHT, 0])
    self.assertTrue(state.is_terminal())
    self.assertEqual(state.returns(), [-1.0, 1.0])
    self.assertIn("o wins", str(state))

  def test_three_in_a_row_win(self):
    state = _play([0, _TOP_LEFT, 8, _TOP_RIGHT, 1, _TOP_LEFT, 7, _TOP_RIGHT])
    self.assertEqual(state.legal_actions(), [2])  # The forced win.
    state.apply_action(2)
    self.assertTrue(state.is_terminal())
    self.assertEqual(state.returns(), [1.0, -1.0])

  def test_wins_are_not_forced_if_so_said(self):
    state = _play([0, _TOP_LEFT, 8, _TOP_RIGHT, 1, _TOP_LEFT, 7, _TOP_RIGHT],
                  forced_wins=False)
    self.assertEqual(state.legal_actions(), [2, 3, 4, 5, 6, 7, 8])

  def test_full_board_is_a_draw(self):
    state = _play([], forced_wins=False, useful_senses=False)
    for square in [0, 1, 2, 4, 3, 5, 7, 6, 8]:
      if state.legal_actions()[0] >= _TOP_LEFT:
        state.apply_action(_TOP_LEFT)
      state.apply_action(square)
    self.assertTrue(state.is_terminal())
    self.assertEqual(state.returns(), [0.0, 0.0])

  def test_useless_senses_are_illegal(self):
    # x holds 4, and has seen o's marks on 0, 1 and 3.
    actions = [
        4, _TOP_RIGHT, 0, _TOP_LEFT, 8, _TOP_RIGHT, 1, _TOP_RIGHT, 2,
        _BOTTOM_LEFT, 3, _TOP_LEFT, 7, _BOTTOM_RIGHT, 5
    ]
    state = _play(actions, forced_wins=False)
    self.assertEqual(state.view(0), "oox" "ox?" "?xx")
    self.assertEqual(state.legal_actions(),
                     [_TOP_RIGHT, _BOTTOM_LEFT, _BOTTOM_RIGHT])
    state = _play(actions, forced_wins=False, useful_senses=False)
    self.assertEqual(state.legal_actions(),
                     [_TOP_LEFT, _TOP_RIGHT, _BOTTOM_LEFT, _BOTTOM_RIGHT])

  def test_information_states_have_perfect_recall(self):
    """They determine legal actions and the player's previous decision."""
    rng = random.Random(1)
    seen = {}
    for _ in range(500):
      state = pyspiel.load_game(_GAME).new_initial_state()
      last = [None, None]
      while not state.is_terminal():
        player = state.current_player()
        name = state.information_state_string()
        facts = (state.legal_actions(), last[player],
                 state.information_state_tensor())
        self.assertEqual(seen.setdefault(name, facts), facts)
        action = rng.choice(state.legal_actions())
        last[player] = (name, action)
        state.apply_action(action)
    tensors = {tuple(tensor) for _, _, tensor in seen.values()}
    self.assertLen(tensors, len(seen))

  def test_observation_tensor_is_what_the_player_knows(self):
    observation = make_observation(pyspiel.load_game(_GAME))
    observation.set_from(_play([4, _TOP_LEFT]), player=1)
    view = observation.dict["view"]
    np.testing.assert_array_equal(view.sum(axis=1), np.ones(9))
    self.assertEqual("".join("?.xo"[i] for i in view.argmax(axis=1)),
                     "..?.x????")

  def test_nothing_of_the_opponent_is_public(self):
    observation = make_observation(
        pyspiel.load_game(_GAME),
        pyspiel.IIGObservationType(
            public_info=True, perfect_recall=False,
            private_info=pyspiel.PrivateInfoType.NONE))
    one, other = _play([4, _TOP_LEFT]), _play([0, _BOTTOM_RIGHT])
    self.assertEqual(observation.string_from(one, 0),
                     observation.string_from(other, 0))

  def test_clones_share_nothing(self):
    state = _play([4, _TOP_LEFT])
    before = str(state)
    state.clone().apply_action(0)
    self.assertEqual(str(state), before)

  def test_rl_environment(self):
    env = rl_environment.Environment(_GAME)
    time_step = env.reset()
    while not time_step.last():
      player = time_step.observations["current_player"]
      legal = time_step.observations["legal_actions"][player]
      time_step = env.step([legal[0]])
    self.assertEqual(sum(time_step.rewards), 0)


if __name__ == "__main__":
  absltest.main()
