r"""Kills, flipped bits, invalid calls, long use, certificates of live opponents: tables for docs/lab/reliability.md.

    python -m experiments.stress.run_all
    python -m experiments.stress.run_all --kills=8 --flips=20 --minutes=0.2 --parts=kills,flips

All random choices depend on --seed. The exit code is 1 if any test fails.
"""

import pathlib
import sys
import tempfile

import numpy as np
from absl import app, flags

from experiments.stress import bad_input, bit_flips, crash_recovery, live_coverage, soak
from experiments.sweep.binary import run_binary

PARTS = ("kills", "flips", "calls", "use", "live")
_PARTS = flags.DEFINE_list("parts", list(PARTS), f"Any of {', '.join(PARTS)}.")
_KILLS = flags.DEFINE_integer("kills", 100, "The total number of SIGKILLs, divided among the targets.", lower_bound=4)
_FLIPS = flags.DEFINE_integer("flips", 200, "Flipped bits for each format.", lower_bound=1)
_MINUTES = flags.DEFINE_float("minutes", 10.0, "Minutes of the soak test.", lower_bound=0.0)
_RUNS = flags.DEFINE_integer("runs", 20, "Runs of each kind of live opponent.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", 0.05, "The delta of their certificates.")
_SEED = flags.DEFINE_integer("seed", 0, "The seed of all random choices.", lower_bound=0)
_FOLDER = flags.DEFINE_string("folder", None, "The working folder; a temporary one if not given.")
_OUTPUT = flags.DEFINE_string("output", None, "Where to write the table, which is also printed.")


def kill_table(folder: pathlib.Path, number: int, rng: np.random.Generator) -> tuple[list[str], bool]:
    """SIGKILLs of every target in turn."""
    lines = ["| killed while at work | SIGKILLs | result | temporaries left |", "| --- | ---: | --- | ---: |"]
    fine, targets = True, crash_recovery.targets(size=1 if number < 20 else 3)
    for target in targets:
        found = crash_recovery.survive(target, folder / target.name.replace(" ", "_"), number // len(targets), rng)
        verdict = "identical" if found.same else "**another**"
        lines.append(f"| {found.name} | {found.kills} | {verdict} | {found.left_behind} |")
        print(lines[-1], flush=True)
        fine = fine and found.survived
    return lines, fine


def flip_table(number: int, seed: int) -> tuple[list[str], bool]:
    """Flipped bits in every format."""
    lines = [
        "| format | flips | refused | read without a change | read as something else | another error | crashed |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    fine = True
    for name in bit_flips.FORMATS:
        found = bit_flips.flip_apart(name, number, seed)
        counts = [found.get(each, 0) for each in ("refused", "the same", "silent", "another error", "crashed")]
        lines.append(f"| {name} | {number} | {' | '.join(map(str, counts))} |")
        print(lines[-1], flush=True)
        fine = fine and sum(counts[2:]) == 0
    return lines, fine


def call_table() -> tuple[list[str], bool]:
    """Invalid calls of the library and of the commands, and those without a clear error."""
    calls = [*bad_input.library_calls(), *bad_input.command_calls()]
    answers = [(call, *bad_input.answer(call)) for call in calls]
    wrong = [(call, kind, error) for call, kind, error in answers if kind != "clear"]
    lines = [f"{len(answers)} invalid calls, {len(answers) - len(wrong)} with an error that says what would be right."]
    lines += [f"- {kind}: `{call.text}`: {error[:100]}" for call, kind, error in wrong]
    print("\n".join(lines), flush=True)
    return lines, not wrong


def use_table(folder: pathlib.Path, minutes: float, seed: int) -> tuple[list[str], bool]:
    """Memory and open files over a while of mixed use."""
    held = soak.use(folder, 60 * minutes, seed)
    lines = ["| after | uses | resident memory | open files |", "| ---: | ---: | ---: | ---: |"]
    lines += [f"| {each.seconds:.0f} s | {each.rounds:,} | {each.megabytes:.0f} MB | {each.files} |" for each in held]
    print("\n".join(lines), flush=True)
    return lines, held[-1].files <= held[0].files and held[-1].megabytes <= 1.05 * held[0].megabytes + 20


def main() -> None:
    unknown = [part for part in _PARTS.value if part not in PARTS]
    if unknown or not _PARTS.value:
        raise app.UsageError(f"--parts: any of {', '.join(PARTS)}, not {unknown or 'none'}")
    pieces, fine = [], True
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(_FOLDER.value or temporary)
        tables = {
            "kills": ("SIGKILLs", lambda: kill_table(folder, _KILLS.value, np.random.default_rng(_SEED.value))),
            "flips": ("Flipped bits", lambda: flip_table(_FLIPS.value, _SEED.value)),
            "calls": ("Invalid calls", call_table),
            "use": ("Mixed use", lambda: use_table(folder, _MINUTES.value, _SEED.value)),
            "live": (
                "Certificates of live opponents",
                lambda: live_coverage.error_table(_RUNS.value, _DELTA.value, _SEED.value),
            ),
        }
        for part in _PARTS.value:
            title, table = tables[part]
            print(f"\n### {title}\n", flush=True)
            lines, survived = table()
            pieces += [f"### {title}", "", *lines, ""]
            fine = fine and survived
    if _OUTPUT.value is not None:
        pathlib.Path(_OUTPUT.value).write_text("\n".join(pieces), encoding="utf-8")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    run_binary(main)
