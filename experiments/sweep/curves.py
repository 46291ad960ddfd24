"""From stored runs to curves: one line of a panel, over its seeds."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from experiments.sweep.configuration import Configuration
from experiments.sweep.result import Learning, Measure, Result
from experiments.sweep.store import RefusedResult
from experiments.sweep.tables import standard_error


@dataclasses.dataclass
class Curve:
    """episode: [checkpoints]; values: [runs, checkpoints], the panel's measure; seeds: of the runs, ascending."""

    algorithm: str
    episode: np.ndarray
    values: np.ndarray
    seeds: tuple[int, ...]

    @property
    def mean(self) -> np.ndarray:
        return self.values.mean(axis=0)

    @property
    def error(self) -> np.ndarray:
        """One standard error of the mean; NaN for a single run."""
        return standard_error(self.values)

    @property
    def final(self) -> dict[int, float]:
        """The measure at the last episode, by seed."""
        return dict(zip(self.seeds, self.values[:, -1].tolist()))


def of_runs(
    measure: Measure, asked: Mapping[str, Sequence[Configuration]], results: Iterable[Result[Learning]]
) -> dict[str, Curve]:
    """The curves of the algorithms with results; asked: the configurations of each algorithm."""
    found = {result.configuration.key: result for result in results}
    curves = {}
    for algorithm, configurations in asked.items():
        runs = [found[each.key] for each in configurations if each.key in found]
        if runs:
            curves[algorithm] = _curve(algorithm, measure, sorted(runs, key=lambda result: result.configuration.seed))
    return curves


def _curve(algorithm: str, measure: Measure, runs: list[Result[Learning]]) -> Curve:
    """Where all runs were measured: everywhere, unless the clock ended some of them early."""
    episodes = [each.outcome.episode for each in runs]
    common = [at for at, measured in enumerate(zip(*episodes)) if len(set(measured)) == 1]
    ended_by_clock = all(each.configuration.seconds is not None for each in runs)
    if not common or (max(map(len, episodes)) > len(common) and not ended_by_clock):
        raise RefusedResult(f"the runs of {algorithm} were measured at different episodes; remove the outdated ones")
    values = np.array([[each.outcome.of(measure)[at] for at in common] for each in runs])
    return Curve(algorithm, np.array(episodes[0])[common], values, tuple(each.configuration.seed for each in runs))
