r"""How often bounds fail, how wide they are, and how often drift is detected: tables for docs/lab.

    python -m experiments.research.error_rates --only=theorem_1        # the bounds of Theorem 1
    python -m experiments.research.error_rates --only=identification   # answers within epsilon of the best
    python -m experiments.research.error_rates --only=exploit          # both sides of the certificate of ts.exploit
    python -m experiments.research.error_rates --only=certificates     # the sharper certificates
    python -m experiments.research.error_rates --only=live --runs=6    # live opponents, in parallel and resumed
    python -m experiments.research.error_rates --only=drift            # opponents that change
    python -m experiments.research.error_rates --only=widths           # how wide intervals are

Every part has its own number of runs and episodes, and its own delta; together they take hours.
"""

from collections.abc import Callable

from absl import flags

from experiments.research import certificates, drift, identification, live, theorem_1, widths
from experiments.research.options import Options
from experiments.sweep import flags as sweep_flags
from experiments.sweep.binary import run_binary

PARTS: dict[str, Callable[[Options], None]] = {
    "theorem_1": theorem_1.report,
    "identification": identification.report,
    "exploit": identification.report_exploit,
    "certificates": certificates.report,
    "live": live.report,
    "drift": drift.report,
    "widths": widths.report,
}
_ONLY = sweep_flags.define_choice("only", tuple(PARTS), "Parts")
_RUNS = flags.DEFINE_integer("runs", None, "Runs of each row; those of the part if not given.", lower_bound=1)
_EPISODES = flags.DEFINE_integer("episodes", None, "Episodes of each run; as above.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", None, "The promised probability of an error; as above.", 0.0, 1.0)
_ROWS = flags.DEFINE_multi_string("rows", None, "Rows whose names begin like this; may be given several times.")


def main() -> None:
    options = Options(_RUNS.value, _EPISODES.value, _DELTA.value, _ROWS.value)
    for part in _ONLY.value:
        print(f"\n### {part}\n", flush=True)
        PARTS[part](options)


if __name__ == "__main__":
    run_binary(main)
