"""Games with an exact sequence form: trees, exploitability and equilibria of games with too many histories to visit."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pathlib
import re
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyspiel
from tqdm import auto as tqdm

from tmdp_spiel.core import storage
from tmdp_spiel.openspiel import games, policy_tables
from tmdp_spiel.openspiel.build import GameTooLargeError
from tmdp_spiel.openspiel.games import GameLike, game_string, load_game
from tmdp_spiel.openspiel.opponents.fixed import check_player
from tmdp_spiel.openspiel.policy_tables import TablePolicy, policy_table
from tmdp_spiel.planning.cfr import CFRSolver, PrunedCFRSolver
from tmdp_spiel.trees import sequence_form
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import Exploitability, SequenceForm
from tmdp_spiel.trees.tree_mdp import TreeMDP

SMALL = 60_000  # own sequences of both players; below, the histories are visited in less than a minute
VARIANT = "dcfr"  # after 200 iterations on smaller instances never much worse than cfr+, on oshi_zumo 20 times better
BYTES_PER_SEQUENCE = 64  # of both players; best responses took 40 to 50
SOLVER_BYTES_PER_SEQUENCE = 48  # regrets, reaches and averages, beside the trees
TARGET = 0.001  # of the utility range: where solving stops
_CHECK_EVERY = 10  # iterations
_CHECKPOINT_SECONDS = 120.0


class ExactEnumeration(games.Enumeration):
    """The enumeration of a game with an exact sequence form.

    Small instances are enumerated by their histories, as other games are, unless this would give other states.

    form_of: the sequence form of a game, cached for the next call; None if it has none with these parameters
    shipped: the folder of the equilibria that are included in the package, if there are any
    """

    def __init__(self, form_of: Callable[[pyspiel.Game], SequenceForm | None], shipped: pathlib.Path | None = None):
        self._form_of, self._shipped = form_of, shipped

    def sequence_form(self, game: pyspiel.Game) -> SequenceForm | None:
        return self._form_of(game)

    def _own_form(self, game: pyspiel.Game) -> SequenceForm | None:
        form = self._form_of(game)
        if form is None or form.strings_hold_more:
            return form
        return form if sum(tree.num_sequences for tree in form.trees) > SMALL else None

    def tree_mdp(
        self, game: pyspiel.Game, player: int, opponent: Any, max_seconds: float | None = None
    ) -> TreeMDP | None:
        form = self._own_form(game)
        if form is None:
            return None
        other = 1 - check_player(game, player)
        if isinstance(opponent, Mapping) and set(opponent) <= {0, 1}:
            if other not in opponent:
                raise ValueError(f"the opponent's policy is missing for player {other}; given: {sorted(opponent)}")
            opponent = opponent[other]
        table = policy_table(form, other, opponent, max_seconds=max_seconds)
        return sequence_form.tree_mdp(form, player, table)

    def infostate_tree(self, game: pyspiel.Game, player: int) -> InfostateTree | None:
        form = self._own_form(game)
        return None if form is None else form.trees[player]

    def equilibrium(self, game: pyspiel.Game, iterations: int | None = None) -> TablePolicy | None:
        if self._shipped is None or not (file := shipped_file(self._shipped, game)).exists():
            return None
        form = self._form_of(game)
        return None if form is None else _kept_policy(game, form, file)

    def solve(self, game: pyspiel.Game, iterations: int) -> TablePolicy | None:
        form = self._own_form(game)
        if form is None:
            return None
        tables = form.exact_equilibrium()
        return solve(game, form, iterations) if tables is None else _measured_policy(game, form, tables)


def shipped_file(folder: pathlib.Path, game: pyspiel.Game) -> pathlib.Path:
    """The file name of an included equilibrium: the game's OpenSpiel string, reduced to letters and digits."""
    return folder / (re.sub(r"[^A-Za-z0-9]+", "_", game_string(game)).strip("_") + ".bin")


