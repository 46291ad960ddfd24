"""The speed-up of playing many episodes at once against slow opponents.

First, an opponent that sleeps for 5 ms at every move: episodes per second with 64 in flight on 64 threads, and one at a
time. Then a search (MCTS on connect_four) that keeps a core busy, alternately in one process and in two, because the
machine may be busy. Three figures are printed; the last one does not depend on the load of the machine (Linux only):

- the ratio of episodes per second, the median over the stretches and the best;
- the share of the time in which fewer episodes waited for an answer than there were processes;
- an estimate for two free cores: 2 a / (b + p) minus that share, where a and b are the processor seconds of the workers
  per episode in one process and in two, and p those of the process that queries them.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import statistics
import time
from collections.abc import Iterator, Sequence

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


class Watched(ExecutorOpponents):
    """Measures how long there were fewer tasks than processes, and the processor time of the processes."""

    def __init__(self, processes: int, make_opponent):
        super().__init__(processes, make_opponent=make_opponent)
        self._processes, self.starved = processes, 0.0

    def answers(self) -> Iterator[tuple[int, int | ts.OpponentError]]:
        few, start = len(self._waiting) < self._processes, time.perf_counter()
        for at, answer in enumerate(super().answers()):
            self.starved += (time.perf_counter() - start) * (few and at == 0)
            yield answer

    @property
    def processor_seconds(self) -> float:
        """The processor time of the workers so far; NaN if the system does not provide it."""
        ticks = 0
        for process in self._executor._processes:
            try:
                with open(f"/proc/{process}/stat", encoding="ascii") as file:
                    ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
            except OSError:
                return float("nan")
        return ticks / os.sysconf("SC_CLK_TCK")


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
    """A learner against the search in the given number of processes; counts the episodes of each stretch."""

    def __init__(self, processes: int, simulations: int):
        self._rounds = Watched(processes, Searching(simulations))
        self._table = ts.LiveGame("connect_four", 0, None, batched_opponent=self._rounds)
        self._learner = ts.UCT(self._table.tree)
        self.rates: list[float] = []
        self.episodes, self.wall, self.workers, self.asking, self.starved = 0, 0.0, 0.0, 0.0, 0.0
        self._table.play(self._learner, 8 * processes)  # starts the processes

    def play(self, episodes: int) -> None:
        """One stretch."""
        before = self._rounds.processor_seconds, time.process_time(), self._rounds.starved, time.perf_counter()
        self._table.play(self._learner, episodes)
        after = self._rounds.processor_seconds, time.process_time(), self._rounds.starved, time.perf_counter()
        workers, asking, starved, wall = (late - early for late, early in zip(after, before))
        self.rates.append(episodes / wall)
        self.episodes += episodes
        self.workers, self.asking = self.workers + workers, self.asking + asking
        self.starved, self.wall = self.starved + starved, self.wall + wall

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
    kinds = [Stretches(processes, size.simulations) for processes in (1, 2)]
    for _ in range(size.stretches):
        for kind in kinds:
            kind.play(size.episodes)
    one, two = kinds
    ratios = [of_two / of_one for of_one, of_two in zip(one.rates, two.rates)]
    print(f"connect_four, MCTS with {size.simulations} simulations a move, {size.stretches} stretches each:")
    for processes, kind in enumerate(kinds, 1):
        print(
            f"  {processes} process(es): {statistics.median(kind.rates):.2f} episodes a second, the workers had "
            f"{kind.workers / kind.wall:.2f} cores; fewer waiting than processes {kind.starved / kind.wall:.1%} of the "
            f"time; an episode takes {1000 * kind.workers / kind.episodes:.0f} ms of the workers, "
            f"{1000 * kind.asking / kind.episodes:.2f} ms of who asks"
        )
        kind.close()
    print(f"  two processes for one: {statistics.median(ratios):.2f} times (median), {max(ratios):.2f} (best)")
    cores = 2 * (one.workers / one.episodes) / ((two.workers + two.asking) / two.episodes)
    print(f"  on two idle cores: {cores * (1 - two.starved / two.wall / 2):.2f} times")
