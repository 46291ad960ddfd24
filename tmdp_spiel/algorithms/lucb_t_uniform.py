"""LUCB-T-Uniform (section 4.1 of the paper): each policy is judged on the same amount of data per ending.

A policy pi with n(pi) = m is judged on the first m outcomes of each of its ending sequences only. The union over counts
is then over one number per policy (and the number of episodes, if they can end before any own decision), but every
outcome must be remembered, and the estimate is not additive over all policies: each distinct count m needs a pass over
the tree, for the policies whose endings all have at least m plays, and one of them exactly m.
"""

from __future__ import annotations

import collections

import numba
import numpy as np

from tmdp_spiel.algorithms.lucb_t import BATCH, PLANNED, PLAYED, STOPPED, BatchLearner, next_policy
from tmdp_spiel.algorithms.policy_bandit import Policy, new_policy, policy_value
from tmdp_spiel.bounds import widths
from tmdp_spiel.core import validation
from tmdp_spiel.core.jit import kernel, tree_pass
from tmdp_spiel.planning import full_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.traversal import sample_deterministic

FULL = 4  # in the progress array, after LUCB-T's: a history has no room for another outcome

MAX_ENDINGS = 4096

# The non-zero outcomes of each sequence, in order: entries start[j] .. start[j] + number[j], room up to start[j + 1].
# at: at which play of j the episode ended there;  total: the sum of returns up to then
History = collections.namedtuple("History", ["start", "number", "at", "total"])
# plays: n(j);  sum: R(j);  endings: the ending sequences;  ending_of: their numbers, -1 for others;
# seen[e, f]: how many outcomes of ending e came in its first n(f) plays;
# classes: the endings, one for each distinct number of plays;  class_value: the best estimate in each class
Data = collections.namedtuple(
    "Data",
    ["plays", "sum", "endings", "ending_of", "seen", "classes", "class_value", "forced", "work", "seed"],
)
# width: float64[1], of what the last batch was judged by
LUCBTUniformMemory = collections.namedtuple(
    "LUCBTUniformMemory", ["data", "history", "schedule", "epsilon", "first", "second", "progress", "width"]
)


class LUCBTUniform(BatchLearner):
    """PAC identification; epsilon, delta, bound, c and union as for LUCBT. Memory grows with the episodes."""

    growing_arrays = ("at", "total")

    def __init__(
        self,
        tree: InfostateTree,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        bound: str = "theory",
        c: float = 1.0,
        union: str = "tight",
        seed: int = 0,
    ):
        super().__init__(tree, seed)
        self.epsilon = validation.probability("epsilon", epsilon)
        self.delta = validation.probability("delta", delta)
        self.bound = validation.choice("bound", bound, widths.BOUNDS)
        self.union = validation.choice("union", union, ("tight", "paper"))
        self.c = validation.positive("c", c)
        if bound == "theory":
            schedule = widths.uniform_schedule(tree, delta, union)
        else:
            schedule = widths.simple_schedule(c, delta)
        ends = tree.can_end.copy()
        ends[tree.root] = False  # episodes that end there count for every policy
        sequences, endings = tree.sequence_end, np.flatnonzero(ends)
        if len(endings) > MAX_ENDINGS:
            raise ValueError(
                f"LUCB-T-Uniform keeps a table of every pair of ending sequences and this tree has {len(endings):,}, "
                f"more than {MAX_ENDINGS:,}; LUCBT does without"
            )
        ending_of = np.full(sequences, -1, np.int32)
        ending_of[endings] = np.arange(len(endings))
        data = Data(
            plays=np.zeros(sequences, np.int32),
            sum=np.zeros(sequences),
            endings=endings.astype(np.int32),
            ending_of=ending_of,
            seen=np.zeros((len(endings), len(endings)), np.int32),
            classes=np.empty(len(endings), np.int32),
            class_value=np.empty(len(endings)),
            forced=np.full(tree.num_states, -1, PLAN_DTYPE),
            work=full_pass.new_workspace(tree.num_states, sequences),
            seed=self.seed,
        )
        capacity = np.concatenate([[0], np.cumsum(np.where(ends, 16, 0))])
        self._memory = LUCBTUniformMemory(
            data=data,
            history=History(
                capacity, np.zeros(sequences, np.int32), np.empty(capacity[-1], np.int32), np.empty(capacity[-1])
            ),
            schedule=schedule,
            epsilon=self.epsilon,
            first=new_policy(tree),
            second=new_policy(tree),
            progress=np.zeros(5, np.int64),
            width=np.full(1, np.inf),
        )

    @property
    def plays(self) -> np.ndarray:
        """n(j) per sequence."""
        return self._memory.data.plays.copy()

    def _prepare_batch(self):
        _prepare(self.tree.links, self._memory, self.episodes)

    def recommend(self) -> np.ndarray:
        """The empirically best policy, each judged on the first n(pi) outcomes of its endings."""
        policy = new_policy(self.tree)
        _best_policy(self.tree.links, self._memory.data, self._memory.history, self.episodes, policy)
        return self._whole(policy)

    def _whole(self, policy: Policy) -> np.ndarray:
        plan = np.zeros(self.tree.num_states, PLAN_DTYPE)
        reached = policy.reached[: policy.number[0]]
        plan[reached] = policy.plan[reached]
        return plan

    def _update(self, ended_on, value):
        _observe(self.tree.links, self._memory, ended_on, value)
        self._reserve()

    def _reserve(self) -> None:
        """Doubles the room of the sequences whose history is full."""
        if not self._memory.progress[FULL]:
            return
        old = self._memory.history
        capacity = np.diff(old.start)
        start = np.concatenate([[0], np.cumsum(np.where(old.number == capacity, 2 * capacity, capacity))])
        new = History(start, old.number, np.empty(start[-1], np.int32), np.empty(start[-1]))
        for j in np.flatnonzero(old.number):
            for source, target in ((old.at, new.at), (old.total, new.total)):
                target[start[j] : start[j] + old.number[j]] = source[old.start[j] : old.start[j] + old.number[j]]
        self._memory = self._memory._replace(history=new)
        self._memory.progress[FULL] = 0

    def _play(self, mdp, values, rng, episodes):
        done, value = 0, 0.0
        while done < episodes and not self._memory.progress[STOPPED]:
            played, total = _play(
                self.tree.links, mdp.chances, self._memory, self.episodes + done, rng, episodes - done
            )
            done += played
            value += total
            self._reserve()
        return done, value


