"""From stored runs to curves: one line of a panel, over its seeds."""

import dataclasses

import numpy as np

from experiments.sweep import run
from experiments.sweep.store import RefusedResult


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
        """One standard error of the mean; not a number for a single run."""
        return standard_error(self.values)

    @property
    def final(self) -> dict[int, float]:
        """The measure at the last episode, by seed."""
        return dict(zip(self.seeds, self.values[:, -1].tolist()))


def standard_error(values: np.ndarray) -> np.ndarray:
    """Over the first axis."""
    if len(values) < 2:
        return np.full(np.shape(values)[1:], np.nan)
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


def of_panel(panel: dict, results: list[dict]) -> dict[str, Curve]:
    """The curves of a panel, from those of the results that it asks for; algorithms without any are absent."""
    found = {run.key(result["configuration"]): result for result in results}
    curves = {}
    for algorithm, asked in panel["curves"].items():
        runs = [found[run.key(each)] for each in asked if run.key(each) in found]
        if runs:
            curves[algorithm] = _curve(
                algorithm, panel["measure"], sorted(runs, key=lambda result: result["configuration"]["seed"])
            )
    return curves


def _curve(algorithm: str, measure: str, runs: list[dict]) -> Curve:
    episodes = {tuple(each["outcome"]["episode"]) for each in runs}
    if len(episodes) > 1:
        raise RefusedResult(
            f"the runs of {algorithm} were measured at different episodes; remove those that are out of date"
        )
    return Curve(
        algorithm,
        np.array(episodes.pop()),
        np.array([each["outcome"][measure] for each in runs]),
        tuple(each["configuration"]["seed"] for each in runs),
    )
