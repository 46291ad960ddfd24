"""Python files of users, given as 'file.py:Name': loaded as modules with unique names, also in other processes.

A file may have the same name as an existing module, such as random.py, so its name is not used for the module. Objects
of its classes are pickled with the path of the file, from which another process loads it under the same module name.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import pathlib
import pickle
import sys
import types
from typing import Any

_PATHS: dict[str, str] = {}  # by name of the module


def load_file(path: pathlib.Path) -> types.ModuleType:
    """Executes the file as a new module. It can import what the program can import."""
    path = path.resolve()
    stem = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    names = (stem if number == 0 else f"{stem}_{number}" for number in itertools.count())
    return _load(next(name for name in names if name not in sys.modules), str(path))


def _load(name: str, path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise
    _PATHS[name] = path
    return loaded


def dumps(each) -> bytes:
    """As pickle.dumps, for objects whose classes may come from such files."""
    pickled = pickle.dumps(each)
    return pickle.dumps(({name: path for name, path in _PATHS.items() if name.encode() in pickled}, pickled))


def loads(data: bytes) -> Any:
    """The object that `dumps` pickled, in any process."""
    paths, pickled = pickle.loads(data)
    for name, path in paths.items():
        if name not in sys.modules:
            _load(name, path)
    return pickle.loads(pickled)
