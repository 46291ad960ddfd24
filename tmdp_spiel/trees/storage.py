"""Files that are whole or not there: directories of memory-mapped arrays, and checked JSON documents."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import tempfile

import numpy as np


def read_only(array, dtype=None) -> np.ndarray:
    """A contiguous, read-only view or copy: kernels are then compiled once for built and for memory-mapped arrays."""
    array = np.ascontiguousarray(array, dtype).view(np.ndarray).view()
    array.flags.writeable = False
    return array


def fingerprint(*contents) -> str:
    """A hash of arrays and of numbers, strings and None."""
    digest = hashlib.sha256()
    for content in contents:
        if isinstance(content, np.ndarray):
            digest.update(f"{content.dtype.str} {content.shape} ".encode())
            digest.update(content)
        else:
            digest.update(f"{content!r} ".encode())
    return digest.hexdigest()[:32]


def save_directory(path, contents: dict) -> None:
    """Writes arrays as .npy and everything else as .json into a new directory, which appears complete or not at all."""
    path = pathlib.Path(path)
    if path.exists():
        raise FileExistsError(f"{path} exists already; choose another path or remove it first")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = pathlib.Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        for name, value in contents.items():
            if isinstance(value, np.ndarray):
                np.save(temporary / f"{name}.npy", value)
            else:
                (temporary / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
        temporary.chmod(0o755)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def open_array(path, name: str) -> np.ndarray:
    """A read-only memory map of one array of a saved directory."""
    file = pathlib.Path(path) / f"{name}.npy"
    try:
        return np.load(file, mmap_mode="r").view(np.ndarray)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is not a saved tree: {file.name} is missing") from None
    except (ValueError, EOFError) as error:
        raise ValueError(f"{file} is damaged ({error}); build and save the tree again") from None


@contextlib.contextmanager
def opening_again(path):
    """For what was pickled as its path: says so if it is gone."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"what was opened from {path} is pickled as that path, not as a copy, and it is gone or incomplete: {error}"
        ) from None


def open_json(path, name: str):
    """One JSON document of a saved directory."""
    file = pathlib.Path(path) / f"{name}.json"
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is not a saved tree: {file.name} is missing") from None
    except ValueError as error:
        raise ValueError(f"{file} is damaged ({error}); build and save the tree again") from None


def cache_directory() -> pathlib.Path:
    """Where computed opponents and trees are kept: $TMDP_SPIEL_CACHE, or ~/.cache/tmdp_spiel."""
    return pathlib.Path(os.environ.get("TMDP_SPIEL_CACHE", pathlib.Path.home() / ".cache" / "tmdp_spiel"))


@contextlib.contextmanager
def replacing(path, mode: str = "w"):
    """A file to write to that takes the place of `path` once complete: readers see the old file or the new one."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    encoding, prefix = None if "b" in mode else "utf-8", f".{path.name}."
    with tempfile.NamedTemporaryFile(mode, dir=path.parent, prefix=prefix, delete=False, encoding=encoding) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def remove_unfinished(path) -> None:
    """Removes what killed processes left of writing `path`; for files that one process at a time writes."""
    path = pathlib.Path(path)
    for leftover in path.parent.glob(f".{path.name}.*"):
        leftover.unlink()


def write_checked_json(path: pathlib.Path, document) -> None:
    """Writes a JSON document with its checksum, atomically."""
    body = json.dumps(document)
    with replacing(path) as file:
        file.write(f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}")


def read_checked_json(path: pathlib.Path):
    """The document that write_checked_json wrote, or None if the file is missing, truncated or altered."""
    try:
        checksum, _, body = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    if hashlib.sha256(body.encode()).hexdigest() != checksum:
        return None
    return json.loads(body)
