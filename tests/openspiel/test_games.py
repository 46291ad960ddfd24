import re

import pyspiel
import pytest

import tmdp_spiel as ts
from tmdp_spiel.openspiel.games import game_remark, game_title


@pytest.mark.parametrize(
    "name, short_name", [("kuhn", "kuhn_poker"), ("kuhn5", "universal_poker"), ("leduc", "leduc_poker")]
)
def test_short_names(name, short_name):
    assert ts.load_game(name).get_type().short_name == short_name


def test_leduc_has_suit_isomorphism():
    assert ts.load_game("leduc").get_parameters()["suit_isomorphism"] is True


def test_kuhn5_pays_at_most_two():
    game = ts.load_game("kuhn5")
    assert (game.min_utility(), game.max_utility()) == (-2, 2)


def test_game_string_and_object_give_the_same_game():
    game = pyspiel.load_game("liars_dice(dice_sides=3)")
    assert str(ts.load_game("liars_dice(dice_sides=3)")) == str(ts.load_game(game)) == str(game)


def test_python_games_are_found():
    assert ts.load_game("python_kuhn_poker").num_players() == 2


def test_simultaneous_moves_become_sequential():
    game = ts.load_game("goofspiel(num_cards=3,imp_info=True)")
    assert game.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL


@pytest.mark.parametrize(
    "name, near", [("leduk", "leduc"), ("khun_poker", "kuhn_poker"), ("goofspeil(num_cards=3)", "goofspiel")]
)
def test_unknown_names_list_near_matches(name, near):
    with pytest.raises(ValueError, match=f"near matches: .*{near}"):
        ts.load_game(name)


def test_a_name_near_nothing_lists_our_own():
    with pytest.raises(ValueError, match="no game is called .*kuhn, kuhn5, leduc"):
        ts.load_game("qqqqqqqq")


@pytest.mark.parametrize(
    "name", ["kuhn_poker(players=99)", "kuhn_poker(colour=red)", "kuhn_poker(players=2", "nfg_game"]
)
def test_bad_parameters_are_reported_with_the_name(name):
    with pytest.raises(ValueError, match="OpenSpiel cannot load '" + name.partition("(")[0]):
        ts.load_game(name)


def test_short_names_take_no_parameters():
    with pytest.raises(ValueError, match="'kuhn' takes no parameters.*kuhn_poker"):
        ts.load_game("kuhn(players=3)")


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="not int"):
        ts.load_game(3)


def test_leduc_and_leduc_poker_are_told_apart():
    leduc, leduc_poker = ts.load_game("leduc"), ts.load_game("leduc_poker")
    assert game_title(leduc) == "leduc" and game_title(leduc_poker) == "leduc_poker"
    assert game_title(ts.load_game("kuhn5")) == "kuhn5" and game_title(ts.load_game("kuhn")) == "kuhn_poker"
    assert game_remark(leduc_poker) is None and game_remark(ts.load_game("kuhn")) is None
    for game, states, cards in ((leduc, 144, 3), (leduc_poker, 468, 6)):
        tree = ts.build_infostate_tree(game, 0)
        assert (tree.num_states, len(game.new_initial_state().chance_outcomes())) == (states, cards)
        assert {str(states), str(cards - 1)} <= set(re.findall(r"\d+", game_remark(leduc)))


def test_a_bot_that_reads_cards_plays_differently_on_leduc():
    """The rules are the same: uniform is worth the same on both. A policy that reads card numbers is not."""

    def second_rank_and_above(state):
        fold_less = state.legal_actions()[-1] if "[Private: 0]" in state.information_state_string() else 1
        return {fold_less: 1.0}

    names = ("leduc", "leduc_poker")
    uniform = [ts.build_tree(name, 0, ts.uniform(ts.load_game(name))).best_response()[0] for name in names]
    assert uniform[0] == pytest.approx(uniform[1])
    reading = [ts.exploit(name, second_rank_and_above, player=0, episodes=500, progress=False) for name in names]
    assert reading[0].seats[0].exact_best != pytest.approx(reading[1].seats[0].exact_best, abs=0.1)
