"""OpenSpiel's own solvers, unmodified, on the game in which the opponents are fixed, measured like our learners.

What counts as an episode: every MCCFR iteration traverses the game once for each player. Only the learner's traversal
gives information about the opponents, so only that one counts. In outcome sampling it follows one history to its end,
which is one episode. In external sampling it tries all of the learner's actions at every state, so it sees the ends of
many histories, and needs an environment that can be reset to earlier states. Chance and the opponents are sampled by
their true probabilities. So the expected number of ends is the sum over all outcomes of the probability that the others
lead there, and this is the count used here. The Q-learner and DQN play ordinary episodes.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
import time
import typing
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel
from open_spiel.python import rl_agent, rl_agent_policy, rl_environment
from open_spiel.python.algorithms import external_sampling_mccfr, outcome_sampling_mccfr, tabular_qlearner

from tmdp_spiel.core import validation
from tmdp_spiel.evaluation.loop import GracefulInterrupt, chunks, progress_bar
from tmdp_spiel.evaluation.run import Trace, log_spaced
from tmdp_spiel.openspiel.build import build_tree
from tmdp_spiel.openspiel.fixed_opponent_game import fixed_opponent_game
from tmdp_spiel.openspiel.games import GameLike, load_game
from tmdp_spiel.openspiel.histories import one_history_per_infostate
from tmdp_spiel.trees.tree_mdp import TreeMDP

# As its examples/rl_response.py sets it, but for the optimizer.
_DQN = {
    "hidden_layers_sizes": [64, 64, 64],
    "replay_buffer_capacity": 100_000,
    "batch_size": 32,
    "discount_factor": 0.99,
    "epsilon_start": 0.5,
    "epsilon_end": 0.1,
}
IN_TORCH = {
    "OpenSpielDQN": {**_DQN, "optimizer_str": "sgd", "learning_rate": 0.01},
    "OpenSpielDQNAdam": {**_DQN, "optimizer_str": "adam", "learning_rate": 0.001},
}
AGENTS = {**IN_TORCH, "OpenSpielQLearner": {}}


def new_agent(
    name: str, player: int, environment: rl_environment.Environment, seed: int, hyper_parameters: dict
) -> rl_agent.AbstractAgent:
    """One of AGENTS, untrained; the tabular one always uses numpy's global generator and ignores the seed."""
    actions = environment.game.num_distinct_actions()
    if name not in IN_TORCH:
        return tabular_qlearner.QLearner(player, actions, **hyper_parameters)
    inputs = environment.observation_spec()["info_state"][0]
    return dqn_in_torch().DQN(player, inputs, actions, seed=seed, **hyper_parameters)


def dqn_in_torch() -> typing.Any:
    """OpenSpiel's module of DQN, on one thread."""
    try:
        import torch
        from open_spiel.python.pytorch import dqn
    except ImportError as error:
        raise ValueError(f"DQN needs torch ({error}): pip install 'tmdp-spiel[torch]', or give --algorithms") from None
    torch.set_num_threads(1)
    return dqn


@dataclasses.dataclass
class Problem:
    """A game whose opponents are fixed: as the game that solvers run on, and as the TreeMDP that measures them.

    states: for each state of the tree, a state of the base game.
    """

    game: pyspiel.Game
    mdp: TreeMDP
    states: list[pyspiel.State]

    @property
    def player(self) -> int:
        return self.mdp.tree.player

    @property
    def ends_per_traversal(self) -> float:
        """The expected number of ends that a traversal sees if it tries all of the player's actions."""
        return float(self.mdp.outcome_probability.sum())


def make_problem(game: GameLike, player: int, opponent: typing.Any) -> Problem:
    """The problem of `player` against `opponent`, both as for build_tree."""
    game = load_game(game)
    mdp = build_tree(game, player, opponent)
    # With the cached tree, solvers need not call Python at every state they visit.
    fixed = pyspiel.convert_to_cached_tree(fixed_opponent_game(game, player, opponent))
    return Problem(fixed, mdp, one_history_per_infostate(mdp.tree, game))


class Solver(abc.ABC):
    """One of OpenSpiel's solvers. episodes_per_iteration: see above; not always a whole number."""

    episodes_per_iteration = 1.0

    @abc.abstractmethod
    def iterate(self) -> None:
        """One iteration."""

    @abc.abstractmethod
    def policy(self) -> Callable[[pyspiel.State], dict[int, float]]:
        """Its current answer: from a state to {action: probability}, empty where it has no policy yet."""


class _MCCFR(Solver):
    """Any of the MCCFR solvers; the average policy is evaluated."""

    def __init__(self, solver: typing.Any, iterate: Callable[[], typing.Any], episodes_per_iteration: float = 1.0):
        self._solver, self._iterate = solver, iterate
        self.episodes_per_iteration = episodes_per_iteration

    def iterate(self) -> None:
        self._iterate()

    def policy(self) -> Callable:
        return self._solver.average_policy().action_probabilities


