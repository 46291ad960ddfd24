"""The paired test and its verdicts, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from experiments.paper import claims, settings


def by_seed(values):
    return dict(enumerate(values))


@pytest.mark.parametrize("runs", [2, 5, 9, 12])
def test_p_is_that_of_scipys_exact_permutation_test(runs):
    differences = np.random.default_rng(runs).normal(0.5, 1.0, runs)
    expected = stats.permutation_test(
        (differences,), lambda x, axis: np.sum(x, axis), permutation_type="samples", n_resamples=np.inf
    )
    assert claims.sign_flip_p(differences) == pytest.approx(expected.pvalue, abs=1e-12)


def test_p_by_hand_and_of_no_runs():
    assert claims.sign_flip_p(np.array([1.0, 2.0, 3.0])) == 2 / 8
    assert claims.sign_flip_p(np.array([1.0, -1.0])) == 1.0
    assert claims.sign_flip_p(np.zeros(4)) == 1.0
    assert claims.sign_flip_p(np.array([])) == 1.0


def test_with_many_runs_the_sampled_p_is_near_that_of_the_t_test():
    differences = np.random.default_rng(0).normal(0.25, 1.0, 50)
    assert claims.sign_flip_p(differences) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.01)


def test_verdicts():
    low, high = by_seed(range(6)), by_seed(range(10, 16))
    assert str(claims.compare(low, high)) == "holds"
    assert str(claims.compare(high, low)) == "does not hold"
    assert str(claims.compare(low, low)) == "not decided at 6 runs"
    few = {seed: high[seed] for seed in (0, 1, 2)}
    assert str(claims.compare(low, few)) == "not decided at 3 runs", "only the seeds that both have"
    nearly = {seed: value + 1e-15 * (seed + 1) for seed, value in low.items()}
    assert str(claims.compare(low, nearly)) == "not decided at 6 runs", "rounding is not a difference"
    assert str(claims.compare(low, {})) == "not decided at 0 runs"


def test_a_test_at_level_0_05_is_wrong_at_most_that_often():
    rng = np.random.default_rng(1)
    rejected = [claims.sign_flip_p(rng.normal(0, 1, 8)) <= 0.05 for _ in range(1000)]
    assert np.mean(rejected) < 0.07


def test_leads_are_ratios():
    ours, theirs = by_seed([1.0] * 6), by_seed([2.0] * 6)
    far = by_seed([3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    assert str(claims.compare_leads((ours, theirs), (ours, far))) == "holds"
    assert str(claims.compare_leads((ours, far), (ours, theirs))) == "does not hold"
    scaled = tuple({seed: 10 * value for seed, value in each.items()} for each in (ours, theirs))
    assert claims.compare_leads((ours, theirs), scaled).p == 1.0


def test_claims_are_about_what_the_panels_show():
    panels = {panel.letter: panel for panel in settings.PANELS}
    assert "".join(panels) == "abcdefgh"
    for claim in (*claims.CURVE_CLAIMS, *claims.LEAD_CLAIMS):
        for letter in claim.panels:
            assert {claim.smaller, claim.larger} <= set(panels[letter].algorithms)
    for claim in claims.STOPPING_CLAIMS:
        assert {claim.smaller, claim.larger} <= set(settings.STOPPING_ALGORITHMS)
        assert claim.game in settings.STOPPING_GAMES
