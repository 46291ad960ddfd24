"""The slow, obvious reference of model-based learners: every episode remembered, every bound from the leaves up."""

import numpy as np


class Episodes:
    """All episodes of a learner."""

    def __init__(self, tree):
        self.tree = tree
        self.after = [[] for _ in range(tree.sequence_end)]  # what followed: ("state", s) or ("return", value)

    def see(self, ended_on, value):
        sequence, next_thing = ended_on, ("return", value)
        while True:
            self.after[sequence].append(next_thing)
            if sequence == self.tree.root:
                return
            state = int(np.searchsorted(self.tree.first_sequence, sequence, side="right") - 1)
            sequence, next_thing = int(self.tree.parent[state]), ("state", state)

    def visits(self, state):
        return sum(len(self.after[j]) for j in self.sequences(state))

    def sequences(self, state):
        return range(self.tree.first_sequence[state], self.tree.first_sequence[state + 1])

    def followed_by(self, sequence, values, number=None):
        """The values of what followed the sequence, the first `number` times: returns, or values[state]."""
        return np.array([x if kind == "return" else values[x] for kind, x in self.after[sequence][:number]], float)

    def bottom_up(self, bounds, with_root=True):
        """U and L per sequence; bounds(sequence, U of states, L of states) gives one pair."""
        tree = self.tree
        upper, lower = np.ones(tree.sequence_end), np.zeros(tree.sequence_end)
        state_upper, state_lower = np.ones(tree.num_states), np.zeros(tree.num_states)
        for state in reversed(range(tree.num_states)):
            own = self.sequences(state)
            for j in own:
                if self.after[j]:
                    upper[j], lower[j] = bounds(j, state_upper, state_lower)
            state_upper[state], state_lower[state] = upper[own].max(), lower[own].max()
        if with_root and self.after[tree.root]:
            upper[tree.root], lower[tree.root] = bounds(tree.root, state_upper, state_lower)
        return upper, lower


def best_values(mdp):
    """The true expected return after each sequence under the best play; nan where nothing leads."""
    tree = mdp.tree
    values, best = mdp.chances.ending_value.copy(), mdp.best_values()
    for state in range(tree.num_states):
        values[tree.parent[state]] += best[state]
    reach = np.append(1.0, np.repeat(mdp.reach, np.diff(tree.first_sequence)))
    return np.divide(values, reach, out=np.full(len(values), np.nan), where=reach > 0)


def play(learner, mdp, rng, episodes, reference):
    for _ in range(episodes):
        if learner.stopped:
            return
        episode = mdp.sample(learner.plan(), rng)
        learner.learn(*episode)
        reference.see(*episode)
