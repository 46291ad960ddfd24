"""ThompsonTree written out: every estimate recomputed from all episodes, by recursion."""

import math

import numpy as np

from tmdp_spiel.algorithms.path_learner import random_plan
from tmdp_spiel.core import hash_rng


class ThompsonTwin:
    """Learns from episodes as the learner does; `plan` and `recommend` are recomputed where an episode went."""

    def __init__(self, tree, levels, seed, *, noise, decay):
        self.tree, self.levels, self.seed, self.noise, self.decay = tree, list(levels), seed, noise, decay
        self.returns, self.ended, self.paths, self.level_of = [], [], [], []  # of all episodes
        self.repeated = []  # of all episodes: whether nothing was tried for the first time
        self.new = [0.0, 1.0]  # weight 1/2 each; then the returns of episodes of first tries, weight 1
        self.deviation_at = {}  # sigma at the last visit of a state
        self.rows = [{} for _ in range(len(self.levels) + 1)]  # per row: state -> sequence
        self.current, self.restarted = 0, 0
        self.first = random_plan(tree.links, seed, 0)

    def visits(self, sequence):
        return sum(sequence in path for path in self.paths)

    def repeats(self, sequence):
        return sum(sequence in path for path, repeated in zip(self.paths, self.repeated, strict=True) if repeated)

    def actions(self, state):
        return range(self.tree.first_sequence[state], self.tree.first_sequence[state + 1])

    def looked_at(self, state):
        """The actions in the order in which equal ones are taken."""
        actions = list(self.actions(state))
        draw = hash_rng.uniform(self.seed, self.state_visits(state), 2**61 + actions[0] - 1)
        start = int(draw * len(actions))
        return actions[start:] + actions[:start]

    def children(self, sequence):
        return range(self.tree.first_child[sequence], self.tree.first_child[sequence + 1])

    def state_visits(self, state):
        return sum(self.visits(j) for j in self.actions(state))

    def state_of(self, sequence):
        return int(np.searchsorted(self.tree.first_sequence, sequence, side="right")) - 1

    def deviation(self):
        weights = [0.5, 0.5] + [1.0] * (len(self.new) - 2)
        mean = np.average(self.new, weights=weights)
        return math.sqrt(np.average((np.array(self.new) - mean) ** 2, weights=weights))

    def range_below(self, sequence):
        """The least and the most that an episode through a sequence can return by the rules."""
        least, most = self.tree.return_range
        ranges = [(least[sequence], most[sequence])] if self.tree.can_end[sequence] else []
        for child in self.children(sequence):
            ranges += [self.range_below(j) for j in self.actions(child)]
        return min(lowest for lowest, _ in ranges), max(highest for _, highest in ranges)

    def normal(self, time, key):
        one, two = (hash_rng.uniform(self.seed, time, each) for each in (key, 2**62 + key))
        return math.sqrt(-2 * math.log(1 - one)) * math.cos(2 * math.pi * two)

    def width(self, sequence, deviation):
        """noise sigma(j) / (m(j) n(j))^(decay / 2)."""
        lowest, highest = self.range_below(sequence)
        own = np.std([value for value, path in zip(self.returns, self.paths, strict=True) if sequence in path] or [0.0])
        deviation = min(max(deviation, own), (highest - lowest) / 2)
        known = math.sqrt(max(self.repeats(sequence), 1) * max(self.visits(sequence), 1))
        return self.noise * deviation / known**self.decay

    def mean(self, sequence, row):
        """q(j) of a visited sequence."""
        total = sum(value for value, end in zip(self.returns, self.ended, strict=True) if end == sequence)
        for child in self.children(sequence):
            if self.state_visits(child) > 0:
                best = max(self.estimates(child, row, self.deviation_at[child]).values())
                total += self.state_visits(child) * best
        return total / self.visits(sequence)

    def estimates(self, state, row, deviation):
        """By sequence: what V(s) is the largest of."""
        estimates = {}
        for j in self.looked_at(state):
            lowest, highest = self.range_below(j)
            tried = self.visits(j) > 0
            if row < len(self.levels):
                estimates[j] = min(max(self.mean(j, row) if tried else self.levels[row], lowest), highest)
            elif tried or lowest == highest:
                mean = min(max(self.mean(j, row), lowest), highest) if tried else lowest
                estimates[j] = mean - self.width(j, deviation)
        return estimates

    def learn(self, ended_on, value):
        tree, path, sequence = self.tree, [], ended_on
        while sequence != tree.root:
            path.append(sequence)
            sequence = int(tree.parent[self.state_of(sequence)])
        self.repeated.append(all(self.visits(j) > 0 for j in path))
        if not self.repeated[-1]:
            self.new.append(value)
        self.returns.append(value)
        self.ended.append(ended_on)
        self.paths.append(path)
        self.level_of.append(self.current)
        self.choose_level()
        for state in map(self.state_of, path):
            self.deviation_at[state] = self.deviation()
            for row in range(len(self.rows)):
                scores = self.estimates(state, row, self.deviation())
                if row < len(self.levels):
                    for j in filter(self.visits, scores):
                        scores[j] += self.width(j, self.deviation()) * self.normal(self.state_visits(state), j - 1)
                self.rows[row][state] = max(scores, key=scores.get)

    def choose_level(self):
        time = len(self.returns)
        if time in (2**k for k in range(20)):
            self.restarted = time
        draws = []
        for level in range(len(self.levels)):
            played = [at for at in range(self.restarted, time) if self.level_of[at] == level]
            if played:
                mean = np.mean([self.returns[at] for at in played])
                draws.append(mean + self.deviation() * self.normal(time, 2**31 + level) / math.sqrt(len(played)))
            else:
                draws.append(math.inf)
        self.current = int(np.argmax(draws))

    def row(self, row):
        plan = self.first.copy()
        for state, j in self.rows[row].items():
            plan[state] = j - self.tree.first_sequence[state]
        return plan

    def plan(self):
        return self.row(self.current)

    def recommend(self):
        return self.row(len(self.levels))
