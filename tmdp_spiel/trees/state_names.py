"""The information-state strings of the states of a tree."""

from __future__ import annotations

from collections.abc import Iterable


class StateNames:
    """Maps the states of a tree to their information-state strings, and back.

    A game's strings may forget. States after different histories of the player then share a string, which is
    `ambiguous`.
    """

    def __init__(self, strings: Iterable[str]):
        self._strings: list[str] = []
        self._seen: set[str] = set()
        self.ambiguous: set[str] = set()
        for string in strings:
            self.append(string)

    def append(self, string: str) -> None:
        """The string of the next state."""
        (self.ambiguous if string in self._seen else self._seen).add(string)
        self._strings.append(string)
        self._indices: dict[str, int] | None = None

    def string(self, state: int) -> str:
        return self._strings[state]

    def index(self, string: str) -> int:
        if self._indices is None:
            self._indices = {each: state for state, each in enumerate(self._strings) if each not in self.ambiguous}
        try:
            return self._indices[string]
        except KeyError:
            raise KeyError(f"no information state {string!r} in this tree") from None

    def __len__(self) -> int:
        return len(self._strings)
