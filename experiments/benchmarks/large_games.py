"""The results of ts.exploit on games that cannot be enumerated, as player 0 against a uniform opponent.

    python -m experiments.benchmarks.large_games --seconds=60 --output=runs.jsonl
    python -m experiments.benchmarks.large_games --games="connect_four;pig" --black_box
    python -m experiments.benchmarks.large_games --archive=docs/runs/large_games.jsonl.xz --stored

One line of JSON per game is appended to --output; games that it has are not played again. --archive stores all runs
with a checksum. With --clock=processor the seconds are processor time, of this process and of each of two workers, for
use on shared machines. --stored prints the table of an archive. Every game runs in a separate process, so that one that
crashes or takes too long affects only its row.
"""

import contextlib
import functools
import hashlib
import json
import lzma
import multiprocessing
import os
import pathlib
import time
import warnings
from unittest import mock

import pyspiel
from absl import flags

import tmdp_spiel as ts
from experiments.sweep.binary import Stopped, run_binary
from tmdp_spiel.exploit import large_game

HOLD_EM = (
    "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,"
    "numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack=1200 1200)"
)
LIMIT_POKER = (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,firstPlayer=2 1,numSuits=4,numRanks=13,"
    "numHoleCards=1,numBoardCards=0 1,raiseSize=2 4,maxRaises=2 2)"
)
AIMS = {  # certified lower bounds aimed at in 60 seconds on two cores, player 0, delta 0.05
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
OTHERS = (
    "bargaining",
    "bridge(use_double_dummy_result=False)",
    "cribbage",
    "euchre",
    "gin_rummy",
    "goofspiel",
    "hanabi",
    "hearts",
    "negotiation",
    "oshi_zumo",
    "rbc(board_size=4)",
    "skat",
    "spades",
    "tarok",
    LIMIT_POKER,
)
_UTILITIES: dict[str, dict] = {
    "cribbage": {"min_utility": -2000.0, "max_utility": 2000.0}  # it declares less than it can bring
}
_TITLES = {HOLD_EM: "no-limit hold'em (fcpa, stacks of 1200)", LIMIT_POKER: "two rounds of limit poker with 52 cards"}
_PATIENCE = 3.0  # times the seconds; of processor time on a busy machine, many times
_PATIENCE_PROCESSOR = 30.0
_TO_START = 600.0  # seconds to import and compile on a busy machine

_SECONDS = flags.DEFINE_float("seconds", 60.0, "For each game.", lower_bound=0.5)
_GAMES = flags.DEFINE_string("games", None, "Game strings, separated by semicolons; about forty games if not given.")
_CLOCK = flags.DEFINE_enum("clock", "wall", ["wall", "processor"], "The clock of --seconds.")
_BLACK_BOX = flags.DEFINE_bool("black_box", False, "Give the same opponent as a bot.")
_OUTPUT = flags.DEFINE_string("output", None, "A file of JSON lines; games that it has are not played again.")
_ARCHIVE = flags.DEFINE_string("archive", None, "Where to store all runs of --output; with --stored, the file to read.")
_STORED = flags.DEFINE_bool("stored", False, "Print the table of --archive, and play nothing.")


@contextlib.contextmanager
def processor_time():
    """Makes exploit count its own processor time, and that of its workers, instead of wall time."""
    raced = functools.partial(large_game.respond_with_portfolio, clock="processor")
    with (
        mock.patch.object(time, "perf_counter", time.process_time),
        mock.patch.object(large_game, "respond_with_portfolio", raced),
    ):
        yield


def measure(name: str, seconds: float, clock: str, black_box: bool) -> dict:
    """One run."""
    warnings.simplefilter("ignore")
    load, start, wall = os.getloadavg()[0], time.process_time(), time.monotonic()
    opponent = {1: pyspiel.make_uniform_random_bot(1, 7)} if black_box else "uniform"
    with processor_time() if clock == "processor" else contextlib.nullcontext():
        found = ts.exploit(name, opponent, player=0, seconds=seconds, progress=False, **_UTILITIES.get(name, {}))
    (response,) = found.seats.values()
    return {
        "game": name,
        "black_box": black_box,
        "budget": seconds,
        "clock": clock,
        "utilities": [response.tree.min_utility, response.tree.max_utility],
        "lower": response.lower,
        "mean": None if response.mean != response.mean else response.mean,
        "upper": response.upper,
        "episodes": response.episodes,
        "states": response.tree.num_states,
        "enumerated": response.mdp is not None,
        "method": response.method,
        "candidates": response.candidates,
        "remarks": found.remarks,
        "delta": found.delta,
        "wall": time.monotonic() - wall,
        "processor": time.process_time() - start,
        "load": load,
        "version": ts.__version__,
    }


def in_a_process(name: str, seconds: float, clock: str, black_box: bool, context) -> dict:
    """The run in a separate process, which may start others; the reason if it fails."""
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sending, name, seconds, clock, black_box))
    process.start()
    sending.close()
    patience = (_PATIENCE if clock == "wall" else _PATIENCE_PROCESSOR) * seconds + _TO_START
    try:
        if not receiving.poll(patience):
            return {"game": name, "black_box": black_box, "failed": f"no answer within {patience:g} s"}
        return receiving.recv()
    except EOFError:
        process.join()
        return {"game": name, "black_box": black_box, "failed": f"the process ended with code {process.exitcode}"}
    finally:
        process.kill()
        process.join()


