"""Every learner with settings that suit small games, and what each of them is asked."""

import copy
import pickle

import numpy as np
import pytest

import tmdp_spiel as ts
from tmdp_spiel.algorithms.catalogue import catalogue
from tmdp_spiel.evaluation.evaluator import Evaluator

LEARNERS = {
    "UCBT": (ts.UCBT, dict(c=0.1)),
    "UCBT adaptive": (ts.UCBT, dict(c=0.1, baseline="adaptive")),
    "LUCBT": (ts.LUCBT, dict(bound="simple", c=0.1, epsilon=0.001)),
    "LUCBTUniform": (ts.LUCBTUniform, dict(bound="simple", c=0.1, epsilon=0.001)),
    "LUCB": (ts.LUCB, dict(epsilon=0.01)),
    "UCT": (ts.UCT, dict(c=5.0)),
    "ThompsonTree": (ts.ThompsonTree, {}),
    "OutcomeSamplingMCCFR": (ts.OutcomeSamplingMCCFR, {}),
    "OutcomeSamplingMCCFR, current": (ts.OutcomeSamplingMCCFR, dict(recommends="current")),
    "OPF": (ts.OPF, dict(k=0.5)),
    "BPIUCRL": (ts.BPIUCRL, dict(epsilon=0.02)),
    "BettingOnDifferences": (ts.BettingOnDifferences, dict(epsilon=0.01)),
    "BettingUCRL": (ts.BettingUCRL, {}),
    "CertifiedUCRL": (ts.CertifiedUCRL, dict(epsilon=0.1)),
    "MDPGapE": (ts.MDPGapE, dict(epsilon=0.05)),
    "MVP": (ts.MVP, {}),
    "StrongEuler": (ts.StrongEuler, {}),
    "EULER": (ts.StrongEuler, dict(variant="euler")),
    "UCBVI-BF": (ts.StrongEuler, dict(variant="ucbvi_bf")),
    "AMB": (ts.AMB, {}),
    "PSRL": (ts.PSRL, {}),
    "PSRL, lazy": (ts.PSRL, dict(lazy=True)),
}


def _on_a_tree_that_grows(kind):
    return lambda tree, seed=0: kind(tree, seed=seed, **({"lazy": True} if kind is ts.PSRL else {}))


# By name, all learners that can learn on a lazy tree: functions from the tree, and a seed, to the learner.
GROWING = {name: _on_a_tree_that_grows(kind) for name, kind in catalogue().items() if kind.grows}


def make(name, tree, seed=0):
    learner, settings = LEARNERS[name]
    return learner(tree, seed=seed, **settings)


def ends_at_once() -> ts.TreeMDP:
    """A Tree MDP whose episodes end before any own decision a third of the time."""
    tree = ts.InfostateTree(
        first_sequence=[1, 3, 5],
        first_child=[0, 1, 2, 2, 2, 2],
        parent=[0, 1],
        action=[0, 0, 1, 0, 1],
        can_end=[True, True, True, True, True],
    )
    return ts.TreeMDP(
        tree,
        reach=[2 / 3, 1 / 3],
        first_outcome=[0, 2, 3, 5, 6, 7],
        outcome_return=[0.0, 1.0, 0.2, 0.0, 1.0, 0.9, 0.1],
        outcome_probability=[1 / 6, 1 / 6, 1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3],
    )


def check_steps(new, mdp, episodes, seed=3):
    """Stepping by hand against the compiled loop: the same episodes, the same regret and value gap."""
    by_hand, compiled = new(mdp.tree, seed), new(mdp.tree, seed)
    best, _ = mdp.best_response()
    rng, regret = np.random.default_rng(seed), 0.0
    while by_hand.episodes < episodes and not by_hand.stopped:
        plan = by_hand.plan()
        np.testing.assert_array_equal(plan, by_hand.plan())
        regret += best - mdp.value(plan)
        by_hand.learn(*mdp.sample(plan, rng))
    trace = ts.run(compiled, mdp, episodes, progress=False)
    assert trace.episode[-1] == by_hand.episodes == compiled.episodes
    assert trace.regret[-1] == pytest.approx(regret, abs=1e-9)
    assert trace.value_gap[-1] == pytest.approx(max(best - mdp.value(by_hand.recommend()), 0), abs=1e-9)
    assert Evaluator(compiled, mdp).recommended_value() == pytest.approx(mdp.value(compiled.recommend()), abs=1e-12)
    np.testing.assert_array_equal(by_hand.plan(), compiled.plan())
    np.testing.assert_array_equal(by_hand.recommend(), compiled.recommend())


def check_pickling(new, mdp, episodes):
    """A learner pickled in the middle, by hand and compiled, against one that was not."""
    learner, rng = new(mdp.tree, 1), np.random.default_rng(1)
    ts.run(learner, mdp, episodes, rng=rng, progress=False)
    restored, other_rng = pickle.loads(pickle.dumps(learner)), copy.deepcopy(rng)
    for one, its_rng in ((learner, rng), (restored, other_rng)):
        for _ in range(20):
            if not one.stopped:
                one.learn(*mdp.sample(one.plan(), its_rng))
    restored = pickle.loads(pickle.dumps(restored))
    traces = [ts.run(learner, mdp, episodes, rng=rng, progress=False)]
    traces.append(ts.run(restored, mdp, episodes, rng=other_rng, progress=False))
    np.testing.assert_array_equal(traces[0].episode, traces[1].episode)
    np.testing.assert_allclose(traces[0].regret, traces[1].regret, atol=1e-9)
    np.testing.assert_array_equal(learner.plan(), restored.plan())
    np.testing.assert_array_equal(learner.recommend(), restored.recommend())
