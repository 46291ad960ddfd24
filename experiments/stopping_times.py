"""How many episodes the PAC learners need on Kuhn poker: the paper's Tables 1 and 2, beside the paper's figures.

    python -m experiments.stopping_times --seeds=10 --unions=tight,paper

Every run is written as it ends; started again, the command goes on with the runs that are missing.
"""

import concurrent.futures
import itertools
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
_OUTPUT = flags.DEFINE_string("output", "results/stopping_times.jsonl", "Where every run is kept, a line each.")

flags.register_validator("unions", lambda each: set(each) <= {"tight", "paper"}, "choose from tight, paper")
flags.register_validator("games", lambda each: set(each) <= set(GAMES), f"choose from {', '.join(GAMES)}")
flags.register_validator(
    "tolerances", lambda each: all(0 < float(one) < 1 for one in each), "each must lie strictly between 0 and 1"
)


def settings() -> list[dict]:
    """Every run, as data. LUCB has no union bound over counts: it is run once, not once per union."""
    names = ("algorithm", "union", "game", "player", "tolerance", "seed")
    choices = itertools.product(
        ALGORITHMS,
        ["none", *_UNIONS.value],
        _GAMES.value,
        (0, 1),
        map(float, _TOLERANCES.value),
        range(_SEEDS.value),
    )
    runs = [dict(zip(names, choice)) for choice in choices]
    return [setting for setting in runs if (setting["algorithm"] == "LUCB") == (setting["union"] == "none")]


def key(setting: dict) -> tuple:
    return tuple(setting[name] for name in ("game", "player", "algorithm", "union", "tolerance", "seed"))


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
    """Millions of episodes: mean and standard error, under the paper's figures; the worst returned policy of each row."""
    columns = list(itertools.product(GAMES, TOLERANCES))
    columns += sorted({(row["game"], row["tolerance"]) for row in rows} - set(columns))
    groups: dict[tuple, dict[tuple, list[dict]]] = {}
    for row in rows:
        group = groups.setdefault((row["player"], row["algorithm"], row["union"]), {})
        group.setdefault((row["game"], row["tolerance"]), []).append(row)
    titles = [f"{game}, {tolerance}" for game, tolerance in columns]
    print(f"| player | algorithm | union | {' | '.join(titles)} | largest gap / epsilon |")
    print("| --- " * (len(columns) + 4) + "|")
    for player, algorithm in PAPER:
        figures = [f"*{figure:.3f}*" for figure in PAPER[player, algorithm]] + [""] * (len(columns) - 4)
        print(f"| {'xo'[player]} | {algorithm} | *the paper* | {' | '.join(figures)} | |")
        for union in ("none", "paper", "tight"):
            if group := groups.get((player, algorithm, union)):
                worst = max(row["gap"] / row["tolerance"] for runs in group.values() for row in runs)
                cells = " | ".join(mean_and_error(group.get(column, [])) for column in columns)
                print(f"| {'xo'[player]} | {algorithm} | {union} | {cells} | {worst:.3f} |")


def mean_and_error(runs: list[dict]) -> str:
    if not runs:
        return "—"
    episodes = np.array([row["episodes"] for row in runs]) / 1e6
    if len(runs) == 1:
        return f"{episodes[0]:.3f}"
    return f"{episodes.mean():.3f} ± {100 * episodes.std(ddof=1) / np.sqrt(len(runs)) / episodes.mean():.1f}%"


def read(path: pathlib.Path) -> list[dict]:
    """The runs kept so far."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write(path: pathlib.Path, rows: list[dict]) -> None:
    """Replaces the file in one step, so that a kill leaves the old one or the new one."""
    temporary = path.with_suffix(".partial")
    temporary.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    temporary.replace(path)


def main(argv: Sequence[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unknown arguments: {argv[1:]}")
    for game in _GAMES.value:
        ts.equilibrium(ts.load_game(game))
    path = pathlib.Path(_OUTPUT.value)
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = read(path)
    runs = settings()
    done = {key(row): row for row in kept}
    missing = [setting for setting in runs if key(setting) not in done]
    start = time.perf_counter()
    with concurrent.futures.ProcessPoolExecutor(_PROCESSES.value) as pool:
        started = [pool.submit(run, setting) for setting in missing]
        for finished in tqdm.tqdm(
            concurrent.futures.as_completed(started), total=len(started), desc="runs", disable=None
        ):
            row = finished.result()
            done[key(row)] = row
            write(path, list(done.values()))
    print_table([done[key(setting)] for setting in runs])
    print(f"\n{len(missing)} new runs in {time.perf_counter() - start:.0f} s; all of them in {path}")


if __name__ == "__main__":
    app.run(main)
