"""The orderings that the paper claims, as data, and a paired test over seeds of each."""

import dataclasses
import itertools

import numpy as np

SIGNIFICANCE = 0.05
_ROUNDING = 1e-9  # smaller differences are none
_EXACT_RUNS = 16  # 2^16 sign patterns are all tried; with more runs, a sample of them
_SAMPLED_PATTERNS = 100_000

# smaller, larger: what the paper says stops earlier, or has the smaller value gap or regret at the end.
STOPPING_CLAIMS = (
    {"claim": "LUCB first on 3 cards", "game": "kuhn", "smaller": "LUCB", "larger": "LUCBT"},
    {"claim": "LUCB first on 3 cards", "game": "kuhn", "smaller": "LUCB", "larger": "LUCBTUniform"},
    {
        "claim": "LUCB-T-Uniform ahead of LUCB-T on 3 cards",
        "game": "kuhn",
        "smaller": "LUCBTUniform",
        "larger": "LUCBT",
    },
    {"claim": "the tree variants ahead on 5 cards", "game": "kuhn5", "smaller": "LUCBT", "larger": "LUCB"},
    {"claim": "the tree variants ahead on 5 cards", "game": "kuhn5", "smaller": "LUCBTUniform", "larger": "LUCB"},
    {"claim": "LUCB-T-Uniform behind LUCB-T on 5 cards", "game": "kuhn5", "smaller": "LUCBT", "larger": "LUCBTUniform"},
)
CURVE_CLAIMS = (
    {"claim": "LUCB-T ahead of the PAC learners", "panels": "ab", "smaller": "LUCBT", "larger": "BPIUCRL"},
    {"claim": "LUCB-T ahead of the PAC learners", "panels": "ab", "smaller": "LUCBT", "larger": "MDPGapE"},
    {"claim": "LUCB-T ahead on RBT", "panels": "cd", "smaller": "LUCBT", "larger": "UCT"},
    {"claim": "LUCB-T ahead on RBT", "panels": "cd", "smaller": "LUCBT", "larger": "OutcomeSamplingMCCFR"},
    {"claim": "LUCB-T ahead on RBT", "panels": "cd", "smaller": "LUCBT", "larger": "OPF"},
    {
        "claim": "UCB-T ahead of all with guarantees",
        "panels": "efgh",
        "smaller": "UCBT",
        "larger": "OutcomeSamplingMCCFR",
    },
    {"claim": "UCB-T ahead of all with guarantees", "panels": "efgh", "smaller": "UCBT", "larger": "OPF"},
    {"claim": "UCT lower regret on small games", "panels": "ef", "smaller": "UCT", "larger": "UCBT"},
    {"claim": "UCB-T ahead of UCT on large games", "panels": "gh", "smaller": "UCBT", "larger": "UCT"},
)
# The ratio of the final measures, larger / smaller, is greater on the second panel than on the first.
LEAD_CLAIMS = (
    {"claim": "the lead grows with the game", "panels": "eg", "smaller": "UCBT", "larger": "OutcomeSamplingMCCFR"},
    {"claim": "the lead grows with the game", "panels": "eg", "smaller": "UCBT", "larger": "OPF"},
    {"claim": "the lead grows with the game", "panels": "eg", "smaller": "UCBT", "larger": "UCT"},
    {"claim": "the lead grows with the game", "panels": "fh", "smaller": "UCBT", "larger": "OutcomeSamplingMCCFR"},
    {"claim": "the lead grows with the game", "panels": "fh", "smaller": "UCBT", "larger": "OPF"},
    {"claim": "the lead grows with the game", "panels": "fh", "smaller": "UCBT", "larger": "UCT"},
)


@dataclasses.dataclass
class Verdict:
    """runs: seeds that both have; difference: mean of larger - smaller; p: two-sided, of the sign-flip test."""

    runs: int
    difference: float
    p: float

    def __str__(self) -> str:
        if not self.p <= SIGNIFICANCE:
            return f"not decided at {self.runs} runs"
        return "holds" if self.difference > 0 else "does not hold"


def compare(smaller: dict[int, float], larger: dict[int, float]) -> Verdict:
    """Paired by seed: is `larger` larger than `smaller`?"""
    seeds = sorted(smaller.keys() & larger.keys())
    return judge(np.array([larger[seed] - smaller[seed] for seed in seeds]))


def compare_leads(small_game: tuple[dict, dict], large_game: tuple[dict, dict]) -> Verdict:
    """Is the ratio larger / smaller greater on the large game? Each game: (smaller, larger), values by seed."""
    seeds = sorted(set.intersection(*(set(each) for each in (*small_game, *large_game))))
    leads = [
        np.log([larger[seed] for seed in seeds]) - np.log([smaller[seed] for seed in seeds])
        for smaller, larger in (small_game, large_game)
    ]
    return judge(leads[1] - leads[0])


def judge(differences: np.ndarray) -> Verdict:
    differences = np.where(np.abs(differences) < _ROUNDING, 0.0, differences)
    runs = len(differences)
    return Verdict(runs, float(differences.mean()) if runs else np.nan, sign_flip_p(differences))


def sign_flip_p(differences: np.ndarray) -> float:
    """The sign-flip permutation test (Fisher): if neither were larger, every sign of every difference is as likely.

    The share of the sign patterns with a sum at least as far from zero as the one seen; exact for few runs, else
    estimated from patterns drawn with a fixed seed, the one seen among them.
    """
    runs = len(differences)
    if runs <= _EXACT_RUNS:
        patterns = np.array(list(itertools.product((-1, 1), repeat=runs))).reshape(2**runs, runs)
    else:
        patterns = np.random.default_rng(0).choice((-1, 1), (_SAMPLED_PATTERNS, runs))
        patterns[0] = 1
    sums = np.abs(patterns @ differences)
    seen = abs(differences.sum())
    return float(np.mean(sums >= seen * (1 - 1e-12)))
