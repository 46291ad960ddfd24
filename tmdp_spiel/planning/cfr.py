"""Counterfactual regret minimisation over a sequence form, for both players.

CFR+ (Tammelin 2014), predictive CFR+ (Farina, Kroer and Sandholm 2021), discounted CFR (Brown and Sandholm 2019) and
predictive discounted CFR+ (Xu and others 2024), with alternating updates. One iteration of a player is a gradient, a
bottom-up pass that updates the regrets, and a top-down pass that computes the reach of the new policy and adds the old
one to the average. In every iteration, CFR+ gives the same policies as OpenSpiel's CFRPlusSolver.

The average can also be kept in blocks of iterations. The mixture of the blocks that is exploited least (`mixture`) is
often a better policy than the average of all of them.

Late in a run the current policies of CFR+ play few sequences, one or two in a hundred in large games. So, as in
regret-based pruning (Brown and Sandholm 2015), `PrunedCFRSolver` restricts the game to these for some iterations. Then
come a few iterations on the whole game, in which actions that have become attractive come back. What the policies are
worth is always measured on the whole game: pruning can make them worse, but not seem better.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numba
import numpy as np

from tmdp_spiel.planning.mixture import Mixture, SparseReach, least_exploitable, mixed_reach
from tmdp_spiel.trees.sequence_form import (
    Exploitability,
    Levels,
    SequenceForm,
    exploitability_of_reaches,
)
from tmdp_spiel.trees.traversal import ROOT


@dataclasses.dataclass(frozen=True)
class Variant:
    """How regrets are updated and policies are averaged in iteration t.

    R <- R d + r with d = t^a / (t^a + 1), where the exponent a depends on the sign of R (None: d = 1). If `floored`, R
    is kept at 0 or above. The next policy is proportional to the positive part of R, or of R + r if `predictive`. The
    policy of iteration t has the weight t^averaging in the average.
    """

    averaging: float
    floored: bool = True
    predictive: bool = False
    discount_positive: float | None = None
    discount_negative: float | None = None

    def discounts(self, iteration: int) -> tuple[float, float]:
        """d for positive and for negative regrets."""

        def discount(exponent: float | None) -> float:
            return 1.0 if exponent is None else iteration**exponent / (iteration**exponent + 1)

        return discount(self.discount_positive), discount(self.discount_negative)


VARIANTS = {
    "cfr+": Variant(averaging=1.0),
    "pcfr+": Variant(averaging=2.0, predictive=True),
    "dcfr": Variant(averaging=2.0, floored=False, discount_positive=1.5, discount_negative=0.0),
    "pdcfr+": Variant(averaging=5.0, predictive=True, discount_positive=2.3),
}


class CFRSolver:
    """CFR on a sequence form. Results do not depend on the number of threads.

    variant: "cfr+", "pcfr+" or "dcfr"
    dtype:   of regrets and of the average; np.float32 halves the memory of large games
    block:   how many iterations are averaged into one of the blocks that `mixed_policies` mixes; None: no blocks
    """

    def __init__(
        self, form: SequenceForm, variant: str = "cfr+", dtype: type = np.float64, *, block: int | None = None
    ):
        if variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, not {variant!r}")
        if block is not None and block < 1:
            raise ValueError(f"a block must have at least 1 iteration, not {block}")
        self.form, self.variant, self.block, self.iteration = form, variant, block, 0
        self._rule = VARIANTS[variant]
        sizes = [tree.sequence_end for tree in form.trees]
        self._regrets: list[np.ndarray] = [np.zeros(size, dtype) for size in sizes]
        self._matched = [np.zeros(size, dtype) for size in sizes] if self._rule.predictive else self._regrets
        self._total_reach: list[np.ndarray] = [np.zeros(size, dtype) for size in sizes]  # since the last whole block
        self._blocks: tuple[list[SparseReach], list[SparseReach]] = ([], [])  # the totals of the whole blocks
        self._reach = [np.zeros(size) for size in sizes]
        self._gradient = np.empty(max(sizes))
        self._values = np.empty(max(tree.num_states for tree in form.trees))
        self._match_regrets()

    def _match_regrets(self) -> None:
        for player in (0, 1):
            _match_regrets(
                self.form.levels[player], self._matched[player], 0.0, self._reach[player], self._total_reach[player]
            )

    def iterate(self) -> None:
        """One iteration: each player in turn updates its regrets against the other's current policy."""
        self.iteration += 1
        rule, weight = self._rule, float(self.iteration) ** self._rule.averaging
        positive, negative = rule.discounts(self.iteration)
        for player in (0, 1):
            levels = self.form.levels[player]
            regrets, matched = self._regrets[player], self._matched[player]
            gradient = self._gradient[: len(regrets)]
            self.form.gradient(player, self._reach[1 - player], out=gradient)
            _update_regrets(
                levels, gradient, self._values, regrets, matched, positive, negative, rule.floored, rule.predictive
            )
            _match_regrets(levels, matched, weight, self._reach[player], self._total_reach[player])
            if self.block is not None and self.iteration % self.block == 0:
                self._blocks[player].append(SparseReach.of(self._total_reach[player]))
                self._total_reach[player].fill(0.0)

    def average_policy(self, player: int) -> np.ndarray:
        """The average of the policies so far as a policy table."""
        total = self._total_reach[player]
        if self._blocks[player]:
            total = total.astype(np.float64)
            for block in self._blocks[player]:
                total[block.sequences] += block.reach
        return self.form.policy(player, total)

    def average_reach(self, player: int) -> np.ndarray:
        """The own reach of the average of the policies so far."""
        return self.form.reach(player, self.average_policy(player))

    def block_reaches(self, player: int) -> list[SparseReach]:
        """The average of each block of iterations; the last block may be incomplete."""
        if self.block is None:
            raise ValueError("the solver was not asked to keep blocks")
        totals = list(self._blocks[player])
        if self.iteration % self.block:
            totals.append(SparseReach.of(self._total_reach[player]))
        ends = [min((k + 1) * self.block, self.iteration) for k in range(len(totals))]
        return [
            SparseReach(total.sequences, total.reach / self._weight_of(k * self.block, end))
            for k, (total, end) in enumerate(zip(totals, ends))
        ]

    def _weight_of(self, start: int, end: int) -> float:
        """The weight that the iterations after `start`, up to `end`, have in the average."""
        return float((np.arange(start + 1, end + 1) ** self._rule.averaging).sum())

    def mixed_policies(
        self, report: Callable[[int, int, Mixture], None] | None = None, **how
    ) -> tuple[list[np.ndarray], list[float]]:
        """The mixtures of the blocks that best responses win least against, as policy tables, and those winnings.

        report: called with the player, the number of best responses so far, and the best Mixture of them. how: further
        arguments of `least_exploitable`.
        """
        tables, losses = [], []
        for player in (0, 1):
            blocks = self.block_reaches(player)
            told = report and functools.partial(report, player)
            best = least_exploitable(self.form, player, blocks, report=told, **how)
            tables.append(self.form.policy(player, mixed_reach(self.form, player, blocks, best.weights)))
            losses.append(best.loss)
        return tables, losses

    def exploitability(self) -> Exploitability:
        """The exact exploitability of the average policies."""
        return exploitability_of_reaches(self.form, [self.average_reach(player) for player in (0, 1)])

    def state_dict(self) -> dict[str, np.ndarray]:
        """The state from which another solver of the same game resumes identically."""
        state = {
            "iteration": np.array(self.iteration),
            "variant": np.array(self.variant),
            "block": np.array(self.block or 0),
        }
        for player in (0, 1):
            state[f"regrets_{player}"] = self._regrets[player]
            state[f"total_reach_{player}"] = self._total_reach[player]
            if self._rule.predictive:
                state[f"matched_{player}"] = self._matched[player]
            for k, block in enumerate(self._blocks[player]):
                state[f"block_{player}_{k}_sequences"], state[f"block_{player}_{k}_reach"] = (
                    block.sequences,
                    block.reach,
                )
        return state

    def load_state_dict(self, state) -> None:
        """Resumes from a state that state_dict returned."""
        if str(state["variant"]) != self.variant:
            raise ValueError(f"the checkpoint is of {state['variant']}, but this solver runs {self.variant}")
        if int(state["block"]) != (self.block or 0):
            raise ValueError(
                f"the checkpoint has blocks of {state['block']} iterations, but this solver of {self.block}"
            )
        for player in (0, 1):
            self._regrets[player][:] = state[f"regrets_{player}"]
            if self._rule.predictive:
                self._matched[player][:] = state[f"matched_{player}"]
        self._match_regrets()
        for player in (0, 1):
            self._total_reach[player][:] = state[f"total_reach_{player}"]
            self._blocks[player][:] = [
                SparseReach(state[f"block_{player}_{k}_sequences"], state[f"block_{player}_{k}_reach"])
                for k in range(int(state["iteration"]) // self.block if self.block else 0)
            ]
        self.iteration = int(state["iteration"])


@numba.njit(cache=True, parallel=True)
def _update_regrets(
    levels: Levels,
    gradient: np.ndarray,
    values: np.ndarray,
    regrets: np.ndarray,
    matched: np.ndarray,
    positive: float,
    negative: float,
    floored: bool,
    predictive: bool,
) -> None:
    """One update of the regrets, bottom-up, where r(s, a) = q(s, a) - v(s).

    q(s, a) = g(s, a) + sum over the children c of v(c), and v(s) = sum over a of sigma(s, a) q(s, a) with sigma(s, .)
    in proportion to the positive part of matched(s, .), uniform if that is zero. Overwrites `gradient` with q.
    """
    for level in range(len(levels.level_start) - 2, -1, -1):
        for s in numba.prange(levels.level_start[level], levels.level_start[level + 1]):
            first, end = levels.first_sequence[s], levels.first_sequence[s + 1]
            total, weighted, plain = 0.0, 0.0, 0.0
            for j in range(first, end):
                value = gradient[j]
                for c in range(levels.first_child[j], levels.first_child[j + 1]):
                    value += values[c]
                gradient[j] = value
                weight = max(0.0, matched[j])
                total += weight
                weighted += weight * value
                plain += value
            state_value = weighted / total if total > 0 else plain / (end - first)
            values[s] = state_value
            for j in range(first, end):
                gained = gradient[j] - state_value
                regret = regrets[j] * (positive if regrets[j] > 0 else negative) + gained
                if floored and regret < 0:
                    regret = 0.0
                regrets[j] = regret
                if predictive:
                    matched[j] = regret + gained


@numba.njit(cache=True, parallel=True)
def _match_regrets(
    levels: Levels, matched: np.ndarray, weight: float, reach: np.ndarray, total_reach: np.ndarray
) -> None:
    """Adds `weight` x(j) to the average; then, top-down, x(s, a) = x(parent of s) sigma(s, a), by regret matching."""
    reach[ROOT] = 1.0
    for level in range(len(levels.level_start) - 1):
        for s in numba.prange(levels.level_start[level], levels.level_start[level + 1]):
            first, end = levels.first_sequence[s], levels.first_sequence[s + 1]
            above = reach[levels.parent[s]]
            total = 0.0
            for j in range(first, end):
                total += max(0.0, matched[j])
            for j in range(first, end):
                total_reach[j] += weight * reach[j]
                reach[j] = above * (max(0.0, matched[j]) / total if total > 0 else 1.0 / (end - first))


class PrunedCFRSolver(CFRSolver):
    """CFR whose blocks begin with `pruned` iterations on the sequences that were played lately.

    The other iterations of a block, and all of the first block, visit all sequences. So do all iterations of a block if
    the form cannot be restricted.
    """

    def __init__(self, form: SequenceForm, variant: str = "cfr+", dtype: type = np.float64, *, block: int, pruned: int):
        if not 1 <= pruned < block:
            raise ValueError(f"of the {block} iterations of a block, 1 to {block - 1} can be pruned, not {pruned}")
        super().__init__(form, variant, dtype, block=block)
        self._length, self._pruned = block, pruned
        self._played = [np.zeros(tree.sequence_end, np.bool_) for tree in form.trees]
        self._restricted: CFRSolver | None = None
        self._kept: tuple[np.ndarray, np.ndarray] | None = None  # the numbers of the sequences of `_restricted`
        self._whole_until = block  # up to here, iterations visit all sequences

    def iterate(self) -> None:
        """One iteration, on all sequences or on those that were played lately."""
        at, all_whole = self.iteration % self._length, self.iteration < self._whole_until
        if self._restricted is None and at < self._pruned and not all_whole:
            all_whole = not self._restrict()
        if self._restricted is None:
            super().iterate()
            if all_whole and at == self._length // 2:
                self._forget()
            if not all_whole or at >= self._length // 2:
                for played, reach in zip(self._played, self._reach):
                    played |= reach > 0
            return
        self._restricted.iterate()
        self.iteration += 1
        if at == self._pruned - 1:
            self._merge()
            self._restricted = None
            for played, total in zip(self._played, self._total_reach):
                np.greater(total, 0, out=played)

    def _forget(self) -> None:
        for played in self._played:
            played.fill(False)

    def _restrict(self) -> bool:
        """Makes the solver of the restricted game, which goes on from here; False if this is not possible."""
        found = self.form.restricted(self._played)
        if found is None:
            self._whole_until = self.iteration - self.iteration % self._length + self._length
            return False
        form, self._kept = found
        small = CFRSolver(form, self.variant, self._regrets[0].dtype.type)
        for player, kept in enumerate(self._kept):
            small._regrets[player][:] = self._regrets[player][kept]
            small._matched[player][:] = self._matched[player][kept]
        small._match_regrets()
        small.iteration = self.iteration
        self._restricted = small
        return True

    def _merge(self) -> None:
        """Takes over regrets and averages of the restricted game; a second call changes nothing."""
        if self._restricted is None or self._kept is None:
            return
        small = self._restricted
        for player, kept in enumerate(self._kept):
            self._regrets[player][kept] = small._regrets[player]
            self._matched[player][kept] = small._matched[player]
            self._total_reach[player][kept] += small._total_reach[player]
            small._total_reach[player].fill(0.0)
        self._match_regrets()

    def average_policy(self, player: int) -> np.ndarray:
        self._merge()
        return super().average_policy(player)

    def block_reaches(self, player: int) -> list[SparseReach]:
        self._merge()
        return super().block_reaches(player)

    def state_dict(self) -> dict[str, np.ndarray]:
        self._merge()
        played = {f"played_{player}": self._played[player] for player in (0, 1)}
        return {**super().state_dict(), "pruned": np.array(self._pruned), **played}

    def load_state_dict(self, state) -> None:
        if int(state["pruned"]) != self._pruned:
            raise ValueError(f"the checkpoint has {state['pruned']} pruned iterations in a block, not {self._pruned}")
        super().load_state_dict(state)
        for player in (0, 1):
            self._played[player][:] = state[f"played_{player}"]
        self._restricted, self._whole_until = None, self._length