class _Agent(Solver):
    """An agent in rl_environment; the policy that it plays in evaluation mode, greedy in Q, is evaluated."""

    def __init__(self, name: str, problem: Problem, seed: int):
        sampler = rl_environment.ChanceEventSampler(seed)
        self._environment = rl_environment.Environment(problem.game, chance_event_sampler=sampler)
        self._agent = new_agent(name, problem.player, self._environment, seed, AGENTS[name])
        use_observation = not problem.game.get_type().provides_information_state_tensor
        self._policy = rl_agent_policy.RLAgentPolicy(problem.game, self._agent, problem.player, use_observation)

    def iterate(self) -> None:
        time_step = self._environment.reset()
        if time_step.last():
            return
        while not time_step.last():
            time_step = self._environment.step([self._agent.step(time_step).action])
        self._agent.step(time_step)

    def policy(self) -> Callable:
        return self._policy.action_probabilities


def _outcome_sampling(problem: Problem, seed: int) -> Solver:
    solver = pyspiel.OutcomeSamplingMCCFRSolver(problem.game, seed=seed)
    return _MCCFR(solver, solver.run_iteration)


def _outcome_sampling_python(problem: Problem, seed: int) -> Solver:
    solver = outcome_sampling_mccfr.OutcomeSamplingSolver(problem.game)
    return _MCCFR(solver, solver.iteration)


def _external_sampling(problem: Problem, seed: int) -> Solver:
    solver = pyspiel.ExternalSamplingMCCFRSolver(problem.game, seed=seed)
    return _MCCFR(solver, solver.run_iteration, problem.ends_per_traversal)


def _external_sampling_python(problem: Problem, seed: int) -> Solver:
    solver = external_sampling_mccfr.ExternalSamplingSolver(problem.game)
    return _MCCFR(solver, solver.iteration, problem.ends_per_traversal)


SOLVERS: dict[str, Callable[[Problem, int], Solver]] = {
    "OpenSpielOutcomeSampling": _outcome_sampling,
    "OpenSpielOutcomeSamplingPython": _outcome_sampling_python,
    "OpenSpielExternalSampling": _external_sampling,
    "OpenSpielExternalSamplingPython": _external_sampling_python,
    "OpenSpielQLearner": functools.partial(_Agent, "OpenSpielQLearner"),
}
# They need what the package does not install by itself.
SOLVERS_IN_TORCH: dict[str, Callable[[Problem, int], Solver]] = {
    name: functools.partial(_Agent, name) for name in IN_TORCH
}
ALL_SOLVERS = SOLVERS | SOLVERS_IN_TORCH


def run(
    name: str,
    problem: Problem,
    episodes: int,
    *,
    seed: int = 0,
    measure_at: typing.Any = None,
    seconds: float | None = None,
    progress: bool = True,
) -> Trace:
    """Runs one of ALL_SOLVERS for about the given number of episodes, measured as by tmdp_spiel.run; no regret.

    If an iteration counts as several episodes, the solver is measured at the first whole iteration after each of
    measure_at. The reported time is that of the iterations, without measuring. seconds: end the run after this time.
    """
    if name not in ALL_SOLVERS:
        raise ValueError(f"no solver is called {name!r}; there are: {', '.join(ALL_SOLVERS)}")
    episodes = validation.whole_number("episodes", episodes)
    best = problem.mdp.best_response()[0]
    rows, done, taken = [], 0, 0.0
    with _global_seed(seed), GracefulInterrupt() as interruption, progress_bar(name, None, progress) as bar:
        solver = ALL_SOLVERS[name](problem, seed)
        each = solver.episodes_per_iteration
        marks = np.asarray(log_spaced(episodes) if measure_at is None else measure_at)
        marks = np.unique(np.ceil(marks / each).astype(np.int64))
        for iterations, lasted in chunks(_iterating(solver), marks, interruption, bar):
            done += iterations
            taken += lasted
            at_end = interruption.requested or (seconds is not None and taken > seconds)
            if at_end or done in marks:
                gap = max(best - problem.mdp.value(_plan(solver, problem)), 0.0)
                rows.append((round(done * each), np.nan, gap, taken))
            if at_end:
                break
    episode, regret, value_gap, spent = np.array(rows, np.float64).reshape(-1, 4).T
    return Trace(episode.astype(np.int64), regret, value_gap, spent, interrupted=interruption.requested)


def _iterating(solver: Solver) -> typing.Any:
    def play(number: int) -> tuple[int, float]:
        start = time.perf_counter()
        for _ in range(number):
            solver.iterate()
        return number, time.perf_counter() - start

    return play


def _plan(solver: Solver, problem: Problem) -> np.ndarray:
    """The solver's policy, as one probability per sequence; uniform at states that it has not visited."""
    tree, policy = problem.mdp.tree, solver.policy()
    plan = np.ones(tree.sequence_end)
    for number, state in enumerate(problem.states):
        legal = tree.legal_actions(number)
        given = policy(state)
        first, end = tree.first_sequence[number], tree.first_sequence[number + 1]
        plan[first:end] = [given.get(int(action), 0.0) for action in legal] if given else 1.0 / len(legal)
    return plan


@contextlib.contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Seeds the global generator, which OpenSpiel's Python solvers use, and restores it afterwards."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)
