r"""Learners on the trees of exact games: exact regret and value gap, and certified intervals with the exact values.

  python -m experiments.benchmarks.exact_learning
  python -m experiments.benchmarks.exact_learning --games=phantom_ttt --opponents=uniform --episodes=10000
  python -m experiments.benchmarks.exact_learning --stored=docs/runs/exact_learning.jsonl.xz

The opponent is the included equilibrium, uniform, or the NFSP network of experiments/benchmarks/agents, as a policy
table; so regret and value gap are exact on trees of millions of states. A run is a line of JSON in --output; runs that
exist already are not repeated. At the end the tables are printed.
"""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Callable, Iterable

import numpy as np
from absl import flags

import tmdp_spiel as ts
from experiments.benchmarks.agents_table import DICE, HEX, Row, tables
from experiments.sweep.binary import run_binary
from experiments.sweep.store import pack_lines, unpack_lines
from tmdp_spiel.openspiel.exact_games import exact_form
from tmdp_spiel.openspiel.policy_tables import TablePolicy
from tmdp_spiel.trees import sequence_form

LEARNERS: dict[str, Callable] = {
    "UCBT": ts.UCBT,
    "ThompsonTree": ts.ThompsonTree,
    "UCT": ts.UCT,
}
AGENTS = {
    "phantom_ttt": {"equilibrium": "equilibrium", "uniform": "uniform", "NFSP": "phantom_ttt_nfsp.npz"},
    HEX: {"equilibrium": "equilibrium", "uniform": "uniform", "NFSP": "dark_hex_nfsp.npz"},
    DICE: {"equilibrium": "equilibrium", "uniform": "uniform", "NFSP": "liars_dice_nfsp.npz"},
}


