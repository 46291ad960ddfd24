"""Equilibria of RBT by CFR+ with the senses factored out.

CFR+: alternating updates, regrets floored at 0, linear averaging (Tammelin, "Solving Large Imperfect Information Games
Using CFR+", 2014). In every iteration it gives the same policies as OpenSpiel's CFRPlusSolver. One iteration takes a
few passes over the two trees (`passes`). Policies are stored as the players' reaches, which can be averaged.

The average is also stored per block of iterations, because the mixture of the blocks that is exploited least is a
better final policy (`mixture`). Results do not depend on the number of threads, nor on whether the solver was stopped
and resumed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from open_spiel.python import policy as policy_lib

from tmdp_spiel.core import storage
from tmdp_spiel.games.rbt import mixture, passes
from tmdp_spiel.games.rbt.game import RBTGame
from tmdp_spiel.games.rbt.mixture import Mixture, SparseReach
from tmdp_spiel.games.rbt.policy import Support, SupportPolicy, prune
from tmdp_spiel.games.rbt.structure import Enumeration, PlayerTree
from tmdp_spiel.games.rbt.tree import enumeration, own_reach

LEAST_PROBABILITY = 0.003  # what is rarer is pruned, which makes the policy smaller and hardly worse
LEAST_REACH = 1e-6


class CFRPlus:
    """CFR+ on an enumerated game, for both players.

    block: the number of iterations whose policies are averaged into one of `block_reaches`
    """

    def __init__(self, enumerated: Enumeration, *, block: int = 10):
        if block < 1:
            raise ValueError(f"a block must have at least 1 iteration, not {block}")
        self.enumerated = enumerated
        self.block = block
        self.iteration = 0
        self._regrets = self._zeros()
        self._reach = self._zeros()  # of the current policies
        self._total_reach = self._zeros()  # of the iterations since the last whole block
        self._blocks: tuple[list[SparseReach], list[SparseReach]] = ([], [])  # the totals of the whole blocks
        self._endings = self._zeros()
        self._values = [np.zeros(tree.num_states) for tree in enumerated.trees]
        self._match_regrets(0, weight=0.0)
        self._match_regrets(1, weight=0.0)

    def _zeros(self) -> list[np.ndarray]:
        return [np.zeros(tree.num_sequences) for tree in self.enumerated.trees]

    def _match_regrets(self, player: int, weight: float) -> None:
        links = self.enumerated.trees[player].links
        passes.match_regrets(links, self._regrets[player], weight, self._reach[player], self._total_reach[player])

    def iterate(self) -> None:
        """One iteration: each player in turn updates against the other's policy, and adds its own to the average."""
        self.iteration += 1
        for player in (0, 1):
            links = self.enumerated.trees[player].links
            endings = self._endings[player]
            weights = passes.move_weights(self.enumerated, 1 - player, self._reach[1 - player])
            passes.ending_values(self.enumerated, player, weights, passes.UTILITIES, endings)
            passes.update_regrets(links, endings, self._values[player], self._regrets[player])
            self._match_regrets(player, weight=float(self.iteration))
            if self.iteration % self.block == 0:
                self._blocks[player].append(_sparse(self._total_reach[player]))
                self._total_reach[player].fill(0.0)

    def average_reach(self, player: int) -> np.ndarray:
        """The reach of the linearly weighted average of a player's policies so far."""
        total = self._total_reach[player].copy()
        for block in self._blocks[player]:
            total[block.sequences] += block.reach
        return total / _sum_to(self.iteration)

    def average_reaches(self) -> list[np.ndarray]:
        """The averages of x and of o."""
        return [self.average_reach(player) for player in (0, 1)]

    def block_reaches(self, player: int) -> list[SparseReach]:
        """The average of each block of iterations; the last block may be incomplete."""
        totals = list(self._blocks[player])
        if self.iteration % self.block:
            totals.append(_sparse(self._total_reach[player]))
        ends = [min((k + 1) * self.block, self.iteration) for k in range(len(totals))]
        return [
            SparseReach(total.sequences, total.reach / (_sum_to(end) - _sum_to(k * self.block)))
            for k, (total, end) in enumerate(zip(totals, ends))
        ]

    def best_response_values(self) -> tuple[float, float]:
        """What x and o can each win against the other's average policy, in the game's utilities."""
        return self._best_response_value(0), self._best_response_value(1)

    def _best_response_value(self, player: int) -> float:
        return passes.best_response_value(
            self.enumerated, player, self.average_reach(1 - player), self._endings[player], self._values[player]
        )

    def save(self, path: str | os.PathLike) -> None:
        """Writes a checkpoint atomically."""
        with storage.replacing(path, "wb") as file:
            np.savez(file, run=self._run(), iteration=self.iteration, **self._checkpointed())

    def restore(self, path: str | os.PathLike) -> None:
        """Resumes from a checkpoint; the results are the same as those of an uninterrupted run."""
        try:
            with np.load(path, allow_pickle=False) as stored:  # reading an array checks its CRC-32
                if str(stored["run"]) != self._run():
                    raise ValueError(f"{path} belongs to {stored['run']}; this is {self._run()}")
                iteration = int(stored["iteration"])
                for player, mark in enumerate("xo"):
                    self._regrets[player][:] = stored[f"regrets_{mark}"]
                    self._total_reach[player][:] = stored[f"total_plan_{mark}"]
                    self._blocks[player][:] = [
                        SparseReach(stored[f"block_{mark}{k}_sequences"], stored[f"block_{mark}{k}_reach"])
                        for k in range(iteration // self.block)
                    ]
                self.iteration = iteration
        except (zipfile.BadZipFile, EOFError, KeyError, zlib.error, NotImplementedError, RuntimeError) as error:
            raise ValueError(
                f"{path} is not a complete checkpoint ({error}); delete it to solve from the start"
            ) from None
        self._match_regrets(0, weight=0.0)
        self._match_regrets(1, weight=0.0)

    def _run(self) -> str:
        return f"{self.enumerated.description}, blocks of {self.block} iterations"

    def _checkpointed(self) -> dict[str, Any]:
        """The arrays that determine the state of the solver."""
        arrays = {}
        for player, mark in enumerate("xo"):
            arrays[f"regrets_{mark}"] = self._regrets[player]
            arrays[f"total_plan_{mark}"] = self._total_reach[player]
            for k, block in enumerate(self._blocks[player]):
                arrays[f"block_{mark}{k}_sequences"] = block.sequences
                arrays[f"block_{mark}{k}_reach"] = block.reach
        return arrays


def _sparse(reach: np.ndarray) -> SparseReach:
    sequences = np.flatnonzero(reach).astype(np.int32)
    return SparseReach(sequences, reach[sequences])


def _sum_to(iteration: int) -> int:
    """1 + 2 + .. + iteration: the total weight of the linear average."""
    return iteration * (iteration + 1) // 2


def solve(
    solver: CFRPlus,
    *,
    iterations: int,
    target_exploitability: float = 0.0,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_every: int = 25,
    report_every: int = 10,
    report: Callable[[int, tuple[float, float]], None] | None = None,
) -> None:
    """Runs a CFRPlus solver until the iterations are done or the target is met; resumes from `checkpoint` if it exists.

    The exploitability, the average over the two players of what their best responses win, is computed every
    `report_every` iterations and at the end, and passed to `report(iteration, best_response_values)`.
    """
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1, not {iterations}")
    with contextlib.nullcontext() if checkpoint is None else storage.locked(checkpoint):
        if checkpoint is not None and pathlib.Path(checkpoint).exists():
            solver.restore(checkpoint)
        while solver.iteration < iterations:
            solver.iterate()
            done = solver.iteration >= iterations
            if done or solver.iteration % report_every == 0:
                values = solver.best_response_values()
                done = done or sum(values) / 2 <= target_exploitability
                if report is not None:
                    report(solver.iteration, values)
            if checkpoint is not None and (done or solver.iteration % checkpoint_every == 0):
                solver.save(checkpoint)
            if done:
                break


def least_exploitable_reaches(
    solver: CFRPlus, *, report: Callable[[int, int, Mixture], None] | None = None
) -> tuple[list[np.ndarray], list[float]]:
    """The mixtures of a solver's blocks against which best responses win least, for x and o, and these winnings.

    report: called with the player, the number of best responses so far, and the best Mixture of them.
    """
    reaches, losses = [], []
    for player in (0, 1):
        blocks = solver.block_reaches(player)
        best = mixture.least_exploitable(
            solver.enumerated, player, blocks, report=report and functools.partial(report, player)
        )
        reaches.append(mixture.mixed_reach(solver.enumerated, player, blocks, best.weights))
        losses.append(best.loss)
    return reaches, losses


def best_response_values(game: RBTGame, policy: policy_lib.Policy) -> tuple[float, float]:
    """What x and o can each win against a policy of both players, in the game's utilities."""
    x, o = (
        passes.best_response_value(enumeration(game), player, own_reach(game, 1 - player, policy)) for player in (0, 1)
    )
    return x, o


def pruned_policy(
    game: RBTGame,
    reaches: Sequence[np.ndarray],
    *,
    least_probability: float = LEAST_PROBABILITY,
    least_reach: float = LEAST_REACH,
    **facts,
) -> SupportPolicy:
    """The policy of the plans of x and o, given by their reaches, without their rarest parts.

    Its exploitability is measured after pruning. facts: further properties to record with it, such as the number of
    iterations.
    """

    def pruned(tree: PlayerTree, reach: np.ndarray) -> Support:
        plan = np.empty(tree.num_sequences)
        passes.plan_of_reach(tree.links, reach, plan)
        return prune(tree, plan, reach, least_probability=least_probability, least_reach=least_reach)

    x, o = (pruned(tree, reach) for tree, reach in zip(enumeration(game).trees, reaches))
    policy = SupportPolicy(game, (x, o), {})
    best_response_x, best_response_o = best_response_values(game, policy)
    policy.facts = {
        "game": str(game),
        **facts,
        "best_response_x": best_response_x,
        "best_response_o": best_response_o,
        "exploitability": (best_response_x + best_response_o) / 2,
    }
    return policy
