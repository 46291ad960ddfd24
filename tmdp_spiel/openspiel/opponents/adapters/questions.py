"""Opponents outside of Python, in a process or over HTTP: they get a question in JSON and answer an action.

A question is one line of JSON that contains exactly what the player may know:

    {"episode": 3, "game": "kuhn_poker()", "player": 1, "information_state": "1b", "observation": "...",
     "legal_actions": [0, 1], "action_names": ["Pass", "Bet"], "seed": 1811943467}

The answer is one line: the number of an action (`1`), its name (`"Bet"`, with or without quotes), or an object with
either of them as "action". Other keys of the object are logged and otherwise ignored.
"""

from __future__ import annotations

import dataclasses
import http.client
import itertools
import json
import os
import pathlib
import queue
import re
import shlex
import subprocess
import threading
import time
import urllib.parse
import weakref
from collections import deque
from typing import Any

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.games import game_string
from tmdp_spiel.openspiel.opponents.seeding import fresh_entropy

DEFAULT_TIMEOUT = 30.0
DEFAULT_RESTARTS = 3
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SECONDS_TO_END = 10.0  # of a process that closed its output
_SHOWN = 500  # characters of a text that an error repeats
_LONGEST_ANSWER = 1 << 20  # bytes; a longer one is no action


class AnswerError(RuntimeError):
    """A process or server died, did not answer in time, or gave an answer that is not an action."""


def question(state: pyspiel.State, **more: Any) -> dict[str, Any]:
    """What the player who is to act may know of a state."""
    player, game = state.current_player(), state.get_game()
    kind, legal = game.get_type(), state.legal_actions()
    asked: dict[str, Any] = {**more, "game": game_string(game), "player": player}
    if kind.provides_information_state_string:
        asked["information_state"] = state.information_state_string(player)
    if kind.provides_observation_string:
        asked["observation"] = state.observation_string(player)
    if kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION:
        asked["history"] = state.history()
    names = [state.action_to_string(player, action).rpartition("move=")[2] for action in legal]  # of universal_poker
    return {**asked, "legal_actions": legal, "action_names": names}


def read_action(text: str, asked: dict[str, Any]) -> int:
    """The action that an answer means."""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text.strip()
    if isinstance(answer, dict):
        answer = answer.get("action")
    if isinstance(answer, str) and answer not in asked["action_names"] and re.fullmatch(r"-?\d+", answer.strip()):
        answer = int(answer)
    if isinstance(answer, str):
        names = [name.casefold() for name in asked["action_names"]]
        if names.count(answer.strip().casefold()) == 1:
            return asked["legal_actions"][names.index(answer.strip().casefold())]
    elif isinstance(answer, int) and not isinstance(answer, bool) and answer in asked["legal_actions"]:
        return answer
    legal = ", ".join(f"{a} {name!r}" for a, name in zip(asked["legal_actions"], asked["action_names"]))
    raise AnswerError(f"the answer {text.strip()[:_SHOWN]!r} is not a legal action; legal are {legal}")


class _Connection:
    """A connection that sends a line and waits for a line. Closing it ends the process or connection."""

    def ask(self, text: str, timeout: float) -> str:
        raise NotImplementedError

    def close(self) -> None:
        pass


@dataclasses.dataclass
class _Session:
    """The state of a bot: its connection, the number of the episode, and the number of failures in a row."""

    connection: _Connection | None = None
    episode: int = 0
    failures: int = 0


