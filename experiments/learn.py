"""Learns a best response to the CFR+ opponent with UCB-T and LUCB-T, and shows how close it comes.

python -m experiments.learn --game=leduc --episodes=1000000
"""

import pathlib
import time
from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
from absl import app, flags

import tmdp_spiel as ts
from experiments.paper import settings
from experiments.sweep.names import label
from tmdp_spiel.algorithms.catalogue import find_algorithm
from tmdp_spiel.trees import checks, storage

_GAME = flags.DEFINE_string("game", "leduc", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_EPISODES = flags.DEFINE_integer("episodes", 1_000_000, "Episodes of each run.", lower_bound=1)
_C = flags.DEFINE_float("c", 1.0, "The constant of the simple bound sqrt(C / n * ln(t / delta)).")
_ITERATIONS = flags.DEFINE_integer("iterations", 1000, "CFR+ iterations of the opponent.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the learners and of the episodes.", lower_bound=0)
_OUTPUT = flags.DEFINE_string("output", "results", "Where the picture goes.")

_LINES = {"UCB-T": "-", "LUCB-T": "--"}


def warm_up(mdp: ts.TreeMDP) -> None:
    """Compiles what is not compiled yet, so that the speeds shown are of learning."""
    for learner in learners(mdp.tree).values():
        ts.run(learner, mdp, 100)


def learners(tree: ts.DecisionTree) -> dict[str, ts.Learner]:
    """Both with the paper's settings but for c."""
    return {
        label(name): find_algorithm(name)(
            tree, seed=_SEED.value, **settings.constants(_GAME.value, tree.player, name) | {"c": _C.value}
        )
        for name in ("UCBT", "LUCBT")
    }


def build(game, opponent, player: int) -> ts.TreeMDP:
    start = time.perf_counter()
    mdp = ts.build_tree(game, player, opponent)
    built = time.perf_counter()
    value, _ = mdp.best_response()
    print(
        f"player {player}: {mdp.tree.num_states} states, {mdp.tree.num_sequences} sequences, {mdp.num_terminals} "
        f"terminals, built in {built - start:.2f} s; exact best response {value:+.6f} in "
        f"{1e3 * (time.perf_counter() - built):.2f} ms"
    )
    return mdp


def draw(traces: dict[tuple[int, str], ts.Trace], game_name: str, path: pathlib.Path) -> None:
    """One panel a player: value gap of the recommended policy and average regret, both against episodes."""
    players = sorted({player for player, _ in traces})
    figure, panels = plt.subplots(1, len(players), figsize=(5 * len(players), 3.6), sharey=True, squeeze=False)
    for panel, player in zip(panels[0], players):
        for (of_player, name), trace in traces.items():
            if of_player != player:
                continue
            shown = trace.value_gap > 0
            panel.plot(
                trace.episode[shown], trace.value_gap[shown], _LINES[name], color="black", label=f"{name}: value gap"
            )
            panel.plot(
                trace.episode,
                trace.regret / trace.episode,
                _LINES[name],
                color="tab:blue",
                label=f"{name}: regret / episodes",
            )
        panel.set(xscale="log", yscale="log", title=f"{game_name}, player {player}", xlabel="episodes")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("utility")
    panels[0][0].legend(fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    matplotlib.use("Agg")
    try:
        game = ts.load_game(_GAME.value)
        checks.positive("c", _C.value)
        checks.seed(_SEED.value)
        storage.check_folder(_OUTPUT.value)
    except (ValueError, OSError) as error:
        raise app.UsageError(str(error)) from None
    start = time.perf_counter()
    opponent = ts.equilibrium(game, _ITERATIONS.value)
    print(f"{game}")
    print(
        f"opponent: CFR+ after {opponent.iterations} iterations, exploitability {opponent.exploitability:.2g}, "
        f"ready in {time.perf_counter() - start:.1f} s"
    )
    environments = {player: build(game, opponent, player) for player in range(game.num_players())}

    warm_up(environments[0])
    print(f"\n{'player':<8}{'learner':<9}{'learned value':>14}{'best response':>15}{'gap':>11}{'episodes / s':>15}")
    traces = {}
    for player, mdp in environments.items():
        for name, learner in learners(mdp.tree).items():
            trace = traces[player, name] = ts.run(learner, mdp, _EPISODES.value)
            best, _ = mdp.best_response()
            print(
                f"{player:<8}{name:<9}{mdp.value(learner.recommend()):>14.6f}{best:>15.6f}{trace.value_gap[-1]:>11.6f}"
                f"{trace.episode[-1] / trace.seconds[-1]:>15,.0f}"
            )
            if trace.interrupted:
                break
    path = pathlib.Path(_OUTPUT.value) / f"learn_{game.get_type().short_name}.png"
    draw(traces, game.get_type().short_name, path)
    print(f"\nlearning curves: {path}")


if __name__ == "__main__":
    app.run(main)
