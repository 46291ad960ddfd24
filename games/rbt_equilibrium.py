"""Equilibria of RBT by CFR+, with the senses factored out.

Alternating updates, regrets floored at 0, linear averaging (Tammelin, "Solving Large Imperfect Information Games Using
CFR+", 2014), iteration by iteration the same policies as OpenSpiel's CFRPlusSolver. One iteration costs a few passes over
the two trees; the passes are in `rbt_passes.py`. Results do not depend on the number of threads, nor on whether the
solver was stopped and resumed.
"""

import os
import pathlib
import tempfile
import zipfile

import numpy as np

from tmdp_spiel.games import rbt_passes as passes


class CFRPlus:
    """CFR+ on an enumerated game; holds, for both players, regrets R(j) and the weighted sum of plans so far."""

    def __init__(self, game):
        self.game = game
        self.iteration = 0
        self._regrets = [np.zeros(tree.num_sequences) for tree in game.trees]
        self._plans = [np.zeros(tree.num_sequences) for tree in game.trees]
        self._total_plans = [np.zeros(tree.num_sequences) for tree in game.trees]
        self._endings = [np.zeros(tree.num_sequences) for tree in game.trees]
        self._values = [np.zeros(tree.num_states) for tree in game.trees]
        self._match_regrets(weight=0.0)

    def _match_regrets(self, weight, players=(0, 1)):
        for player in players:
            tree = self.game.trees[player]
            passes.match_regrets(tree.level_start, tree.first_sequence, tree.parent, self._regrets[player], weight,
                                 self._plans[player], self._total_plans[player])

    def iterate(self):
        """One iteration t: each player in turn answers the other's latest plan; its previous plan counts t times."""
        self.iteration += 1
        for player in (0, 1):
            tree = self.game.trees[player]
            weights = passes.move_weights(self.game, 1 - player, self._plans[1 - player])
            passes.ending_values(self.game, player, weights, passes.UTILITIES, self._endings[player])
            passes.update_regrets(tree.level_start, tree.first_sequence, tree.first_child, self._endings[player],
                                  self._values[player], self._regrets[player])
            self._match_regrets(weight=float(self.iteration), players=(player,))

    def average_plan(self, player):
        """The linearly weighted average of a player's plans, in sequence form."""
        return self._total_plans[player] / (self.iteration * (self.iteration + 1) / 2)

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
                np.savez(file, iteration=self.iteration, game=self.game.description, regrets_x=self._regrets[0],
                         regrets_o=self._regrets[1], total_plan_x=self._total_plans[0], total_plan_o=self._total_plans[1])
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
                description = str(stored["game"])
                if description != self.game.description:
                    raise ValueError(f"{path} belongs to {description}; this solver is for {self.game.description}")
                self.iteration = int(stored["iteration"])
                self._regrets = [stored["regrets_x"], stored["regrets_o"]]
                self._total_plans = [stored["total_plan_x"], stored["total_plan_o"]]
        except (zipfile.BadZipFile, EOFError, KeyError) as error:
            raise ValueError(f"{path} is not a complete checkpoint ({error}); delete it to solve from the start") from None
        self._match_regrets(weight=0.0)


def solve(game, *, iterations, target_exploitability=0.0, checkpoint=None, checkpoint_every=25, report_every=10, report=None):
    """Runs CFR+ until the iterations are done or the target is met; resumes from `checkpoint` if the file exists.

    The exploitability, the mean of what the two players could win by best responses, is computed every `report_every`
    iterations and at the end, and passed to `report(iteration, best_response_values)`.
    """
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1, not {iterations}")
    solver = CFRPlus(game)
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
    return solver


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
