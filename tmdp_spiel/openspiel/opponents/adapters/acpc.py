"""Players of the Annual Computer Poker Competition: its match-state protocol, version 2, for universal_poker.

A player is a program that is started with a host and a port, connects there, sends `VERSION:2.0.0`, and reads match
states such as `MATCHSTATE:1:30:cc/r:|Kd/Qs`. If it is to act, it answers with the same line and an action: `f`, `c`,
`r` or `r300`. As from ACPC's dealer, it also gets the other match states of a hand, including the last one.
"""

from __future__ import annotations

import re
import shlex
import socket
import time

import pyspiel

from tmdp_spiel.openspiel.games import game_string
from tmdp_spiel.openspiel.opponents.adapters.questions import AnswerError, ProcessBot, _Connection, _Process

_VERSION = "VERSION:2"
_LONGEST_LINE = 65_536


def match_state(state: pyspiel.State, player: int, hand: int) -> str:
    """What a player sees of a state of universal_poker, in ACPC's format: others' cards only at a showdown."""
    betting, cards = betting_and_cards(state)
    hands, slash, board = cards.partition("/")
    shown = state.is_terminal() and not betting.endswith("f")
    hands = "|".join(each if shown or other == player else "" for other, each in enumerate(hands.split("|")))
    return f"MATCHSTATE:{player}:{hand}:{betting}:{hands}{slash}{board}"


def betting_and_cards(state: pyspiel.State) -> tuple[str, str]:
    """The betting and the cards of all players in a state of universal_poker, in ACPC's format."""
    found = re.search(r"^ACPC State: STATE:\d+:([^:]*):(\S*)", str(state), re.MULTILINE)
    if found is None:
        raise ValueError(f"ACPC's protocol is for universal_poker; {game_string(state.get_game())} has no such states")
    return found[1], found[2]


def read_action(answer: str, asked: str, state: pyspiel.State) -> int:
    """The action of universal_poker that an answer to a match state means."""
    answer = answer.strip()
    if not answer.startswith(asked + ":"):
        raise AnswerError(f"the answer {answer[:500]!r} does not repeat the match state {asked!r} with an action")
    token, player = answer[len(asked) + 1 :], state.current_player()
    before = betting_and_cards(state)[0]
    for action in state.legal_actions():
        name = state.action_to_string(player, action).rpartition("move=")[2]
        kind = "r" if name.startswith(("Bet", "AllIn", "HalfPot")) else name[:1].lower()
        if token == kind or token == f"r{name.removeprefix('Bet')}":
            return action
        # In a betting abstraction, raises are named without their size; in the full game the name is the size.
        if kind == "r" and not name[3:].isdigit():
            after = betting_and_cards(state.child(action))[0]
            if token == after[len(before) :].rstrip("/"):
                return action
    legal = [state.action_to_string(player, action).rpartition("move=")[2] for action in state.legal_actions()]
    raise AnswerError(f"the action {token!r} after {asked!r} is not legal; legal are {legal}")


class ACPCBot(ProcessBot):
    """A program that plays by ACPC's match-state protocol.

    Args:
        address: its command; `{host}` and `{port}` in it are replaced, or else both are added at the end.
        timeout: seconds for an answer, and for connecting.
        restarts: how often it is started again without giving a legal action in between.
        log: a file to which match states and answers are appended, as lines of JSON.
    """

    def _connect(self) -> _Connection:
        return _Dealer(self.address, self.timeout)

    def step(self, state: pyspiel.State) -> int:
        asked = match_state(state, state.current_player(), self._session().episode)
        action = self._answered(asked, lambda text: read_action(text, asked, state))
        self._tell(state.child(action), state.current_player())
        return action

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        self._tell(state.child(action), None)

    def _tell(self, state: pyspiel.State, actor: int | None) -> None:
        """Sends a match state at which the player need not act; a bot for several players gets it as the last actor."""
        connection = self._session().connection
        if not isinstance(connection, _Dealer) or state.is_chance_node():
            return
        connection.player = connection.player if actor is None else actor
        if connection.player is not None and state.current_player() != connection.player:
            connection.tell(match_state(state, connection.player, self._session().episode))


class _Dealer(_Connection):
    """The process and its connection to us."""

    def __init__(self, words: list[str], timeout: float):
        self._name = shlex.join(words)
        self.player: int | None = None  # the last that it played
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
            filled = [word.replace("{host}", "127.0.0.1").replace("{port}", port) for word in words]
            self._process = _Process(filled if filled != words else [*words, "127.0.0.1", port])
            server.settimeout(min(timeout, 0.2))
            until = time.monotonic() + timeout
            while True:
                try:
                    self._socket, _ = server.accept()
                    break
                except TimeoutError:
                    code = self._process.process.poll()
                    if code is None and time.monotonic() < until:
                        continue
                    self._process.close()
                    ended = f"ended with code {code}{self._process.complaints()}" if code is not None else "did not"
                    raise AnswerError(f"{self._name!r} {ended} before it connected ({timeout:g} s)") from None
        # Otherwise the second of two lines would wait for the player's delayed acknowledgement, about 40 ms.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        version = self._line(timeout)
        if not version.startswith(_VERSION):
            self.close()
            raise AnswerError(f"{self._name!r} began with {version[:100]!r}, not with '{_VERSION}.0.0'")

    def tell(self, text: str) -> None:
        try:
            self._socket.sendall(text.encode() + b"\r\n")
        except OSError as error:
            raise AnswerError(f"{self._name!r} closed its connection: {error}") from None

    def ask(self, text: str, timeout: float) -> str:
        if self._received:
            raise AnswerError(f"{self._name!r} wrote {self._received[:500]!r} before it was asked")
        self.tell(text)
        return self._line(timeout)

    def _line(self, timeout: float) -> str:
        """The next line that is not a comment."""
        until = time.monotonic() + timeout
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if newline:
                self._received = rest
                if line[:1] not in (b"#", b";"):
                    return line.decode(errors="replace").strip()
                continue
            left = until - time.monotonic()
            if left <= 0:
                raise AnswerError(f"{self._name!r} did not answer within {timeout:g} s, and was ended")
            self._socket.settimeout(left)
            try:
                received = self._socket.recv(_LONGEST_LINE)
            except TimeoutError:
                continue
            except OSError:
                received = b""
            if not received or len(self._received) > _LONGEST_LINE:
                raise AnswerError(f"{self._name!r} closed its connection{self._process.complaints()}")
            self._received += received

    def close(self) -> None:
        self._socket.close()
        self._process.close()
