"""The orderings that the paper claims, as data, and a paired test over seeds of whether one holds."""

from __future__ import annotations

import dataclasses
import itertools
import typing

import numpy as np

SIGNIFICANCE = 0.05
_ROUNDING = 1e-9  # smaller differences are none
_EXACT_RUNS = 16  # 2^16 sign patterns are all tried; with more runs, a sample of them
_SAMPLED_PATTERNS = 100_000


class StoppingClaim(typing.NamedTuple):
    """On that game, `smaller` stops after fewer episodes than `larger`."""

    claim: str
    game: str
    smaller: str
    larger: str


class CurveClaim(typing.NamedTuple):
    """In each of these panels, `smaller` has the smaller value gap or regret at the end than `larger`."""

    claim: str
    panels: str
    smaller: str
    larger: str


STOPPING_CLAIMS = (
    StoppingClaim("LUCB first on 3 cards", "kuhn", "LUCB", "LUCBT"),
    StoppingClaim("LUCB first on 3 cards", "kuhn", "LUCB", "LUCBTUniform"),
    StoppingClaim("LUCB-T-Uniform ahead of LUCB-T on 3 cards", "kuhn", "LUCBTUniform", "LUCBT"),
    StoppingClaim("the tree variants ahead on 5 cards", "kuhn5", "LUCBT", "LUCB"),
    StoppingClaim("the tree variants ahead on 5 cards", "kuhn5", "LUCBTUniform", "LUCB"),
    StoppingClaim("LUCB-T-Uniform behind LUCB-T on 5 cards", "kuhn5", "LUCBT", "LUCBTUniform"),
)
CURVE_CLAIMS = (
    *(CurveClaim("LUCB-T ahead of the PAC learners", "ab", "LUCBT", other) for other in ("BPIUCRL", "MDPGapE")),
    *(CurveClaim("LUCB-T ahead on RBT", "cd", "LUCBT", other) for other in ("UCT", "OutcomeSamplingMCCFR", "OPF")),
    CurveClaim("UCB-T ahead of all with guarantees", "efgh", "UCBT", "OutcomeSamplingMCCFR"),
    CurveClaim("UCB-T ahead of all with guarantees", "efgh", "UCBT", "OPF"),
    CurveClaim("UCT lower regret on small games", "ef", "UCT", "UCBT"),
    CurveClaim("UCB-T ahead of UCT on large games", "gh", "UCBT", "UCT"),
)
# The ratio of the final measures, larger / smaller, is greater on the second panel than on the first.
LEAD_CLAIMS = tuple(
    CurveClaim("the lead grows with the game", panels, "UCBT", other)
    for panels in ("eg", "fh")
    for other in ("OutcomeSamplingMCCFR", "OPF", "UCT")
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
    """Tests, paired by seed, whether `larger` is larger than `smaller`."""
    seeds = sorted(smaller.keys() & larger.keys())
    return judge(np.array([larger[seed] - smaller[seed] for seed in seeds]))


def compare_leads(small_game: tuple[dict, dict], large_game: tuple[dict, dict]) -> Verdict:
    """Tests whether the ratio larger / smaller is greater on the large game; each game: (smaller, larger) by seed."""
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
    """The sign-flip permutation test (Fisher): if neither is larger, both signs of every difference are equally likely.

    It returns the share of the sign patterns whose sum is at least as far from zero as the observed one. This is exact
    for few runs, and otherwise estimated from patterns drawn with a fixed seed, including the observed one.
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