def main() -> None:
    if flags.FLAGS.stored:
        print_tables(read(pathlib.Path(flags.FLAGS.stored)))
        return
    output = pathlib.Path(flags.FLAGS.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    done = {key(each) for each in read(output)} if output.exists() else set()
    for game in filter(None, flags.FLAGS.games.split(";")):
        for opponent in flags.FLAGS.opponents:
            for found in measure(game, opponent, done):
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
                print(json.dumps(found), flush=True)
    runs = read(output)
    if flags.FLAGS.pack:
        pack_lines([json.dumps(found, sort_keys=True) for found in runs], flags.FLAGS.pack)
    print_tables(runs)


def key(found: dict) -> tuple:
    """What identifies a run."""
    return tuple(found[name] for name in ("game", "opponent", "player", "learner", "seed", "episodes"))


def measure(game: str, opponent: str, done: set[tuple]) -> Iterable[dict]:
    """The runs against one opponent that are not done yet."""
    form = exact_form(game)
    policies = tables(form, Row(game, AGENTS.get(game, {}).get(opponent, opponent)))
    for player in (0, 1):
        mdp = sequence_form.tree_mdp(form, player, policies[1 - player])
        what = {"game": game, "opponent": opponent, "player": player}
        for name in flags.FLAGS.algorithms:
            for seed in range(flags.FLAGS.seeds):
                run = {**what, "learner": name, "seed": seed, "episodes": flags.FLAGS.episodes}
                if key(run) not in done:
                    yield run | learned(name, mdp, seed)
        run = {**what, "learner": "ts.exploit", "seed": 0, "episodes": flags.FLAGS.certified}
        if flags.FLAGS.certified and key(run) not in done:
            yield run | certified(game, form, player, policies[1 - player])


def learned(name: str, mdp, seed: int) -> dict:
    """Regret and value gap at powers of ten, and the time that the episodes took."""
    ts.run(LEARNERS[name](mdp.tree, seed=seed), mdp, 100, measure_at=[100], progress=False)  # kernels are compiled
    learner = LEARNERS[name](mdp.tree, seed=seed)
    marks = sorted({10**k for k in range(1, 9) if 10**k < flags.FLAGS.episodes} | {flags.FLAGS.episodes})
    trace = ts.run(learner, mdp, flags.FLAGS.episodes, measure_at=marks, rng=seed, progress=False)
    return {
        "best_value": mdp.best_response()[0],
        "marks": trace.episode.tolist(),
        "regret": trace.regret.tolist(),
        "value_gap": trace.value_gap.tolist(),
        "microseconds": 1e6 * float(np.asarray(trace.playing)[-1]) / flags.FLAGS.episodes,
    }


def certified(game: str, form, player: int, table: np.ndarray) -> dict:
    """An interval of ts.exploit from playing, with the exact values."""
    opponent = TablePolicy(ts.load_game(game), form, {1 - player: table})
    began = time.process_time()
    found = ts.exploit(game, opponent, player=player, episodes=flags.FLAGS.certified, progress=False).seats[player]
    return {
        "best_value": found.exact_best,
        "lower": found.lower,
        "upper": found.upper,
        "value": found.exact_value,
        "seconds": time.process_time() - began,
    }


def read(path: pathlib.Path) -> list[dict]:
    """The runs in a file of lines, or in an archive; of runs with the same key, the last one."""
    lines = unpack_lines(path) if path.suffix == ".xz" else path.read_text(encoding="utf-8").splitlines()
    return list({key(found): found for found in map(json.loads, lines)}.values())


def print_tables(runs: list[dict]) -> None:
    """Regret and value gap at the end, as means over the seeds; then the certified intervals."""
    played: dict[tuple, dict[str, list[dict]]] = {}
    for found in runs:
        if "regret" in found:
            problem = found["game"], found["opponent"], found["player"], found["episodes"]
            played.setdefault(problem, {}).setdefault(found["learner"], []).append(found)
    learners = list(dict.fromkeys(found["learner"] for found in runs if "regret" in found))
    print(f"| game | opponent | player | episodes | best value | {' | '.join(learners)} |")
    print("| --- | --- | ---: | ---: | ---: |" + " ---: |" * len(learners))
    for (game, opponent, player, episodes), by_learner in played.items():
        best = next(iter(by_learner.values()))[0]["best_value"]
        cells = [_cell(by_learner.get(name, [])) for name in learners]
        print(f"| `{game}` | {opponent} | {player} | {episodes:,} | {best:.4f} | {' | '.join(cells)} |")
    for name in learners:
        times = [found["microseconds"] for found in runs if found["learner"] == name]
        print(f"{name}: {min(times):.1f} to {max(times):.1f} microseconds an episode")
    intervals = [found for found in runs if "lower" in found]
    if intervals:
        print("\n| game | opponent | player | episodes | certified at least | the response | best value | at most |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for found in intervals:
        print(
            f"| `{found['game']}` | {found['opponent']} | {found['player']} | {found['episodes']:,} | "
            f"{found['lower']:.4f} | {found['value']:.4f} | {found['best_value']:.4f} | {found['upper']:.4f} |"
        )


def _cell(runs: list[dict]) -> str:
    if not runs:
        return ""
    regret, gap = (np.mean([found[name][-1] for found in runs]) for name in ("regret", "value_gap"))
    return f"{regret:,.0f} / {gap:.4f}"


def define_flags() -> None:
    """Defines the flags of the command; not at import, because tests import several commands."""
    flags.DEFINE_string("games", ";".join(AGENTS), "Game strings, with semicolons between them.")
    flags.DEFINE_list("opponents", ["equilibrium", "uniform", "NFSP"], "Opponents.")
    flags.DEFINE_list("algorithms", list(LEARNERS), "Learners.")
    flags.DEFINE_integer("episodes", 100_000, "Episodes of each run.", lower_bound=1)
    flags.DEFINE_integer("seeds", 3, "Runs of each learner.", lower_bound=1)
    flags.DEFINE_integer("certified", 20_000, "Episodes of ts.exploit for certified intervals; 0: none.")
    flags.DEFINE_string("output", "results/exact_learning.jsonl", "The file to which runs are added.")
    flags.DEFINE_string("pack", None, "Where to write the runs of --output as an archive, at the end.")
    flags.DEFINE_string("stored", None, "Print the tables of this file and run nothing.")


if __name__ == "__main__":
    define_flags()
    run_binary(main)
