"""The provenance of a result: library versions, the revision of the checkout, a digest of the source files."""

import functools
import hashlib
import importlib.metadata
import pathlib
import platform
import subprocess

import tmdp_spiel as ts

_PACKAGES = ("tmdp-spiel", "open_spiel", "numpy", "numba")


@functools.cache
def code() -> dict:
    digest = hashlib.sha256((pathlib.Path(__file__).parent / "run.py").read_bytes())
    for folder in (pathlib.Path(ts.__file__).parent, pathlib.Path(ts.games.__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return {
        "source": digest.hexdigest()[:16],
        "git_revision": _git_revision(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def _git_revision() -> str:
    def git(*arguments):
        command = ["git", "-C", str(pathlib.Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("-modified" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
