"""The paper's experiments in one command: stopping times, value gap and regret, all tables and figures.

    python -m experiments.reproduce --scale=small
    python -m experiments.reproduce --only=stopping_times               # Tables 1 and 2
    python -m experiments.reproduce --only=value_gap --games=leduc      # panels a to d of the figure
    python -m experiments.reproduce --only=regret --set UCBT.c=0.5      # panels e to h
    python -m experiments.reproduce --stored                            # tables and figures of what is stored

Writes runs/, figures/ and tables.md to --output; with --only, tables and figure are named after the parts. The tables
show the paper's figures and ours, and whether each ordering that the paper claims holds with our number of runs
(two-sided sign-flip permutation test on the differences of runs with the same seed, p <= 0.05). Stopping times are
means and standard errors of episodes, with the largest true gap of a returned policy as a share of epsilon. Runs that
would take hours are given up; the table shows after how many episodes, and the remaining width.

A run measures value gap and regret, so the parts share runs. If the command is interrupted and started again, it
continues with the missing runs. --pack saves the runs in one small file, which --archive reads.
"""

import os
import time

import matplotlib
from absl import flags

from experiments.paper import figures, flags as paper_flags, tables
from experiments.sweep import curves, flags as sweep_flags, set_flag
from experiments.sweep.binary import run_binary
from experiments.sweep.result import Measure
from tmdp_spiel.core import storage

PARTS = ("stopping_times", "value_gap", "regret")
_MEASURES: dict[Measure, str] = {"value_gap": "Value gap at the end", "regret": "Regret at the end"}
_ONLY = sweep_flags.define_choice("only", PARTS, "Parts of the paper")
_FIGURES = flags.DEFINE_bool("figures", True, "Draw the panels of the figure.")
for module in (sweep_flags, paper_flags, set_flag):
    flags.adopt_module_key_flags(module)


def main() -> None:
    matplotlib.use("Agg")
    start = time.perf_counter()
    parts = [part for part in PARTS if part in _ONLY.value]
    suffix = "" if len(parts) == len(PARTS) else "_" + "_".join(parts)
    panels = paper_flags.panels({measure for measure in _MEASURES if measure in parts})
    stopping, refused = paper_flags.stopping() if "stopping_times" in parts else ([], [])
    results = sweep_flags.carry_out([*stopping, *paper_flags.configurations(panels)])
    stopped, limits, learned = (
        [each for each in results if each.configuration.experiment == kind]
        for kind in ("stopping", "limit", "learning")
    )
    sections = {}
    if "stopping_times" in parts:
        sections["Episodes until it stops"] = tables.stopping_times([*stopped, *limits], refused)
    for measure, title in _MEASURES.items():
        if measure in parts:
            sections[title] = tables.final_measures(measure, panels, learned)
    sections["The paper's orderings"] = tables.claims(stopped, panels, learned)
    sections["Time"] = tables.times(results)
    text = "\n\n".join(f"## {title}\n\n{table}" for title, table in sections.items()) + "\n"
    print(text, flush=True)
    path = os.path.join(sweep_flags.output(), f"tables{suffix}.md")
    with storage.replacing(path) as file:
        file.write(text)
    if panels and _FIGURES.value:
        found = [(each.panel, curves.of_runs(each.panel.measure, each.runs, learned)) for each in panels]
        for drawn in figures.draw_all(found, os.path.join(sweep_flags.output(), "figures"), f"panels{suffix}"):
            print(drawn)
    print(f"{path} after {(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    run_binary(main)
