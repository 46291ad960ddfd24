"""A certified best response: plays until the response is within epsilon of the best with probability 1 - delta.

    python -m experiments.examples.identify --game=kuhn
    python -m experiments.examples.identify --game=rbt --player=1 --file=rbt_o.run

The opponent is the game's equilibrium, or uniform. With --file the run is saved, and resumes when started again.
"""

import time

from absl import app, flags

import tmdp_spiel as ts

_GAME = flags.DEFINE_string("game", "kuhn", "kuhn, kuhn5, leduc, rbt, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that responds.", lower_bound=0)
_OPPONENT = flags.DEFINE_enum("opponent", "equilibrium", ["equilibrium", "uniform"], "The opponents' policy.")
_EPSILON = flags.DEFINE_float("epsilon", 0.05, "The largest distance from the best, for returns in [0, 1].")
_DELTA = flags.DEFINE_float("delta", 0.05, "The probability with which the distance may be larger.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the learner and of the episodes.", lower_bound=0)
_FILE = flags.DEFINE_string("file", None, "Where to save the run, so that it can be resumed.")
_MOST = 2**31 - 1


def main(_):
    game = ts.load_game(_GAME.value)
    opponent = ts.uniform(game) if _OPPONENT.value == "uniform" else ts.equilibrium(game)
    mdp = ts.build_tree(game, _PLAYER.value, opponent)
    learner = ts.certified_learner(mdp.tree, epsilon=_EPSILON.value, delta=_DELTA.value, seed=_SEED.value)
    started = time.process_time()
    trace = ts.run(learner, mdp, _MOST, measure_at=[_MOST], file=_FILE.value)
    seconds, ended = time.process_time() - started, "" if learner.stopped else ", interrupted before it was certain"
    print(f"{type(learner).__name__}: {learner.episodes:,} episodes, {seconds:.1f} s of processor time{ended}")
    print(f"the exact value gap of the answer is {trace.value_gap[-1]:.6f} in utility units;", end=" ")
    print(f"epsilon is {mdp.tree.to_utility_difference(_EPSILON.value):g}")


if __name__ == "__main__":
    app.run(main)
