"""Equilibria of RBT by CFR+ and its discounted form, with the senses factored out.

CFR+: alternating updates, regrets floored at 0, linear averaging (Tammelin, "Solving Large Imperfect Information Games
Using CFR+", 2014); iteration by iteration the same policies as OpenSpiel's CFRPlusSolver. Discounted CFR+: before iteration
t the regrets are multiplied by (t-1)^alpha / ((t-1)^alpha + 1), and averaging is quadratic (after Brown and Sandholm,
"Solving Imperfect-Information Games via Discounted Regret Minimization", 2019); the default, as it needs fewer iterations.

One iteration costs a few passes over the two trees (`rbt_passes.py`). Results do not depend on the number of threads, nor
on whether the solver was stopped and resumed.
"""

import os
import pathlib
import tempfile
import zipfile

import numpy as np
import pyspiel

from tmdp_spiel.games import rbt_passes as passes
from tmdp_spiel.games import rbt_policy, rbt_policy_file, rbt_tree

SHIPPED = pathlib.Path(__file__).parent / "data" / "rbt_equilibrium.bin"
LEAST_PROBABILITY = 0.003  # what is rarer is pruned, which makes the policy smaller and hardly worse
LEAST_REACH = 1e-6


class CFRPlus:
    """CFR+ on an enumerated game, for both players.

    discount:        alpha, the power in the discount of old regrets; None for no discount
    averaging_power: the policy of iteration t counts t to this power; by default 2 with a discount, else 1
    """

    def __init__(self, game, *, discount=1.5, averaging_power=None):
        self.game = game
        self.discount = discount
        self.averaging_power = (1 if discount is None else 2) if averaging_power is None else averaging_power
        self.iteration = 0
        self._regrets = self._zeros()
        self._plans = self._zeros()  # the current policy in sequence form
        self._total_plans = self._zeros()
        self._endings = self._zeros()
        self._values = [np.zeros(tree.num_states) for tree in game.trees]
        self._match_regrets(0, weight=0.0)
        self._match_regrets(1, weight=0.0)

    def _zeros(self):
        return [np.zeros(tree.num_sequences) for tree in self.game.trees]

    def _match_regrets(self, player, weight):
        tree = self.game.trees[player]
        passes.match_regrets(tree.level_start, tree.first_sequence, tree.parent, self._regrets[player], weight,
                             self._plans[player], self._total_plans[player])

    def iterate(self):
        """One iteration: each player in turn answers the other's current policy, and adds its own to the average."""
        kept = self._kept_of_old_regrets()
        self.iteration += 1
        for player in (0, 1):
            tree = self.game.trees[player]
            weights = passes.move_weights(self.game, 1 - player, self._plans[1 - player])
            passes.ending_values(self.game, player, weights, passes.UTILITIES, self._endings[player])
            passes.update_regrets(tree.level_start, tree.first_sequence, tree.first_child, self._endings[player],
                                  self._values[player], self._regrets[player], kept)
            self._match_regrets(player, weight=float(self.iteration**self.averaging_power))

    def _kept_of_old_regrets(self):
        if self.discount is None:
            return 1.0
        power = float(self.iteration) ** self.discount
        return power / (power + 1.0)

    def average_plan(self, player):
        """The weighted average of a player's policies so far, in sequence form."""
        return self._total_plans[player] / sum(t**self.averaging_power for t in range(1, self.iteration + 1))

    def average_plans(self):
        """The averages of x and of o."""
        return [self.average_plan(player) for player in (0, 1)]

    def best_response_values(self):
        """What x and o can each win against the other's average plan, in the game's utilities."""
        return tuple(passes.best_response_value(self.game, player, self.average_plan(1 - player), self._endings[player],
                                                self._values[player]) for player in (0, 1))

    def save(self, path):
        """Writes a checkpoint that appears whole or not at all, and not before it is on the disk."""
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, run=self._run(), iteration=self.iteration, **self._checkpointed())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _sync_directory(path.parent)

    def restore(self, path):
        """Continues from a checkpoint, to the very numbers that an uninterrupted run would have reached."""
        try:
            with np.load(path, allow_pickle=False) as stored:  # reading an array checks its CRC-32
                if str(stored["run"]) != self._run():
                    raise ValueError(f"{path} belongs to {stored['run']}; this is {self._run()}")
                for name, array in self._checkpointed().items():
                    array[:] = stored[name]
                self.iteration = int(stored["iteration"])
        except (zipfile.BadZipFile, EOFError, KeyError) as error:
            raise ValueError(f"{path} is not a complete checkpoint ({error}); delete it to solve from the start") from None
        self._match_regrets(0, weight=0.0)
        self._match_regrets(1, weight=0.0)

    def _run(self):
        return f"{self.game.description}, discount {self.discount}, averaging power {self.averaging_power}"

    def _checkpointed(self):
        """The arrays that the rest of the solver follows from."""
        parts = {"regrets": self._regrets, "total_plan": self._total_plans}
        return {f"{name}_{mark}": array for name, pair in parts.items() for mark, array in zip("xo", pair)}


def solve(solver, *, iterations, target_exploitability=0.0, checkpoint=None, checkpoint_every=25, report_every=10,
          report=None):
    """Runs a CFRPlus solver until the iterations are done or the target is met; resumes from `checkpoint` if the file exists.

    The exploitability, the mean of what the two players could win by best responses, is computed every `report_every`
    iterations and at the end, and passed to `report(iteration, best_response_values)`.
    """
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1, not {iterations}")
    if checkpoint is not None:
        remove_unfinished(checkpoint)
        if pathlib.Path(checkpoint).exists():
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


def remove_unfinished(path):
    """Removes what a killed process left of a checkpoint it was writing."""
    path = pathlib.Path(path)
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink()


def _sync_directory(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def best_response_values(game, policy):
    """What x and o can each win against a policy of both players, in the game's utilities; game: an RBTGame."""
    enumerated = rbt_tree.enumeration(game)
    return tuple(passes.best_response_value(enumerated, player, rbt_tree.plan_of(game, 1 - player, policy))
                 for player in (0, 1))


def pruned_policy(game, plans, *, least_probability=LEAST_PROBABILITY, least_reach=LEAST_REACH, **facts):
    """The plans of x and o without their rarest parts, as a policy; its exploitability is measured after pruning.

    facts: what else should be recorded with it, such as the number of iterations.
    """
    supports = tuple(
        rbt_policy.prune(tree, plan, least_probability=least_probability, least_reach=least_reach)
        for tree, plan in zip(rbt_tree.enumeration(game).trees, plans))
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
