"""Measures this library against OpenSpiel on the same machine in the same run, as ratios.

    python -m experiments.benchmark
"""

import statistics
import time
from collections.abc import Callable, Sequence

import pyspiel
from absl import app, flags
from open_spiel.python.algorithms import best_response

import tmdp_spiel as ts

_GAME = flags.DEFINE_string("game", "leduc", "A short name or an OpenSpiel game string.")
_REPEATS = flags.DEFINE_integer("repeats", 15, "How often everything is timed; medians are reported.", lower_bound=1)


def median_seconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of a call, after one that is not counted (compilation, caches)."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def print_section(title: str, ours: tuple[str, float], others: dict[str, float]) -> None:
    """One table: our time, and the others' as multiples of it."""
    name, seconds = ours
    print(f"\n{title}")
    print(f"  {name:<52}{seconds * 1e3:>12.4f} ms")
    for other, other_seconds in others.items():
        print(f"  {other:<52}{other_seconds * 1e3:>12.4f} ms{other_seconds / seconds:>12.2f} x ours")


def best_responses(game: pyspiel.Game, repeats: int) -> None:
    """A best response of player 0 to the uniform opponent; OpenSpiel's are timed with what each has to set up anew."""
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
    """build_tree against plain traversals of the same game in Python."""
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


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    game = ts.load_game(_GAME.value)
    print(f"{game}, medians of {_REPEATS.value}")
    best_responses(game, _REPEATS.value)
    building(game, _REPEATS.value)


if __name__ == "__main__":
    app.run(main)
