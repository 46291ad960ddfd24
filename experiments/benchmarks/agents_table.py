r"""The exact exploitability of small trained agents, recomputed from their files.

  python -m experiments.benchmarks.agents_table
  python -m experiments.benchmarks.agents_table --rows_of=phantom_ttt

A row is one line in ROWS of agent_rows.py, and for a network a file in experiments/benchmarks/agents: float16 layers of
both players, weight_{player}_{layer} and bias_{player}_{layer}, with ReLU between them. The networks were trained by
OpenSpiel's own algorithms in self-play for one minute of processor time, so they are weak.
"""

from __future__ import annotations

from absl import app, flags

from experiments.benchmarks.agent_rows import FOLDER, ROWS, Network, Row, tables
from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.trees import sequence_form

_GAMES = flags.DEFINE_string("rows_of", "", "Only these games, with semicolons between them; all of them if empty.")


def report(row: Row) -> None:
    """Prints a line of the table."""
    form = exact_form(row.game)
    found = sequence_form.exploitability(form, tables(form, row))
    trained = f", {Network(FOLDER / row.agent, 0).episodes:,} episodes" if row.agent.endswith(".npz") else ""
    first, second = found.best_responses
    print(
        f"| `{row.game}` | {row.agent}{trained} | {first:.6f} | {second:.6f} | {found.values[0]:.6f} | "
        f"{found.exploitability:.6f} |",
        flush=True,
    )


def main(_) -> None:
    games = [game for game in _GAMES.value.split(";") if game]
    unknown = set(games) - {row.game for row in ROWS}
    if unknown:
        raise app.UsageError(f"no rows of {', '.join(sorted(unknown))}; there are {', '.join({r.game for r in ROWS})}")
    print("| game | agent | best response of player 0 | of player 1 | value of player 0 | exploitability |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for row in ROWS:
        if not games or row.game in games:
            report(row)


if __name__ == "__main__":
    app.run(main)
