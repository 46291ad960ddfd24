"""Runs the commands of the project as a user runs them, in processes forked from one that has imported the package.

Importing takes longer than most of these commands. What is imported beforehand defines no flags.
"""

import atexit
import functools
import importlib
import json
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
EXPLOIT = "tmdp_spiel.exploit.command:main"  # the command tmdp-exploit
_IMPORTED = (
    *("absl.app", "matplotlib.pyplot", "open_spiel.python.policy", "scipy.optimize", "tqdm"),
    *("tmdp_spiel", "tmdp_spiel.algorithms.catalogue", "tmdp_spiel.exploit.command", "tmdp_spiel.openspiel.solvers"),
)
_SECONDS = 600


def run(command: str, *flags: str, cwd: pathlib.Path = ROOT, input: str = "") -> subprocess.CompletedProcess:
    """Runs `python -m command`, or module:function, with the present environment."""
    with tempfile.TemporaryDirectory() as name:
        files = [pathlib.Path(name, each) for each in ("stdin", "stdout", "stderr")]
        files[0].write_text(input, encoding="utf-8")
        asked = {
            "command": command,
            "flags": list(map(str, flags)),
            "cwd": str(cwd),
            "environment": dict(os.environ),
            "files": list(map(str, files)),
        }
        server = _server()
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        code = json.loads(server.stdout.readline())
        said = [file.read_text(encoding="utf-8") for file in files[1:]]
    return subprocess.CompletedProcess([command, *flags], code, *said)


@functools.cache
def _server() -> subprocess.Popen:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    server = subprocess.Popen([sys.executable, __file__], cwd=ROOT, **pipes)
    atexit.register(server.communicate)
    return server


def _serve() -> dict | None:
    """Forks at every request; returns the request in the new process, and None when there are no more."""
    sys.path[0] = str(ROOT)
    for module in _IMPORTED:
        importlib.import_module(module)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def _execute(asked: dict) -> None:
    signal.alarm(_SECONDS)
    for descriptor, file in enumerate(asked["files"]):
        opened = os.open(file, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 (without what was read ahead)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    module, _, function = asked["command"].partition(":")
    sys.path[0], sys.argv = asked["cwd"], [module, *asked["flags"]]
    if function:
        getattr(importlib.import_module(module), function)()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    request = _serve()
    if request is not None:
        _execute(request)
