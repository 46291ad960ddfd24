"""CFR in which most iterations visit only the sequences that were played lately.

Late in a run the current policies of CFR+ play few sequences, one or two in a hundred in large games. So, as in
regret-based pruning (Brown and Sandholm 2015), the game is restricted to these for some iterations. Then come a few
iterations on the whole game, in which actions that have become attractive come back. What the policies are worth is
always measured on the whole game: pruning can make them worse, but not seem better.
"""

from __future__ import annotations

import numpy as np

from tmdp_spiel.planning.cfr import CFRSolver
from tmdp_spiel.planning.mixture import SparseReach
from tmdp_spiel.trees.sequence_form import SequenceForm


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
