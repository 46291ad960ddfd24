"""Packs the runs of a store into one small file, which every command with runs reads by --archive.

    python -m experiments.archive --output=results --pack=docs/runs/stopping.jsonl.xz
    python -m experiments.stopping_times --archive=docs/runs/stopping.jsonl.xz

With --archive as well, the runs of other archives are packed together with those of the store. --experiment=learning
or --experiment=stopping packs those alone.
"""

import os

from absl import flags

from experiments.sweep import archive, flags as sweep_flags

flags.adopt_module_key_flags(sweep_flags)
_PACK = flags.DEFINE_string("pack", None, "The file to write.", required=True)
_EXPERIMENT = flags.DEFINE_string("experiment", None, "Which runs: learning, stopping, ...; all if not given.")


def main() -> None:
    found = sweep_flags.results().all()
    wanted = [each for each in found if _EXPERIMENT.value in (None, each["configuration"]["experiment"])]
    if not wanted:
        raise ValueError(f"there are no such runs in {sweep_flags.results().directory}")
    number = archive.pack(wanted, _PACK.value)
    print(f"{number} runs in {_PACK.value}, {os.path.getsize(_PACK.value):,} bytes")


if __name__ == "__main__":
    sweep_flags.run_binary(main)
