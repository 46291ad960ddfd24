"""The rules of RBT, and what OpenSpiel asks of a game."""

import pathlib
import pickle
import random
import re

import numpy as np
import pyspiel
import pytest
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import generate_playthrough
from open_spiel.python.observation import make_observation

from tmdp_spiel.games.rbt import game as rbt

PLAYTHROUGH = pathlib.Path(__file__).parent / "playthroughs" / "python_rbt.txt"
SENSE_TL, SENSE_TR, SENSE_BL, SENSE_BR = 9, 10, 11, 12


def play(actions, **parameters):
    state = pyspiel.load_game("python_rbt", parameters).new_initial_state()
    for action in actions:
        assert action in state.legal_actions()
        state.apply_action(action)
    return state


@pytest.mark.parametrize(
    "parameters", ({}, {"useful_senses": False}, {"forced_wins": False}, {"start": "x4o0x8"}), ids=str
)
def test_random_simulations_with_serialisation(parameters):
    pyspiel.random_sim_test(pyspiel.load_game("python_rbt", parameters), num_sims=15, serialize=True, verbose=False)


def test_playthrough_is_as_recorded():
    recorded = PLAYTHROUGH.read_text(encoding="utf-8")
    actions = [int(action) for action in re.findall(r"^action: (\d+)$", recorded, re.MULTILINE)]
    assert generate_playthrough.playthrough("python_rbt", actions).strip() == recorded.strip()


def test_game_and_state_survive_pickling():
    state = play([4, SENSE_TL, 0, SENSE_BR], start="")
    assert str(pickle.loads(pickle.dumps(state.get_game()))) == str(state.get_game())
    copy = pickle.loads(pickle.dumps(state))
    assert str(copy) == str(state)
    assert copy.legal_actions() == state.legal_actions()
    assert copy.information_state_string(1) == state.information_state_string(1)


def test_clones_are_independent():
    state = play([4])
    clone = state.clone()
    clone.apply_action(SENSE_TL)
    assert state.information_state_string(1) == "o"
    assert clone.information_state_string(1) == "o tl:...x"


def test_x_moves_first_without_a_sense_then_every_turn_is_a_sense_and_a_move():
    state = play([])
    assert state.legal_actions() == list(range(9))
    state = play([4])
    assert state.current_player() == 1
    assert state.legal_actions() == [SENSE_TL, SENSE_TR, SENSE_BL, SENSE_BR]
    state = play([4, SENSE_TL])
    assert state.current_player() == 1
    assert state.legal_actions() == [0, 1, 2, 3, 5, 6, 7, 8], "square 4 is known to be x's"


def test_marks_are_remembered_and_empty_squares_forgotten():
    state = play([4, SENSE_TL, 0, SENSE_TL])
    assert state.view(0) == "o.?.x????"
    state.apply_action(8)
    assert state.view(0) == "o???x???x"


def test_moving_on_a_square_of_the_opponent_loses_at_once():
    state = play([0, SENSE_BR, 0])
    assert state.is_terminal()
    assert state.returns() == [1.0, -1.0]


def test_three_in_a_row_win():
    state = play([0, SENSE_BR, 4, SENSE_TL, 1, SENSE_BR, 8, SENSE_TR, 2])
    assert state.returns() == [1.0, -1.0]


def test_a_full_board_is_a_draw_unless_the_last_move_wins():
    squares = [0, 1, 2, 4, 3, 5, 7, 6, 8]
    state = pyspiel.load_game("python_rbt(forced_wins=False)").new_initial_state()
    for square in squares:
        while state.is_to_sense():
            state.apply_action(state.legal_actions()[0])
        state.apply_action(square)
    assert state.is_terminal() and state.returns() == [0.0, 0.0]
    assert play([SENSE_BR, 8], start="x0o1x4o2x5o3x7o6").returns() == [1.0, -1.0]


def test_a_sense_must_show_something_new():
    # x knows o's marks on 0, 1 and 3, and holds 4: nothing is left to learn top-left.
    assert play([], start="x4o0x8o1x2o3").legal_actions() == [SENSE_TR, SENSE_BL, SENSE_BR]
    assert play([], start="x4o0x8o1x2o3", useful_senses=False).legal_actions() == [9, 10, 11, 12]


