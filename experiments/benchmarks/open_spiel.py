"""Measures this library against OpenSpiel on the same machine in the same run, in processor time, as ratios.

python -m experiments.benchmarks.open_spiel
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import pyspiel
from absl import flags
from open_spiel.python.algorithms import best_response, outcome_sampling_mccfr

import tmdp_spiel as ts
from experiments.benchmarks import lite_efg, rbt
from experiments.paper import settings
from experiments.sweep.binary import run_binary
from experiments.sweep.names import label
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.trees.random_tree import random_tree_mdp

_GAME = flags.DEFINE_string("game", "leduc", "A short name or an OpenSpiel game string.")
_RBT = flags.DEFINE_bool("rbt", False, "Measure Reconnaissance Blind Tic-Tac-Toe instead; takes minutes.")
_REPEATS = flags.DEFINE_integer("repeats", 15, "How often everything is timed; medians are reported.", lower_bound=1)

_LEARNERS = (
    *("UCBT", "LUCBT", "UCT", "OutcomeSamplingMCCFR", "OPF", "BPIUCRL", "MDPGapE", "MVP", "StrongEuler", "AMB", "PSRL"),
)
_STEPPED = ("UCBT", "LUCBT")


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


def print_episodes(label: str, seconds: float) -> None:
    print(f"  {label:<52}{seconds * 1e6:>12.3f} us{1 / seconds:>14,.0f} episodes / s")


def learning(name: str, repeats: int) -> None:
    """An episode of the paper's learners in the compiled loop, and of the tree learners stepped in Python."""
    game = ts.load_game(name)
    mdp = ts.build_tree(game, 0, ts.equilibrium(game))
    print(f"\nAn episode on {name}, player 0, exact regret included")
    for algorithm in _LEARNERS:
        seconds = episode_seconds(
            new_learner(name, algorithm, mdp), mdp, 200 if algorithm == "PSRL" else 20_000, repeats
        )
        print_episodes(label(algorithm), seconds)
        if algorithm in _STEPPED:
            stepped = stepped_seconds(new_learner(name, algorithm, mdp), mdp, 500)
            print(
                f"  {'  the same, stepped in Python':<52}{stepped * 1e6:>12.3f} us{stepped / seconds:>12.2f} x compiled"
            )


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
    seconds["pyspiel.OutcomeSamplingMCCFRSolver"] = seconds_per_iteration(compiled.run_iteration, 2000)
    seconds["outcome_sampling_mccfr.OutcomeSamplingSolver (Python)"] = seconds_per_iteration(in_python.iteration, 50)
    update = lite_efg.outcome_sampling_update(pyspiel.convert_to_cached_tree(problem))
    if update is not None:
        seconds["LiteEFG OS_MCCFR, player 0 only"] = seconds_per_iteration(update, 500)
    print_section(
        f"An iteration of outcome-sampling MCCFR, or an episode, on {name} with player 1 fixed",
        ("ts.OutcomeSamplingMCCFR, exact regret included", ours),
        seconds,
    )
    if update is None:
        print("  LiteEFG is not installed; `pip install LiteEFG` compiles it in a few minutes")


def growth(repeats: int) -> None:
    """The cost of an episode on random trees of growing size depends on what the policy reaches, not on the tree."""
    print("\nAn episode of UCB-T on random trees of growing size")
    print(f"  {'states':>10}{'reached':>10}{'incremental':>16}{'plain pass':>16}{'ratio':>10}")
    for states in (100, 1_000, 10_000, 100_000):
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


def main() -> None:
    if _RBT.value:
        rbt.run()
        return
    game = ts.load_game(_GAME.value)
    print(f"{game}, medians of {_REPEATS.value}")
    best_responses(game, _REPEATS.value)
    building(game, _REPEATS.value)
    for name in ("kuhn", "leduc"):
        learning(name, _REPEATS.value)
        outcome_sampling(name, _REPEATS.value)
    growth(_REPEATS.value)


if __name__ == "__main__":
    run_binary(main)
