"""What search wins in games that are too large for a tree: certified lower bounds against a uniform opponent.

    python -m experiments.benchmarks.portfolio --seconds=60 --output=portfolio.jsonl
    python -m experiments.benchmarks.portfolio --games="connect_four;pig" --seconds=10

One JSON line a game is printed and appended to --output: the certified lower bound, the mean, the episodes, the winner
of the race, all candidates with their pilot episodes, and the processor time of all processes, which is less than
seconds times processes on a machine that is shared.
"""

import json
import resource
import warnings
from collections.abc import Sequence

from absl import app, flags

from tmdp_spiel.exploit.responders.portfolio import respond_with_portfolio

HOLD_EM = (
    "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,"
    "numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack=1200 1200)"
)
TARGETS = {  # certified lower bounds to reach in 60 seconds on two cores, player 0, delta 0.05
    "connect_four": 0.98,
    "othello": 0.8,
    "breakthrough": 0.85,
    "go(board_size=9)": 0.7,
    "hex(board_size=5)": 0.97,
    "havannah(board_size=4)": 0.9,
    "clobber": 0.85,
    "amazons": 0.8,
    "checkers": 0.9,
    "oware": 0.95,
    "mancala": 0.95,
    "pig": 0.85,
    "y(board_size=5)": 0.97,
    "quoridor(board_size=5)": 0.85,
    "ultimate_tic_tac_toe": 0.93,
    "backgammon": 0.4,
    "lines_of_action": 0.0,
    "chess": 0.0,
    "liars_dice(numdice=2)": 0.85,
    "phantom_ttt": 0.95,
    "dark_hex(board_size=3)": 0.99,
    "dark_chess(board_size=4)": 0.9,
    "phantom_go(board_size=5)": 0.5,
    "battleship": 0.0,
    "kriegspiel(board_size=4)": 0.0,
    HOLD_EM: 100.0,
}

_GAMES = flags.DEFINE_string("games", None, "OpenSpiel games, separated by semicolons; all of the table if not given.")
_SECONDS = flags.DEFINE_float("seconds", 60.0, "Time a game.", lower_bound=0.1)
_DELTA = flags.DEFINE_float("delta", 0.05, "The probability with which a bound may be wrong.")
_PLAYER = flags.DEFINE_integer("player", 0, "Who responds.")
_PROCESSES = flags.DEFINE_integer("processes", 2, "Processes that play episodes.", lower_bound=1)
_CLOCK = flags.DEFINE_enum("clock", "wall", ["wall", "processor"], "Of --seconds: wall, or processor time a process.")
_SEED = flags.DEFINE_integer("seed", 0, "Of the responses.")
_OPPONENT = flags.DEFINE_string("opponent", "uniform", "Whom to respond to.")
_OUTPUT = flags.DEFINE_string("output", None, "A file that JSON lines are appended to.")


def measure(game: str) -> dict:
    """One row: a game's certificate and race."""
    before = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = respond_with_portfolio(
        game,
        _OPPONENT.value,
        player=_PLAYER.value,
        seconds=_SECONDS.value,
        delta=_DELTA.value,
        seed=_SEED.value,
        processes=_PROCESSES.value,
        clock=_CLOCK.value,
        progress=False,
    )
    after = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after))
    return {
        "game": game,
        "opponent": _OPPONENT.value,
        "player": _PLAYER.value,
        "lower": found.lower,
        "target": TARGETS.get(game) if _PLAYER.value == 0 and _OPPONENT.value == "uniform" else None,
        "mean": found.mean,
        "episodes": found.episodes,
        "unfinished": found.unfinished,
        "delta": found.delta,
        "winner": found.winner,
        "clock": _CLOCK.value,
        "budget": _SECONDS.value,
        "seconds": found.seconds,
        "processor_seconds": processor,
        "processes": _PROCESSES.value,
        "seed": _SEED.value,
        "remarks": found.remarks,
        "candidates": found.table(),
    }


def main(argv: Sequence[str]) -> None:
    del argv
    warnings.simplefilter("ignore")
    games = _GAMES.value.split(";") if _GAMES.value else list(TARGETS)
    for game in games:
        line = json.dumps(measure(game))
        print(line, flush=True)
        if _OUTPUT.value:
            with open(_OUTPUT.value, "a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    app.run(main)
