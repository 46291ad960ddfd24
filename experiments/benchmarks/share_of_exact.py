r"""What responders for large games win from trained agents, compared with the exact best response.

  python -m experiments.benchmarks.share_of_exact
  python -m experiments.benchmarks.share_of_exact --games=phantom_ttt --seconds=10 --seeds=1
  python -m experiments.benchmarks.share_of_exact --stored=docs/runs/share_of_exact.jsonl.xz

The opponents are rows of agents_table.py, given as known policies. A responder has --seconds of processor time on one
core, of which a part certifies what it found. A run is a line of JSON in --output; runs that are there already are not
repeated. At the end the table is printed.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import statistics
from collections.abc import Iterator

from absl import flags

import tmdp_spiel as ts
from experiments.benchmarks.agents_table import DICE, HEX, Row, tables
from experiments.sweep.binary import Stopped, run_binary
from experiments.sweep.store import pack_lines, unpack_lines
from tmdp_spiel.exploit.responders.portfolio import respond_with_portfolio
from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.openspiel.policy_tables import TablePolicy
from tmdp_spiel.trees import sequence_form

AGENTS = [  # with the player who responds
    (Row("phantom_ttt", "phantom_ttt_a2c.npz"), 0),
    (Row("phantom_ttt", "phantom_ttt_nfsp.npz"), 1),
    (Row("phantom_ttt", "cfr+ 10"), 1),
    (Row(HEX, "dark_hex_nfsp.npz"), 1),
    (Row(HEX, "cfr+ 10"), 1),
    (Row(DICE, "liars_dice_nfsp.npz"), 0),
    (Row(DICE, "cfr+ 10"), 0),
]
LEAST_GAIN = 0.05  # below which a share of what can be gained says nothing
RESPONDERS = {"tree": ["tree"], "search": ["search"], "network": ["network"], "all": ["tree", "search", "network"]}


@dataclasses.dataclass(frozen=True)
class Run:
    """One response, in the game's utilities.

    value: what the agent wins in the responder's place
    best: what the exact best response wins
    """

    game: str
    agent: str
    player: int
    responder: str
    seconds: float
    seed: int
    value: float
    best: float
    lower: float
    mean: float
    episodes: int
    winner: str

    @property
    def key(self) -> tuple:
        """What tells runs apart."""
        return self.game, self.agent, self.player, self.responder, self.seconds, self.seed

    @property
    def share(self) -> float:
        """Of what can be gained over the agent's own play."""
        return (self.mean - self.value) / (self.best - self.value)


def main() -> None:
    if flags.FLAGS.stored:
        print(table(read(pathlib.Path(flags.FLAGS.stored))))
        return
    output = pathlib.Path(flags.FLAGS.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    done = {run.key for run in read(output)}
    games = [game for game in flags.FLAGS.games.split(";") if game]
    unknown = set(games) - {row.game for row, _ in AGENTS}
    if unknown:
        raise Stopped(f"no agents of {', '.join(sorted(unknown))}")
    seconds = [float(each) for each in flags.FLAGS.seconds]
    for row, player in AGENTS:
        if not games or row.game in games:
            for run in measure(row, player, done, flags.FLAGS.responders, seconds, flags.FLAGS.seeds):
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(dataclasses.asdict(run)) + "\n")
                print(run, flush=True)
    if flags.FLAGS.pack:
        pack_lines([json.dumps(dataclasses.asdict(run), sort_keys=True) for run in read(output)], flags.FLAGS.pack)
    print(table(read(output)))


def measure(
    row: Row, player: int, done: set[tuple], responders: list[str], budgets: list[float], seeds: int
) -> Iterator[Run]:
    """The runs against one agent that are not done yet; budgets: in seconds of processor time."""
    form = exact_form(row.game)
    policies = tables(form, row)
    exact = sequence_form.exploitability(form, policies)
    opponent = TablePolicy(ts.load_game(row.game), form, {1 - player: policies[1 - player]})
    for seconds in budgets:
        for responder in responders:
            for seed in range(seeds):
                if (row.game, row.agent, player, responder, seconds, seed) not in done:
                    found = respond_with_portfolio(
                        row.game,
                        opponent,
                        player=player,
                        seconds=seconds,
                        seed=seed,
                        processes=1,
                        responders=RESPONDERS[responder],
                        clock="processor",
                        progress=False,
                    )
                    yield Run(
                        row.game,
                        row.agent,
                        player,
                        responder,
                        seconds,
                        seed,
                        exact.values[player],
                        exact.best_responses[player],
                        found.lower,
                        found.mean,
                        found.episodes,
                        found.winner,
                    )


def read(path: pathlib.Path) -> list[Run]:
    """The runs in a file of lines, or in an archive; none if it is not there."""
    if not path.exists():
        return []
    lines = unpack_lines(path) if path.suffix == ".xz" else path.read_text(encoding="utf-8").splitlines()
    return [Run(**json.loads(line)) for line in lines]


def table(runs: list[Run]) -> str:
    """Means over the seeds: what was won on average, in brackets the certified bound, and the share."""
    lines = [
        "| game | agent | player | its value | best response | seconds | responder | wins (at least) | share |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    cells: dict[tuple, list[Run]] = {}
    for run in runs:
        cells.setdefault(run.key[:-1], []).append(run)
    for (game, agent, player, responder, seconds), found in cells.items():
        value, best = found[0].value, found[0].best
        mean, lower, share = (
            statistics.fmean(getattr(run, name) for run in found) for name in ("mean", "lower", "share")
        )
        gained = f"{100 * share:.0f}%" if best - value >= LEAST_GAIN else "—"
        lines.append(
            f"| `{game}` | {agent} | {player} | {value:.3f} | {best:.3f} | {seconds:g} | {responder} | "
            f"{mean:.3f} ({lower:.3f}) | {gained} |"
        )
    return "\n".join(lines)


def define_flags() -> None:
    """Declares the flags."""
    flags.DEFINE_string("games", "", "Only these games, with semicolons between them; all of them if empty.")
    flags.DEFINE_multi_enum("responders", list(RESPONDERS), list(RESPONDERS), "Which responders; repeat the flag.")
    flags.DEFINE_list("seconds", ["10", "40"], "Budgets, in seconds of processor time.")
    flags.DEFINE_integer("seeds", 2, "Runs of each.", lower_bound=1)
    flags.DEFINE_string("output", "results/share_of_exact.jsonl", "A file of JSON lines.")
    flags.DEFINE_string("pack", "", "Where to store all runs as an archive.")
    flags.DEFINE_string("stored", "", "Print the table of an archive, and play nothing.")


if __name__ == "__main__":
    define_flags()
    run_binary(main)
