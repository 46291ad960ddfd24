r"""Solves Reconnaissance Blind Tic-Tac-Toe by CFR and writes its equilibrium; or re-checks one that was written.

python -m experiments.solve_rbt                     # 200 iterations; writes results/rbt_equilibrium.bin
python -m experiments.solve_rbt --iterations=910 --block=65 --pruned=60   # solved like the included one
python -m experiments.solve_rbt --resume            # resumes after an interruption, to the same numbers
python -m experiments.solve_rbt --check             # measures the exploitability of the included equilibrium again
"""

import math
import pathlib
import time

import numba
from absl import app, flags

from experiments.sweep.binary import run_binary
from tmdp_spiel.core import storage
from tmdp_spiel.games.rbt import policy_file, solving
from tmdp_spiel.games.rbt.game import SHORT_NAME
from tmdp_spiel.openspiel.exact_games import exact_form, run_solver
from tmdp_spiel.openspiel.games import load_game
from tmdp_spiel.planning.cfr import VARIANTS

_ITERATIONS = flags.DEFINE_integer(
    "iterations", 200, "iterations of CFR in all, those of a resumed run included", lower_bound=1
)
_VARIANT = flags.DEFINE_enum("variant", "cfr+", list(VARIANTS), "variant of CFR")
_TARGET = flags.DEFINE_float("target", 0.0, "stop as soon as the exploitability of the average is at most this")
_OUTPUT = flags.DEFINE_string("output", "results/rbt_equilibrium.bin", "file for the pruned policy")
_CHECKPOINT = flags.DEFINE_string("checkpoint", "results/rbt_checkpoint.npz", "file for checkpoints of the solver")
_RESUME = flags.DEFINE_bool("resume", False, "continue from the checkpoint")
_CHECKPOINT_SECONDS = flags.DEFINE_float("checkpoint_seconds", 120, "time between checkpoints", lower_bound=0)
_GAME = flags.DEFINE_string("game", "python_rbt", "the game with its parameters, such as python_rbt(forced_wins=False)")
_MIX = flags.DEFINE_bool(
    "mix", True, "mix the averages of the blocks of iterations to be exploited least; else CFR's own average"
)
_BLOCK = flags.DEFINE_integer("block", 10, "iterations in a block", lower_bound=1)
_PRUNED = flags.DEFINE_integer(
    "pruned", 0, "iterations of a block that visit only the sequences played lately, which is fast", lower_bound=0
)
_LEAST_PROBABILITY = flags.DEFINE_float("least_probability", solving.LEAST_PROBABILITY, "rarer actions are pruned")
_LEAST_REACH = flags.DEFINE_float("least_reach", solving.LEAST_REACH, "sequences played more rarely are pruned")
_THREADS = flags.DEFINE_integer("threads", None, "threads to use; the result does not depend on it", lower_bound=1)
_CHECK = flags.DEFINE_bool("check", False, "measure an existing policy instead of solving")
_POLICY = flags.DEFINE_string("policy", str(policy_file.SHIPPED), "with --check, the file; by default the included one")
_WORST = flags.DEFINE_float("worst", 0.001, "with --check, the largest exploitability that is accepted")


def main() -> None:
    if not math.isfinite(_TARGET.value):
        raise app.UsageError(f"--target must be a number, not {_TARGET.value}")
    if _THREADS.value:
        numba.set_num_threads(_THREADS.value)
    if _CHECK.value:
        check(_POLICY.value)
    else:
        solve()


def solve():
    checkpoint = pathlib.Path(_CHECKPOINT.value)
    if checkpoint.exists() and not _RESUME.value:
        raise app.UsageError(f"{checkpoint} exists: pass --resume to continue from it, or delete it to start over")
    game = load_game(_GAME.value)
    if game.get_type().short_name != SHORT_NAME:
        raise ValueError(f"--game={_GAME.value} is not {SHORT_NAME}, with or without parameters, which is solved here")
    form = exact_form(game)
    for mark, tree in zip("xo", form.trees):
        print(f"{mark}: {tree.num_states:,} states, {tree.num_sequences:,} sequences", flush=True)
    with storage.locked(checkpoint):
        solver = run_solver(
            form,
            _ITERATIONS.value,
            variant=_VARIANT.value,
            block=_BLOCK.value if _MIX.value or _PRUNED.value else None,
            pruned=_PRUNED.value,
            target=_TARGET.value / form.trees[0].utility_range,
            checkpoint=checkpoint,
            checkpoint_seconds=_CHECKPOINT_SECONDS.value,
            report=PrintedLines(),
        )
    tables = mixed(solver) if _MIX.value else [solver.average_policy(player) for player in (0, 1)]
    policy = solving.pruned_policy(
        game,
        tables,
        least_probability=_LEAST_PROBABILITY.value,
        least_reach=_LEAST_REACH.value,
        iterations=solver.iteration,
        variant=solver.variant,
    )
    policy_file.write(_OUTPUT.value, policy)
    size = pathlib.Path(_OUTPUT.value).stat().st_size
    print(f"wrote {_OUTPUT.value}: {size / 1e6:.2f} MB, exploitability {policy.exploitability:.6f} after pruning")


def mixed(solver):
    tables, losses = solver.mixed_policies(report=show_mixing)
    print(f"mixture of {len(solver.block_reaches(0))} blocks: {describe(losses[::-1])}", flush=True)
    return tables


def show_mixing(player, responses, mixture):
    print(
        f"mixing {'xo'[player]}: after {responses} best responses it loses {mixture.loss:.6f}; no mixture less than "
        f"{mixture.bound:.6f}",
        flush=True,
    )


class PrintedLines:
    """Prints a line per measurement."""

    def __init__(self):
        self._time, self._iteration = time.process_time(), None

    def __call__(self, iteration, found):
        now = time.process_time()
        speed = (
            f", {(now - self._time) / (iteration - self._iteration):.2f} s of processor time an iteration"
            if self._iteration
            else ""
        )
        self._time, self._iteration = now, iteration
        print(f"iteration {iteration}: {describe(found.best_responses)}{speed}", flush=True)


def describe(values):
    return f"exploitability {sum(values) / 2:.6f}, the value for x lies between {-values[1]:.6f} and {values[0]:.6f}"


def check(path):
    policy = policy_file.read(path)
    values = solving.best_response_values(policy.game, policy)
    measured, recorded = sum(values) / 2, policy.exploitability
    print(f"{path}: {describe(values)}; recorded {recorded:.6f}")
    if abs(measured - recorded) > 1e-9:
        raise SystemExit("the recorded exploitability differs from the measured one")
    if measured > _WORST.value:
        raise SystemExit(f"the exploitability exceeds {_WORST.value}")


if __name__ == "__main__":
    run_binary(main)
