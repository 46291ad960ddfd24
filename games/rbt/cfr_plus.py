"""Equilibria of RBT by CFR+ with the senses factored out.

CFR+: alternating updates, regrets floored at 0, linear averaging (Tammelin, "Solving Large Imperfect Information Games
Using CFR+", 2014); iteration by iteration the same policies as OpenSpiel's CFRPlusSolver. One iteration costs a few passes
over the two trees (`rbt_passes.py`).

The average is also kept block by block, because a better one can be had at the end: the mixture of the blocks that is
exploited least (`rbt_mixture.py`). Results do not depend on the number of threads, nor on whether the solver was stopped
and resumed.
"""

import contextlib
import functools
import pathlib
import zipfile
import zlib

import numpy as np
import pyspiel

from tmdp_spiel.games.rbt import (
    mixture as rbt_mixture,
    passes,
    policy as rbt_policy,
    policy_file as rbt_policy_file,
    tree as rbt_tree,
)
from tmdp_spiel.trees import storage

SHIPPED = pathlib.Path(__file__).parent / "data" / "rbt_equilibrium.bin"
LEAST_PROBABILITY = 0.003  # what is rarer is pruned, which makes the policy smaller and hardly worse
LEAST_REACH = 1e-6


class CFRPlus:
    """CFR+ on an enumerated game, for both players.

    block: the number of iterations whose policies are averaged into one plan of `block_plans`
    """

    def __init__(self, game, *, block=10):
        if block < 1:
            raise ValueError(f"a block must have at least 1 iteration, not {block}")
        self.game = game
        self.block = block
        self.iteration = 0
        self._regrets = self._zeros()
        self._plans = self._zeros()  # the current policy in sequence form
        self._total_plans = self._zeros()  # of the iterations since the last whole block
        self._blocks = ([], [])  # per player the total plans of the whole blocks, as SparsePlans
        self._endings = self._zeros()
        self._values = [np.zeros(tree.num_states) for tree in game.trees]
        self._match_regrets(0, weight=0.0)
        self._match_regrets(1, weight=0.0)

    def _zeros(self):
        return [np.zeros(tree.num_sequences) for tree in self.game.trees]

    def _match_regrets(self, player, weight):
        tree = self.game.trees[player]
        passes.match_regrets(
            tree.level_start,
            tree.first_sequence,
            tree.parent,
            self._regrets[player],
            weight,
            self._plans[player],
            self._total_plans[player],
        )

    def iterate(self):
        """One iteration: each player in turn answers the other's current policy, and adds its own to the average."""
        self.iteration += 1
        for player in (0, 1):
            tree = self.game.trees[player]
            weights = passes.move_weights(self.game, 1 - player, self._plans[1 - player])
            passes.ending_values(self.game, player, weights, passes.UTILITIES, self._endings[player])
            passes.update_regrets(
                tree.level_start,
                tree.first_sequence,
                tree.first_child,
                self._endings[player],
                self._values[player],
                self._regrets[player],
            )
            self._match_regrets(player, weight=float(self.iteration))
            if self.iteration % self.block == 0:
                self._blocks[player].append(_sparse(self._total_plans[player]))
                self._total_plans[player].fill(0.0)

    def average_plan(self, player):
        """The linearly weighted average of a player's policies so far, in sequence form."""
        total = self._total_plans[player].copy()
        for block in self._blocks[player]:
            total[block.sequences] += block.reach
        return total / _sum_to(self.iteration)

    def average_plans(self):
        """The averages of x and of o."""
        return [self.average_plan(player) for player in (0, 1)]

    def block_plans(self, player):
        """The average plan of each block of iterations, the last one perhaps not yet whole, as SparsePlans."""
        totals = list(self._blocks[player])
        if self.iteration % self.block:
            totals.append(_sparse(self._total_plans[player]))
        ends = [min((k + 1) * self.block, self.iteration) for k in range(len(totals))]
        return [
            rbt_mixture.SparsePlan(total.sequences, total.reach / (_sum_to(end) - _sum_to(k * self.block)))
            for k, (total, end) in enumerate(zip(totals, ends))
        ]

    def best_response_values(self):
        """What x and o can each win against the other's average plan, in the game's utilities."""
        return tuple(
            passes.best_response_value(
                self.game, player, self.average_plan(1 - player), self._endings[player], self._values[player]
            )
            for player in (0, 1)
        )

    def save(self, path):
        """Writes a checkpoint that appears whole or not at all, and not before it is on the disk."""
        with storage.replacing(path, "wb") as file:
            np.savez(file, run=self._run(), iteration=self.iteration, **self._checkpointed())

    def restore(self, path):
        """Continues from a checkpoint, to the very numbers that an uninterrupted run would have reached."""
        try:
            with np.load(path, allow_pickle=False) as stored:  # reading an array checks its CRC-32
                if str(stored["run"]) != self._run():
                    raise ValueError(f"{path} belongs to {stored['run']}; this is {self._run()}")
                iteration = int(stored["iteration"])
                for player, mark in enumerate("xo"):
                    self._regrets[player][:] = stored[f"regrets_{mark}"]
                    self._total_plans[player][:] = stored[f"total_plan_{mark}"]
                    self._blocks[player][:] = [
                        rbt_mixture.SparsePlan(stored[f"block_{mark}{k}_sequences"], stored[f"block_{mark}{k}_reach"])
                        for k in range(iteration // self.block)
                    ]
                self.iteration = iteration
        except (zipfile.BadZipFile, EOFError, KeyError, zlib.error, NotImplementedError, RuntimeError) as error:
            raise ValueError(
                f"{path} is not a complete checkpoint ({error}); delete it to solve from the start"
            ) from None
        self._match_regrets(0, weight=0.0)
        self._match_regrets(1, weight=0.0)

    def _run(self):
        return f"{self.game.description}, blocks of {self.block} iterations"

    def _checkpointed(self):
        """The arrays that the rest of the solver follows from."""
        arrays = {}
        for player, mark in enumerate("xo"):
            arrays[f"regrets_{mark}"] = self._regrets[player]
            arrays[f"total_plan_{mark}"] = self._total_plans[player]
            for k, block in enumerate(self._blocks[player]):
                arrays[f"block_{mark}{k}_sequences"] = block.sequences
                arrays[f"block_{mark}{k}_reach"] = block.reach
        return arrays


def _sparse(plan):
    sequences = np.flatnonzero(plan).astype(np.int32)
    return rbt_mixture.SparsePlan(sequences, plan[sequences])


def _sum_to(iteration):
    return iteration * (iteration + 1) // 2


def solve(
    solver, *, iterations, target_exploitability=0.0, checkpoint=None, checkpoint_every=25, report_every=10, report=None
):
    """Runs a CFRPlus solver until the iterations are done or the target is met; resumes from `checkpoint` if the file exists.

    The exploitability, the mean of what the two players could win by best responses, is computed every `report_every`
    iterations and at the end, and passed to `report(iteration, best_response_values)`.
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


def least_exploitable_plans(solver, *, report=None):
    """The mixtures of a solver's blocks that best responses win least against: the plans of x and of o, and those winnings.

    report: called with the player, the number of best responses so far, and the best Mixture of them.
    """
    plans, losses = [], []
    for player in (0, 1):
        blocks = solver.block_plans(player)
        mixture = rbt_mixture.least_exploitable(
            solver.game, player, blocks, report=report and functools.partial(report, player)
        )
        plans.append(rbt_mixture.mixed_plan(solver.game, player, blocks, mixture.weights))
        losses.append(mixture.loss)
    return plans, losses


def best_response_values(game, policy):
    """What x and o can each win against a policy of both players, in the game's utilities; game: an RBTGame."""
    enumerated = rbt_tree.enumeration(game)
    return tuple(
        passes.best_response_value(enumerated, player, rbt_tree.plan_of(game, 1 - player, policy)) for player in (0, 1)
    )


def pruned_policy(game, plans, *, least_probability=LEAST_PROBABILITY, least_reach=LEAST_REACH, **facts):
    """The plans of x and o without their rarest parts, as a policy; its exploitability is measured after pruning.

    facts: what else should be recorded with it, such as the number of iterations.
    """
    supports = tuple(
        rbt_policy.prune(tree, plan, least_probability=least_probability, least_reach=least_reach)
        for tree, plan in zip(rbt_tree.enumeration(game).trees, plans)
    )
    policy = rbt_policy.SupportPolicy(game, supports, {})
    best_response_x, best_response_o = best_response_values(game, policy)
    policy.facts = {
        "game": str(game),
        **facts,
        "best_response_x": best_response_x,
        "best_response_o": best_response_o,
        "exploitability": (best_response_x + best_response_o) / 2,
    }
    return policy


def save_policy(policy, path):
    """Writes a pruned policy, and what was measured of it, to a file."""
    rbt_policy_file.write(path, policy.supports, policy.facts)


def load_policy(path=SHIPPED):
    """The policy of a file; by default the equilibrium that ships with the package."""
    supports, facts = rbt_policy_file.read(path)
    return rbt_policy.SupportPolicy(pyspiel.load_game(facts["game"]), supports, facts)


def shipped_policy():
    """The equilibrium that ships with the package, as an OpenSpiel policy of both players."""
    return load_policy(SHIPPED)
