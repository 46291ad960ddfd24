"""Expectations over all episodes of a learner's current plan, and exact counterfactual regrets to compare them with."""

import copy

import numpy as np


def expected_update(learner, mdp, read):
    """The expected change of read(learner) by one episode: every outcome, weighted by its probability."""
    before = read(learner)
    expected = np.zeros_like(before)
    ended_on = np.repeat(np.arange(mdp.tree.sequence_end), np.diff(mdp.first_outcome))
    for outcome, probability in enumerate(mdp.terminal_reach(learner.plan())):
        if probability > 0:
            after = copy.deepcopy(learner)
            after.learn(ended_on[outcome], mdp.outcome_return[outcome])
            expected += probability * (read(after) - before)
    return expected


def counterfactual_regrets(mdp, policy):
    """Q(s, a) - V(s) in utility units, weighted by the others' probability of s; policy: a probability per sequence."""
    tree = mdp.tree
    utility = mdp.to_utility(mdp.outcome_return) * mdp.outcome_probability
    values, regrets = np.zeros(tree.num_states), np.zeros(tree.sequence_end)
    for state in reversed(range(tree.num_states)):
        own = range(tree.first_sequence[state], tree.first_sequence[state + 1])
        for j in own:
            regrets[j] = utility[mdp.first_outcome[j] : mdp.first_outcome[j + 1]].sum()
            regrets[j] += values[tree.first_child[j] : tree.first_child[j + 1]].sum()
        values[state] = sum(policy[j] * regrets[j] for j in own)
        regrets[own] -= values[state]
    return regrets
