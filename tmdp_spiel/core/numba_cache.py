"""Compiled code is cached under a digest of every source file that it was compiled from.

numba reuses the machine code of a function until the function's own file changes. Kernels of other files are compiled
into it, so after an edit of one of those files the old machine code would still run, also in the tests. Here the stamp
of a file covers the file itself and all files of this package that it imports, directly or indirectly.
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
    """A hash of a file and of all files of this package that it imports, directly or indirectly."""
    reached, waiting = {file}, [file]
    while waiting:
        new = imported_files(waiting.pop()) - reached
        reached |= new
        waiting.extend(new)
    return hashlib.sha256(b"".join(hashlib.sha256(_read(each)).digest() for each in sorted(reached))).hexdigest()


def _stamped(of_file_alone):
    """Extends the stamp of a locator of compiled code to the files that the file imports.

    For files of this package the stamp depends only on their content and not on their modification times, so that code
    compiled when a wheel was built can be used where the wheel is installed.
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
    """Makes numba recompile code when any file that it was compiled from has changed."""
    mixin, index = caching._SourceFileBackedLocatorMixin, caching.IndexDataCacheFile
    if not hasattr(mixin.get_source_stamp, "__wrapped__"):
        mixin.get_source_stamp = _stamped(mixin.get_source_stamp)
        index._load_index = _without_lost_names(index._load_index)
