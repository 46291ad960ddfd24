"""The layers: a layer imports only layers before it, and OpenSpiel is imported only where it belongs."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[1]
LAYERS = ("core", "trees", "bounds", "planning", "algorithms", "evaluation", "openspiel", "exploit", "games")
WITH_OPENSPIEL = ("openspiel", "exploit", "games")
FOLDERS = {layer: ROOT / "tmdp_spiel" / layer for layer in LAYERS[:-1]} | {"games": ROOT / "games"}


def imports(file: pathlib.Path):
    """The modules that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_layers_before_it(layer):
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    files = list(FOLDERS[layer].rglob("*.py"))
    assert files
    for file in files:
        for module in imports(file):
            parts = module.split(".")
            if parts[0] == "tmdp_spiel" and len(parts) > 1 and parts[1] in LAYERS:
                assert parts[1] in allowed, f"{file.relative_to(ROOT)} imports {module}"
            assert parts[0] != "experiments", f"{file.relative_to(ROOT)} imports {module}"
            if layer not in WITH_OPENSPIEL:
                assert parts[0] not in ("pyspiel", "open_spiel"), f"{file.relative_to(ROOT)} imports {module}"


def test_every_file_of_the_package_is_in_a_layer():
    outside = {file.name for file in (ROOT / "tmdp_spiel").glob("*.py")}
    assert outside == {"__init__.py", "__main__.py", "version.py"}
    folders = {folder.name for folder in (ROOT / "tmdp_spiel").iterdir() if (folder / "__init__.py").exists()}
    assert folders == set(LAYERS[:-1])


def test_tests_do_not_import_tests():
    for file in (ROOT / "tests").rglob("*.py"):
        for module in imports(file):
            assert not module.rpartition(".")[2].startswith("test_"), f"{file.relative_to(ROOT)} imports {module}"
