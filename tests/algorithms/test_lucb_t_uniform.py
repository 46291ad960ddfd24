"""LUCB-T-Uniform against its definition: every policy judged on the first n(pi) outcomes of each of its endings."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.learners import ends_at_once


class Outcomes:
    """Every outcome of every sequence, in order of its plays."""

    def __init__(self, tree):
        self.tree, self.of, self.of_root = tree, [[] for _ in range(tree.sequence_end)], []

    def see(self, policy, ended_on, value):
        self.of_root.append(value if ended_on == self.tree.root else 0.0)
        for j in policy:
            self.of[j].append(value if j == ended_on else 0.0)

    def count(self, policy):
        return min(len(self.of[j]) for j in brute_force.endings(self.tree, policy))

    def estimate(self, policy):
        m = self.count(policy)
        return np.mean(self.of_root) + sum(sum(self.of[j][:m]) / m for j in brute_force.endings(self.tree, policy))


def check_batches(mdp, batches, seed, bound="theory"):
    learner = ts.LUCBTUniform(mdp.tree, epsilon=0.001, bound=bound, c=0.1, seed=seed)
    outcomes = Outcomes(mdp.tree)
    everything = brute_force.policies(mdp.tree)
    rng = np.random.default_rng(seed)

    def step():
        policy = brute_force.policy_of(mdp.tree, learner.plan())
        ended_on, value = mdp.sample(learner.plan(), rng)
        learner.learn(ended_on, value)
        outcomes.see(policy, ended_on, value)

    t = 0
    while min(len(of) for of in outcomes.of[1:]) == 0:
        t += 1
        policy = brute_force.policy_of(mdp.tree, learner.plan())
        assert min(len(outcomes.of[j]) for j in policy) == 0
        step()
    first = t + 1
    for t in range(first, first + batches - 1):
        if bound == "theory":
            counts = 2 if mdp.tree.root_can_end else 1  # of one policy: n(pi), and the number of episodes
            log_events = mdp.tree.log_num_policies + counts * np.log(2 * t) + 2 * np.log(t)
            lam = np.sqrt(8 / 3 * (np.log(4 / 0.05) + log_events))
        else:
            lam = np.sqrt(0.1 * np.log(t / 0.05))
        estimates = {each: outcomes.estimate(each) for each in everything}
        bounds = {each: estimates[each] + lam / np.sqrt(outcomes.count(each)) for each in everything}
        if learner.stopped:
            assert len(everything) == 1 or bound == "simple"
            return
        first = brute_force.policy_of(mdp.tree, learner.plan())
        assert estimates[first] == pytest.approx(max(estimates.values()), abs=1e-10)
        assert brute_force.policy_of(mdp.tree, learner.recommend()) == first
        lower = min(estimates[first], 1.0) - lam / np.sqrt(outcomes.count(first))
        upper = max(value for each, value in bounds.items() if each != first)
        assert learner.width == pytest.approx(upper - lower, abs=1e-10)
        step()
        second = brute_force.policy_of(mdp.tree, learner.plan())
        assert second != first
        assert bounds[second] == pytest.approx(upper, abs=1e-10)
        step()


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("bound", ["theory", "simple"])
def test_every_batch_on_kuhn(player, bound, mdp_of):
    check_batches(mdp_of("kuhn", player), 150, player, bound)


@pytest.mark.parametrize("seed", range(25))
def test_every_batch_on_random_trees(seed):
    check_batches(brute_force.random_mdp(np.random.default_rng(seed)), 60, seed)


def test_every_batch_where_episodes_can_end_before_any_own_decision():
    check_batches(ends_at_once(), 150, 0)
