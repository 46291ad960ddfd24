"""The file format of checkpoints: an npz of two JSON documents and numbered arrays, with a checksum.

header.json describes the learner, and state.json holds what was learned, with arrays referred to by number. The comment
of the zip is the SHA-256 of everything before it. Nothing is unpickled, so no file can run code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import typing
import zipfile
from collections.abc import Callable, Iterator

import numpy as np

from tmdp_spiel.version import __version__

Path = str | os.PathLike

_FORMAT = 5
_HEADER, _STATE = "header.json", "state.json"
_OLD_MAGIC = re.compile(rb"tmdp-spiel checkpoint (\d+)\n")  # of formats up to 3
_CHECKSUM = 64  # hexadecimal digits
_PIECE = 1 << 24  # bytes hashed at a time


@dataclasses.dataclass
class Archive:
    """What a file holds: two JSON documents and arrays."""

    header: dict
    content: dict
    arrays: list[np.ndarray]


def to_json(document: dict) -> str:
    """JSON; objects that JSON cannot represent are written as their repr."""
    return json.dumps(document, default=repr)


def write_archive(file: typing.IO[bytes], header: dict, content: dict, arrays: list[np.ndarray]) -> None:
    """Writes to an open, empty file."""
    documents = {_HEADER: to_json({**header, "format": _FORMAT, "version": __version__}), _STATE: json.dumps(content)}
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in documents.items():
            archive.writestr(zipfile.ZipInfo(name), text)
        for number, array in enumerate(arrays):
            with archive.open(zipfile.ZipInfo(f"{number}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.comment = b"0" * _CHECKSUM
    file.flush()
    checksum = _checksum(file)
    file.seek(-_CHECKSUM, os.SEEK_END)
    file.write(checksum)


def read_header(path: Path) -> dict:
    """The header alone; the rest is not read."""
    with _opened(path) as file, _npz(file, path) as stored:
        return _read_header(stored, path)


def read_archive(path: Path, check_header: Callable[[dict], None]) -> Archive:
    """The whole file, if it matches its checksum. check_header: raises an error for the file of another run."""
    with _opened(path) as file, _npz(file, path) as stored:
        header = _read_header(stored, path)
        check_header(header)
        if _checksum(file) != file.read(_CHECKSUM + 1):
            raise _damaged(path)
        content = _read_json(stored, _STATE, path)
        try:
            arrays = [stored[name] for name in stored.files if name not in (_HEADER, _STATE)]
        except (ValueError, SyntaxError) as error:
            raise _damaged(path) from error
    if not all(_is_numbers(array) for array in arrays):
        raise _damaged(path)
    return Archive(header, content, arrays)


def _checksum(file: typing.IO[bytes]) -> bytes:
    """The SHA-256 of an open file without the comment."""
    left = file.seek(0, os.SEEK_END) - _CHECKSUM
    file.seek(0)
    digest = hashlib.sha256()
    while left > 0 and (piece := file.read(min(left, _PIECE))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest().encode()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[typing.IO[bytes]]:
    try:
        with open(path, "rb") as file:
            yield file
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no checkpoint {path}") from None
    except OSError as error:
        raise type(error)(f"the checkpoint {path} cannot be read: {error.strerror or error}") from None


@contextlib.contextmanager
def _npz(file: typing.IO[bytes], path: Path) -> Iterator[typing.Any]:
    """The npz in an open file; raises an error for a damaged file if it cannot be read."""
    start = file.read(64)
    if not start.startswith(b"PK"):
        old = _OLD_MAGIC.match(start)
        wrote = f": it is of format {int(old[1])}, which an earlier version wrote" if old else ""
        raise ValueError(f"{path} is not a checkpoint of this version of tmdp-spiel, {__version__}{wrote}")
    file.seek(0)
    try:
        with np.load(file, allow_pickle=False) as stored:
            yield stored
    except (zipfile.BadZipFile, EOFError, KeyError, TypeError, RuntimeError, OverflowError, MemoryError) as error:
        raise _damaged(path) from error


def _read_json(stored: typing.Any, name: str, path: Path) -> dict:
    try:
        document = json.loads(stored[name])
    except (ValueError, RecursionError):
        raise _damaged(path) from None
    if not isinstance(document, dict):
        raise _damaged(path)
    return document


def _read_header(stored: typing.Any, path: Path) -> dict:
    header = _read_json(stored, _HEADER, path)
    if header.get("format") != _FORMAT:
        raise ValueError(
            f"{path} is not a checkpoint of this version of tmdp-spiel, {__version__}: it is of format "
            f"{header.get('format')}, which version {header.get('version')} wrote"
        )
    return header


def _damaged(path: Path) -> ValueError:
    return ValueError(f"the checkpoint {path} is damaged: truncated, or altered since it was written")


def _is_numbers(array: np.ndarray) -> bool:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or array.dtype.byteorder not in "=|":
        return False
    return not (array.dtype == bool and array.size and array.view(np.uint8).max() > 1)
