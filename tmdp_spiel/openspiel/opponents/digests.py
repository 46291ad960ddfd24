"""Digests of objects, of the code that defines them, and of what that code uses."""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import importlib.util
import inspect
import pathlib
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.opponents.seeding import cell_is_set, is_generator

_MOST_OBJECTS = 100_000
_OURS = ("tmdp_spiel", "pyspiel", "open_spiel")
_READABLE = ("builtins", "collections", "dataclasses", "enum", "types", "functools", "array", "typing", "abc")
_VALUES = (bool, int, float, str, tuple, list, dict, set, frozenset, np.ndarray)  # of attributes of classes
_AS_REPR = ("datetime", "decimal", "fractions", "re", "uuid")


class Digests:
    """Digests an object: everything in it that can be read, and the code of its classes and functions.

    code:    digests of files and of compiled functions
    held:    the defaults and closures of the functions of classes
    globals: by name, the module variables that functions use, and attributes of classes
    unread:  what could not be read
    """

    def __init__(self):
        self.code: list[str] = []
        self.held: list[str] = []
        self.globals: dict[str, str] = {}
        self.unread: list[str] = []
        self._numbers: dict[int, int] = {}
        self._read = 0
        self._alive: list = []  # so that no two objects have one id
        self._classes: set[type] = set()
        self._modules: set[str] = set()
        self._functions: list[types.FunctionType] = []  # whose global names are to be read
        self._followed: set[types.CodeType] = set()

    def begin(self, each) -> str:
        """The digest of an object, independent of what was read before."""
        numbers, self._numbers = self._numbers, {}
        found = self.digest(each)
        self._numbers = numbers
        return found

    def digest(self, each) -> str:
        """The digest of an object, in which objects that occurred before are replaced by numbers."""
        if each is None or isinstance(each, (bool, int, float, complex, str, bytes)):
            return repr(each)
        if isinstance(each, pathlib.PurePath):
            path = pathlib.Path(each)
            return combined([str(each), _file_digest(path) if path.is_file() else ""])
        if id(each) in self._numbers:
            return f"seen {self._numbers[id(each)]}"
        if self._read > _MOST_OBJECTS:
            self.unread.append("more attributes than can be compared")
            return ""
        self._read += 1
        self._numbers[id(each)] = len(self._numbers)
        self._alive.append(each)
        return self._digest(each)

    def _digest(self, each) -> str:
        if is_generator(each):
            return "a generator"
        if isinstance(each, np.generic):
            return repr(each)
        if isinstance(each, np.ndarray) and not each.dtype.hasobject:
            return combined([each.dtype.str, repr(each.shape), hashlib.sha256(each.tobytes()).hexdigest()])
        if isinstance(each, Mapping):
            return combined(sorted(f"{self.digest(key)}: {self.digest(value)}" for key, value in each.items()))
        if isinstance(each, (set, frozenset)):
            return combined(sorted(self.digest(value) for value in each))
        if isinstance(each, (list, tuple)):
            return combined([type(each).__name__, *(self.digest(value) for value in each)])
        if isinstance(each, types.ModuleType):
            self._read_module(each)
            return f"module {each.__name__}"
        if isinstance(each, types.MethodType):
            return combined([self.digest(each.__self__), self.digest(each.__func__)])
        if isinstance(each, types.FunctionType):
            self._read_file(each)
            self._functions.append(each)
            cells = [cell.cell_contents for cell in each.__closure__ or () if cell_is_set(cell)]
            held = [*cells, *(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()]
            return combined([_code_digest(each.__code__), *(self.digest(value) for value in held)])
        if isinstance(each, functools.partial):
            return combined([self.digest(each.func), self.digest(each.args), self.digest(each.keywords)])
        if isinstance(each, type):
            self._read_class(each)
            return f"class {each.__qualname__}"
        if isinstance(each, (pyspiel.Game, pyspiel.State)):
            return str(each)
        tensor = _as_array(each)
        if tensor is not None:
            return self._digest(tensor)
        module = type(each).__module__.partition(".")[0]
        if module in _AS_REPR:
            return repr(each)
        if module in sys.stdlib_module_names and module not in (*_READABLE, "__main__"):
            self.unread.append(f"a {type(each).__module__}.{type(each).__qualname__}")
            return type(each).__qualname__
        inside = self.attributes(each)
        return combined(
            [type(each).__qualname__, *(f"{name} = {self.digest(inside[name])}" for name in sorted(inside))]
        )

    def attributes(self, each) -> dict[str, object]:
        """The contents of an object, by name."""
        kind = type(each)
        self._read_class(kind)
        held = dict(getattr(each, "__dict__", {}))
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if hasattr(each, slot) and not slot.startswith("__"):
                    held[slot] = getattr(each, slot)
        in_python = getattr(kind, "__flags__", 0) & (1 << 9)  # a class that a `class` statement made
        if not in_python or (isinstance(each, pyspiel.Bot) and kind.__module__ == pyspiel.Bot.__module__):
            self.unread.append(f"a {kind.__module__}.{kind.__qualname__}")
        return held

    def _read_class(self, kind: type) -> None:
        for base in kind.__mro__:
            if base.__module__ in ("builtins", "abc", "typing", pyspiel.Bot.__module__) or base in self._classes:
                continue
            self._classes.add(base)
            self._read_file(base)
            for name, value in sorted(vars(base).items()):
                function = getattr(value, "__func__", value)
                if isinstance(function, types.FunctionType):
                    self.code.append(f"{base.__qualname__}.{name} {_code_digest(function.__code__)}")
                    self.held.append(self.begin(function))
                elif not name.startswith("__") and isinstance(value, _VALUES):
                    self.globals[f"{base.__qualname__}.{name}"] = self.begin(value)

    # What functions use ---------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Reads the global names used by the functions that were read, and by functions of these names."""
        while self._functions:
            function = self._functions.pop()
            module = sys.modules.get(str(function.__module__))
            if function.__code__ in self._followed or (module is not None and _is_installed(module)):
                continue
            self._followed.add(function.__code__)
            names = list(_names(function.__code__))
            for name in names:
                if name in function.__globals__:
                    self._read_global(name, function.__globals__[name], names)
            for imported in _imports(function.__code__):
                self._read_imported(imported)

    def _read_global(self, name: str, value, names: list[str]) -> None:
        if not isinstance(value, types.ModuleType):
            self._note_global(name, value)
            return
        self._read_module(value)
        if not _is_installed(value):
            for attribute in names:
                if attribute in vars(value):
                    self._note_global(f"{name}.{attribute}", vars(value)[attribute])

    def _note_global(self, name: str, value) -> None:
        if isinstance(value, types.ModuleType):
            self._read_module(value)
        elif not is_generator(value):
            self.globals[f"global {name}"] = self.begin(value)

    def _read_imported(self, name: str) -> None:
        """A module that a function imports."""
        if name in sys.modules:
            self._read_module(sys.modules[name])
            return
        with contextlib.suppress(ImportError, ValueError, AttributeError):
            spec = importlib.util.find_spec(name)
            path = None if spec is None else spec.origin
            if path and pathlib.Path(path).is_file() and not _is_installed_file(path):
                self.code.append(_file_digest(pathlib.Path(path)))

    def _read_module(self, module: types.ModuleType) -> None:
        """The file of a module that is not an installed package, and the files of the modules that it imports."""
        if module.__name__ in self._modules or _is_installed(module):
            return
        self._modules.add(module.__name__)
        path = getattr(module, "__file__", None)
        if path is not None and pathlib.Path(path).is_file():
            self.code.append(_file_digest(pathlib.Path(path)))
        for value in list(vars(module).values()):
            other = value if isinstance(value, types.ModuleType) else sys.modules.get(_module_name(value))
            if other is not None:
                self._read_module(other)

    def _read_file(self, each) -> None:
        module = sys.modules.get(each.__module__)
        if module is not None:
            self._read_module(module)
        path = getattr(module, "__file__", None)
        with contextlib.suppress(TypeError, OSError):
            path = path or inspect.getsourcefile(each)
        if path is not None and pathlib.Path(path).is_file():
            self.code.append(_file_digest(pathlib.Path(path)))


def _module_name(value) -> str:
    name = getattr(value, "__module__", None) if isinstance(value, (type, types.FunctionType)) else None
    return name if isinstance(name, str) else ""


def _names(code: types.CodeType) -> Iterator[str]:
    """The names used by a function and the functions defined in it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _names(each)


def _imports(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield instruction.argval
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _imports(each)


def _is_installed(module: types.ModuleType) -> bool:
    """Whether a module belongs to Python, to an installed package, or to this project."""
    top = module.__name__.partition(".")[0]
    if top in _OURS or (top in sys.stdlib_module_names and top != "__main__"):
        return True
    path = getattr(module, "__file__", None)
    return path is not None and _is_installed_file(path)


def _is_installed_file(path: str) -> bool:
    parts = pathlib.Path(path).parts
    return "site-packages" in parts or "dist-packages" in parts or path.startswith(sysconfig.get_path("stdlib"))


def _file_digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _as_array(each) -> np.ndarray | None:
    """A tensor of torch or JAX as an array."""
    if type(each).__module__.partition(".")[0] not in ("torch", "jax", "jaxlib") or not hasattr(each, "shape"):
        return None
    with contextlib.suppress(Exception):
        return np.asarray(each.detach().cpu() if hasattr(each, "detach") else each)
    return None


def combined(parts: list[str]) -> str:
    """One digest of several."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _code_digest(code: types.CodeType) -> str:
    constants = [_code_digest(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return combined([code.co_code.hex(), *constants, *code.co_names, *code.co_varnames])
