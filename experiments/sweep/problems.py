"""The further problems on which learners are compared."""

from experiments.sweep.configuration import Problem

_GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel("
    "imp_info=True,num_cards=4,points_order=descending,returns_type=point_difference))"
)
_BATTLESHIP = (
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=3,allow_repeated_shots=False)"
)
_SHERIFF = "sheriff(item_penalty=1.0,item_value=5.0,max_bribe=2,max_items=3,num_rounds=1,sheriff_penalty=1.0)"
_DARK_HEX = "dark_hex(board_size=2,obstype=reveal-numturns)"  # states that see the number of moves
PROBLEMS = {
    "kuhn x, equilibrium": Problem("kuhn", 0, "cfr+", 1000),
    "kuhn o, equilibrium": Problem("kuhn", 1, "cfr+", 1000),
    "kuhn5 x, equilibrium": Problem("kuhn5", 0, "cfr+", 1000),
    "kuhn5 o, equilibrium": Problem("kuhn5", 1, "cfr+", 1000),
    "leduc x, weak": Problem("leduc", 0, "cfr+", 10),
    "leduc o, uniform": Problem("leduc", 1, "uniform", None),
    "liar's dice 4 sides x, near equilibrium": Problem("liars_dice(dice_sides=4)", 0, "cfr+", 100),
    "liar's dice 4 sides o, uniform": Problem("liars_dice(dice_sides=4)", 1, "uniform", None),
    "goofspiel 4 x, near equilibrium": Problem(_GOOFSPIEL, 0, "cfr+", 100),
    "battleship x, uniform": Problem(_BATTLESHIP, 0, "uniform", None),
    "battleship o, weak": Problem(_BATTLESHIP, 1, "cfr+", 10),
    "dark hex 2 x, uniform": Problem(_DARK_HEX, 0, "uniform", None),
    "dark hex 2 o, weak": Problem(_DARK_HEX, 1, "cfr+", 10),
    "auction x, uniform": Problem("first_sealed_auction(max_value=10)", 0, "uniform", None),
    "auction o, weak": Problem("first_sealed_auction(max_value=10)", 1, "cfr+", 10),
    "sheriff x, uniform": Problem(_SHERIFF, 0, "uniform", None),
    "sheriff o, uniform": Problem(_SHERIFF, 1, "uniform", None),
    "trade_comm 3 x, uniform": Problem("trade_comm(num_items=3)", 0, "uniform", None),
    "3-player kuhn, first, uniform": Problem("kuhn_poker(players=3)", 0, "uniform", None),
    "3-player kuhn, last, weak": Problem("kuhn_poker(players=3)", 2, "cfr+", 10),
    "3-player leduc, second, uniform": Problem("leduc_poker(players=3)", 1, "uniform", None),
}
