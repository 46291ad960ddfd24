"""BettingUCRL with a lower bound, if everything that happened in an episode is known at its end.

This is for deep trees, on which estimates of all policies together are not informative. Four of five episodes are
played by BettingUCRL, and one by the answer to a model of the others, as in BettingOnHistories. The upper bound is the
one by sequences, with delta divided by policy, from all episodes (docs/lab/theory_sharper.md, section 5: how they were
chosen does not matter). The lower bound is that of section 4 for the answers, from their own episodes. Its estimates
are corrected for the luck of chance and of the player's own draws (section 8, where the exploration is the answer, so
that no weight is above 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np

from tmdp_spiel.algorithms.betting_on_histories import PRECISION, look_ahead, model_of
from tmdp_spiel.algorithms.betting_ucrl import BettingUCRL
from tmdp_spiel.algorithms.exploration import mixture, new_seen
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.bounds.history_values import answer_estimate, least_of_answer
from tmdp_spiel.bounds.policy_values import penalty
from tmdp_spiel.bounds.sequence_values import upper_values
from tmdp_spiel.core import validation
from tmdp_spiel.trees.history_tree import OWN, HistoryTree
from tmdp_spiel.trees.tree_mdp import own_reach

# Chosen on liars_dice, seeds from 1000. Neither affects a guarantee.
_ANSWER_EVERY = 5  # episodes
_GROWTH, _BETWEEN_LOOKS = 1.05, 500  # of the episodes between two answers, and at least
_RISK = 0.8  # the most that stake times reach may be
_FORESEEN = 100_000  # episodes that stakes are set for, if it is not known how many are planned


class BettingUCRLOnHistories(Learner):
    """Bounds the value of the best response from both sides at all times; never stops by itself.

    It learns from the actions of all players: call learn_actions() instead of learn().

    rules: all histories of the game, for the player.
    planned: the number of episodes after which the bounds should be narrowest; None if unknown.
    delta: of both bounds together, divided equally.
    """

    def __init__(self, rules: HistoryTree, *, planned: int | None = None, delta: float = 0.05, seed: int = 0):
        super().__init__(rules.tree, seed)
        self.rules, self.delta = rules, validation.probability("delta", delta)
        self.planned = None if planned is None else validation.whole_number("planned", planned)
        tree = rules.tree
        self.optimist = BettingUCRL(tree, delta=delta / 2, seed=seed)
        self._seen = new_seen(tree, np.empty(0))
        self._visits, self._base = np.zeros(len(rules)), np.zeros(len(rules))
        self._answer = np.zeros(tree.num_sequences)
        self._summed = np.zeros(2)  # of the lower bound: stakes, and the bracket
        self._next_look = 0
        self._look()

    @property
    def _answers_next(self) -> bool:
        return self.episodes % _ANSWER_EVERY == _ANSWER_EVERY - 1

    def plan(self) -> np.ndarray:
        """The plan of BettingUCRL, or the answer, a mixed plan."""
        return self._answer.copy() if self._answers_next else self.optimist.plan()

    def recommend(self) -> np.ndarray:
        """The mixture of the answers so far, weighted by their stakes. The lower bound holds for it."""
        return mixture(self.tree.links, self._seen.answers, 0.0, self._answer)

    def learn_actions(self, actions: Sequence[int]) -> None:
        """Updates on an episode of plan(), given by the actions of all players and of chance."""
        nodes, histories = self.rules.nodes_of(actions), self.rules.histories
        if self._answers_next:
            x = answer_estimate(histories, self._answer, self._base, nodes)
            self._summed += self._stake, self._stake * x - self._penalty * (x - self._centre) ** 2
            _add(self._seen.answers, self._reach, self._stake)
        self._visits[nodes] += 1.0
        own = nodes[1:][histories.kind[nodes[:-1]] == OWN]
        sequences = histories.move[own]
        self._seen.visits[sequences] += 1
        ended_on = int(sequences[-1]) if len(sequences) else self.tree.root
        self.optimist.observe(ended_on, float(histories.value[nodes[-1]]))
        self.episodes += 1
        if self.episodes >= self._next_look:
            self._look()

    def _look(self) -> None:
        """Sets the answer, B and the stake for the episodes until the next look."""
        tree, histories = self.tree, self.rules.histories
        model = model_of(histories, self._visits)
        outlook = look_ahead(tree.links, histories, self._seen, self._base, self._answer, model)
        self._reach = own_reach(tree.links, self._answer)
        variance = model.spread[0] + 1e-12 + float((outlook.chance * outlook.variances * self._reach).sum())
        self._centre = float(self._base[0])
        reach = max(self._centre - least_of_answer(histories, self._answer, self._base), 1e-6)
        number = max(self.planned or _FORESEEN, self.episodes) / _ANSWER_EVERY
        needed = math.log(2.0 / self.delta)
        wanted = min(math.sqrt(2.0 * needed / (number * variance)), needed / (number * PRECISION))
        self._stake = min(wanted, _RISK / reach)
        self._penalty = float(penalty(self._stake, reach))
        self._next_look = max(math.ceil(_GROWTH * self.episodes), self.episodes + _BETWEEN_LOOKS)

    def upper_bound(self, delta: float | None = None) -> float:
        """An upper bound on all policies, with probability 1 - delta at all times; by default half of delta."""
        delta = self.delta / 2 if delta is None else delta
        model = self.optimist._model
        return float(upper_values(self.tree, model.visits, model.returns, model.squares, delta)[-1])

    def lower_bound(self, delta: float | None = None) -> float:
        """A lower bound on the value of recommend(), with probability 1 - delta at all times; see upper_bound."""
        delta = self.delta / 2 if delta is None else validation.probability("delta", delta)
        stakes, total = self._summed
        return max(float((total + math.log(delta)) / stakes), 0.0) if stakes > 0.0 else 0.0

    def foreseen_upper_bound(self, delta: float, factor: float) -> float:
        """An estimate of upper_bound(delta) after `factor` times the episodes, if these are like those so far."""
        return self.upper_bound(validation.probability("delta", delta) ** (1.0 / factor))

    @property
    def status(self) -> str:
        return f"the best response is worth {self.lower_bound():.3f} to {self.upper_bound():.3f} on the [0, 1] scale"

    def _update(self, ended_on, value):
        raise TypeError("BettingUCRLOnHistories learns from whole histories: call learn_actions(actions)")

    def _play(self, mdp, values, rng, episodes):
        raise TypeError("BettingUCRLOnHistories learns from whole histories, which a TreeMDP does not have")


@numba.njit(cache=True)
def _add(answers, reach, stake):
    for j in range(len(reach)):
        answers[j] += stake * reach[j]