def check_memory(game: str, num_sequences: int, bytes_per_sequence: int = BYTES_PER_SEQUENCE) -> None:
    """Raises an error, before a game is built, if its trees and best responses need more memory than is free.

    Raises:
        GameTooLargeError: names the memory that is needed and the memory that is free.
    """
    free = _free_memory()
    needed = num_sequences * bytes_per_sequence
    if free is not None and needed > free:
        raise GameTooLargeError(
            f"{game} has {num_sequences:,} sequences of both players together, for which it needs about "
            f"{needed / 2**30:.1f} GiB of memory; {free / 2**30:.1f} GiB are free",
            "memory",
        )


def _free_memory() -> int | None:
    """The bytes that can be allocated without swapping, if the system provides this number."""
    try:
        lines = pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def exact_form(game: GameLike) -> SequenceForm:
    """The exact sequence form of a game that has one.

    Args:
        game: anything that load_game takes.
    """
    game = load_game(game)
    form = games.enumeration_of(game).sequence_form(game)
    if form is None:
        raise ValueError(
            f"{game} has no exact sequence form. Use ts.exploit, which enumerates small games and certifies bounds for "
            "large ones by playing; histories.enumerated_form makes the sequence form of a small game"
        )
    return form


def exact_exploitability(game: GameLike, agent: Any, **options: Any) -> Exploitability:
    """The exact exploitability of an agent: both best responses and both values.

    Args:
        game: a game with an exact sequence form.
        agent: what `policy_table` takes, for both players; or a mapping from player to such an agent.
        options: of `policy_table`.

    Returns:
        Both values, both best responses and `exploitability`, in the game's utility units.

    >>> found = exact_exploitability("liars_dice(numdice=1,dice_sides=3)", "uniform")
    >>> found.best_responses[0] > found.values[0]
    True
    """
    form = exact_form(game)
    by_player = isinstance(agent, Mapping) and bool(agent) and set(agent) <= {0, 1}
    if by_player and len(agent) < 2:
        raise ValueError(f"the agent of player {1 - next(iter(agent))} is missing; a best response needs only one")
    agents = agent if by_player else {0: agent, 1: agent}
    return sequence_form.exploitability(
        form, [policy_table(form, player, agents[player], **options) for player in (0, 1)]
    )


def solve(
    game: pyspiel.Game,
    form: SequenceForm,
    iterations: int,
    *,
    variant: str = VARIANT,
    block: int | None = None,
    pruned: int = 0,
    target: float = TARGET,
    folder: str | os.PathLike | None = None,
    report: Callable[[int, Exploitability], None] | None = None,
    progress: bool = True,
) -> TablePolicy:
    """An approximate equilibrium by CFR, saved on disk; a run that was killed resumes from its last checkpoint.

    Args:
        game: the game.
        form: its sequence form.
        iterations: at most.
        variant: of CFR, as CFRSolver has them.
        block, pruned: as in run_solver.
        target: solving stops once the exploitability is at most this fraction of the utility range.
        folder: where the result and checkpoints are stored; the cache directory if not given.
        report: called with the iteration and the exploitability whenever the latter is computed.
        progress: show a bar, on a terminal.

    Returns:
        The policy of both players, rounded as in the file, with its `exploitability` and `iterations`.
    """
    folder = storage.cache_directory() if folder is None else pathlib.Path(folder)
    how = f"{variant} {block} {pruned}" if pruned else variant
    title = hashlib.sha256(f"{_numbering(form)} {how} {iterations} {target}".encode()).hexdigest()[:20]
    result, checkpoint = folder / f"tables_{title}.bin", folder / f"tables_{title}.checkpoint.npz"
    with contextlib.suppress(FileNotFoundError):
        try:
            return _kept_policy(game, form, result)
        except ValueError as error:
            warnings.warn(f"the cached equilibrium cannot be read, so the game is solved again: {error}", stacklevel=2)
    with storage.locked(result):
        solver = run_solver(
            form,
            iterations,
            variant=variant,
            block=block,
            pruned=pruned,
            target=target,
            checkpoint=checkpoint,
            report=report,
            progress=progress,
        )
        tables = [solver.average_policy(player) for player in (0, 1)]
        policy_tables.write_tables(result, form, tables, iterations=solver.iteration, variant=variant)
        checkpoint.unlink(missing_ok=True)
    return _kept_policy(game, form, result)