# Kept out of the bots, so that these can be copied, pickled and compared; every copy has a session of its own.
_SESSIONS: weakref.WeakKeyDictionary[AskingBot, _Session] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(eq=False)
class AskingBot:
    """A bot that asks questions over a connection.

    Args:
        address: the command of a process, or the URL of a server.
        timeout: seconds for an answer; after that the process is terminated.
        restarts: how often a process is started again, or a server is tried again, without a legal action in between.
            A failed answer always ends the episode; no question is asked twice.
        log: a file to which every question and answer is appended as a line of JSON with the time; None for no log.
        seed: of the random numbers in the questions; from the system if not given.
    """

    address: Any
    timeout: float = DEFAULT_TIMEOUT
    restarts: int = DEFAULT_RESTARTS
    log: str | os.PathLike | None = None
    seed: dataclasses.InitVar[int | None] = None

    def __post_init__(self, seed: int | None) -> None:
        if not self.timeout > 0:
            raise ValueError(f"timeout must be above 0 seconds, not {self.timeout!r}")
        if self.restarts < 0:
            raise ValueError(f"restarts must be 0 or more, not {self.restarts!r}")
        self._numbers = np.random.default_rng(fresh_entropy() if seed is None else seed)
        self.__name__ = self._title()

    def _title(self) -> str:
        return str(self.address)

    def _connect(self) -> _Connection:
        raise NotImplementedError

    def restart(self) -> None:
        """Begins a new episode."""
        self._session().episode += 1

    def step(self, state: pyspiel.State) -> int:
        asked = question(state, episode=self._session().episode, seed=int(self._numbers.integers(2**31)))
        return self._answered(json.dumps(asked), lambda text: read_action(text, asked))

    def _answered(self, text: str, read: Any) -> int:
        """Sends a text, and returns the action in the answer."""
        session = self._session()
        if session.failures > self.restarts:
            raise AnswerError(f"given up after {session.failures} failures in a row (restarts={self.restarts})")
        answer = None
        try:
            if session.connection is None:
                session.connection = self._connect()
            answer = session.connection.ask(text, self.timeout)
            action = read(answer)
        except AnswerError as error:
            session.failures += 1
            self._note(text, answer, str(error))
            self.close()  # whatever it answers later belongs to no question
            raise
        session.failures = 0
        self._note(text, answer, None)
        return action

    def _session(self) -> _Session:
        return _SESSIONS.setdefault(self, _Session())

    def close(self) -> None:
        """Ends the process or closes the connection; the next question opens it again."""
        session = self._session()
        if session.connection is not None:
            session.connection.close()
            session.connection = None

    def _note(self, asked: str, answer: str | None, error: str | None) -> None:
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(json.dumps({"time": time.time(), "asked": asked, "answer": answer, "error": error}) + "\n")


class ProcessBot(AskingBot):
    """A process, in any language, that reads one question per line and writes one action per line.

    Args:
        address: the command, as a list of words or a string that a shell would split.
        timeout: seconds for an answer; for the first answer this includes the start of the process.
        restarts: how often it is started again without giving a legal action in between.
        log: a file to which questions and answers are appended, as lines of JSON.
    """

    def __post_init__(self, seed: int | None) -> None:
        words = shlex.split(self.address) if isinstance(self.address, str) else [str(word) for word in self.address]
        if not words:
            raise ValueError("the command of a process is empty")
        self.address = words
        self.files = [pathlib.Path(word) for word in words if os.path.isfile(word)]  # compared when a run resumes
        super().__post_init__(seed)

    def _title(self) -> str:
        return shlex.join(self.address)

    def _connect(self) -> _Connection:
        return _Process(self.address)


class HTTPBot(AskingBot):
    """A server on this machine that gets a question as a POST request and answers an action.

    Args:
        address: such as "http://127.0.0.1:8000/act". Only loopback addresses are accepted, as answers are not
        encrypted.
        timeout: seconds for an answer.
        restarts: how many questions in a row may fail before an error is raised.
        log: a file to which questions and answers are appended, as lines of JSON.
    """

    def __post_init__(self, seed: int | None) -> None:
        url = urllib.parse.urlsplit(self.address)
        if url.scheme != "http" or url.hostname not in _LOOPBACK:
            raise ValueError(
                f"a server needs a loopback address, http://127.0.0.1:PORT/path, not {self.address!r}; "
                "for a server on another machine, give a process or a bot that asks it"
            )
        super().__post_init__(seed)

    def _connect(self) -> _Connection:
        return _HTTP(self.address)


