"""Many runs in one small file: what a table or figure needs of them, checked as a whole.

An archive is a checked JSON document, see tmdp_spiel.trees.storage, compressed with xz: the SHA-256 of the rest, then a
run a line, in the order of their configurations. Equal runs give equal bytes. Of the numbers measured six digits
are kept, of the timing the seconds of the run, with and without measuring.
"""

import hashlib
import json
import lzma
import pathlib
from collections.abc import Iterable

from experiments.sweep.configuration import key
from tmdp_spiel.trees import storage

_DIGITS = 6


def pack(results: Iterable[dict], path) -> int:
    """Writes an archive, whole or not at all; returns how many runs it holds."""
    lines = {key(each["configuration"]): json.dumps(_compact(each), sort_keys=True) for each in results}
    body = "\n".join(line for _, line in sorted(lines.items()))
    text = f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}"
    with storage.replacing(path, "wb") as file:
        file.write(lzma.compress(text.encode(), preset=9))
    return len(lines)


def unpack(path) -> list[dict]:
    """The runs of an archive; ValueError if it was damaged."""
    try:
        checksum, _, body = lzma.decompress(pathlib.Path(path).read_bytes()).decode().partition("\n")
    except (lzma.LZMAError, UnicodeDecodeError):
        checksum, body = "", ""
    if hashlib.sha256(body.encode()).hexdigest() != checksum:
        raise ValueError(f"{path} is not an archive of runs, or is truncated or was altered")
    return [json.loads(line) for line in body.splitlines()]


def _compact(result: dict) -> dict:
    timing = {name: result["timing"][name] for name in ("seconds", "measured_after") if name in result["timing"]}
    timing["measured_after"] = timing.get("measured_after", [])[-1:]
    return {**result, "outcome": _rounded(result["outcome"]), "timing": _rounded(timing)}


def _rounded(value):
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
