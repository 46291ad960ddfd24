"""The result of a run, as stored in JSON: configuration, provenance, environment, outcome and timing."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import pathlib
import platform
import socket
import subprocess
import time
import typing

import tmdp_spiel as ts
from experiments.sweep.configuration import Configuration

_PACKAGES = ("tmdp-spiel", "open_spiel", "numpy", "numba")

Measure = typing.Literal["value_gap", "regret"]
OutcomeT = typing.TypeVar("OutcomeT")


@dataclasses.dataclass
class Learning:
    """The columns of a Trace, in utility units: regret and value gap after the given episodes."""

    episode: list[int]
    regret: list[float]
    value_gap: list[float]

    def of(self, measure: Measure) -> list[float]:
        return self.regret if measure == "regret" else self.value_gap


@dataclasses.dataclass
class Stopping:
    """Episodes until the run stopped or was given up; the true gap of its policy and, if it was given up and its
    learner knows it, the remaining width, on the [0, 1] scale of epsilon."""

    episodes: int
    stopped: bool
    gap: float
    width: float | None


@dataclasses.dataclass
class Limit:
    """A lower and an upper bound on the asymptotic reference, in episodes, and whether they hold for every answer."""

    least: float
    most: float
    for_every_answer: bool


class Value(typing.NamedTuple):
    """What a response wins, its standard error, and the episodes from which it was learned."""

    mean: float
    error: float
    episodes: int


@dataclasses.dataclass
class Responding:
    """The value of a response by the number of episodes, as a string, and by "seconds" of processor time."""

    values: dict[str, Value]

    def __post_init__(self):
        self.values = {mark: Value(*value) for mark, value in self.values.items()}


OUTCOMES: dict[str, type] = {
    "learning": Learning,
    "stopping": Stopping,
    "limit": Limit,
    "responding": Responding,
}


@dataclasses.dataclass
class Environment:
    """The environment of a run. Only runs with the same fingerprint are compared."""

    game_string: str | None
    best_value: float | None
    fingerprint: str
    num_states: int | None = None


@dataclasses.dataclass
class Timing:
    """seconds: of the run by the clock; measured_after: those of each measurement, without measuring; processor: its
    processor time; ended: when, in seconds since the epoch."""

    seconds: float
    measured_after: list[float] = dataclasses.field(default_factory=list)
    processor: float | None = None
    ended: float | None = None
    host: str | None = None


@dataclasses.dataclass
class Result(typing.Generic[OutcomeT]):
    """code: what `code` returned."""

    configuration: Configuration
    code: dict[str, str]
    environment: Environment
    outcome: OutcomeT
    timing: Timing

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        environment: Environment,
        outcome: OutcomeT,
        seconds: float,
        *,
        measured_after: list[float] | None = None,
        processor: float | None = None,
    ) -> Result[OutcomeT]:
        """The result of a run that ended now, on this machine, with this code."""
        timing = Timing(seconds, measured_after or [], processor, time.time(), socket.gethostname())
        return cls(configuration, code(), environment, outcome, timing)

    def to_json(self) -> dict[str, typing.Any]:
        """The result as plain values; optional fields of the environment and timing are left out if they are None."""
        data = dataclasses.asdict(self)
        kinds = {"environment": Environment, "timing": Timing, "outcome": OUTCOMES[self.configuration.experiment]}
        for part, kind in kinds.items():
            optional = {field.name for field in dataclasses.fields(kind) if field.default is None}
            data[part] = {
                name: value for name, value in data[part].items() if value is not None or name not in optional
            }
        return data

    @classmethod
    def from_json(cls, data: dict[str, typing.Any]) -> Result:
        """Reads a result; raises a ValueError if it is not a result of this version."""
        try:
            configuration = Configuration(**data["configuration"])
            return cls(
                configuration,
                data["code"],
                Environment(**data["environment"]),
                OUTCOMES[configuration.experiment](**data["outcome"]),
                Timing(**data["timing"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a result that this version can read: {type(error).__name__}: {error}") from None


@functools.cache
def code() -> dict:
    """The provenance of a result: versions, the revision of the checkout, a digest of the source files."""
    digest = hashlib.sha256((pathlib.Path(__file__).parent / "run.py").read_bytes())
    for folder in (pathlib.Path(ts.__file__).parent, pathlib.Path(ts.games.__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return {
        "source": digest.hexdigest()[:16],
        "git_revision": _git_revision(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def _git_revision() -> str:
    def git(*arguments):
        command = ["git", "-C", str(pathlib.Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("-modified" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
