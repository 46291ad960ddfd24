"""Random policy tables, and tables as policies of OpenSpiel."""

import numpy as np
from open_spiel.python import policy as policy_lib


def random_tables(form, rng, zeros=0.3):
    """A policy table per player, with some probabilities zero."""
    tables = []
    for tree in form.trees:
        weights = rng.random(tree.num_sequences) * (rng.random(tree.num_sequences) > zeros)
        weights[tree.first_sequence[:-1] - 1] += 0.01
        totals = np.add.reduceat(weights, tree.first_sequence[:-1] - 1)
        tables.append(np.append(1.0, weights / np.repeat(totals, np.diff(tree.first_sequence))))
    return tables


def as_policy(game, form, tables):
    """The tables as an OpenSpiel policy."""
    policy = policy_lib.TabularPolicy(game)
    for tree, table in zip(form.trees, tables):
        for state in range(tree.num_states):
            row = policy.policy_for_key(tree.state_string(state))
            row[:] = 0
            row[tree.legal_actions(state)] = table[tree.first_sequence[state] : tree.first_sequence[state + 1]]
    return policy
