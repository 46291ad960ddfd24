"""Panels e to h of the paper's figure: the regret on Leduc poker and RBT, in exact expectation.

    python -m experiments.regret --games=leduc
    python -m experiments.regret --scheduler=tcp://localhost:8786

Every run is kept as it ends, and holds the value gap as well: experiments.value_gap finds the runs that it shares.
Started again, the command goes on with the runs that are missing. experiments.plot draws what is stored. Every
hyper-parameter is a flag as well, such as --UCBT_c=0.5; they are listed by --helpfull.
"""

from absl import flags

from experiments.paper import curve_flags, scale_flags, tables
from experiments.sweep import flags as sweep_flags

for module in (sweep_flags, scale_flags, curve_flags):
    flags.adopt_module_key_flags(module)


def main() -> None:
    panels = curve_flags.panels("regret")
    results = sweep_flags.carry_out(curve_flags.configurations(panels))
    print(tables.final_measures("regret", panels, results))


if __name__ == "__main__":
    sweep_flags.run_binary(main)
