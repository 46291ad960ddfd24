"""Packages tmdp_spiel, with games/ installed as tmdp_spiel.games."""

import os
import pathlib
import subprocess
import sys

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).parent
VERSION: dict = {}
exec((HERE / "tmdp_spiel" / "version.py").read_text(encoding="utf-8"), VERSION)


class BuildCompiled(build_py):
    """With TMDP_SPIEL_COMPILED=1 the kernels are compiled now and packed, for machines of its kind (make wheel)."""

    def run(self):
        super().run()
        if os.environ.get("TMDP_SPIEL_COMPILED") == "1" and not self.editable_mode:
            environment = {**os.environ, "PYTHONPATH": os.path.abspath(self.build_lib)}
            environment.pop("NUMBA_CACHE_DIR", None)
            command = [sys.executable, "-m", "tmdp_spiel.spiel.exploit.compile_ahead"]
            subprocess.run(command, cwd=self.build_lib, env=environment, check=True)


setup(
    cmdclass={"build_py": BuildCompiled},
    name="tmdp-spiel",
    version=VERSION["__version__"],
    description="Best responses against fixed, unknown opponents in OpenSpiel games, with guarantees",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=[
        *find_packages(include=["tmdp_spiel", "tmdp_spiel.*"]),
        "tmdp_spiel.games",
        *(f"tmdp_spiel.games.{name}" for name in find_packages("games")),
    ],
    package_dir={"tmdp_spiel": "tmdp_spiel", "tmdp_spiel.games": "games"},
    package_data={"tmdp_spiel": ["py.typed"], "tmdp_spiel.games.rbt": ["data/*.bin"]},
    entry_points={"console_scripts": ["tmdp-exploit = tmdp_spiel.spiel.exploit.command:main"]},
    install_requires=[
        "open_spiel>=1.6",
        "numpy>=1.26",
        "numba>=0.60",
        "scipy>=1.11",
        "absl-py>=2.0",
        "matplotlib>=3.8",
        "tqdm>=4.60",
    ],
    extras_require={
        "cluster": ["distributed>=2024.1"],
        "torch": ["torch>=2", "dm-tree>=0.1.8"],  # both for OpenSpiel's DQN
        "check": ["ruff>=0.6", "mypy>=1.11"],
        "docs": ["pdoc>=14"],
        "test": ["pytest>=8", "pytest-xdist>=3", "hypothesis>=6", "setuptools>=70.1", "distributed>=2024.1"],
    },
)
