"""The rooms of the house: a room imports only rooms above it, and OpenSpiel is met only where it belongs."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[1]
ORDER = ("trees", "bounds", "planning", "algorithms", "running", "spiel", "games")
WHERE = {room: ROOT / "tmdp_spiel" / room for room in ORDER[:-1]} | {"games": ROOT / "games"}


def imports(file: pathlib.Path):
    """The modules that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", ORDER)
def test_a_room_imports_only_rooms_above_it(room):
    allowed = ORDER[: ORDER.index(room) + 1]
    for file in WHERE[room].rglob("*.py"):
        for module in imports(file):
            parts = module.split(".")
            if parts[0] == "tmdp_spiel" and len(parts) > 1 and parts[1] in ORDER:
                assert parts[1] in allowed, f"{file.relative_to(ROOT)} imports {module}"
            assert parts[0] != "experiments", f"{file.relative_to(ROOT)} imports {module}"
            if room not in ("spiel", "games"):
                assert parts[0] not in ("pyspiel", "open_spiel"), f"{file.relative_to(ROOT)} imports {module}"


def test_every_file_of_the_package_is_in_a_room():
    outside = {file.name for file in (ROOT / "tmdp_spiel").glob("*.py")}
    assert outside == {"__init__.py", "__main__.py", "version.py"}
    rooms = {folder.name for folder in (ROOT / "tmdp_spiel").iterdir() if (folder / "__init__.py").exists()}
    assert rooms == set(ORDER[:-1])


def test_tests_do_not_import_tests():
    for file in (ROOT / "tests").rglob("*.py"):
        for module in imports(file):
            assert not module.rpartition(".")[2].startswith("test_"), f"{file.relative_to(ROOT)} imports {module}"
