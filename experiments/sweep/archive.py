"""Many runs in one small file with a checksum: what tables and figures need of them.

An archive is a checked JSON document, see tmdp_spiel.core.storage, compressed with xz: the SHA-256 of the rest, then
one run per line, in the order of their configurations. Equal runs give equal bytes. Measured numbers have six digits,
and the timing consists of the seconds of the run, with and without measuring.
"""

import dataclasses
import hashlib
import json
import lzma
import pathlib
from collections.abc import Iterable

from experiments.sweep.result import Result, Timing
from tmdp_spiel.core import storage

_DIGITS = 6


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
