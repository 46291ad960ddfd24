"""This library beside OpenSpiel, and LiteEFG if it is installed: processor time in the same run, as ratios."""

import contextlib
import io
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from unittest import mock

import numpy as np
import pyspiel
from open_spiel.python.algorithms import best_response, outcome_sampling_mccfr

import tmdp_spiel as ts
from experiments.paper import settings
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.trees.random_tree import random_tree_mdp

GAMES, SMALL_GAMES = ("kuhn", "leduc"), ("kuhn",)
_REPEATS = 15  # medians are reported
_SIZES = (100, 1_000, 10_000, 100_000)  # states of the random trees


def median_seconds(run: Callable[[], object], repeats: int) -> float:
    """The median processor time of a call, after a first call that is not counted (compilation, caches)."""
    run()
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return statistics.median(times)


def print_section(title: str, ours: tuple[str, float], others: dict[str, float]) -> None:
    """One table: our time, and the others' as multiples of it."""
    name, seconds = ours
    print(f"\n{title}")
    print(f"  {name:<52}{seconds * 1e3:>12.4f} ms")
    for other, other_seconds in others.items():
        print(f"  {other:<52}{other_seconds * 1e3:>12.4f} ms{other_seconds / seconds:>12.2f} x ours")


def best_responses(game: pyspiel.Game, repeats: int) -> None:
    """A best response of player 0 to the uniform opponent; OpenSpiel's times include what each call must set up."""
    opponent = ts.uniform(game)
    uniform = pyspiel.UniformRandomPolicy(game)  # the C++ solvers do not keep it alive
    root = game.new_initial_state()
    mdp = ts.build_tree(game, 0, opponent)
    prepared = pyspiel.TabularBestResponse(game, 0, uniform)

    def again():
        prepared.set_policy(uniform)
        return prepared.value_from_state(root)

    def anew():
        return pyspiel.TabularBestResponse(game, 0, uniform).value_from_state(root)

    def as_mdp():
        return pyspiel.TabularBestResponseMDP(game, uniform).compute_best_response(0)

    def in_python():
        return best_response.BestResponsePolicy(game, 0, opponent).value(root)

    others = {
        "pyspiel.TabularBestResponseMDP": as_mdp,
        "pyspiel.TabularBestResponse": anew,
        "pyspiel.TabularBestResponse, prepared": again,
        "best_response.BestResponsePolicy (Python)": in_python,
    }
    print_section(
        "Best response of player 0 against the uniform opponent",
        ("TreeMDP.best_response, on a built tree", median_seconds(mdp.best_response, repeats)),
        {name: median_seconds(run, repeats) for name, run in others.items()},
    )


def _count_histories(state: pyspiel.State) -> int:
    return 1 + sum(_count_histories(state.child(action)) for action in state.legal_actions())


def _count_histories_with_strings(state: pyspiel.State) -> int:
    if state.is_player_node():
        state.information_state_string()
    return 1 + sum(_count_histories_with_strings(state.child(action)) for action in state.legal_actions())


def building(game: pyspiel.Game, repeats: int) -> None:
    """build_tree compared with plain traversals of the same game in Python."""
    opponent = ts.uniform(game)
    print_section(
        f"Building the tree of player 0 ({_count_histories(game.new_initial_state()):,} histories)",
        ("build_tree", median_seconds(lambda: ts.build_tree(game, 0, opponent), repeats)),
        {
            "a traversal with state.child": median_seconds(lambda: _count_histories(game.new_initial_state()), repeats),
            "the same, reading information-state strings": median_seconds(
                lambda: _count_histories_with_strings(game.new_initial_state()), repeats
            ),
        },
    )


def episode_seconds(learner: ts.Learner, mdp: ts.TreeMDP, episodes: int, repeats: int) -> float:
    """The median processor time of an episode in the compiled loop, with exact regret, after as many for warm-up."""
    measure_at = episodes * np.arange(1, repeats + 2)
    trace = ts.run(learner, mdp, int(measure_at[-1]), measure_at=measure_at, rng=0, piece=episodes, progress=False)
    if trace.playing is None:
        raise ValueError("the run has no processor times")
    return float(np.median(np.diff(trace.playing))) / episodes


def stepped_seconds(learner: ts.Learner, mdp: ts.TreeMDP, episodes: int) -> float:
    """The processor time of an episode through plan, sample and learn."""
    rng = np.random.default_rng(0)
    start = time.thread_time()
    for _ in range(episodes):
        learner.learn(*mdp.sample(learner.plan(), rng))
    return (time.thread_time() - start) / episodes


