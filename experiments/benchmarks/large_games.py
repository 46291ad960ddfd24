"""What a user gets on games that cannot be enumerated: ts.exploit against a uniform opponent, player 0, game by game.

    python -m experiments.benchmarks.large_games --seconds=60 > table.md
    python -m experiments.benchmarks.large_games --seconds=10 --games="phantom_ttt;chess"

Every game runs in a process of its own, so that one that crashes or takes too long costs only its row.
"""

import concurrent.futures
import multiprocessing
import warnings

from absl import flags

import tmdp_spiel as ts
from experiments.sweep.binary import run_binary

TOO_LARGE = (
    "amazons",
    "bargaining",
    "battleship",
    "breakthrough",
    "bridge(use_double_dummy_result=False)",
    "chess",
    "clobber",
    "connect_four",
    "cribbage",
    "euchre",
    "go(board_size=9)",
    "havannah(board_size=4)",
    "hearts",
    "hex(board_size=5)",
    "kriegspiel(board_size=4)",
    "liars_dice(numdice=2)",
    "lines_of_action",
    "mancala",
    "oshi_zumo",
    "oware",
    "othello",
    "phantom_go(board_size=5)",
    "phantom_ttt",
    "skat",
    "spades",
    "ultimate_tic_tac_toe",
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,firstPlayer=2 1,numSuits=4,numRanks=13,"
    "numHoleCards=1,numBoardCards=0 1,raiseSize=2 4,maxRaises=2 2)",
)
FORGETFUL = (
    "backgammon",
    "checkers",
    "dark_chess(board_size=4)",
    "dark_hex(board_size=3)",
    "gin_rummy",
    "goofspiel",
    "hanabi",
    "pig",
    "quoridor(board_size=5)",
    "rbc(board_size=4)",
    "y(board_size=5)",
)
SAMPLED = ("negotiation", "tarok")

_UTILITIES: dict[str, dict] = {
    "cribbage": {"min_utility": -2000.0, "max_utility": 2000.0}
}  # it declares less than it can bring

_SECONDS = flags.DEFINE_float("seconds", 60.0, "For each game.", lower_bound=1.0)
_GAMES = flags.DEFINE_string("games", None, "Game strings, separated by semicolons; the forty or so if not given.")
_PATIENCE = 3.0  # times the seconds


def respond(name: str, seconds: float) -> str:
    """A row of the table."""
    warnings.simplefilter("ignore")
    found = ts.exploit(name, "uniform", player=0, seconds=seconds, progress=False, **_UTILITIES.get(name, {}))
    (response,) = found.seats.values()
    tree = response.tree
    how = "enumerated" if response.mdp is not None else f"grown, {tree.num_states:,}"
    upper = f"{response.upper:.3f}" if response.upper < tree.max_utility else "the maximum"
    return (
        f"{tree.min_utility:g} .. {tree.max_utility:g} | {response.lower:.3f} | {response.mean:.3f} | {upper} | "
        f"{response.episodes:,} | {how}"
    )


def main() -> None:
    games = _GAMES.value.split(";") if _GAMES.value else [*TOO_LARGE, *FORGETFUL, *SAMPLED]
    print("| game | utilities | wins at least | won on average | no response more than | episodes | states |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(respond, "phantom_ttt", 1.0).result()  # compiles, which no row shall pay for
    for name in games:
        pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=context)
        try:
            row = pool.submit(respond, name, _SECONDS.value).result(_PATIENCE * _SECONDS.value + 30)
        except TimeoutError:
            row = f"no answer within {_PATIENCE * _SECONDS.value + 30:g} s | | | | |"
            for process in (pool._processes or {}).values():
                process.kill()
        except Exception as error:
            row = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} | | | | |"
        pool.shutdown()
        print(f"| `{name}` | {row} |", flush=True)


if __name__ == "__main__":
    run_binary(main)
