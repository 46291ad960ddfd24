"""BalancedLevels written out: every estimate recomputed from all episodes, by recursion."""

import math

import numpy as np

from tmdp_spiel.algorithms.path_learner import random_plan
from tmdp_spiel.core import hash_rng


class LevelsTwin:
    """Learns from episodes as the learner does; `plan` and `recommended` are dictionaries of the visited states."""

    def __init__(self, tree, levels, seed, *, caution, confidence, guess, **noise):
        self.tree, self.levels, self.seed = tree, levels, seed
        self.caution, self.confidence, self.guess = caution, confidence, guess
        self.noise = noise  # noise, surge, surge_from, surge_to, patience, insistence
        self.returns, self.ended = [], []  # of all episodes
        self.sequences_of = []  # of all episodes: the sequences on the path
        self.rows = [{} for _ in range(len(levels) + 1)]  # per row: state -> sequence
        self.level_of = []  # who played each episode
        self.since, self.next_restart = 0, 64
        self.guesses = [guess * 0.5] * len(levels)
        self.current = 0
        self.first = random_plan(tree.links, seed, 0)

    def visits(self, sequence):
        return sum(sequence in path for path in self.sequences_of)

    def fresh(self, sequence):
        """The episodes through a sequence in which it, or one below it, was tried for the first time."""
        tried, number = set(), 0
        for path in self.sequences_of:  # from the end to the root
            if sequence in path:
                number += any(j not in tried for j in path[: path.index(sequence) + 1])
            tried.update(path)
        return number

    def actions(self, state):
        return range(self.tree.first_sequence[state], self.tree.first_sequence[state + 1])

    def state_visits(self, state):
        return sum(self.visits(j) for j in self.actions(state))

    def spread(self):
        values = np.array(self.returns)
        variance = np.mean(values**2) - np.mean(values) ** 2
        return max(math.sqrt(max(variance, 0.0) + 0.25 / len(values)), 0.02)

    def range_below(self, sequence):
        """The least and the most that an episode through a sequence can return by the rules."""
        least, most = self.tree.return_range
        ranges = [(least[sequence], most[sequence])] if self.tree.can_end[sequence] else []
        for child in range(self.tree.first_child[sequence], self.tree.first_child[sequence + 1]):
            ranges += [self.range_below(j) for j in self.actions(child)]
        return min(lowest for lowest, _ in ranges), max(highest for _, highest in ranges)

    def doubt(self, sequence, spread):
        lowest, highest = self.range_below(sequence)
        if self.tree.least_return is None:
            return spread
        usual, far = min(spread, (highest - lowest) / 2), min(2 * spread, (highest - lowest) / 2)
        after = [value for value, path in zip(self.returns, self.sequences_of, strict=True) if sequence in path]
        squares = sum((value - np.mean(after)) ** 2 for value in after) + 2 * far**2
        own = squares / (len(after) + 2)
        return math.sqrt(usual**2 + max(own - usual**2, 0) * 80 / (80 + len(after)))

    def mean(self, sequence, row):
        """q(j) of a visited sequence."""
        total = sum(value for value, end in zip(self.returns, self.ended, strict=True) if end == sequence)
        for child in range(self.tree.first_child[sequence], self.tree.first_child[sequence + 1]):
            if self.state_visits(child) > 0:
                total += self.state_visits(child) * self.best(child, row)
        return total / self.visits(sequence)

    def best(self, state, row):
        """V(s): as it was at the last visit of s, when the spread was noted that caution goes by."""
        return max(self.estimates(state, row, self.noted[state]).values())

    def estimates(self, state, row, spread):
        estimates = {}
        for j in self.actions(state):
            tried = self.visits(j) > 0
            lowest, highest = self.range_below(j)
            if row < len(self.levels):
                mean = self.mean(j, row) if tried else self.levels[row]
                estimates[j] = min(max(mean, lowest), highest)
            elif lowest == highest:
                estimates[j] = lowest
            elif tried:
                mean = min(max(self.mean(j, row), lowest), highest)
                estimates[j] = mean - self.caution * self.doubt(j, spread) / math.sqrt(self.visits(j))
        return estimates

    def draw(self, state, row, j, estimate, spread):
        key, visits = j * len(self.rows) + row, self.state_visits(state)
        one, two = (hash_rng.uniform(self.seed, visits, 2 * key + i) for i in range(2))
        normal = math.sqrt(-2.0 * math.log(1.0 - one)) * math.cos(2.0 * math.pi * two)
        begins, ends = self.noise["surge_from"], self.noise["surge_to"] * max(1, 300 / self.tree.num_sequences) ** 2
        swollen = 1 + self.noise["surge"] * visits / (visits + begins) * ends / (visits + ends)
        unexplored = self.fresh(j) / self.visits(j) if self.visits(j) > 0 else 1
        grown = 1 + ((1 + visits / self.noise["patience"]) ** self.noise["insistence"] - 1) * unexplored
        noise = self.noise["noise"] * self.levels[row] * swollen * grown
        return estimate + noise * self.doubt(j, spread) * normal / math.sqrt(max(self.visits(j), 1))

    def learn(self, ended_on, value):
        tree, path, sequence = self.tree, [], ended_on
        while sequence != tree.num_sequences:
            path.append(sequence)
            state = int(np.searchsorted(tree.first_sequence, sequence, side="right")) - 1
            sequence = int(tree.parent[state])
        self.returns.append(value)
        self.ended.append(ended_on)
        self.sequences_of.append(path)
        self.level_of.append(self.current)
        spread = self.spread()
        self.weigh(spread)
        self.noted = getattr(self, "noted", {})
        states = [int(np.searchsorted(tree.first_sequence, j, side="right")) - 1 for j in path]
        self.noted.update(dict.fromkeys(states, spread))
        for state in states:
            for row in range(len(self.rows)):
                estimates = self.estimates(state, row, spread)
                if row < len(self.levels):
                    scores = {j: self.draw(state, row, j, estimate, spread) for j, estimate in estimates.items()}
                else:
                    scores = estimates
                self.rows[row][state] = max(scores, key=scores.get)

    def weigh(self, spread):
        time, level = len(self.returns), self.level_of[-1]
        epoch = list(zip(self.level_of, self.returns, strict=True))[self.since :]
        width = self.confidence * spread * math.sqrt(math.log(20 * len(self.levels) * math.log(time + 2)))
        number, mean = {}, {}
        for k in range(len(self.levels)):
            mine = [value for who, value in epoch if who == k]
            number[k] = len(mine)
            if mine:
                mean[k] = sum(mine) / len(mine)
        highest = max(mean[k] - width / math.sqrt(number[k]) for k in mean)
        if mean[level] + (self.guesses[level] + width) / math.sqrt(number[level]) < highest:
            self.guesses[level] *= 2
        if time >= self.next_restart:
            self.since, self.next_restart = time, 2 * time
            self.guesses = [self.guess * spread] * len(self.levels)
            number = dict.fromkeys(number, 0)
        self.current = min(number, key=lambda k: self.guesses[k] * math.sqrt(number[k] + 1))

    def row(self, row):
        plan = self.first.copy()
        for state, j in self.rows[row].items():
            plan[state] = j - self.tree.first_sequence[state]
        return plan

    def plan(self):
        return self.row(self.current)

    def recommend(self):
        return self.row(len(self.levels))