def run_solver(
    form: SequenceForm,
    iterations: int,
    *,
    variant: str = VARIANT,
    block: int | None = None,
    pruned: int = 0,
    target: float = TARGET,
    checkpoint: str | os.PathLike,
    checkpoint_seconds: float | None = None,
    report: Callable[[int, Exploitability], None] | None = None,
    progress: bool = True,
) -> CFRSolver:
    """CFR from the checkpoint, if there is one, until the iterations are done or the target is met.

    Args:
        form, iterations, variant, target, report, progress: as in `solve`.
        block, pruned: as in PrunedCFRSolver; without `pruned`, all iterations visit all sequences.
        checkpoint: the file from which a run that was killed resumes identically. It is left for the caller to remove.
        checkpoint_seconds: how often it is written; every two minutes unless given.
    """
    num_sequences = sum(tree.num_sequences for tree in form.trees)
    check_memory(f"CFR on {form.trees[0].game_string}", num_sequences, SOLVER_BYTES_PER_SEQUENCE)
    make = CFRSolver if not pruned else functools.partial(PrunedCFRSolver, pruned=pruned)
    solver = _resumed(form, functools.partial(make, form, variant, np.float32, block=block), pathlib.Path(checkpoint))
    every = _CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    _iterate(solver, iterations, target, checkpoint, every, report, progress)
    return solver


def _numbering(form: SequenceForm) -> str:
    return f"{form.trees[0].game_string} {policy_tables.numbering(form.trees[0])}"


def _measured_policy(game: pyspiel.Game, form: SequenceForm, tables: list[np.ndarray]) -> TablePolicy:
    """An equilibrium that took no iterations, with its exploitability."""
    found = sequence_form.exploitability(form, tables)
    facts = {"value": found.values[0], "best_responses": list(found.best_responses)}
    policy = TablePolicy(game, form, dict(enumerate(tables)), facts)
    policy.exploitability, policy.iterations = found.exploitability, 0
    return policy


def _kept_policy(game: pyspiel.Game, form: SequenceForm, file: pathlib.Path) -> TablePolicy:
    tables, facts = policy_tables.read_tables(file, form)
    policy = TablePolicy(game, form, dict(enumerate(tables)), facts)
    policy.exploitability, policy.iterations = facts["exploitability"], facts["iterations"]
    return policy


def _iterate(
    solver: CFRSolver, iterations: int, target: float, checkpoint: Any, every: float, report: Any, progress: bool
) -> None:
    written = time.monotonic()
    utility_range = solver.form.trees[0].utility_range
    bar = tqdm.tqdm(
        total=iterations,
        initial=solver.iteration,
        desc=solver.variant,
        unit=" iterations",
        delay=2,
        leave=False,
        disable=None if progress else True,
    )
    with bar:
        while solver.iteration < iterations:
            solver.iterate()
            bar.update()
            if solver.iteration % _CHECK_EVERY == 0 or solver.iteration == iterations:
                found = solver.exploitability()
                bar.set_postfix(exploitability=f"{found.exploitability:.2g}")
                if report is not None:
                    report(solver.iteration, found)
                if found.exploitability <= target * utility_range:
                    return
            if time.monotonic() - written > every:
                with storage.replacing(checkpoint, "wb") as stream:
                    state: dict[str, Any] = {"tree": _numbering(solver.form), **solver.state_dict()}
                    np.savez(stream, **state)
                written = time.monotonic()


def _resumed(form: SequenceForm, make: Callable[[], CFRSolver], checkpoint: pathlib.Path) -> CFRSolver:
    """A solver that resumes from the checkpoint, if there is one."""
    solver = make()
    try:
        with np.load(checkpoint, allow_pickle=False) as stored:
            if str(stored["tree"]) != _numbering(form):
                raise ValueError("it is of another game")
            solver.load_state_dict(stored)
    except FileNotFoundError:
        pass
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        warnings.warn(f"{checkpoint} is not a complete checkpoint ({error}); solving starts again", stacklevel=3)
        solver = make()
    return solver
