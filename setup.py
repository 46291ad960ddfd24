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
            command = [sys.executable, "-m", "tmdp_spiel.exploit.compile_ahead"]
            subprocess.run(command, cwd=self.build_lib, env=environment, check=True)


setup(
    cmdclass={"build_py": BuildCompiled},
    name="tmdp-spiel",
    version=VERSION["__version__"],
    description="Best responses against fixed, unknown opponents in OpenSpiel games, with guarantees",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="tmdp-spiel contributors",
    license="Apache-2.0",
    keywords=[
        "exploitability",
        "best response",
        "imperfect information",
        "games",
        "poker",
        "bandits",
        "reinforcement learning",
        "OpenSpiel",
    ],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Science/Research",
        "Intended Audience :: Developers",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Games/Entertainment :: Board Games",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    project_urls={"OpenSpiel": "https://github.com/google-deepmind/open_spiel"},
    python_requires=">=3.11",
    packages=[
        *find_packages(include=["tmdp_spiel", "tmdp_spiel.*"]),
        "tmdp_spiel.games",
        *(f"tmdp_spiel.games.{name}" for name in find_packages("games")),
    ],
    package_dir={"tmdp_spiel": "tmdp_spiel", "tmdp_spiel.games": "games"},
    package_data={
        "tmdp_spiel": ["py.typed"],
        "tmdp_spiel.core": ["*.mplstyle"],
        "tmdp_spiel.exploit": ["*.schema.json"],
        "tmdp_spiel.exploit.report": ["template/*"],
        "tmdp_spiel.games.rbt": ["data/*.bin"],
        "tmdp_spiel.games.phantom": ["data/*.bin"],
        "tmdp_spiel.games.public_action": ["data/*.bin"],
    },
    entry_points={
        "console_scripts": [
            "tmdp-exploit = tmdp_spiel.exploit.command:main",
            "tmdp-play = tmdp_spiel.exploit.report.play:main",
        ]
    },
    install_requires=[
        "open_spiel>=1.6",
        "numpy>=2.0",
        "numba>=0.60,<0.69",  # core/numba_cache.py uses private interfaces, tested with 0.60 and 0.68
        "scipy>=1.11",
        "absl-py>=2.0",
        "matplotlib>=3.8",
        "tqdm>=4.60",
        "platformdirs>=4.0",
        "filelock>=4.0",  # earlier ones empty the file that names the process
    ],
    extras_require={
        "cluster": ["distributed>=2024.1"],
        "ray": ["ray>=2.9"],
        "slurm": ["submitit>=1.5"],
        "torch": ["torch>=2", "dm-tree>=0.1.8"],  # both for OpenSpiel's DQN
        "integrations": [
            *("torch>=2", "dm-tree>=0.1.8", "onnx", "onnxruntime", "jax", "flax", "optax", "chex", "dm-haiku", "rlax"),
            *("stable-baselines3", "sb3-contrib", "pettingzoo", "shimmy", "rlcard", "tensorboard", "tensorboardX"),
            "ray>=2.9",
        ],
        "check": ["ruff>=0.6", "mypy>=1.11"],
        "docs": ["mkdocs>=1.6,<2", "mkdocs-material>=9.5,<10", "mkdocstrings[python]>=0.26"],
        "test": [
            "pytest>=8",
            "pytest-cov>=5",
            "pytest-xdist>=3",
            "hypothesis>=6",
            "setuptools>=70.1",
            "distributed>=2024.1",
            "submitit>=1.5",
        ],
    },
)
