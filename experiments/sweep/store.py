"""Results on disk, a file a run: whole and of the configuration that was asked for, or refused."""

import collections
import hashlib
import pathlib
from collections.abc import Iterable

from experiments.sweep import archive
from experiments.sweep.configuration import key, kind
from experiments.sweep.names import as_path, seat
from tmdp_spiel.trees import storage

WHAT_TO_DO = "remove those that are out of date, give another --output, or average them all the same with --mix_code"


class RefusedResult(ValueError):
    """A stored result that must not be used, or results that must not be averaged."""


class Store:
    """The results below a directory, found by configuration; and those of archives, for what the directory has not."""

    def __init__(self, directory, archives: Iterable = ()):
        self.directory = pathlib.Path(directory)
        self._archived = {key(each["configuration"]): each for path in archives for each in archive.unpack(path)}

    def path(self, configuration: dict) -> pathlib.Path:
        """experiment / game / player / algorithm / what else was set / seed."""
        digest = hashlib.sha256(kind(configuration).encode()).hexdigest()[:12]
        episodes = "" if configuration["episodes"] is None else f"{configuration['episodes']}_episodes_"
        return (
            self.directory
            / configuration["experiment"]
            / as_path(configuration["game"])
            / seat(configuration["player"])
            / configuration["algorithm"]
            / f"{episodes}{digest}"
            / f"seed_{configuration['seed']:04d}.json"
        )

    def keep(self, result: dict) -> None:
        storage.write_checked_json(self.path(result["configuration"]), result)

    def find(self, configuration: dict) -> dict | None:
        """The result of that configuration, or None if there is none; a file with anything else in it is refused."""
        path = self.path(configuration)
        if not path.exists():
            return self._archived.get(key(configuration))
        result = _read(path)
        if key(result["configuration"]) != key(configuration):
            raise RefusedResult(f"{path} holds a run of another configuration: {result['configuration']}; remove it")
        return result

    def find_all(self, configurations: Iterable[dict]) -> list[dict]:
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

    def all(self) -> list[dict]:
        """Every result that there is."""
        kept = [_read(path) for path in sorted(self.directory.rglob("seed_*.json"))]
        return list((self._archived | {key(each["configuration"]): each for each in kept}).values())


def _read(path) -> dict:
    result = storage.read_checked_json(path)
    if result is None:
        raise RefusedResult(f"{path} is truncated or was altered; remove it, and the run is done again")
    return result


def check_comparable(results: Iterable[dict], mix_code: bool = False) -> list[str]:
    """Refuses runs that must not be averaged or compared; returns warnings about what is only unusual.

    Runs on one game and player must have met the same opponent. Runs that differ in nothing but the seed must come from
    the same code and package versions, unless mix_code; different algorithms may come from different code, with a
    warning.
    """
    environments, codes = collections.defaultdict(list), collections.defaultdict(list)
    for result in results:
        asked = result["configuration"]
        problem = asked["game"], seat(asked["player"])
        environments[problem].append((result["environment"]["fingerprint"], result))
        codes[(*problem, asked["algorithm"], kind(asked))].append((version(result["code"]), result))
    for problem, met in environments.items():
        if len(dict(met)) > 1:
            raise RefusedResult(
                f"the runs on {problem[0]} as player {problem[1]} met different opponents: {_counts(met)}; "
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


def version(code: dict) -> str:
    """The same for code that computes the same: a commit that leaves the sources alone does not count."""
    return key({name: each for name, each in code.items() if name != "git_revision"})


def _counts(tagged: list[tuple[str, dict]]) -> str:
    numbers = collections.Counter((kind, result["code"]["git_revision"][:12]) for kind, result in tagged)
    return ", ".join(f"{number} by revision {revision}" for (_, revision), number in numbers.items())