def test_the_lowest_sure_win_is_forced():
    assert play([SENSE_TL], start="x0o8x4o6x3o5").legal_actions() == [1, 2, 7], "no sensed square completes a line"
    assert play([SENSE_TR], start="x0o8x1o6").legal_actions() == [2]
    assert play([SENSE_TR], start="x0o3x1o7x8o6").legal_actions() == [2], "lower than the win on 4"
    assert play([SENSE_TR], start="x0o8x1o6", forced_wins=False).legal_actions() == [2, 3, 4, 5, 7]
    assert play([SENSE_BL], start="x0o8x1o6").legal_actions() == [2, 3, 4, 5, 7], "2 was not sensed this turn"


def test_legal_actions_are_sorted_and_information_states_have_perfect_recall():
    """A player's information state determines its legal actions, its last own action and the state before that."""
    game = pyspiel.load_game("python_rbt")
    generator = random.Random(1)
    past, legal_of = {}, {}
    for _ in range(1500):
        state = game.new_initial_state()
        last = {0: None, 1: None}
        while not state.is_terminal():
            player = state.current_player()
            name = state.information_state_string()
            legal = state.legal_actions()
            assert legal == sorted(set(legal)) and legal
            assert legal_of.setdefault(name, legal) == legal
            assert past.setdefault(name, last[player]) == last[player]
            action = generator.choice(legal)
            last[player] = (name, action)
            state.apply_action(action)


def test_tensors_are_small_and_tell_the_same_states_apart_as_strings():
    game = pyspiel.load_game("python_rbt")
    assert game.information_state_tensor_size() == 81
    assert game.observation_tensor_size() == 40
    generator = random.Random(2)
    tensor_of, string_of = {}, {}
    for _ in range(150):
        state = game.new_initial_state()
        while not state.is_terminal():
            player = state.current_player()
            string, tensor = state.information_state_string(), tuple(state.information_state_tensor())
            assert tensor_of.setdefault(string, tensor) == tensor
            assert string_of.setdefault(tensor, string) == string
            view, seen = state.observation_string(), np.array(state.observation_tensor())
            assert view.startswith(rbt.MARKS[player]) and seen[4:].sum() == 9
            state.apply_action(generator.choice(state.legal_actions()))


def test_nothing_of_the_opponent_is_public():
    public = make_observation(
        pyspiel.load_game("python_rbt"),
        pyspiel.IIGObservationType(public_info=True, perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE),
    )
    assert public.string_from(play([4, SENSE_TL]), 0) == public.string_from(play([0, SENSE_BR]), 0)


def test_readable_names_and_board():
    state = play([4, SENSE_TL, 0])
    assert state.action_to_string(0, 4) == "move 4"
    assert state.action_to_string(0, SENSE_TL) == "sense top-left"
    assert state.action_to_string(0, SENSE_BR) == "sense bottom-right"
    assert "o . ." in str(state) and ". x ." in str(state) and "x to sense" in str(state)


def test_history_strings_are_read_back():
    state = play([4, SENSE_TL, 0, SENSE_BR, 8])
    for player in (0, 1):
        string = state.information_state_string(player)
        assert rbt.parse_history_string(string) == (player, state.own_history[player])
    with pytest.raises(ValueError, match="one looks like"):
        rbt.parse_history_string("x 9")


@pytest.mark.parametrize(
    "start, complaint",
    (("o4", "alternate"), ("x4x0", "alternate"), ("x9", "alternate"), ("x4o4", "twice"), ("x0o3x1o4x2", "finished")),
)
def test_a_bad_start_is_refused(start, complaint):
    with pytest.raises(ValueError, match=complaint):
        rbt.parse_start(start)


def test_plays_in_an_rl_environment():
    environment = rl_environment.Environment("python_rbt")
    time_step = environment.reset()
    while not time_step.last():
        player = time_step.observations["current_player"]
        time_step = environment.step([time_step.observations["legal_actions"][player][0]])
    assert sum(time_step.rewards) == 0
