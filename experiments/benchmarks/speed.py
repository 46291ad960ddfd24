r"""How fast everything is: the tables of docs/lab/benchmarks.md, docs/lab/exact_games.md and docs/lab/large_games.md.

    python -m experiments.benchmarks.speed --only=open_spiel      # beside OpenSpiel and LiteEFG, as ratios
    python -m experiments.benchmarks.speed --only=episodes        # an episode of every learner, up to RBT; a chart
    python -m experiments.benchmarks.speed --only=exact           # exact exploitability in large games
    python -m experiments.benchmarks.speed --only=live,parallel   # play through pyspiel, and with slow opponents

Everything is timed on this machine; kernels are compiled first. --small tries it out on small games.
"""

import pathlib
import types

from absl import flags

from experiments.benchmarks import episode_cost, exact_games, live_play, open_spiel, parallel
from experiments.sweep import flags as sweep_flags
from experiments.sweep.binary import run_binary

PARTS: dict[str, types.ModuleType] = {
    "open_spiel": open_spiel,
    "episodes": episode_cost,
    "exact": exact_games,
    "live": live_play,
    "parallel": parallel,
}
_ONLY = sweep_flags.define_choice("only", tuple(PARTS), "Parts")
_GAMES = flags.DEFINE_string(
    "games", None, "Game strings, with semicolons between them; those of the part if not given."
)
_SMALL = flags.DEFINE_bool("small", False, "Small games and few repetitions, to try it out.")
flags.declare_key_flag("output")


def main() -> None:
    for part in map(PARTS.__getitem__, _ONLY.value):
        games = part.SMALL_GAMES if _SMALL.value else part.GAMES
        if _GAMES.value is not None:
            games = _GAMES.value.split(";")
        part.report(games, _SMALL.value, pathlib.Path(sweep_flags.output()))


if __name__ == "__main__":
    run_binary(main)
