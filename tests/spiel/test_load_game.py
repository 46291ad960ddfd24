import pyspiel
import pytest

import tmdp_spiel as ts


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
    with pytest.raises(ValueError, match="OpenSpiel does not load '" + name.partition("(")[0]):
        ts.load_game(name)


def test_short_names_take_no_parameters():
    with pytest.raises(ValueError, match="'kuhn' takes no parameters.*kuhn_poker"):
        ts.load_game("kuhn(players=3)")


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="not int"):
        ts.load_game(3)