def _send(sending, *arguments) -> None:
    try:
        sending.send(measure(*arguments))
    except Exception as error:
        first = str(error).partition("\n")[0]
        sending.send({"game": arguments[0], "black_box": arguments[3], "failed": f"{type(error).__name__}: {first}"})


# The table ----------------------------------------------------------------------------------------------------------

HEADER = ["game", "clock", "utilities", "wins at least", "aim", "won on average", "at most", "episodes", "the response"]


def table(runs: list[dict]) -> str:
    """The runs as a table in Markdown."""
    rows = [HEADER, ["---", "---", "---", "---:", "---:", "---:", "---:", "---:", "---"], *map(_row, runs)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(run: dict) -> list[str]:
    name = _TITLES.get(run["game"], f"`{run['game']}`") + (" as a bot" if run["black_box"] else "")
    if "failed" in run:
        return [name, "", "", f"({run['failed']})", "", "", "", "", ""]
    low, high = run["utilities"]
    upper = f"{run['upper']:.3f}" if run["upper"] < high else "the maximum"
    aim = AIMS.get(run["game"])
    mean = "" if run["mean"] is None else f"{run['mean']:.3f}"
    return [
        name,
        run["clock"],
        f"{low:g} .. {high:g}",
        f"{run['lower']:.3f}",
        "" if aim is None else f"{aim:g}",
        mean,
        upper,
        f"{run['episodes']:,}",
        _winner(run),
    ]


def _winner(run: dict) -> str:
    winner = next((row["candidate"] for row in run["candidates"] if row["eliminated"] is None), None)
    return run["method"].partition(":")[0].partition(";")[0] if winner is None else winner


# Runs in files ------------------------------------------------------------------------------------------------------


def read(path: pathlib.Path) -> list[dict]:
    """The runs in a file of JSON lines; none if it does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def store(runs: list[dict], path: pathlib.Path) -> None:
    """Writes an archive: a checksum, then one line per run."""
    body = "".join(json.dumps(run) + "\n" for run in runs)
    checksum = hashlib.sha256(body.encode()).hexdigest()
    path.write_bytes(lzma.compress(f"{checksum}\n{body}".encode()))


def stored(path: pathlib.Path) -> list[dict]:
    """The runs of an archive."""
    try:
        checksum, _, body = lzma.decompress(path.read_bytes()).decode().partition("\n")
    except (OSError, lzma.LZMAError) as error:
        raise Stopped(f"{path} is not an archive: {error}") from None
    if hashlib.sha256(body.encode()).hexdigest() != checksum:
        raise Stopped(f"{path} was altered: its checksum does not match")
    return [json.loads(line) for line in body.splitlines()]


def main() -> None:
    archive = pathlib.Path(_ARCHIVE.value) if _ARCHIVE.value else None
    if _STORED.value:
        if archive is None:
            raise Stopped("--stored needs --archive")
        print(table(stored(archive)))
        return
    games = _GAMES.value.split(";") if _GAMES.value else [*AIMS, *OTHERS]
    output = pathlib.Path(_OUTPUT.value) if _OUTPUT.value else None
    runs = [] if output is None else read(output)
    done = {(run["game"], run["black_box"]) for run in runs}
    context = multiprocessing.get_context("spawn")
    in_a_process("phantom_ttt", 1.0, "wall", False, context)  # compiles, which no row shall pay for
    print(table([]))
    for name in games:
        if (name, _BLACK_BOX.value) in done:
            continue
        run = in_a_process(name, _SECONDS.value, _CLOCK.value, _BLACK_BOX.value, context)
        runs.append(run)
        print(f"| {' | '.join(_row(run))} |", flush=True)
        if output is not None:
            with output.open("a") as file:
                file.write(json.dumps(run) + "\n")
    if archive is not None:
        store(runs, archive)


if __name__ == "__main__":
    run_binary(main)
