"""Packages tmdp_spiel, with games/ installed as tmdp_spiel.games."""

import pathlib

from setuptools import setup

setup(
    name="tmdp-spiel",
    version="0.1.0",
    description="Best responses against fixed, unknown opponents in OpenSpiel games, with guarantees",
    long_description=pathlib.Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=["tmdp_spiel", "tmdp_spiel.algorithms", "tmdp_spiel.games"],
    package_dir={"tmdp_spiel": "tmdp_spiel", "tmdp_spiel.games": "games"},
    package_data={"tmdp_spiel.games": ["data/*.bin"]},
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
        "test": ["pytest>=8", "pytest-xdist>=3", "hypothesis>=6", "setuptools>=70.1", "distributed>=2024.1"],
    },
)