class _Process(_Connection):
    def __init__(self, words: list[str]):
        self._name = shlex.join(words)
        try:
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise AnswerError(f"{self._name!r} cannot be started: {error}") from None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._complaints: deque[bytes] = deque(maxlen=20)
        threading.Thread(target=_read_lines, args=(self.process.stdout, self._lines.put), daemon=True).start()
        self._errors = threading.Thread(
            target=_read_lines, args=(self.process.stderr, self._complaints.append), daemon=True
        )
        self._errors.start()
        self._end = weakref.finalize(self, _end_process, self.process)

    def ask(self, text: str, timeout: float) -> str:
        try:
            if not self._lines.empty() and (early := self._lines.get()) is not None:
                raise AnswerError(f"{self._name!r} wrote {early[:_SHOWN]!r} before it was asked; one line an answer")
            assert self.process.stdin is not None
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
            line = self._lines.get(timeout=timeout)
        except (BrokenPipeError, OSError):
            line = None
        except queue.Empty:
            raise AnswerError(f"{self._name!r} did not answer within {timeout:g} s, and was ended") from None
        if line is None:
            raise AnswerError(f"{self._name!r} ended with code {self._code()} before it answered{self.complaints()}")
        if len(line) > _LONGEST_ANSWER:
            raise AnswerError(f"{self._name!r} answered more than {_LONGEST_ANSWER:,} bytes, beginning {line[:80]!r}")
        return line.decode(errors="replace")

    def _code(self) -> int | str:
        try:
            return self.process.wait(timeout=_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return "none yet; it closed its output"

    def complaints(self) -> str:
        """What the process wrote to its error stream, as a clause."""
        self._errors.join(timeout=_SECONDS_TO_END)
        text = b"".join(each for each in self._complaints if each is not None).decode(errors="replace").strip()
        return f"; its error stream: {text[-_SHOWN:]}" if text else ""

    def close(self) -> None:
        self._end()


def _read_lines(stream: Any, put: Any) -> None:
    """Passes on the lines of a stream, and None at its end."""
    with stream:
        for line in iter(lambda: stream.readline(_LONGEST_ANSWER + 1), b""):
            put(line)
    put(None)


def _end_process(process: subprocess.Popen) -> None:
    """Ends a process, by closing its input and, if that is not enough, by killing it."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        process.wait(timeout=0.2)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()


class _HTTP(_Connection):
    def __init__(self, address: str):
        self._address, url = address, urllib.parse.urlsplit(address)
        self._path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        self._connection = http.client.HTTPConnection(url.hostname or "", url.port or 80)

    def ask(self, text: str, timeout: float) -> str:
        for attempt in itertools.count():
            fresh = self._connection.sock is None
            self._connection.timeout = timeout
            if not fresh:
                self._connection.sock.settimeout(timeout)
            try:
                headers = {"Content-Type": "application/json"}
                self._connection.request("POST", self._path, text.encode(), headers)
                response = self._connection.getresponse()
                body = response.read(_LONGEST_ANSWER + 1)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
                self._connection.close()
                if fresh or attempt:  # else the server had closed an idle connection: nothing was answered
                    raise AnswerError(f"{self._address} closed the connection: {error!r}") from None
                continue
            except TimeoutError:
                raise AnswerError(f"{self._address} did not answer within {timeout:g} s") from None
            except (OSError, http.client.HTTPException) as error:
                raise AnswerError(f"{self._address} cannot be asked: {error!r}") from None
            if response.status != 200 or len(body) > _LONGEST_ANSWER:
                raise AnswerError(f"{self._address} answered status {response.status}, {body[:_SHOWN]!r}")
            return body.decode(errors="replace")
        raise AssertionError

    def close(self) -> None:
        self._connection.close()
