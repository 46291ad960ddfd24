"""Draws how the certified interval of ts.exploit for one player narrows with the number of episodes.

python -m experiments.interval
python -m experiments.interval --game=kuhn --opponent=uniform --episodes=100000
"""

import pathlib

from absl import flags

import tmdp_spiel as ts
from experiments.sweep.binary import Stopped, run_binary
from tmdp_spiel.core import storage

_GAME = flags.DEFINE_string("game", "leduc", "kuhn, kuhn5, leduc, or any OpenSpiel game string.")
_PLAYER = flags.DEFINE_integer("player", 0, "The player that learns.", lower_bound=0)
_OPPONENT = flags.DEFINE_string("opponent", "cfr+", "The opponent; anything that tmdp-exploit takes.")
_ITERATIONS = flags.DEFINE_integer(
    "iterations", 10, "Iterations of cfr+; a small number gives a weak opponent.", lower_bound=1
)
_EPISODES = flags.DEFINE_integer("episodes", 10_000_000, "The total number of episodes.", lower_bound=1)
_DELTA = flags.DEFINE_float("delta", 0.05, "All intervals hold together with probability 1 - delta.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the learner and of the episodes.", lower_bound=0)
_OUTPUT = flags.DEFINE_string("output", "results", "The folder for the picture.")


def main() -> None:
    storage.check_folder(_OUTPUT.value)
    try:
        found = ts.exploit(
            _GAME.value,
            _OPPONENT.value,
            player=_PLAYER.value,
            iterations=_ITERATIONS.value,
            episodes=_EPISODES.value,
            delta=_DELTA.value,
            seed=_SEED.value,
        )
    except TypeError as error:
        raise Stopped(str(error)) from None
    print(found)
    response = found.seats[_PLAYER.value]
    print(f"\n{'episodes':>12}{'at least':>12}{'at most':>12}   utility of player {_PLAYER.value} per episode")
    for look in response.looks:
        print(f"{look.episodes:>12,}{look.lower:>12.4f}{look.upper:>12.4f}")
    path = pathlib.Path(_OUTPUT.value) / f"interval_{found.game.get_type().short_name}.png"
    figure = found.plot()
    figure.axes[0].set_ylim(top=response.upper + response.tree.utility_range / 8)  # the widest intervals are cut off
    figure.savefig(path, dpi=150)
    print(f"\nAll intervals hold together with probability {1 - _DELTA.value:g}. The picture: {path}")


if __name__ == "__main__":
    run_binary(main)
