"""A paired test over seeds of whether one measure is smaller than another, and its verdict in words."""

import dataclasses
import itertools

import numpy as np

SIGNIFICANCE = 0.05
_ROUNDING = 1e-9  # smaller differences are none
_EXACT_RUNS = 16  # 2^16 sign patterns are all tried; with more runs, a sample of them
_SAMPLED_PATTERNS = 100_000


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
