"""What a run came to, as it is stored in JSON: the configuration, what made it, where it was, its outcome and time."""

from __future__ import annotations

import dataclasses
import socket
import time
import typing

from experiments.sweep.configuration import Configuration
from experiments.sweep.provenance import code

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
    """Episodes until it stopped or was given up; on the [0, 1] scale of epsilon, the true gap of its policy and, if it
    was given up, the width that remained, where the learner knows it."""

    episodes: int
    stopped: bool
    gap: float
    width: float | None


@dataclasses.dataclass
class Limit:
    """Between which two numbers of episodes the asymptotic reference lies, and whether for every answer."""

    least: float
    most: float
    for_every_answer: bool


class Value(typing.NamedTuple):
    """What a response wins, its standard error, and the episodes that it was learned from."""

    mean: float
    error: float
    episodes: int


@dataclasses.dataclass
class Responding:
    """The value of a response by the number of episodes, as a string, and by "seconds" of processor time."""

    values: dict[str, Value]

    def __post_init__(self):
        self.values = {mark: Value(*value) for mark, value in self.values.items()}


@dataclasses.dataclass
class Cost:
    """Processor seconds of an episode and of measuring a value gap, peak memory; or why the learner refused."""

    seconds: float
    gibibytes: float = 0.0
    episodes: int | None = None
    gap_seconds: float | None = None
    refused: str | None = None


OUTCOMES: dict[str, type] = {
    "learning": Learning,
    "stopping": Stopping,
    "limit": Limit,
    "responding": Responding,
    "cost": Cost,
}


@dataclasses.dataclass
class Environment:
    """Runs are compared only if they met the same fingerprint."""

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
    """code: versions and digests by name, see provenance."""

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
        """A run that ended now, here, by this code."""
        timing = Timing(seconds, measured_after or [], processor, time.time(), socket.gethostname())
        return cls(configuration, code(), environment, outcome, timing)

    def to_json(self) -> dict[str, typing.Any]:
        """As plain values; fields of the environment and timing that may be absent are left out if they are None."""
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
        """Raises ValueError for what is not a result of this version."""
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
            raise ValueError(f"not a result that this version reads: {type(error).__name__}: {error}") from None
