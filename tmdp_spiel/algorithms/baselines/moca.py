"""MOCA (Wagenmaker, Simchowitz and Jamieson, COLT 2022): Monte Carlo action elimination, at its printed constants.

Line and equation numbers are those of "Beyond No Regret: Instance-Dependent PAC Reinforcement Learning", appendix A.3
and (D.1). On a tree every state belongs to one step h, S is the largest number of states of a step, A the largest
number of actions, H the horizon. Logarithms that count halvings have base 2.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tmdp_spiel.algorithms.baselines.strong_euler import StrongEuler
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.core import validation
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.traversal import new_path, trace_back
from tmdp_spiel.trees.tree_mdp import deterministic_value

REACH, ELIMINATE, FINAL = "reach", "eliminate", "final"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """S, A and H of a tree, and the absolute constant of EULER's regret bound, which the paper does not state."""

    states: int
    actions: int
    horizon: int
    c_eu: float

    def epochs_to_run(self, halvings: int, delta: float, delta_samp: float) -> float:
        """K_i(delta, delta_samp) of (D.1)."""
        s, a, h, c, i = self.states, self.actions, self.horizon, self.c_eu, halvings
        sah = s * a * h
        squares, cubes = 288 * c**2 * s**2 * a**2 * h, c * s**3 * a**2 * h**4
        terms = (
            squares * (i + 3) * math.log(576 * c * sah * (i + 3)),
            squares * math.log(2 * sah / delta),
            2048 * s**2 * a**2 * math.log(4 * sah / delta_samp),
            256 * cubes * (i + 9) ** 3 * math.log(512 * c * sah * (i + 9)) ** 3,
            128 * cubes * math.log(2 * sah / delta) ** 3 + 8 * h * math.log(4 / delta),
        )
        return 2.0**i * max(terms)


@dataclasses.dataclass
class Exploration:
    """The state of Learn2Explore (Algorithm 3), and of the rollouts that CollectSamples makes of its policies."""

    active: list[int]  # X, sequences
    delta: float
    delta_samp: float
    halvings: int  # ceil(log(1 / epsilon))
    allocation: list[float]  # n_j; empty: nothing is collected afterwards
    j: int = 0
    exploring: bool = True
    runs: int = 0  # K_j
    needed: float = 0.0  # N_j
    played: int = 0
    found: list[int] = dataclasses.field(default_factory=list)  # Y
    counts: dict[int, int] = dataclasses.field(default_factory=dict)
    policies: list[tuple[np.ndarray, int]] = dataclasses.field(default_factory=list)  # of this j, and how often
    sets: list[list[int]] = dataclasses.field(default_factory=list)  # X_1, X_2, ...
    rollouts: list[tuple[np.ndarray, int]] = dataclasses.field(default_factory=list)  # plans, and how often


