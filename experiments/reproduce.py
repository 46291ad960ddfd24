"""The paper's experiments in one command: stopping times, value gap and regret, all tables and figures.

    python -m experiments.reproduce --scale=small

Leaves runs/, figures/ and tables.md in --output. Tables: the paper's figures beside ours, and for each ordering that
the paper claims whether it holds at our number of runs (sign-flip permutation test on the differences of the runs with
the same seed, two-sided, p <= 0.05). Interrupted and started again, it goes on with the runs that are missing. Every
hyper-parameter of the learning curves is a flag as well, such as --UCBT_c=0.5; they are listed by --helpfull.
"""

import os
import time

import matplotlib
from absl import flags

from experiments.paper import curve_flags, figures, scale_flags, stopping_flags, tables
from experiments.sweep import curves, flags as sweep_flags
from tmdp_spiel.trees import storage

for module in (sweep_flags, scale_flags, curve_flags, stopping_flags):
    flags.adopt_module_key_flags(module)


def main() -> None:
    matplotlib.use("Agg")
    start = time.perf_counter()
    panels, (stopping, refused) = curve_flags.panels(), stopping_flags.configurations()
    results = sweep_flags.carry_out([*stopping, *curve_flags.configurations(panels)])
    stopped, limits, learned = (
        [each for each in results if each["configuration"]["experiment"] == kind]
        for kind in ("stopping", "limit", "learning")
    )
    sections = {
        "Episodes until it stops": tables.stopping_times([*stopped, *limits], refused),
        "Value gap at the end": tables.final_measures("value_gap", panels, learned),
        "Regret at the end": tables.final_measures("regret", panels, learned),
        "The paper's orderings": tables.claims(stopped, panels, learned),
        "Time": tables.times(results),
    }
    text = "\n\n".join(f"## {title}\n\n{table}" for title, table in sections.items()) + "\n"
    path = os.path.join(sweep_flags.output(), "tables.md")
    with storage.replacing(path) as file:
        file.write(text)
    figures.draw_all(
        [(panel, curves.of_panel(panel, learned)) for panel in panels], os.path.join(sweep_flags.output(), "figures")
    )
    print(text)
    print(f"{path} and {sweep_flags.output()}/figures after {(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    sweep_flags.run_binary(main)
