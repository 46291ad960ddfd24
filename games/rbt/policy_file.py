"""The file format of a solved RBT: a line of JSON about the solution, then the compressed supports of both policies.

The first line records the game, the best-response values that were measured, and the lengths and SHA-256 of what follows,
so that a truncated or altered file is refused. The rest is LZMA of the columns of the two supports, one after another.
"""

import hashlib
import io
import json
import lzma
import pathlib

import numpy as np

from tmdp_spiel.games.rbt.policy import Support
from tmdp_spiel.trees import storage

_FORMAT = "tmdp-spiel RBT policy 1"
_COLUMNS = {
    "num_actions": np.dtype("u1"),
    "observation": np.dtype("u1"),
    "action": np.dtype("u1"),
    "weight": np.dtype("<u2"),
    "num_children": np.dtype("u1"),
}


def write(path, supports, facts):
    """Writes the supports of x and o, and the facts about them, to a new file that appears whole or not at all."""
    columns = [
        getattr(support, name).astype(dtype).tobytes() for support in supports for name, dtype in _COLUMNS.items()
    ]
    body = lzma.compress(b"".join(columns), preset=9 | lzma.PRESET_EXTREME)
    lengths = [len(column) for column in columns]
    head = {"format": _FORMAT, **facts, "lengths": lengths, "bytes": len(body), **_digest(facts, lengths, body)}
    with storage.replacing(path, "wb") as file:
        file.write(json.dumps(head).encode() + b"\n" + body)


def read(path):
    """The supports of x and o, and the facts, of a file; ValueError if it is not exactly what was written."""
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
    return tuple(_support(columns[player * half : (player + 1) * half]) for player in (0, 1)), head


def _support(columns):
    return Support(*(np.frombuffer(column, dtype) for column, dtype in zip(columns, _COLUMNS.values())))


def _digest(facts, lengths, body):
    text = json.dumps([facts, lengths], sort_keys=True).encode()
    return {"sha256": hashlib.sha256(text + body).hexdigest()}