class MOCA(Learner):
    """PAC identification. epsilon, delta: as for LUCBT.

    Before any action is eliminated, every state is explored for at least K_1 episodes, which is more than 10^11 for
    Kuhn poker (`least_episodes`). So with the published constants it does not stop in practice.

    c_eu: the constant of EULER's regret, "some absolute constant" in the paper. scale: a factor for all numbers of
    episodes, K_j and n_j; the guarantee is proven only for 1.
    """

    def __init__(
        self,
        tree: InfostateTree,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        c_eu: float = 1.0,
        scale: float = 1.0,
        seed: int = 0,
    ):
        super().__init__(tree, seed)
        self.epsilon = validation.probability("epsilon", epsilon)
        self.delta = validation.probability("delta", delta)
        self.c_eu, self.scale = validation.positive("c_eu", c_eu), validation.positive("scale", scale)
        self._steps = _steps(tree)
        actions = np.diff(tree.first_sequence)
        largest = int(np.bincount(self._steps).max())
        self._sizes = Sizes(largest, int(actions.max()), tree.horizon, self.c_eu)
        self._answer = np.zeros(tree.num_states, PLAN_DTYPE)  # pi-hat
        self._path = new_path(tree.horizon)
        self._epoch, self._done = 0, False
        self._next_epoch()

    @property
    def least_episodes(self) -> float:
        """Episodes before the first elimination at least: K_1 for every state."""
        delta = self._delta_of(1) / (self._sizes.states * self._sizes.horizon)
        halvings = self._halvings(2.0**-1 * self._sizes.horizon / (2 * self._sizes.horizon**2 * self._sizes.states))
        return self.tree.num_states * self.scale * self._sizes.epochs_to_run(1, delta / halvings, 0.5)

    @property
    def stopped(self) -> bool:
        return self._done

    @property
    def status(self) -> str:
        return f"epoch {self._epoch}, {self._stage}, at least {self.least_episodes:.2g} episodes"

    # Algorithm 5 ----------------------------------------------------------------------------------------------------

    def _delta_of(self, epoch: int) -> float:
        return self.delta / (36 * epoch**2)

    def _next_epoch(self) -> None:
        """Lines 3 to 5 and 8: Moca-SE at a tolerance of H 2^-m, in the last epoch at epsilon."""
        self._epoch += 1
        horizon, states = self._sizes.horizon, self._sizes.states
        epochs = max(self._halvings(self.epsilon / horizon), 1)
        self._final = self._epoch == epochs
        self._tolerance = self.epsilon if self._final else horizon * 2.0**-self._epoch
        self._confidence = self._delta_of(self._epoch)
        # Algorithm 4, lines 2 and 6
        self._epsilon_exp = self._tolerance / (2 * horizon**2 * states)
        self._iota = self._halvings(self._tolerance / (64 * horizon**2 * states))
        self._levels = max(self._halvings(self._tolerance / horizon), 1)
        united = states * self._sizes.actions * horizon * self._iota * (self._levels + 1)
        self._iota_delta = math.log(united / self._confidence)
        tree = self.tree
        self._candidates = [
            list(range(tree.first_sequence[s], tree.first_sequence[s + 1])) for s in range(tree.num_states)
        ]
        self._reachable: dict[int, float] = {}  # W-hat of the states in Z
        self._stage, self._at = REACH, (0, 0, 0)
        self._explore_state(0)

    @staticmethod
    def _halvings(part: float) -> int:
        """ceil(log2(1 / part))."""
        return math.ceil(-math.log2(part) - 1e-12)

    # Algorithm 4 ----------------------------------------------------------------------------------------------------

    def _explore_state(self, state: int) -> None:
        """Lines 3 and 4."""
        self._at = (state, 0, 0)
        share = self._confidence / (self._sizes.states * self._sizes.horizon)
        self._begin([int(self.tree.first_sequence[state])], share, 0.5, self._epsilon_exp, [])

    def _advance(self) -> None:
        """What follows once Learn2Explore and its rollouts are over."""
        if self._stage == REACH:
            state = self._at[0]
            for j, found in enumerate(self._exploration.sets, 1):
                if found:
                    self._reachable[state] = 1 / (16 * 2.0**j)  # line 5
            if state + 1 < self.tree.num_states:
                self._explore_state(state + 1)
                return
            self._stage, self._at = ELIMINATE, (self._sizes.horizon - 1, 1, 0)
        elif self._stage == ELIMINATE:
            _, i, level = self._at
            self._eliminate([2.0**i * self._sizes.horizon * 2.0**-level / 2**8] * self._iota)  # line 12
        else:
            factor = 4 * self._sizes.horizon * self._iota
            self._eliminate([self._tolerance / (factor * 2.0 ** (1 - j)) for j in range(1, self._iota + 1)])  # line 17
        self._next_collection()

    def _next_collection(self) -> None:
        """Lines 7 to 22: the next set of which samples are collected, if it is not empty; the next epoch at the end."""
        while True:
            step, i, level = self._at
            if self._stage == ELIMINATE and level < self._levels:
                self._at = step, i, level + 1
            elif self._stage == ELIMINATE and i < self._iota:
                self._at = step, i + 1, 1
            elif self._stage == ELIMINATE and self._final:
                self._stage = FINAL
            else:
                for state, candidates in enumerate(self._candidates):
                    if self._steps[state] == step and state in self._reachable:
                        self._answer[state] = candidates[0] - self.tree.first_sequence[state]  # line 22
                if step == 0:
                    self._end_epoch()
                    return
                self._stage, self._at = ELIMINATE, (step - 1, 1, 0)
                continue
            if self._collect():
                return

    def _collect(self) -> bool:
        """Lines 9 to 13 and 16 to 18; whether there is anything to collect."""
        step, i, level = self._at
        horizon, final = self._sizes.horizon, self._stage == FINAL
        active = [
            sequence
            for state, reach in self._reachable.items()
            if self._steps[state] == step and (final or 2.0**-i <= reach <= 2.0 ** (1 - i))
            for sequence in self._candidates[state]
            if len(self._candidates[state]) > 1
        ]
        if not active:
            return False
        if final:
            most = 64 * horizon**4 * self._iota_delta * self._iota**2 / self._tolerance**2
            allocation = [most * 4.0 ** (1 - j) for j in range(1, self._iota + 1)]
            share = self._confidence / horizon
        else:
            allocation = [2**18 * horizon**2 * self._iota_delta / (4.0**i * (horizon * 2.0**-level) ** 2)] * self._iota
            share = self._confidence / (horizon * self._iota * self._levels)
        precision = self._epsilon_exp / 32
        halvings = self._halvings(precision)
        self._begin(active, share, share / (halvings * max(allocation)), precision, allocation)
        return True

    def _eliminate(self, thresholds: list[float]) -> None:
        """EliminateActions (Algorithm 6); a sequence without a sample is kept."""
        partition = {sequence: j for j, found in enumerate(self._exploration.sets, 1) for sequence in found}
        states = {int(self._state_of(sequence)) for sequence in partition}
        for state in states:
            kept = self._candidates[state]
            j = max(partition[sequence] for sequence in kept if sequence in partition)
            means = {each: self._sums[each] / self._samples[each] for each in kept if self._samples[each] > 0}
            best = max(means.values(), default=0.0)
            self._candidates[state] = [each for each in kept if best - means.get(each, best) <= thresholds[j - 1]]

    def _end_epoch(self) -> None:
        most = max((len(self._candidates[state]) for state in self._reachable), default=1)
        if self._final or most == 1:
            self._done = True
        else:
            self._next_epoch()

    def _state_of(self, sequence: int) -> int:
        return int(np.searchsorted(self.tree.first_sequence, sequence, side="right")) - 1

    # Algorithms 3 and 6 ---------------------------------------------------------------------------------------------

    def _begin(self, active: list[int], delta: float, delta_samp: float, epsilon: float, allocation) -> None:
        self._exploration = Exploration(list(active), delta, delta_samp, self._halvings(epsilon), allocation)
        self._samples = np.zeros(self.tree.sequence_end, np.int64)
        self._sums = np.zeros(self.tree.sequence_end)
        self._next_halving()

    def _next_halving(self) -> None:
        """Lines 3 to 6 of Learn2Explore; an empty set costs nothing."""
        now = self._exploration
        while now.j < now.halvings:
            now.j += 1
            if now.active:
                printed = self._sizes.epochs_to_run(now.j, now.delta / now.halvings, now.delta_samp)
                now.runs = math.ceil(self.scale * printed)
                now.needed = now.runs / (4 * len(now.active) * 2.0**now.j)
                now.played, now.found, now.counts, now.policies = 0, [], dict.fromkeys(now.active, 0), []
                self._restart()
                return
            now.sets.append([])
        now.exploring = False
        if not now.rollouts:
            self._advance()

    def _restart(self) -> None:
        self._euler = StrongEuler(self.tree, variant="euler", c=1.0, delta=self._exploration.delta, seed=self.seed)

    def _explore(self, ended_on: int, through: list[int]) -> None:
        """Lines 12 to 18 of FindExplorableSets, on an episode through these sequences."""
        now = self._exploration
        plan = self._euler.plan()
        if now.policies and np.array_equal(now.policies[-1][0], plan):
            now.policies[-1] = (plan, now.policies[-1][1] + 1)
        else:
            now.policies.append((plan, 1))
        met = next((each for each in through if each in now.counts), None)
        wanted = met is not None and met not in now.found
        self._euler.learn(ended_on, float(wanted))
        now.played += 1
        if met is not None:
            now.counts[met] += 1
            if wanted and now.counts[met] >= now.needed:
                now.found.append(met)
                self._restart()
        if now.played >= now.runs:
            self._end_halving()

    def _end_halving(self) -> None:
        now = self._exploration
        now.sets.append(now.found)
        now.active = [each for each in now.active if each not in now.found]
        if now.allocation:
            times = math.ceil(2 * self.scale * now.allocation[now.j - 1] / now.needed)  # T, line 5 of CollectSamples
            now.rollouts += [(plan, times * number) for plan, number in now.policies]
        self._next_halving()

    def _roll_out(self, through: list[int], value: float) -> None:
        """Lines 5 and 6 of CollectSamples."""
        now = self._exploration
        for sequence in through:
            if self._steps[self._state_of(sequence)] == self._at[0]:
                self._samples[sequence] += 1
                self._sums[sequence] += value
        plan, times = now.rollouts[0]
        now.rollouts[0] = (plan, times - 1)
        if times == 1:
            del now.rollouts[0]
            if not now.rollouts:
                self._advance()

    # Learner --------------------------------------------------------------------------------------------------------

    def plan(self) -> np.ndarray:
        """EULER's, or, for a rollout, one of those that it played up to step h, and pi-hat afterwards."""
        if self._done:
            return self.recommend()
        if not self._exploration.exploring:
            return np.where(self._steps <= self._at[0], self._exploration.rollouts[0][0], self._answer)
        return self._euler.plan()

    def recommend(self) -> np.ndarray:
        """pi-hat."""
        return self._answer.copy()

    def _update(self, ended_on, value):
        if self._done:
            return
        length = trace_back(self.tree.links, ended_on, self._path)
        through = [int(each) for each in self._path.sequences[:length]]
        if not self._exploration.exploring:
            self._roll_out(through, value)
        else:
            self._explore(ended_on, through)

    def _play(self, mdp, values, rng, episodes):
        total, played = 0.0, 0
        while played < episodes and not self._done:
            plan = self.plan()
            total += deterministic_value(self.tree.links, mdp.chances, plan)
            self._update(*mdp.sample(plan, rng))
            played += 1
        return played, total


def _steps(tree: InfostateTree) -> np.ndarray:
    """Per state the number of own decisions before it."""
    steps = np.zeros(tree.num_states, np.int64)
    for state, parent in enumerate(tree.links.parent):
        if parent != tree.root:
            steps[state] = steps[tree.state_of(parent)] + 1
    return steps
