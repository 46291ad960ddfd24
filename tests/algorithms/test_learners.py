"""What is asked of every learner."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.learners import LEARNERS, check_pickling, check_steps, ends_at_once, make
from tmdp_spiel.evaluation.evaluator import Evaluator

# Episodes on Leduc, and the value gap to be below after them. At the start it is about 1.
LEDUC = {
    "UCBT": (300_000, 0.05),
    "UCT": (1_000_000, 0.02),
    "ThompsonTree": (200_000, 0.03),
    "OutcomeSamplingMCCFR": (2_000_000, 0.03),
    "OPF": (4_000_000, 0.05),
    "BPIUCRL": (1_000_000, 0.03),
    "BettingUCRL": (300_000, 0.03),
    "MDPGapE": (300_000, 0.05),
    "MVP": (1_000_000, 0.05),
    "StrongEuler": (1_000_000, 0.05),
    "EULER": (1_000_000, 0.03),
    "UCBVI-BF": (1_000_000, 0.03),
    "AMB": (1_000_000, 0.02),
    "PSRL": (30_000, 0.05),
    "PSRL, lazy": (30_000, 0.05),
}

# They certify, and refuse episodes of another environment.
ONE_OPPONENT_ONLY = ("BettingOnDifferences", "CertifiedUCRL")


@pytest.mark.parametrize("name", LEARNERS)
def test_stepping_by_hand_and_the_compiled_loop_agree(name, mdp_of):
    check_steps(lambda tree, seed: make(name, tree, seed), mdp_of("kuhn", 0), 300)
    check_steps(lambda tree, seed: make(name, tree, seed), ends_at_once(), 200)
    if name != "LUCB":
        check_steps(lambda tree, seed: make(name, tree, seed), mdp_of("leduc", 1), 100)


@pytest.mark.parametrize("name", LEARNERS)
def test_stepping_by_hand_and_the_compiled_loop_agree_on_any_tree(name):
    for seed in range(8):
        mdp = brute_force.random_mdp(np.random.default_rng(seed), impossible_chance=0.2)
        check_steps(lambda tree, seed: make(name, tree, seed), mdp, 150, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_the_value_gap_is_exact_wherever_it_is_measured(name, mdp_of):
    """However the value of the recommendation is kept, against the whole plan; compiled and by hand in turn."""
    trees = [brute_force.random_mdp(np.random.default_rng(5), impossible_chance=0.2), ends_at_once(), mdp_of("kuhn", 1)]
    if name != "LUCB":
        trees.append(mdp_of("leduc", 0))
    for mdp in trees:
        learner, rng = make(name, mdp.tree, 2), np.random.default_rng(2)
        evaluator = Evaluator(learner, mdp)
        for pieces in range(12):
            evaluator.play(rng, 2**pieces)
            assert evaluator.recommended_value() == pytest.approx(mdp.value(learner.recommend()), abs=1e-9)
            if not learner.stopped:
                learner.learn(*mdp.sample(learner.plan(), rng))
            assert evaluator.recommended_value() == pytest.approx(mdp.value(learner.recommend()), abs=1e-9)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ONE_OPPONENT_ONLY])
def test_a_recommendation_is_measured_against_the_environment_that_is_asked_for(name):
    one = brute_force.random_mdp(np.random.default_rng(6))
    other = ts.TreeMDP(one.tree, one.reach, one.first_outcome, 1.0 - one.outcome_return, one.outcome_probability)
    learner, rng = make(name, one.tree), np.random.default_rng(0)
    evaluators = {mdp: Evaluator(learner, mdp) for mdp in (one, other)}
    for mdp in (one, other, one):
        evaluators[mdp].play(rng, 50)
        for asked, evaluator in evaluators.items():
            assert evaluator.recommended_value() == pytest.approx(asked.value(learner.recommend()), abs=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_resumes_identically_after_pickling(name, mdp_of):
    check_pickling(lambda tree, seed: make(name, tree, seed), mdp_of("kuhn", 1), 400)


@pytest.mark.parametrize("name", LEARNERS)
def test_seeds_matter_and_determine(name, mdp_of):
    mdp = mdp_of("kuhn", 0)
    first, again, other = (make(name, mdp.tree, seed) for seed in (1, 1, 2))
    regrets = [ts.run(learner, mdp, 2000, progress=False).regret for learner in (first, again, other)]
    np.testing.assert_array_equal(regrets[0], regrets[1])
    assert not np.array_equal(regrets[0], regrets[2])


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", LEARNERS)
def test_learns_kuhn(name, player, mdp_of):
    mdp = mdp_of("kuhn", player)
    episodes = 20_000 if name in ("PSRL", "LUCBTUniform") else 100_000
    trace = ts.run(make(name, mdp.tree), mdp, episodes, measure_at=[episodes], progress=False)
    assert trace.value_gap[-1] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", LEDUC)
def test_learns_leduc(name, player, mdp_of):
    mdp = mdp_of("leduc", player)
    episodes, gap = LEDUC[name]
    learner = make(name, mdp.tree)
    first = mdp.best_response()[0] - mdp.value(learner.recommend())
    trace = ts.run(learner, mdp, episodes, measure_at=[episodes], progress=False)
    assert trace.value_gap[-1] < gap < first / 5


@pytest.mark.parametrize(
    "learner, settings, message",
    [
        (ts.UCT, dict(c=0.0), "c must be a positive number"),
        (ts.UCT, dict(c=float("nan")), "c must be a positive number"),
        (ts.UCT, dict(seed=-1), "seed must be"),
        (ts.OutcomeSamplingMCCFR, dict(epsilon=0.0), "epsilon must lie strictly between 0 and 1"),
        (ts.OutcomeSamplingMCCFR, dict(recommends="last"), "recommends must be one of 'average', 'current'"),
        (ts.OPF, dict(k=-1.0), "k must be a positive number"),
        (ts.BPIUCRL, dict(epsilon=0.0), "epsilon must lie"),
        (ts.BPIUCRL, dict(delta=1.0), "delta must lie"),
        (ts.MDPGapE, dict(epsilon=2.0), "epsilon must lie"),
        (ts.MDPGapE, dict(delta=0.0), "delta must lie"),
        (ts.MVP, dict(c1=0.0), "c1 must be"),
        (ts.MVP, dict(c3=-1.0), "c3 must be"),
        (ts.MVP, dict(delta=2.0), "delta must lie"),
        (ts.StrongEuler, dict(variant="ucbvi"), "variant must be one of 'strong_euler', 'euler', 'ucbvi_bf'"),
        (ts.StrongEuler, dict(c=0.0), "c must be"),
        (ts.AMB, dict(c=float("inf")), "c must be"),
        (ts.AMB, dict(delta=0.0), "delta must lie"),
        (ts.PSRL, dict(prior=0.0), "prior must be"),
    ],
)
def test_wrong_hyper_parameters_are_refused(learner, settings, message, mdp_of):
    with pytest.raises(ValueError, match=message):
        learner(mdp_of("kuhn", 0).tree, **settings)


@pytest.mark.parametrize("name", sorted({learner.__name__ for learner, _ in LEARNERS.values()}))
def test_hyper_parameters_are_keywords_with_defaults_that_run(name, mdp_of):
    mdp, learner = mdp_of("kuhn", 0), getattr(ts, name)
    with pytest.raises(TypeError):
        learner(mdp.tree, 0.1)
    with pytest.raises(TypeError, match="made from an InfostateTree"):
        learner(mdp)
    assert ts.run(learner(mdp.tree, seed=5), mdp, 50, progress=False).episode[-1] == 50
