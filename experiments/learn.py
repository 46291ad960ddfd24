"""Learns a best response to the CFR+ opponent, with UCB-T, LUCB-T or others, and shows how close it gets.

    python -m experiments.learn --game=leduc --episodes=1000000
    python -m experiments.learn --game=kuhn --algorithms=UCBT,PSRL --set UCBT.c=0.5 --set PSRL.lazy=true

The constants are the paper's if there are any, otherwise the learners' defaults.
"""

import pathlib
import time

import matplotlib
import matplotlib.pyplot as plt
from absl import flags

import tmdp_spiel as ts
from experiments.paper import settings
from experiments.sweep import flags as sweep_flags, set_flag
from experiments.sweep.binary import run_binary
from experiments.sweep.drawing import save, styles_of
from experiments.sweep.tables import label
from tmdp_spiel.algorithms.catalogue import catalogue, find_algorithm
from tmdp_spiel.core import plotting, storage, validation
from tmdp_spiel.evaluation.run import Trace

_GAME = flags.DEFINE_string("game", "leduc", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_EPISODES = flags.DEFINE_integer("episodes", 1_000_000, "Episodes of each run.", lower_bound=1)
_ALGORITHMS = sweep_flags.define_choice("algorithms", tuple(catalogue()), "Learners", ("UCBT", "LUCBT"))
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the learners and of the episodes.", lower_bound=0)
flags.adopt_module_key_flags(set_flag)
flags.declare_key_flag("output")
flags.declare_key_flag("iterations")


def compile_ahead(mdp: ts.TreeMDP) -> None:
    """Compiles everything first, so that the reported speeds do not include compilation."""
    for learner in learners(mdp.tree).values():
        ts.run(learner, mdp, 100)


def learners(tree: ts.InfostateTree) -> dict[str, ts.Learner]:
    """The learners by name, with the paper's settings except those given by --set."""
    return {
        name: find_algorithm(name)(
            tree, seed=_SEED.value, **settings.constants(_GAME.value, tree.player, name) | set_flag.given(name)
        )
        for name in _ALGORITHMS.value
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


@plotting.styled
def draw(traces: dict[tuple[int, str], Trace], game_name: str, path: pathlib.Path) -> pathlib.Path:
    """One panel per player: value gap of the recommended policy and average regret, both against episodes."""
    players = sorted({player for player, _ in traces})
    styles = styles_of({name for _, name in traces})
    figure, panels = plt.subplots(1, len(players), figsize=(7 * len(players), 4), sharey=True, squeeze=False)
    ends: dict[int, list] = {player: [] for player in players}
    for (player, name), trace in traces.items():
        panel, line = panels[0][players.index(player)], styles[name][0]
        shown = trace.value_gap > 0
        for color, what, episode, values in (
            ("black", "value gap", trace.episode[shown], trace.value_gap[shown]),
            ("#0072B2", "regret / episodes", trace.episode, trace.regret / trace.episode),
        ):
            panel.plot(episode, values, linestyle=line, color=color)
            if len(values) and values[-1] > 0:
                ends[player].append((episode[-1], values[-1], f"{label(name)}: {what}", color))
        panel.set(xscale="log", yscale="log", title=f"{game_name}, player {player}", xlabel="episodes")
    panels[0][0].set_ylabel("utility")
    for player, panel in zip(players, panels[0]):
        panel.set_ylim(panel.get_ylim())
        plotting.label_ends(panel, ends[player])
    return save(figure, path)


def main() -> None:
    matplotlib.use("Agg")
    game = ts.load_game(_GAME.value)
    validation.seed(_SEED.value)
    set_flag.check_used(_ALGORITHMS.value)
    learners(ts.build_infostate_tree("kuhn", 0))  # refuses values that a learner does not take
    storage.check_folder(sweep_flags.output())
    start = time.perf_counter()
    opponent = ts.equilibrium(game, sweep_flags.iterations())
    print(f"{game}")
    print(
        f"opponent: CFR+ after {opponent.iterations} iterations, exploitability {opponent.exploitability:.2g}, "
        f"ready in {time.perf_counter() - start:.1f} s"
    )
    environments = {player: build(game, opponent, player) for player in range(game.num_players())}

    compile_ahead(environments[0])
    print(f"\n{'player':<8}{'learner':<22}{'learned value':>14}{'best response':>15}{'gap':>11}{'episodes / s':>15}")
    traces = {}
    for player, mdp in environments.items():
        for name, learner in learners(mdp.tree).items():
            trace = traces[player, name] = ts.run(learner, mdp, _EPISODES.value)
            best, _ = mdp.best_response()
            print(
                f"{player:<8}{label(name):<22}{mdp.value(learner.recommend()):>14.6f}{best:>15.6f}{trace.value_gap[-1]:>11.6f}"
                f"{trace.episode[-1] / trace.seconds[-1]:>15,.0f}"
            )
            if trace.interrupted:
                break
    name = game.get_type().short_name
    path = draw(traces, name, pathlib.Path(sweep_flags.output()) / f"learn_{name}.png")
    print(f"\nlearning curves: {path}")


if __name__ == "__main__":
    run_binary(main)
