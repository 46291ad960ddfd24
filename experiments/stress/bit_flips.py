"""Flips one bit of a file: the file must be refused, or load to the same content. It must never crash."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
import tempfile
import warnings
from collections.abc import Callable

import numpy as np

import tmdp_spiel as ts
from tmdp_spiel.core import storage
from tmdp_spiel.evaluation.evaluator import Evaluator
from tmdp_spiel.games.rbt import enumeration, policy_file
from tmdp_spiel.games.rbt.structure import Enumeration
from tmdp_spiel.openspiel import exact_games

_START = (0, 1, 2, 3, 4)


@dataclasses.dataclass
class Format:
    """make(path): writes a file or directory;  read(path): its content, in a form that can be compared."""

    make: Callable[[pathlib.Path], object]
    read: Callable[[pathlib.Path], object]


def _mdp(player: int = 0) -> ts.TreeMDP:
    game = ts.load_game("kuhn")
    return ts.build_tree(game, player, ts.uniform(game))


def _learner() -> ts.Learner:
    learner = ts.UCBT(_mdp().tree, seed=1)
    Evaluator(learner, _mdp()).play(np.random.default_rng(0), 300)
    return learner


def _agent() -> ts.agent.TreeAgent:
    return ts.agent.TreeAgent(0, "kuhn", "UCT", seed=2)


def _read_learner(path):
    learner = ts.load_learner(path, _mdp().tree)
    assert isinstance(learner, ts.UCBT)
    return learner.episodes, learner.plan().tobytes(), learner.recommend().tobytes(), learner.totals.tobytes()


def _read_mdp(path):
    mdp = ts.TreeMDP.load(path)
    value, plan = mdp.best_response()
    return value, plan.tobytes(), mdp.fingerprint, mdp.tree.state_string(0)


def _make_run(path):
    ts.run(ts.UCBT(_mdp().tree), _mdp(), 500, piece=100, file=path, progress=False)


def _read_run(path):
    trace = ts.run(ts.UCBT(_mdp().tree), _mdp(), 500, piece=100, file=path, progress=False)
    return trace.regret.tobytes(), trace.value_gap.tobytes()


def _read_agent(path):
    agent = _agent()
    agent.restore(path)
    return agent.learner.episodes, agent.learner.plan().tobytes()


def _solve(path):
    os.environ["TMDP_SPIEL_CACHE"] = str(path)
    return ts.equilibrium("kuhn", 20).action_probability_array.tobytes()


def _read_enumeration(path):
    found = Enumeration.load(path)
    return [array.tobytes() for tree in found.trees for array in (tree.parent, tree.action, tree.observation)]


def _solve_from(path):
    form = exact_games.exact_form("python_rbt(start=x0o1x2o3x4)")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        solver = exact_games.run_solver(form, 3, block=2, checkpoint=path, checkpoint_seconds=0.0, progress=False)
    if told:  # the checkpoint was refused, and solving started again
        raise ValueError(str(told[0].message))
    return solver.iteration, [solver.average_policy(player).tobytes() for player in (0, 1)]


def _read_policy(path):
    policy = policy_file.read(path)
    return str(policy.facts), [support.weight.tobytes() for support in policy.supports]


FORMATS = {
    "TreeMDP": Format(lambda path: _mdp().save(path), _read_mdp),
    "InfostateTree": Format(lambda path: _mdp(1).tree.save(path), lambda path: ts.InfostateTree.load(path).fingerprint),
    "learner": Format(lambda path: ts.save_learner(_learner(), path), _read_learner),
    "run": Format(_make_run, _read_run),
    "agent": Format(lambda path: _agent().save(path), _read_agent),
    "equilibrium cache": Format(_solve, _solve),
    "checked JSON (results of sweeps)": Format(
        lambda path: storage.write_checked_json(path, {"regret": [1.5, 2.25], "seed": 7}), storage.read_checked_json
    ),
    "RBT enumeration": Format(lambda path: enumeration.enumerate_game(_START).save(path), _read_enumeration),
    "RBT solver's checkpoint": Format(_solve_from, _solve_from),
    "RBT policy": Format(lambda path: path.write_bytes(pathlib.Path(policy_file.SHIPPED).read_bytes()), _read_policy),
}


def _files(path: pathlib.Path) -> list[pathlib.Path]:
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


def flip(name: str, number: int, seed: int) -> dict[str, int]:
    """How many flips were "refused", "the same", "silent" (read as something else), or "another error"."""
    warnings.simplefilter("ignore")
    rng, format_, counts = np.random.default_rng(seed), FORMATS[name], collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "file"
        format_.make(path)
        whole = {file: file.read_bytes() for file in _files(path)}
        expected = format_.read(path)
        for _ in range(number):
            file = list(whole)[rng.integers(len(whole))]
            content = bytearray(whole[file])
            content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
            file.write_bytes(bytes(content))
            counts[_outcome(format_, path, expected)] += 1
            for file in _files(path):
                if file in whole:
                    file.write_bytes(whole[file])
                else:
                    file.unlink()
    return dict(counts)


def _outcome(format_: Format, path: pathlib.Path, expected) -> str:
    try:
        found = format_.read(path)
    except (ValueError, OSError):
        return "refused"
    except Exception:
        return "another error"
    return "refused" if found is None else "the same" if found == expected else "silent"


def flip_apart(name: str, number: int, seed: int) -> dict[str, int]:
    """As flip, in a separate process, so that a crash is counted."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            return pool.submit(flip, name, number, seed).result()
        except concurrent.futures.BrokenExecutor:
            return {"crashed": number}
