"""The speed of live play: episodes per second of a learner on a lazy tree, compared with a loop without learning.

    python -m experiments.benchmarks.live_speed
    python -m experiments.benchmarks.live_speed --games=phantom_ttt --learners=UCT,BettingUCRL --seconds=10

The loop plays the same game through pyspiel, in Python, with random moves. The learner plays against a uniform
opponent. Both get the same processor time; a learner's rate includes the growth of its tree, which is empty at first.
"""

import random
import time
import typing

import pyspiel
from absl import flags

import tmdp_spiel as ts
from experiments.sweep.binary import run_binary
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.algorithms.path_learner import PathLearner

GAMES = (
    "phantom_ttt",
    "dark_hex(board_size=3)",
    "liars_dice(numdice=2)",
    "goofspiel(imp_info=True,num_cards=6,points_order=descending)",
    "connect_four",
    "leduc_poker",
)

_GAMES = flags.DEFINE_list("games", None, f"Game strings; if not given {'; '.join(GAMES)}.")
_LEARNERS = flags.DEFINE_list("learners", ["UCT", "BettingUCRL"], "Learners that can learn on a lazy tree.")
_SECONDS = flags.DEFINE_float("seconds", 5.0, "Processor time for each figure.", lower_bound=0.1)


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


def new_learner(name: str, tree: ts.InfostateTree) -> PathLearner:
    kind: typing.Any = find_algorithm(name)
    return kind(tree, **({"lazy": True} if name == "PSRL" else {}))


def live_rate(game: pyspiel.Game, name: str, seconds: float) -> tuple[float, int]:
    """Episodes per second of a learner, and the number of states that it visited."""
    warm = ts.LiveGame("kuhn", 0, ts.uniform(ts.load_game("kuhn")))
    warm.play(new_learner(name, warm.tree), 50)
    table = ts.LiveGame(game, 0, ts.uniform(game))
    learner = new_learner(name, table.tree)
    start = time.process_time()
    while time.process_time() - start < seconds:
        table.play(learner, 200)
    return learner.episodes / (time.process_time() - start), table.tree.num_states


def main() -> None:
    print(f"{'game':<62}{'bare':>9}{'learner':>14}{'rate':>9}{'ratio':>7}{'states':>9}")
    for game_string in _GAMES.value or GAMES:
        game = ts.load_game(game_string)
        bare = bare_rate(game, _SECONDS.value)
        for name in _LEARNERS.value:
            rate, states = live_rate(game, name, _SECONDS.value)
            print(f"{game_string:<62}{bare:>9,.0f}{name:>14}{rate:>9,.0f}{rate / bare:>7.2f}{states:>9,}", flush=True)


if __name__ == "__main__":
    run_binary(main)
