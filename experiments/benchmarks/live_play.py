"""The speed of live play: episodes per second of a learner on a lazy tree, compared with a loop without learning.

The loop plays the same game through pyspiel, in Python, with random moves. The learner plays against a uniform
opponent. Both get the same processor time; a learner's rate includes the growth of its tree, which is empty at first.
"""

import pathlib
import random
import time
from collections.abc import Sequence

import pyspiel

import tmdp_spiel as ts

GAMES = (
    "phantom_ttt",
    "dark_hex(board_size=3)",
    "liars_dice(numdice=2)",
    "goofspiel(imp_info=True,num_cards=6,points_order=descending)",
    "connect_four",
    "leduc_poker",
)
SMALL_GAMES = ("kuhn",)
_SECONDS = 5.0  # of processor time, for each figure


def bare_rate(game: pyspiel.Game, seconds: float) -> float:
    """Episodes per second of random play."""
    rng, episodes, start = random.Random(0), 0, time.process_time()
    while time.process_time() - start < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, probabilities = zip(*state.chance_outcomes())
                action = rng.choices(outcomes, probabilities)[0]
            else:
                action = rng.choice(state.legal_actions())
            state.apply_action(action)
        state.returns()
        episodes += 1
    return episodes / (time.process_time() - start)


def live_rate(game: pyspiel.Game, kind, seconds: float) -> tuple[float, int]:
    """Episodes per second of a learner, and the number of states that it visited."""
    warm = ts.LiveGame("kuhn", 0, ts.uniform(ts.load_game("kuhn")))
    warm.play(kind(warm.tree), 50)
    table = ts.LiveGame(game, 0, ts.uniform(game))
    learner = kind(table.tree)
    start = time.process_time()
    while time.process_time() - start < seconds:
        table.play(learner, 200)
    return learner.episodes / (time.process_time() - start), table.tree.num_states


def report(games: Sequence[str], small: bool, folder: pathlib.Path) -> None:
    """Prints the table."""
    seconds = 0.1 if small else _SECONDS
    print(f"{'game':<62}{'bare':>9}{'learner':>14}{'rate':>9}{'ratio':>7}{'states':>9}")
    for game_string in games:
        game = ts.load_game(game_string)
        bare = bare_rate(game, seconds)
        for kind in (ts.UCT, ts.BettingUCRL):
            rate, states = live_rate(game, kind, seconds)
            name = kind.__name__
            print(f"{game_string:<62}{bare:>9,.0f}{name:>14}{rate:>9,.0f}{rate / bare:>7.2f}{states:>9,}", flush=True)
