"""Schedulers that not everybody can use, and a warning about those that everybody can."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import pytest

from tmdp_spiel.evaluation import executors

distributed = pytest.importorskip("distributed")


@pytest.mark.parametrize(
    "address, protected",
    [
        ("tcp://127.0.0.1:8786", True),
        ("tcp://localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("tls://elsewhere:8786", True),
        ("tcp://elsewhere:8786", False),
        ("tcp://10.0.0.3:8786", False),
        ("ws://elsewhere:80", False),
        ("tcp://127.0.0.1.elsewhere.example:8786", False),
    ],
)
def test_which_addresses_are_protected(address, protected):
    assert executors.is_protected(address) == protected


def test_an_unprotected_scheduler_elsewhere_is_warned_of(monkeypatch):
    monkeypatch.setattr(distributed, "Client", lambda *given, **options: "client")
    with pytest.warns(executors.UnprotectedSchedulerWarning, match="tcp://elsewhere:8786 is on another machine"):
        assert executors.connect("tcp://elsewhere:8786") == "client"


def test_one_on_this_machine_is_not(monkeypatch, recwarn):
    monkeypatch.setattr(distributed, "Client", lambda *given, **options: "client")
    assert executors.connect("tcp://127.0.0.1:8786") == "client" and not list(recwarn)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def certificates(tmp_path) -> dict[str, str]:
    """A certificate authority, a certificate, and how Dask is told of them: the settings of docs/lab/reliability.md."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")
    new = ["req", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl(tmp_path, *new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(tmp_path, *new[:-2], "-subj", "/CN=127.0.0.1", "-keyout", "machine.key", "-out", "machine.csr")
    sign = ["x509", "-req", "-days", "2", "-in", "machine.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
    openssl(tmp_path, *sign, "-out", "machine.pem")
    settings = {"CA_FILE": "ca.pem"}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings |= {f"{role}__CERT": "machine.pem", f"{role}__KEY": "machine.key"}
    prefix = "DASK_DISTRIBUTED__COMM__"
    found = {f"{prefix}TLS__{name}": str(pathlib.Path(tmp_path) / file) for name, file in settings.items()}
    return {**found, f"{prefix}REQUIRE_ENCRYPTION": "true"}


ASK = (
    "import sys; from tmdp_spiel.evaluation import executors; "
    "executors.SECONDS_TO_CONNECT = float(sys.argv[2]); "
    "print(executors.connect(sys.argv[1]).scheduler_info()['type'])"
)


@pytest.mark.slow
def test_a_scheduler_behind_tls_answers_those_with_a_certificate_alone(certificates):
    port = free_port()
    trusted = {**os.environ, **certificates}
    command = [sys.executable, "-m", "dask", "scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, "--port", str(port)], env=trusted, **quiet)
    try:
        wait_for(port)
        for scheme, environment, answers, seconds in (
            ("tls", trusted, True, 600),
            ("tls", os.environ, False, 3),
            ("tcp", os.environ, False, 3),
        ):
            ask = [sys.executable, "-c", ASK, f"{scheme}://127.0.0.1:{port}", str(seconds)]
            asked = subprocess.run(ask, env=environment, capture_output=True, text=True)
            assert (asked.returncode == 0) == answers, asked.stderr
            assert ("Scheduler" in asked.stdout) == answers
            assert answers or "no Dask scheduler answers" in asked.stderr
    finally:
        scheduler.kill()
        scheduler.wait()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError
