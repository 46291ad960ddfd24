"""Records what learners and exploit compute, so that a later version can be compared with it.

  python -m tests.recorded.record > tests/recorded/runs.json

The runs of learners were recorded by the version before the restructuring into layers. The script uses only the public
interface, so it runs with both versions. If a change is meant to change the results of exploit, record them again:

  python -m tests.recorded.record --exploit

tests/evaluation/test_recorded_runs.py and tests/exploit/test_recorded_runs.py repeat the runs and compare.
"""

import json
import pathlib
import random
import sys

import tmdp_spiel as ts

MARKS = [1, 10, 100, 500, 1_000, 2_000]
LEARNERS = {
    "UCBT": {"c": 1.0},
    "LUCBT": {"bound": "simple", "c": 1.0},
    "UCT": {},
    "OutcomeSamplingMCCFR": {},
    "OPF": {},
    "BPIUCRL": {},
    "MDPGapE": {},
    "MVP": {},
    "StrongEuler": {},
    "AMB": {},
    "PSRL": {},
    "BettingUCRL": {},
    "BettingOnDifferences": {},
    "CertifiedUCRL": {},
}
SMALL_RBT = "python_rbt(start=x4o0x8o2x1)"
PROBLEMS = [("kuhn", 0), ("kuhn", 1), ("leduc", 0), ("leduc", 1), (SMALL_RBT, 1)]
STOPPING = ["LUCB", "LUCBT", "LUCBTUniform", "BPIUCRL", "MDPGapE", "CertifiedUCRL", "BettingOnDifferences"]


def environment(game_string: str, player: int):
    """The Tree MDP of a problem; the opponent is uniform, which no solver can change."""
    game = ts.load_game(game_string)
    return ts.build_tree(game, player=player, opponent=ts.uniform(game))


def run(mdp, learner: str, seed: int) -> dict:
    """Regret and value gap of one run, at the marks."""
    made = getattr(ts, learner)(mdp.tree, seed=seed, **LEARNERS[learner])
    trace = ts.run(made, mdp, MARKS[-1], measure_at=MARKS, rng=1_000 + seed, piece=500, progress=False)
    return {"regret": [float(x) for x in trace.regret], "value_gap": [float(x) for x in trace.value_gap]}


def stop(mdp, learner: str, seed: int) -> dict:
    """The episodes until a learner stops, and the true gap of its answer."""
    made = getattr(ts, learner)(mdp.tree, epsilon=0.3, delta=0.1, seed=seed)
    result = ts.run_until_stopped(made, mdp, rng=1_000 + seed, progress=False)
    return {"episodes": int(result.episodes), "gap": float(result.gap)}


class RandomBot:
    """A black box with its own random numbers: it raises half of the time."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def step(self, state):
        legal = state.legal_actions()
        return legal[-1] if self._random.random() < 0.5 else legal[0]


EXPLOITED = {
    "kuhn, uniform": ("kuhn", "uniform", {"episodes": 5_000}),
    "kuhn, uniform, to a width": ("kuhn", "uniform", {"target_width": 0.5}),
    "leduc, uniform": ("leduc", "uniform", {"episodes": 5_000}),
    "leduc, exactly": ("leduc", "uniform", {}),
    "kuhn, a bot": ("kuhn", RandomBot, {"episodes": 5_000}),
    "kuhn, a bot as a function of its state": ("kuhn", RandomBot, {"episodes": 5_000, "memoryless": True}),
    "leduc, a bot": ("leduc", RandomBot, {"episodes": 5_000}),
    "connect_four on a growing tree": ("connect_four", "uniform", {"episodes": 300, "player": 0, "max_nodes": 1_000}),
}


def exploited(name: str) -> list[list[float]]:
    """The certified numbers of exploit: lower and upper bound, mean, number of episodes, for each player."""
    game, opponent, options = EXPLOITED[name]
    found = ts.exploit(game, opponent, seed=1, progress=False, **options)
    return [[each.lower, each.upper, each.mean, each.episodes] for each in found.seats.values()]


def record() -> dict:
    """All runs, by problem, learner and seed."""
    runs, stops = {}, {}
    for game, player in PROBLEMS:
        mdp = environment(game, player)
        for learner in LEARNERS:
            for seed in (0, 1):
                runs[f"{game} {player} {learner} {seed}"] = run(mdp, learner, seed)
    mdp = environment("kuhn", 0)
    for learner in STOPPING:
        for seed in (0, 1):
            stops[f"{learner} {seed}"] = stop(mdp, learner, seed)
    return {"runs": runs, "stops": stops, "exploited": {name: exploited(name) for name in EXPLOITED}}


if __name__ == "__main__":
    if "--exploit" in sys.argv:
        path = pathlib.Path(__file__).with_name("runs.json")
        stored = json.loads(path.read_text())
        stored["exploited"] = {name: exploited(name) for name in EXPLOITED}
        path.write_text(json.dumps(stored, indent=1) + "\n")
    else:
        print(json.dumps(record(), indent=1))
