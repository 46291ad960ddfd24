"""The speed-up of playing many episodes at once against slow opponents.

First, an opponent that sleeps for 5 ms at every move: episodes per second with 64 in flight on 64 threads, and one at a
time. Then a search (MCTS on connect_four) that keeps a core busy, alternately in one process and in two, because the
machine may be busy: the ratio of episodes per second, the median over the stretches and the best.
"""

import concurrent.futures
import dataclasses
import pathlib
import statistics
import time
from collections.abc import Sequence

import pyspiel

import tmdp_spiel as ts
from tmdp_spiel.openspiel.opponents.parallel import ExecutorOpponents

GAMES, SMALL_GAMES = ("leduc_poker", "phantom_ttt"), ("leduc_poker",)  # for the sleeper


@dataclasses.dataclass(frozen=True)
class Size:
    """Stretches of each kind, episodes of each, simulations per move, and episodes against the sleeper."""

    stretches: int = 5
    episodes: int = 48
    simulations: int = 1000
    sleeping: int = 1_500


_SECONDS_A_MOVE = 0.005


class Sleeper:
    """Sleeps, then plays the first action."""

    def step(self, state: pyspiel.State) -> int:
        time.sleep(_SECONDS_A_MOVE)
        return state.legal_actions()[0]


class Searching:
    """Makes the search in a worker."""

    def __init__(self, simulations: int):
        self.simulations = simulations

    def __call__(self, game: pyspiel.Game, seed: int) -> pyspiel.Bot:
        return pyspiel.MCTSBot(
            game, pyspiel.RandomRolloutEvaluator(1, seed), 2.0, self.simulations, 0, False, seed, False
        )


def sleeping_rate(game: str, in_flight: int, episodes: int) -> float:
    """Episodes per second against the opponent that sleeps."""
    rounds = None
    if in_flight > 1:
        make = lambda: concurrent.futures.ThreadPoolExecutor(in_flight)  # noqa: E731
        rounds = ExecutorOpponents(make, Sleeper(), in_flight=in_flight)
    table = ts.LiveGame(game, 0, Sleeper(), batched_opponent=rounds)
    learner = ts.UCT(table.tree)
    table.play(learner, 2)
    start = time.perf_counter()
    table.play(learner, episodes)
    rate = episodes / (time.perf_counter() - start)
    table.close()
    return rate


class Stretches:
    """A learner against the search in the given number of processes."""

    def __init__(self, processes: int, simulations: int):
        opponents = ExecutorOpponents(processes, make_opponent=Searching(simulations))
        self._table = ts.LiveGame("connect_four", 0, None, batched_opponent=opponents)
        self._learner = ts.UCT(self._table.tree)
        self._table.play(self._learner, 8 * processes)  # starts the processes

    def rate(self, episodes: int) -> float:
        """Episodes per second in one stretch."""
        start = time.perf_counter()
        self._table.play(self._learner, episodes)
        return episodes / (time.perf_counter() - start)

    def close(self) -> None:
        self._table.close()


def report(games: Sequence[str], small: bool, folder: pathlib.Path) -> None:
    """Prints both measurements."""
    size = Size(1, 1, 1, 30) if small else Size()
    for game in games:
        alone = sleeping_rate(game, 1, max(size.sleeping // 30, 1))
        many = sleeping_rate(game, 64, size.sleeping)
        print(
            f"{game}, 5 ms a move: {alone:.1f} episodes a second one by one, {many:.0f} with 64, "
            f"{many / alone:.1f} times"
        )
    one, two = (Stretches(processes, size.simulations) for processes in (1, 2))
    pairs = [(one.rate(size.episodes), two.rate(size.episodes)) for _ in range(size.stretches)]
    for each in (one, two):
        each.close()
    ratios = [of_two / of_one for of_one, of_two in pairs]
    print(f"connect_four, MCTS with {size.simulations} simulations a move, {size.stretches} stretches each:")
    for processes, rates in enumerate(zip(*pairs), 1):
        print(f"  {processes} process(es): {statistics.median(rates):.2f} episodes a second")
    print(f"  two processes for one: {statistics.median(ratios):.2f} times (median), {max(ratios):.2f} (best)")
