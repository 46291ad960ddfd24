"""Records what learners do, so that a later version can be compared with it.

  python -m tests.recorded.record > tests/recorded/runs.json

The file in this folder was written by the version before the restructuring into layers. It uses the public interface
only, so the same script runs with both. tests/evaluation/test_recorded_runs.py repeats the runs and compares.
"""

import json

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
    return {"runs": runs, "stops": stops}


if __name__ == "__main__":
    print(json.dumps(record(), indent=1))