@kernel
def _first_outcomes(data, history, sequence, like):
    """The sum of the returns of the first n(like) plays of a sequence, `like` an ending."""
    number = data.seen[data.ending_of[sequence], like]
    return history.total[history.start[sequence] + number - 1] if number > 0 else 0.0


@tree_pass
def _losses(links, data, history, like):
    """V and d for the policies whose endings all have at least n(like) plays, from the first n(like) outcomes of each.

    Sequences that no such policy plays have an infinite d; V is minus infinity if there is no such policy.
    """
    value, local_loss = data.work.value, data.work.local_loss
    count = data.plays[data.endings[like]]
    for state in range(len(links.parent) - 1, -1, -1):
        best = -np.inf
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            total = 0.0
            if links.can_end[j]:
                total = _first_outcomes(data, history, j, like) / count if data.plays[j] >= count else -np.inf
            total = traversal.add_children(links, j, value, total)
            local_loss[j] = total
            best = max(best, total)
        value[state] = best
        for j in range(links.first_sequence[state], links.first_sequence[state + 1]):
            local_loss[j] = best - local_loss[j] if local_loss[j] > -np.inf else np.inf
    return traversal.add_children(links, traversal.ROOT, value, 0.0)


@tree_pass
def _list_classes(data):
    """Lists an ending for each distinct number of plays, ascending; returns how many there are."""
    number = 0
    for ending in range(len(data.endings)):
        plays = data.plays[data.endings[ending]]
        at = number
        while at > 0 and data.plays[data.endings[data.classes[at - 1]]] > plays:
            at -= 1
        if at > 0 and data.plays[data.endings[data.classes[at - 1]]] == plays:
            continue
        for later in range(number, at, -1):
            data.classes[later] = data.classes[later - 1]
        data.classes[at] = ending
        number += 1
    return number


@tree_pass
def _plan_through(links, data, ending, deviation, episodes, policy):
    """The best policy under the current losses that plays the ending and, if it is not -1, the deviation."""
    traversal.force_path(links, ending, data.forced)
    if deviation >= 0:
        traversal.force_path(links, deviation, data.forced)
    policy.number[0] = full_pass.best_plan(
        links, data.work, data.forced, data.seed, episodes, policy.plan, policy.reached
    )
    traversal.release_path(links, ending, data.forced)
    if deviation >= 0:
        traversal.release_path(links, deviation, data.forced)


@kernel
def _best_of_class(links, data, history, like, episodes):
    """The best ending of exactly n(like) plays: (ending, estimate). Leaves the losses of its class in the workspace."""
    value = _losses(links, data, history, like)
    ending, loss, _ = full_pass.max_ucb_ending(
        links, data.work, data.plays, data.plays[data.endings[like]], 0.0, False, data.seed, episodes
    )
    return ending, (value - loss if ending >= 0 else -np.inf)


