"""Results on disk, in one file each or in an archive: intact and of the requested configuration, or refused.

An archive holds what tables and figures need of many runs. It is a checked JSON document, see tmdp_spiel.core.storage,
compressed with xz: the SHA-256 of the rest, then one run per line, in the order of their configurations. Equal runs
give equal bytes. Measured numbers have six digits, and the timing consists of the seconds of the run, with and without
measuring.
"""

import collections
import dataclasses
import hashlib
import json
import lzma
import pathlib
from collections.abc import Iterable

from experiments.sweep.configuration import Configuration
from experiments.sweep.result import Result, Timing
from experiments.sweep.tables import as_path, player_name
from tmdp_spiel.core import storage

WHAT_TO_DO = "remove those that are out of date, give another --output, or average them all the same with --mix_code"
_DIGITS = 6  # of the numbers in an archive


class RefusedResult(ValueError):
    """A stored result that must not be used, or results that must not be averaged."""


class Store:
    """The results below a directory, found by configuration; and those of archives, for what the directory has not."""

    def __init__(self, directory, archives: Iterable = ()):
        self.directory = pathlib.Path(directory)
        self._archived = {each.configuration.key: each for path in archives for each in unpack(path)}

    def path(self, configuration: Configuration) -> pathlib.Path:
        """experiment / game / player / algorithm / what else was set / seed."""
        digest = hashlib.sha256(configuration.kind.encode()).hexdigest()[:12]
        episodes = "" if configuration.episodes is None else f"{configuration.episodes}_episodes_"
        return (
            self.directory
            / configuration.experiment
            / as_path(configuration.game)
            / player_name(configuration.player)
            / configuration.algorithm
            / f"{episodes}{digest}"
            / f"seed_{configuration.seed:04d}.json"
        )

    def keep(self, result: Result) -> None:
        storage.write_checked_json(self.path(result.configuration), result.to_json())

    def find(self, configuration: Configuration) -> Result | None:
        """The result of that configuration, or None if there is none; a file with anything else in it is refused."""
        path = self.path(configuration)
        if not path.exists():
            return self._archived.get(configuration.key)
        result = _read(path)
        if result.configuration.key != configuration.key:
            raise RefusedResult(f"{path} holds a run of another configuration: {result.configuration.key}; remove it")
        return result

    def find_all(self, configurations: Iterable[Configuration]) -> list[Result]:
        """The results that there are, in that order; all files that must be refused are named at once."""
        found, refused = [], []
        for configuration in configurations:
            try:
                found.append(self.find(configuration))
            except RefusedResult as error:
                refused.append(str(error))
        if refused:
            raise RefusedResult("\n".join(refused))
        return [result for result in found if result is not None]

    def all(self) -> list[Result]:
        """Every result that there is."""
        kept = [_read(path) for path in sorted(self.directory.rglob("seed_*.json"))]
        return list((self._archived | {each.configuration.key: each for each in kept}).values())


def _read(path) -> Result:
    data = storage.read_checked_json(path)
    if data is None:
        raise RefusedResult(f"{path} is truncated or was altered; remove it, and the run is done again")
    try:
        return Result.from_json(data)
    except ValueError as error:
        raise RefusedResult(f"{path} is {error}; remove it, and the run is done again") from None


def check_comparable(results: Iterable[Result], mix_code: bool = False) -> list[str]:
    """Refuses runs that must not be averaged or compared; returns warnings about what is only unusual.

    Runs that ask for the same opponent, on one game and player, must have met the same. Runs that differ in nothing but
    the seed must come from the same code and package versions, unless mix_code; different algorithms may come from
    different code, with a warning.
    """
    environments, codes = collections.defaultdict(list), collections.defaultdict(list)
    for result in results:
        asked = result.configuration
        environments[asked.problem].append((result.environment.fingerprint, result))
        codes[asked.game, player_name(asked.player), asked.algorithm, asked.kind].append((version(result.code), result))
    for problem, met in environments.items():
        if len(dict(met)) > 1:
            raise RefusedResult(
                f"the runs on {problem.game} as player {player_name(problem.player)} met different opponents: "
                f"{_counts(met)}; "
                "remove those that are out of date, or give another --output"
            )
    mixed = {curve: made for curve, made in codes.items() if len(dict(made)) > 1}
    if mixed and not mix_code:
        curve, made = next(iter(mixed.items()))
        raise RefusedResult(
            f"the runs of {curve[2]} on {curve[0]} as player {curve[1]} were made by different code: {_counts(made)}; "
            f"{WHAT_TO_DO}"
        )
    warnings = [f"{curve[2]} on {curve[0]}, player {curve[1]}: runs of different code are averaged" for curve in mixed]
    if len({kind for made in codes.values() for kind, _ in made}) > 1 and not mixed:
        warnings.append("different algorithms were run by different versions of the code")
    return warnings


def version(code: dict[str, str]) -> str:
    """The same for code that computes the same: a commit that leaves the sources alone does not count."""
    return json.dumps({name: each for name, each in code.items() if name != "git_revision"}, sort_keys=True)


def _counts(tagged: list[tuple[str, Result]]) -> str:
    numbers = collections.Counter((kind, result.code["git_revision"][:12]) for kind, result in tagged)
    return ", ".join(f"{number} by revision {revision}" for (_, revision), number in numbers.items())


def pack(results: Iterable[Result], path) -> int:
    """Writes an archive atomically; returns how many runs it holds."""
    lines = {each.configuration.key: json.dumps(_compact(each), sort_keys=True) for each in results}
    pack_lines([line for _, line in sorted(lines.items())], path)
    return len(lines)


def pack_lines(lines: Iterable[str], path) -> None:
    """Writes lines and their checksum, compressed, atomically."""
    body = "\n".join(lines)
    text = f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}"
    with storage.replacing(path, "wb") as file:
        file.write(lzma.compress(text.encode(), preset=9))


def unpack(path) -> list[Result]:
    """The runs in an archive; raises a ValueError if it is damaged or something else."""
    return [Result.from_json(json.loads(line)) for line in unpack_lines(path)]


def unpack_lines(path) -> list[str]:
    """The lines of an archive; raises a ValueError if it is damaged."""
    try:
        checksum, _, body = lzma.decompress(pathlib.Path(path).read_bytes()).decode().partition("\n")
    except (lzma.LZMAError, UnicodeDecodeError):
        checksum, body = "", ""
    if hashlib.sha256(body.encode()).hexdigest() != checksum:
        raise ValueError(f"{path} is not an archive of runs, or is truncated or was altered")
    return body.splitlines()


def _compact(result: Result) -> dict:
    timing = Timing(result.timing.seconds, result.timing.measured_after[-1:])
    data = dataclasses.replace(result, timing=timing).to_json()
    return {**data, "outcome": rounded(data["outcome"]), "timing": rounded(data["timing"])}


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
