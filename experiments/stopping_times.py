"""How many episodes the PAC learners need: the paper's Tables 1 and 2, beside the paper's figures, and more.

    python -m experiments.stopping_times
    python -m experiments.stopping_times --stopping_algorithms=LUCBT,MDPGapE --stopping_games=leduc --give_up_after=5000

Episodes, mean and standard error; the true gap of the worst policy that a row returned, as a share of epsilon. Runs
that would take hours are given up, and say after how many episodes and what width remained. Every run is kept as it
ends; started again, the command goes on with the runs that are missing.
"""

from absl import flags

from experiments.paper import scale_flags, stopping_flags, tables
from experiments.sweep import flags as sweep_flags

for module in (sweep_flags, scale_flags, stopping_flags):
    flags.adopt_module_key_flags(module)


def main() -> None:
    wanted, refused = stopping_flags.configurations()
    print(tables.stopping_times(sweep_flags.carry_out(wanted), refused))


if __name__ == "__main__":
    sweep_flags.run_binary(main)