@tree_pass
def _best_policy(links, data, history, episodes, policy):
    """Fills in the best policy of all classes: (its place among them, their number).

    Leaves the losses of its class in the workspace. While a sequence is unplayed it is the best policy through one
    such, and its place -1.
    """
    number = _list_classes(data)
    if data.plays[data.endings[data.classes[0]]] == 0:
        full_pass.counts_losses(links, data.plays, data.sum, data.work)
        ending, _, _ = full_pass.max_ucb_ending(links, data.work, data.plays, 0, 0.0, False, data.seed, episodes)
        _plan_through(links, data, ending, -1, episodes, policy)
        return -1, number
    best = 0
    for at in range(number):
        _, data.class_value[at] = _best_of_class(links, data, history, data.classes[at], episodes)
        if data.class_value[at] > data.class_value[best]:
            best = at
    ending, _ = _best_of_class(links, data, history, data.classes[best], episodes)
    _plan_through(links, data, ending, -1, episodes, policy)
    return best, number


@tree_pass
def _prepare(links, memory, episodes):
    """The policies of the next batch, or the decision to stop."""
    data, history, first, progress = memory.data, memory.history, memory.first, memory.progress
    if progress[PLANNED] > 0 or progress[STOPPED]:
        return
    progress[BATCH] += 1
    best, number = _best_policy(links, data, history, episodes, first)
    if best < 0:
        progress[PLANNED] = 1
        return
    lam = widths.growth(memory.schedule, progress[BATCH])
    best_plays = data.plays[data.endings[data.classes[best]]]

    # The rival in the class of the first policy itself, whose losses are in place.
    value = traversal.add_children(links, traversal.ROOT, data.work.value, 0.0)
    full_pass.whole_best_plan(links, data.work, data.seed, episodes)
    for at in range(first.number[0]):
        data.work.plan[first.reached[at]] = first.plan[first.reached[at]]
    ending, deviation, loss, wide = full_pass.runner_up(
        links, data.work, data.plays, best_plays, lam, False, data.seed, episodes
    )
    upper = value - loss + lam * wide if ending >= 0 else -np.inf

    # Within any other class all widths are equal: the rival is the best of its class.
    rival = -1
    for at in range(number):
        bound = data.class_value[at] + lam * full_pass.width(data.plays[data.endings[data.classes[at]]], False)
        if at != best and bound > upper:
            rival, upper = at, bound
    root = data.sum[traversal.ROOT] / episodes
    lower = min(data.class_value[best] + root, 1.0) - lam * full_pass.width(best_plays, False)
    memory.width[0] = upper + root - lower
    if upper == -np.inf or lower >= upper + root - memory.epsilon:
        progress[STOPPED] = 1
        return
    if rival >= 0:
        deviation = np.int64(-1)
        ending, _ = _best_of_class(links, data, history, data.classes[rival], episodes)
    _plan_through(links, data, ending, deviation, episodes, memory.second)
    progress[PLANNED] = 2


@kernel
def _see_one_play_more(data, history, like):
    """Keeps seen[:, like] in step with a play of that ending."""
    for ending in range(len(data.endings)):
        sequence, number = data.endings[ending], data.seen[ending, like]
        if number < history.number[sequence]:
            data.seen[ending, like] += history.at[history.start[sequence] + number] <= data.plays[data.endings[like]]


@kernel
def _observe(links, memory, ended_on, value):
    data, history = memory.data, memory.history
    policy = memory.second if memory.progress[PLAYED] else memory.first
    for at in range(policy.number[0]):
        state = policy.reached[at]
        played = links.first_sequence[state] + policy.plan[state]
        data.plays[played] += 1
        if links.can_end[played]:
            _see_one_play_more(data, history, data.ending_of[played])
    data.sum[ended_on] += value
    if ended_on != traversal.ROOT and value != 0.0:
        last = history.start[ended_on] + history.number[ended_on]
        history.at[last] = data.plays[ended_on]
        history.total[last] = data.sum[ended_on]
        history.number[ended_on] += 1
        for like in range(len(data.endings)):
            if data.plays[data.endings[like]] >= data.plays[ended_on]:
                data.seen[data.ending_of[ended_on], like] += 1
        if last + 1 == history.start[ended_on + 1]:
            memory.progress[FULL] = 1
    next_policy(memory.progress)


@numba.njit(cache=True)
def _play(links, chances, memory, episodes, rng, number):
    total = 0.0
    for played in range(number):
        _prepare(links, memory, episodes + played)
        if memory.progress[STOPPED] or memory.progress[FULL]:
            return played, total
        policy = memory.second if memory.progress[PLAYED] else memory.first
        total += policy_value(links, chances, policy)
        ended_on, outcome = sample_deterministic(links, chances, policy.plan, rng.random())
        _observe(links, memory, ended_on, chances.outcome_return[outcome])
    return number, total
