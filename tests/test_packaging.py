"""The wheel: built, unpacked into an empty directory and imported from outside the checkout."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parent.parent
IMPORTS = """
import tmdp_spiel, tmdp_spiel.algorithms, tmdp_spiel.games
print(tmdp_spiel.__file__)
print(tmdp_spiel.games.__file__)
print(tmdp_spiel.load_game("leduc"))
"""

# An editable installation finds games/ by a finder of its own; a plain one has none.
FROM_THE_CHECKOUT = """
import sys
sys.meta_path = [each for each in sys.meta_path if "editable" not in getattr(each, "__module__", "").lower()]
sys.path_hooks = [each for each in sys.path_hooks if "editable" not in getattr(each, "__module__", "").lower()]
import tmdp_spiel.games
print(tmdp_spiel.games.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wheel")
    generated = shutil.ignore_patterns(".*", "__pycache__", "build", "results", "*.egg-info")
    shutil.copytree(ROOT, directory / "source", ignore=generated)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", directory, directory / "source"]
    subprocess.run(command, check=True)
    return next(directory.glob("*.whl"))


@pytest.mark.slow
def test_games_are_packed_inside_the_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tmdp_spiel/__init__.py", "tmdp_spiel/algorithms/__init__.py", "tmdp_spiel/games/__init__.py"} <= set(names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"tmdp_spiel"}


def test_every_module_is_packed(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "tmdp_spiel").rglob("*.py")}
    games = {f"tmdp_spiel/{path.relative_to(ROOT)}" for path in (ROOT / "games").rglob("*.py")}
    assert packed == package | games


def test_the_installed_wheel_imports_outside_the_checkout(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    run = subprocess.run(
        [sys.executable, "-c", IMPORTS], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    package, games, game = run.stdout.splitlines()
    assert package == str(tmp_path / "site" / "tmdp_spiel" / "__init__.py")
    assert games == str(tmp_path / "site" / "tmdp_spiel" / "games" / "__init__.py")
    assert game.startswith("leduc_poker")


def test_the_checkout_imports_from_its_root_beside_an_installed_wheel():
    command = [sys.executable, "-c", FROM_THE_CHECKOUT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(ROOT / "games" / "__init__.py")


def test_the_command_is_installed(wheel):
    archive = zipfile.ZipFile(wheel)
    entries = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert "tmdp-exploit = tmdp_spiel.exploit.command:main" in archive.read(entries).decode()
