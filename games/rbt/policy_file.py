"""The file format of a solved RBT: a line of JSON about the solution, then the compressed supports of both policies.

The first line records the game, the measured best-response values, and the lengths and SHA-256 of what follows, so that
a truncated or altered file is refused. The rest is LZMA of the columns of the two supports, one after another. The
equilibrium that is included in the package is such a file.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import pathlib

import numpy as np
import pyspiel

from tmdp_spiel.core import storage
from tmdp_spiel.games.rbt.policy import Support, SupportPolicy

_DATA = pathlib.Path(__file__).parent / "data"
EARLIER = {200: _DATA / "rbt_cfr_plus_200.bin"}  # by iterations; the stored runs met it
SHIPPED = _DATA / "rbt_cfr_plus_910.bin"

_FORMAT = "tmdp-spiel RBT policy 1"
_COLUMNS: dict[str, np.dtype] = {
    "num_actions": np.dtype("u1"),
    "observation": np.dtype("u1"),
    "action": np.dtype("u1"),
    "weight": np.dtype("<u2"),
    "num_children": np.dtype("u1"),
}


def write(path: str | os.PathLike, policy: SupportPolicy) -> None:
    """Writes the supports of x and o, and the facts about them, to a new file, atomically."""
    facts = policy.facts
    columns = [
        getattr(support, name).astype(dtype).tobytes()
        for support in policy.supports
        for name, dtype in _COLUMNS.items()
    ]
    body = lzma.compress(b"".join(columns), preset=9 | lzma.PRESET_EXTREME)
    lengths = [len(column) for column in columns]
    head = {"format": _FORMAT, **facts, "lengths": lengths, "bytes": len(body), **_digest(facts, lengths, body)}
    with storage.replacing(path, "wb") as file:
        file.write(json.dumps(head).encode() + b"\n" + body)


def shipped(iterations: int | None = None) -> SupportPolicy:
    """The equilibrium that ships with the package; with its number of iterations, an earlier one."""
    return read(SHIPPED if iterations is None else EARLIER.get(iterations, SHIPPED))


def read(path: str | os.PathLike) -> SupportPolicy:
    """The policy in a file; raises a ValueError if the file is not intact."""
    line, _, body = pathlib.Path(path).read_bytes().partition(b"\n")
    try:
        head = json.loads(line)
        if head.pop("format") != _FORMAT:
            raise ValueError("another format")
        lengths, size, digest = head.pop("lengths"), head.pop("bytes"), head.pop("sha256")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not an RBT policy file ({error})") from None
    if len(body) != size:
        raise ValueError(f"{path} is truncated or altered: {len(body)} bytes follow its first line, not {size}")
    if _digest(head, lengths, body)["sha256"] != digest:
        raise ValueError(f"{path} is altered: its SHA-256 does not match; install the package again or solve again")
    stream = io.BytesIO(lzma.decompress(body))
    columns = [stream.read(length) for length in lengths]
    half = len(_COLUMNS)
    supports = _support(columns[:half]), _support(columns[half:])
    return SupportPolicy(pyspiel.load_game(head["game"]), supports, head)


def _support(columns: list[bytes]) -> Support:
    return Support(*(np.frombuffer(column, dtype) for column, dtype in zip(columns, _COLUMNS.values())))


def _digest(facts: dict, lengths: list[int], body: bytes) -> dict[str, str]:
    text = json.dumps([facts, lengths], sort_keys=True).encode()
    return {"sha256": hashlib.sha256(text + body).hexdigest()}
