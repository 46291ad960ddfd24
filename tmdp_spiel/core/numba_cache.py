"""Compiled code is kept under a digest of every source that went into it.

numba keeps the machine code of a function for as long as the function's own file stays the same. Kernels of other files
are compiled into it, so after an edit of one of those the old machine code would continue running, and tests would pass
on it. Here the stamp of a file covers, beside the file itself, all files of this package that it imports, directly or
not.
"""

from __future__ import annotations

import functools
import hashlib
import pathlib
import re

from numba.core import caching

_PACKAGE = pathlib.Path(__file__).parents[1]
_IMPORT = re.compile(
    r"^\s*from\s+tmdp_spiel([\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)|^\s*import\s+tmdp_spiel\.([\w.]+)", re.M
)


def _locate(dotted: str) -> pathlib.Path | None:
    """The file of the module tmdp_spiel.<dotted>, if it is one. In a checkout, games/ lies beside the package."""
    for folder, name in ((_PACKAGE, dotted), (_PACKAGE.parent, dotted if dotted.startswith("games.") else "")):
        file = folder.joinpath(*name.split(".")).with_suffix(".py")
        if name and file.is_file():
            return file
    return None


@functools.cache
def _read(file: pathlib.Path) -> bytes:
    return file.read_bytes()


@functools.cache
def imported_files(file: pathlib.Path) -> frozenset[pathlib.Path]:
    """The files of this package that a file imports itself. Packages' own __init__ files hold no kernels."""
    found: set[pathlib.Path] = set()
    for package, names, module in _IMPORT.findall(_read(file).decode()):
        package = package.lstrip(".") or module
        dotted = [package, *(f"{package}.{name}" for name in re.findall(r"\w+", names.partition("#")[0]))]
        found.update(where for where in map(_locate, dotted) if where is not None)
    return frozenset(found)


@functools.cache
def digest(file: pathlib.Path) -> str:
    """A hash of a file and of all files of this package that it imports, directly or not."""
    reached, waiting = {file}, [file]
    while waiting:
        new = imported_files(waiting.pop()) - reached
        reached |= new
        waiting.extend(new)
    return hashlib.sha256(b"".join(hashlib.sha256(_read(each)).digest() for each in sorted(reached))).hexdigest()


def _stamped(of_file_alone):
    """The stamp of a locator of compiled code, made to cover what the file imports.

    For files of this package it is their content alone, not when they were written: code that was compiled when a wheel
    was built is as good where the wheel is installed.
    """

    @functools.wraps(of_file_alone)
    def get_source_stamp(self):
        file = pathlib.Path(self._py_file)
        if not file.is_file():
            return of_file_alone(self)
        if file.is_relative_to(_PACKAGE) or file.is_relative_to(_PACKAGE.parent / "games"):
            return digest(file)
        return (of_file_alone(self), digest(file)) if imported_files(file) else of_file_alone(self)

    return get_source_stamp


def _without_lost_names(load_index):
    """Returns an empty index if the cached code refers to classes that no longer exist."""

    @functools.wraps(load_index)
    def _load_index(self):
        try:
            return load_index(self)
        except (AttributeError, ImportError):
            return {}

    return _load_index


def cover_imports() -> None:
    """From now on, code is recompiled when anything that it was compiled from has changed."""
    mixin, index = caching._SourceFileBackedLocatorMixin, caching.IndexDataCacheFile
    if not hasattr(mixin.get_source_stamp, "__wrapped__"):
        mixin.get_source_stamp = _stamped(mixin.get_source_stamp)
        index._load_index = _without_lost_names(index._load_index)
