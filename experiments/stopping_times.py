"""How many episodes the PAC learners need: the paper's Tables 1 and 2, beside the paper's figures, and more.

    python -m experiments.stopping_times --runs=10 --unions=tight,paper
    python -m experiments.stopping_times --stopping_algorithms=LUCBT,MDPGapE --stopping_games=leduc --give_up_after=5000

Millions of episodes, mean and standard error; the true gap of the worst policy that a row returned, as a share of
epsilon. Every run is kept as it ends; started again, the command goes on with the runs that are missing.
"""

from absl import flags

from experiments.paper import scale_flags, stopping_flags, tables
from experiments.sweep import flags as sweep_flags

for module in (sweep_flags, scale_flags, stopping_flags):
    flags.adopt_module_key_flags(module)


def main() -> None:
    results = sweep_flags.carry_out(stopping_flags.configurations())
    print(tables.stopping_times(results))


if __name__ == "__main__":
    sweep_flags.run_binary(main)
