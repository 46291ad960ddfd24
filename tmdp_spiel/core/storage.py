"""Files that are written atomically: directories of memory-mapped arrays, and checked JSON documents.

A file is written to a temporary file with a unique name, synchronised to the disk, and then renamed. The writer holds a
lock on its temporary file, so one that is not locked was left behind by a process that no longer runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import re
import secrets
import shutil
import stat
import time
import typing
import warnings
from collections.abc import Callable, Iterator

import filelock
import numpy as np
import platformdirs

_SUFFIX = ".tmdp-spiel"
_PIECE = 1 << 24  # bytes hashed at a time
_CHECKSUMS, _VERIFIED = "checksums.json", "verified.json"
_SETTLED_SECONDS = 1.0  # a file changed later than this may change again with the same time of change


Cached = typing.TypeVar("Cached")


class InUseError(OSError):
    """Another process, or another run of this one, is writing the file."""


def fingerprint(*contents: typing.Any) -> str:
    """A hash of arrays and of numbers, strings and None."""
    digest = hashlib.sha256()
    for content in contents:
        if isinstance(content, np.ndarray):
            digest.update(f"{content.dtype.str} {content.shape} ".encode())
            digest.update(content.data)
        else:
            digest.update(f"{content!r} ".encode())
    return digest.hexdigest()[:32]


def cache_directory() -> pathlib.Path:
    """The folder of computed opponents and trees: $TMDP_SPIEL_CACHE, or the user's cache folder on this platform."""
    return pathlib.Path(os.environ.get("TMDP_SPIEL_CACHE") or platformdirs.user_cache_path("tmdp_spiel"))


def cache_path(kind: str, *content: typing.Any) -> pathlib.Path:
    """Where something of this kind is cached. content: identifies it, in JSON."""
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:20]
    return cache_directory() / f"{kind}_{digest}"


def cached(
    path: pathlib.Path,
    *,
    make: Callable[[], Cached],
    worth_a_file: Callable[[Cached], bool],
    save: Callable[[Cached, pathlib.Path], None],
    load: Callable[[pathlib.Path], Cached],
) -> Cached:
    """Opens the saved object at `path`; made and saved first if it is missing, and not saved if it is small.

    It is made again, with a warning, if it cannot be opened.
    """
    if path.exists():
        try:
            return load(path)
        except (FileNotFoundError, ValueError) as error:
            warnings.warn(f"{error}; it is built again", stacklevel=3)
            shutil.rmtree(path)
    made = make()
    if not worth_a_file(made):
        return made
    try:
        save(made, path)
    except OSError as error:
        if not path.exists():  # if it does, another process has just saved it
            warnings.warn(f"{path} could not be written to the cache: {error}", stacklevel=3)
            return made
    del made
    return load(path)


