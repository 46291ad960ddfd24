"""Draws the paper's eight panels, together and each alone, as PNG and PDF, from stored results only.

    python -m experiments.plot                       # what experiments.value_gap and experiments.regret leave
    python -m experiments.plot --scale=small         # what experiments.reproduce --scale=small leaves

The flags are those of experiments.value_gap and experiments.regret, and mean the same runs.
"""

import os

import matplotlib
from absl import flags

from experiments.paper import curve_flags, figures, scale_flags
from experiments.sweep import curves, flags as sweep_flags
from experiments.sweep.names import label

for module in (sweep_flags, scale_flags, curve_flags):
    flags.adopt_module_key_flags(module)


def main() -> None:
    matplotlib.use("Agg")
    panels = curve_flags.panels()
    results = sweep_flags.stored(curve_flags.configurations(panels))
    if not results:
        raise SystemExit(f"error: none of the runs that the flags ask for is in {sweep_flags.results().directory}")
    found = [(panel, curves.of_panel(panel, results)) for panel in panels]
    for panel, present in found:
        for algorithm, asked in panel["curves"].items():
            runs = len(present[algorithm].seeds) if algorithm in present else 0
            if runs < len(asked):
                print(f"panel {panel['panel']}: {runs} of {len(asked)} runs of {label(algorithm)}")
    for path in figures.draw_all(found, os.path.join(sweep_flags.output(), "figures")):
        print(path)


if __name__ == "__main__":
    sweep_flags.run_binary(main)
