r"""Kills, flipped bits and long use: tables for docs/lab/reliability.md.

    python -m experiments.stress.run_all
    python -m experiments.stress.run_all --kills=8 --flips=20 --minutes=0.2 --parts=kills,flips

All random choices depend on --seed. The exit code is 1 if any test fails.
"""

import pathlib
import sys
import tempfile

import numpy as np
from absl import flags

from experiments.stress import bit_flips, crash_recovery, soak
from experiments.sweep import flags as sweep_flags
from experiments.sweep.binary import run_binary

PARTS = ("kills", "flips", "use")
_PARTS = sweep_flags.define_choice("parts", PARTS, "Parts")
_KILLS = flags.DEFINE_integer("kills", 100, "The total number of SIGKILLs, divided among the targets.", lower_bound=4)
_FLIPS = flags.DEFINE_integer("flips", 200, "Flipped bits for each format.", lower_bound=1)
_MINUTES = flags.DEFINE_float("minutes", 10.0, "Minutes of the soak test.", lower_bound=0.0)
_SEED = flags.DEFINE_integer("seed", 0, "The seed of all random choices.", lower_bound=0)
_FOLDER = flags.DEFINE_string("folder", None, "The working folder; a temporary one if not given.")


def show(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def kill_table(folder: pathlib.Path, number: int, rng: np.random.Generator) -> bool:
    """SIGKILLs of every target in turn."""
    show("killed while at work", "SIGKILLs", "result", "temporaries left")
    show("---", "---:", "---", "---:")
    fine, targets = True, crash_recovery.targets(size=1 if number < 20 else 3)
    for target in targets:
        found = crash_recovery.survive(target, folder / target.name.replace(" ", "_"), number // len(targets), rng)
        show(found.name, found.kills, "identical" if found.same else "**another**", found.left_behind)
        fine = fine and found.survived
    return fine


def flip_table(number: int, seed: int) -> bool:
    """Flipped bits in every format."""
    show("format", "flips", "refused", "read without a change", "read as something else", "another error", "crashed")
    show("---", *["---:"] * 6)
    fine = True
    for name in bit_flips.FORMATS:
        found = bit_flips.flip_apart(name, number, seed)
        counts = [found.get(each, 0) for each in ("refused", "the same", "silent", "another error", "crashed")]
        show(name, number, *counts)
        fine = fine and sum(counts[2:]) == 0
    return fine


def use_table(folder: pathlib.Path, minutes: float, seed: int) -> bool:
    """Memory and open files over a while of mixed use."""
    held = soak.use(folder, 60 * minutes, seed)
    show("after", "uses", "resident memory", "open files")
    show(*["---:"] * 4)
    for each in held:
        show(f"{each.seconds:.0f} s", f"{each.rounds:,}", f"{each.megabytes:.0f} MB", each.files)
    return held[-1].files <= held[0].files and held[-1].megabytes <= 1.05 * held[0].megabytes + 20


def main() -> None:
    fine = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(_FOLDER.value or temporary)
        tables = {
            "kills": lambda: kill_table(folder, _KILLS.value, np.random.default_rng(_SEED.value)),
            "flips": lambda: flip_table(_FLIPS.value, _SEED.value),
            "use": lambda: use_table(folder, _MINUTES.value, _SEED.value),
        }
        for part in _PARTS.value:
            print(f"\n### {part}\n", flush=True)
            fine = tables[part]() and fine
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    run_binary(main)