def new_learner(game: str, algorithm: str, mdp: ts.TreeMDP) -> ts.Learner:
    """With the paper's constants."""
    return find_algorithm(algorithm)(mdp.tree, **settings.constants(game, mdp.tree.player, algorithm))


def outcome_sampling(name: str, repeats: int) -> None:
    """Outcome-sampling MCCFR on the same problem: ours, OpenSpiel's in C++ and in Python, and LiteEFG's."""
    game = ts.load_game(name)
    opponent = ts.equilibrium(game)
    problem = ts.fixed_opponent_game(game, 0, opponent)
    compiled = pyspiel.OutcomeSamplingMCCFRSolver(pyspiel.convert_to_cached_tree(problem), 0.6, 1)
    in_python = outcome_sampling_mccfr.OutcomeSamplingSolver(pyspiel.convert_to_cached_tree(problem))

    def seconds_per_iteration(run: Callable[[], object], iterations: int) -> float:
        return median_seconds(lambda: [run() for _ in range(iterations)], repeats) / iterations

    mdp = ts.build_tree(game, 0, opponent)
    seconds = {
        f"ts.{algorithm}": episode_seconds(new_learner(name, algorithm, mdp), mdp, 20_000, repeats)
        for algorithm in ("OutcomeSamplingMCCFR", "UCBT", "LUCBT")
    }
    ours = seconds.pop("ts.OutcomeSamplingMCCFR")
    seconds["ts.UCBT, stepped in Python"] = stepped_seconds(new_learner(name, "UCBT", mdp), mdp, 500)
    seconds["pyspiel.OutcomeSamplingMCCFRSolver"] = seconds_per_iteration(compiled.run_iteration, 2000)
    seconds["outcome_sampling_mccfr.OutcomeSamplingSolver (Python)"] = seconds_per_iteration(in_python.iteration, 50)
    update = lite_efg_update(pyspiel.convert_to_cached_tree(problem))
    if update is not None:
        seconds["LiteEFG OS_MCCFR, player 0 only"] = seconds_per_iteration(update, 500)
    print_section(
        f"An iteration of outcome-sampling MCCFR, or an episode, on {name} with player 1 fixed",
        ("ts.OutcomeSamplingMCCFR, exact regret included", ours),
        seconds,
    )
    if update is None:
        print("  LiteEFG is not installed; `pip install LiteEFG` compiles it in a few minutes")


def lite_efg_update(problem: pyspiel.Game) -> Callable[[], None] | None:
    """One update of player 0 by outcome-sampling MCCFR of LiteEFG (Liu and others 2024), if that is installed."""
    try:
        import LiteEFG
        from LiteEFG.baselines import OS_MCCFR
    except ImportError:
        return None
    # It reads games from files in the home folder, by names that fixed-opponent games share; and it prints.
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, HOME=folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        environment = LiteEFG.OpenSpielEnv(problem, traverse_type="Outcome")
        graph = OS_MCCFR.graph()
    environment.set_graph(graph)
    return lambda: environment.update([graph.explore_strategy, graph.strategy], upd_player=1)


def growth(sizes: Sequence[int], repeats: int) -> None:
    """The cost of an episode on random trees of growing size depends on what the policy reaches, not on the tree."""
    print("\nAn episode of UCB-T on random trees of growing size")
    print(f"  {'states':>10}{'reached':>10}{'incremental':>16}{'plain pass':>16}{'ratio':>10}")
    for states in sizes:
        mdp = random_tree_mdp(
            np.random.default_rng(states), max_states=states, max_actions=4, max_children=2, first_states=2
        )
        learner = ts.UCBT(mdp.tree)
        incremental = episode_seconds(learner, mdp, 20_000, repeats)
        reached = len(np.flatnonzero(mdp.own_reach(learner.plan())))
        plain = ts.UCBT(mdp.tree, estimator="transitions")
        passes = episode_seconds(plain, mdp, max(5, 100_000 // states), max(3, repeats // 5))
        print(
            f"  {mdp.tree.num_states:>10,}{reached:>10,}{incremental * 1e6:>13.2f} us{passes * 1e6:>13.2f} us"
            f"{passes / incremental:>9.1f}x"
        )


def report(games: Sequence[str], small: bool, folder: pathlib.Path) -> None:
    """Prints all tables; best responses and trees are those of the last game."""
    repeats = 1 if small else _REPEATS
    game = ts.load_game(games[-1])
    print(f"{game}, medians of {repeats}")
    best_responses(game, repeats)
    building(game, repeats)
    for name in games:
        outcome_sampling(name, repeats)
    growth(_SIZES[:2] if small else _SIZES, repeats)