def checked_path(path: str | os.PathLike) -> pathlib.Path:
    """Converts to a Path; a TypeError if it is neither a string nor a path."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a path must be a string or a pathlib.Path, not {path!r}")
    return pathlib.Path(path)


def check_folder(path: str | os.PathLike) -> None:
    """Creates a folder and raises an error if nothing can be written to it."""
    folder = pathlib.Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = _create(folder / "trial")
        os.close(descriptor)
        name.unlink()
    except OSError as error:
        raise type(error)(f"cannot write to {folder}: {error.strerror or error}") from None


# Temporary files, and the lock of a file that only one process at a time may write.


def remove_unfinished(path: str | os.PathLike) -> None:
    """Removes the temporary files of `path` left behind by processes that no longer run, and nothing else."""
    path = pathlib.Path(os.path.realpath(path))
    ours = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{16}" + re.escape(_SUFFIX))
    if not path.parent.is_dir():
        return
    with os.scandir(path.parent) as entries:
        leftovers = [entry for entry in entries if ours.fullmatch(entry.name) and not entry.is_symlink()]
    for leftover in leftovers:
        with contextlib.suppress(OSError):  # gone meanwhile, or not ours to remove
            descriptor = os.open(leftover.path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if not filelock.lock_descriptor(descriptor, blocking=False):
                    continue
                if leftover.is_dir(follow_symlinks=False):
                    shutil.rmtree(leftover.path, ignore_errors=True)
                else:
                    os.unlink(leftover.path)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def locked(path: str | os.PathLike) -> Iterator[None]:
    """For a file that one process at a time may write: raises InUseError while another process holds the lock.

    Temporary files left behind by killed processes are removed.
    """
    path = pathlib.Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f".{path.name}.lock{_SUFFIX}")
    lock = filelock.FileLock(file, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except filelock.Timeout:
        holder = file.read_text(encoding="utf-8").strip() if file.exists() else ""
        raise InUseError(f"{path} is in use by process {holder or '?'}; wait for it, or choose another path") from None
    try:
        file.write_text(f"{os.getpid()}\n", encoding="utf-8")
        remove_unfinished(path)
        yield
    finally:
        file.unlink(missing_ok=True)
        lock.release()


def _is_still(path: str | os.PathLike, descriptor: int) -> bool:
    """Whether the path names the open file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sync(path: str | os.PathLike) -> None:
    """Synchronises a directory's entries to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(path: pathlib.Path, directory: bool = False) -> tuple[int, pathlib.Path]:
    """A new, locked temporary file or directory for `path`: its descriptor and its name."""
    while True:
        name = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_SUFFIX}")
        if directory:
            name.mkdir()
            descriptor = os.open(name, os.O_RDONLY)
        else:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with contextlib.suppress(OSError):  # a file system without locks
            filelock.lock_descriptor(descriptor, blocking=False)
        if _is_still(name, descriptor):
            return descriptor, name
        os.close(descriptor)  # taken for a leftover before it was locked


@contextlib.contextmanager
def replacing(path: str | os.PathLike, mode: str = "w") -> Iterator[typing.Any]:
    """Opens a file that replaces `path` atomically when the block ends: readers see the old file or the new one.

    The permissions of a replaced file are kept; those of a new file follow the umask. A symbolic link is followed.
    """
    path = pathlib.Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; give the path of a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = _create(path)
    with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
        try:
            yield file
            file.flush()
            os.fsync(descriptor)
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, stat.S_IMODE(os.stat(path).st_mode))
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    _sync(path.parent)


# Checked JSON documents.


def write_checked_json(path: str | os.PathLike, document: typing.Any) -> None:
    """Writes a JSON document with its checksum, atomically. Removes what killed processes left behind."""
    body = json.dumps(document)
    remove_unfinished(path)
    with replacing(path) as file:
        file.write(f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}")


def read_checked_json(path: str | os.PathLike) -> typing.Any:
    """The document that write_checked_json wrote, or None if the file is missing, truncated or altered.

    Raises an OSError if the file exists but cannot be read.
    """
    try:
        checksum, _, body = pathlib.Path(path).read_text(encoding="utf-8").partition("\n")
        if hashlib.sha256(body.encode()).hexdigest() == checksum:
            return json.loads(body)
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        pass
    return None


# Directories of arrays and documents.


class _Hashing:
    """A file that hashes what is written to it."""

    def __init__(self, file: typing.Any):
        self._file, self._hash = file, hashlib.sha256()

    def write(self, data: typing.Any) -> int:
        self._hash.update(data)
        return self._file.write(data)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def save_directory(path: str | os.PathLike, contents: dict) -> None:
    """Writes arrays as .npy and everything else as .json into a new directory, atomically.

    The SHA-256 of every file is in checksums.json.
    """
    path = pathlib.Path(os.path.realpath(path))
    if path.exists():
        raise FileExistsError(f"{path} exists already; choose another path or remove it first")
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(path)
    descriptor, temporary = _create(path, directory=True)
    try:
        checksums = {}
        for name, value in contents.items():
            file_name = f"{name}.npy" if isinstance(value, np.ndarray) else f"{name}.json"
            with open(temporary / file_name, "wb") as plain:
                file = _Hashing(plain)
                if isinstance(value, np.ndarray):
                    np.save(file, value, allow_pickle=False)
                else:
                    file.write(json.dumps(value).encode())
                plain.flush()
                os.fsync(plain.fileno())
            checksums[file_name] = file.digest
        write_checked_json(temporary / _CHECKSUMS, checksums)
        if path.exists():
            raise FileExistsError(f"{path} exists already; choose another path or remove it first")
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)
    _sync(path.parent)


class SavedDirectory:
    """A directory that save_directory wrote, opened for reading.

    Every file is compared with its checksum when it is first opened. The identity, size and times of a checked file are
    recorded in the directory, if that can be written to. So a file is checked once, and not once per process; it is
    checked again if any of these change.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = pathlib.Path(path)
        if not self.path.is_dir():
            raise FileNotFoundError(f"there is no saved tree {path}")
        self._checksums = self._read_checksums()
        known = read_checked_json(self.path / _VERIFIED)
        self._verified = dict(known) if isinstance(known, dict) else {}
        self._new = False

    def _read_checksums(self) -> dict:
        try:
            checksums = read_checked_json(self.path / _CHECKSUMS)
        except OSError as error:
            raise self._unreadable(_CHECKSUMS, error) from None
        if isinstance(checksums, dict):
            return checksums
        if (self.path / _CHECKSUMS).exists():
            raise self.damaged(_CHECKSUMS, "truncated or altered since it was written")
        raise FileNotFoundError(
            f"{self.path} is not a saved tree: {_CHECKSUMS} is missing; if it was saved by an earlier version, which "
            "wrote no checksums, build and save it again"
        )

    def damaged(self, name: str, what: typing.Any) -> ValueError:
        """The error for a damaged file."""
        return ValueError(f"{self.path / name} is damaged ({what}); build and save the tree again")

    def _unreadable(self, name: str, error: OSError) -> OSError:
        return type(error)(f"{self.path / name} cannot be read: {error.strerror or error}")

    def __contains__(self, name: str) -> bool:
        return name in self._checksums

    def array(self, name: str) -> np.ndarray:
        """A read-only memory map of one array."""
        name += ".npy"
        self._verify(name)
        try:
            array = np.load(self.path / name, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        except (ValueError, TypeError, EOFError, OverflowError, SyntaxError, MemoryError) as error:
            raise self.damaged(name, error) from None
        if array.dtype.kind not in "biuf" or array.dtype.byteorder not in "=|":
            raise self.damaged(name, f"an array of {array.dtype}, not of numbers of this machine")
        if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
            raise self.damaged(name, "a boolean that is neither 0 nor 1")
        return array

    def document(self, name: str) -> typing.Any:
        """One JSON document."""
        name += ".json"
        self._verify(name)
        try:
            return json.loads((self.path / name).read_bytes())
        except (ValueError, RecursionError) as error:
            raise self.damaged(name, error) from None

    def _verify(self, name: str) -> None:
        file = self.path / name
        if name not in self._checksums or not file.exists():
            raise FileNotFoundError(f"{self.path} is not a saved tree: {name} is missing")
        try:
            state = self._state(file)
            if self._verified.get(name) == [self._checksums[name], *state]:
                return
            digest = hashlib.sha256()
            with open(file, "rb") as content:
                while piece := content.read(_PIECE):
                    digest.update(piece)
        except OSError as error:
            raise self._unreadable(name, error) from None
        if digest.hexdigest() != self._checksums[name]:
            raise self.damaged(name, "its SHA-256 has changed since it was saved")
        if self._state(file) == state and max(state[-2:]) < time.time_ns() - _SETTLED_SECONDS * 1e9:
            self._verified[name] = [self._checksums[name], *state]
            self._new = True

    @staticmethod
    def _state(file: pathlib.Path) -> list[int]:
        """What changes when a file is written, replaced or copied; the times last."""
        now = os.stat(file)
        return [now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns]

    def _remember(self) -> None:
        if self._new:
            with contextlib.suppress(OSError):
                write_checked_json(self.path / _VERIFIED, self._verified)


@contextlib.contextmanager
def opening(path: str | os.PathLike) -> Iterator[SavedDirectory]:
    """A SavedDirectory to read from. If the block raises no error, the directory records which files were checked."""
    saved = SavedDirectory(path)
    try:
        yield saved
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        if str(saved.path) in str(error):
            raise
        raise ValueError(f"{saved.path} does not hold a tree that can be used: {error}") from error
    saved._remember()


@contextlib.contextmanager
def opening_again(path: str | os.PathLike) -> Iterator[None]:
    """For an object that was pickled as its path: explains the error if the files no longer exist."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"an object opened from {path} is pickled as this path, not as a copy, but the files are missing or "
            f"incomplete: {error}"
        ) from None
