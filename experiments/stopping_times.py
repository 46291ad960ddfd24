"""How many episodes the PAC learners need on Kuhn poker: the paper's Tables 1 and 2, beside the paper's figures.

    python -m experiments.stopping_times --seeds=10 --unions=tight,paper
"""

import concurrent.futures
import json
import pathlib
import time
from collections.abc import Sequence

import numpy as np
import tqdm
from absl import app, flags

import tmdp_spiel as ts

ALGORITHMS = {"LUCB": ts.LUCB, "LUCB-T": ts.LUCBT, "LUCB-T-Uniform": ts.LUCBTUniform}
GAMES = ("kuhn", "kuhn5")
TOLERANCES = (0.05, 0.1)

# Millions of episodes, by (player, algorithm): 3-card at 0.05 and 0.1, 5-card at 0.05 and 0.1.
PAPER = {
    (0, "LUCB"): (0.473, 0.114, 7.947, 2.138),
    (0, "LUCB-T"): (2.170, 0.531, 3.637, 0.942),
    (0, "LUCB-T-Uniform"): (2.117, 0.508, 4.880, 1.194),
    (1, "LUCB"): (0.163, 0.057, 3.154, 1.291),
    (1, "LUCB-T"): (1.896, 0.496, 3.475, 0.861),
    (1, "LUCB-T-Uniform"): (1.671, 0.401, 4.150, 1.045),
}

_SEEDS = flags.DEFINE_integer("seeds", 10, "Runs of each setting, with seeds 0, 1, ...", lower_bound=1)
_UNIONS = flags.DEFINE_list("unions", ["tight", "paper"], "Union bounds of the tree learners: tight, paper or both.")
_GAMES = flags.DEFINE_list("games", list(GAMES), "Any of kuhn, kuhn5.")
_TOLERANCES = flags.DEFINE_list("tolerances", [str(each) for each in TOLERANCES], "Values of epsilon = delta.")
_PROCESSES = flags.DEFINE_integer("processes", 2, "Runs at the same time.", lower_bound=1)
_OUTPUT = flags.DEFINE_string("output", "results/stopping_times.json", "Where every run is kept.")

flags.register_validator("unions", lambda each: set(each) <= {"tight", "paper"}, "choose from tight, paper")
flags.register_validator("games", lambda each: set(each) <= set(GAMES), f"choose from {', '.join(GAMES)}")
flags.register_validator(
    "tolerances", lambda each: all(0 < float(one) < 1 for one in each), "each must lie strictly between 0 and 1"
)


def settings() -> list[dict]:
    """Every run, as data. LUCB has no union bound over counts: it is run once, not once per union."""
    runs = []
    for game in _GAMES.value:
        for player in (0, 1):
            for algorithm in ALGORITHMS:
                for union in _UNIONS.value if algorithm != "LUCB" else ["none"]:
                    for tolerance in map(float, _TOLERANCES.value):
                        for seed in range(_SEEDS.value):
                            runs.append(
                                dict(
                                    game=game,
                                    player=player,
                                    algorithm=algorithm,
                                    union=union,
                                    tolerance=tolerance,
                                    seed=seed,
                                )
                            )
    return runs


def run(setting: dict) -> dict:
    """One run until it stops; the gap of the returned policy on the [0, 1] scale that epsilon is on."""
    game = ts.load_game(setting["game"])
    mdp = ts.build_tree(game, setting["player"], ts.equilibrium(game))
    union = {} if setting["union"] == "none" else {"union": setting["union"]}
    tolerance = setting["tolerance"]
    learner = ALGORITHMS[setting["algorithm"]](
        mdp.tree, epsilon=tolerance, delta=tolerance, seed=setting["seed"], **union
    )
    result = ts.run_until_stopped(learner, mdp, progress=False)
    return {**setting, "episodes": result.episodes, "gap": result.gap / mdp.tree.utility_range, "seconds": result.seconds}


def print_table(rows: list[dict]) -> None:
    """Mean and standard error in millions, the worst gap of a returned policy, and the paper's figure."""
    print("| player | algorithm | union | game | epsilon = delta | episodes, millions | paper | largest gap |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        key = (row["player"], row["algorithm"], row["union"], row["game"], row["tolerance"])
        groups.setdefault(key, []).append(row)
    for (player, algorithm, union, game, tolerance), group in groups.items():
        episodes = np.array([row["episodes"] for row in group]) / 1e6
        error = 100 * episodes.std(ddof=1) / np.sqrt(len(episodes)) / episodes.mean() if len(group) > 1 else float("nan")
        paper = "—"
        if tolerance in TOLERANCES:
            paper = PAPER[player, algorithm][2 * GAMES.index(game) + TOLERANCES.index(tolerance)]
        gap = max(row["gap"] for row in group)
        print(
            f"| {'xo'[player]} | {algorithm} | {union} | {game} | {tolerance} | {episodes.mean():.3f} ± {error:.1f}% "
            f"| {paper} | {gap:.4f} |"
        )


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    for game in _GAMES.value:
        ts.equilibrium(ts.load_game(game))
    runs = settings()
    start = time.perf_counter()
    with concurrent.futures.ProcessPoolExecutor(_PROCESSES.value) as pool:
        rows = list(tqdm.tqdm(pool.map(run, runs), total=len(runs), desc="runs", disable=None))
    path = pathlib.Path(_OUTPUT.value)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print_table(rows)
    print(f"\n{len(rows)} runs in {time.perf_counter() - start:.0f} s; every one of them in {path}")


if __name__ == "__main__":
    app.run(main)
