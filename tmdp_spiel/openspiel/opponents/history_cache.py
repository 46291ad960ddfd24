"""A cache of histories that occurred before, with what can happen there, so that the game need not be queried again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyspiel

from tmdp_spiel.openspiel.opponents.episode import Categorical
from tmdp_spiel.openspiel.opponents.fixed import NotAPolicyError, OpponentError, state_key
from tmdp_spiel.openspiel.opponents.live import LiveOpponents, TimeOverError
from tmdp_spiel.trees.lazy_tree import OUTSIDE

MOST = 100_000
OWN, DRAWN, END = range(3)  # the player's own decision; a draw of chance or of an opponent; the end
SEEN_ONCE = False
_CHANCE, _TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


class CachedHistory:
    """A history that occurred before: who is to move, and the histories after the moves that occurred.

    after: by move, its CachedHistory; SEEN_ONCE if it occurred once, None if not at all
    sequence: the player's last sequence;  number: the player's state;  cumulative: of a draw;  value: the return
    """

    __slots__ = ("actions", "after", "cumulative", "kind", "number", "sequence", "state", "value")

    actions: Sequence[int]
    after: list[CachedHistory | bool | None]
    cumulative: list[float]
    kind: int
    number: int
    sequence: int
    state: pyspiel.State
    value: float


class HistoryCache:
    """Makes CachedHistory objects, up to a limit.

    view: finds the player's states, as LiveGame does.
    """

    def __init__(self, player: int, view: Any, opponents: LiveOpponents):
        self._player, self._view, self._opponents = player, view, opponents
        self._number = 0

    @property
    def is_full(self) -> bool:
        return self._number >= MOST

    def new_node(self, state: pyspiel.State, sequence: int) -> CachedHistory | None:
        """None if it is a state of the player that is not in the tree, or if a player fails there."""
        try:
            return self._new_node(state, sequence)
        except NotAPolicyError:
            raise
        except (OpponentError, TimeOverError):
            return None

    def _new_node(self, state: pyspiel.State, sequence: int) -> CachedHistory | None:
        node = CachedHistory()
        node.sequence, node.state = sequence, state
        actor = state.current_player()
        if actor == self._player:
            node.kind, node.actions = OWN, tuple(state.legal_actions())
            node.number = self._view.find(sequence, state_key(state, actor, state.get_game().get_type()), node.actions)
            if node.number == OUTSIDE:
                return None
        elif actor == _TERMINAL:
            node.kind, node.value, node.state = END, state.player_return(self._player), None
        else:
            drawn = Categorical(state.chance_outcomes()) if actor == _CHANCE else self._opponents.draw(state)
            if actor in self._opponents.changing:
                return None
            node.kind, node.actions, node.cumulative = DRAWN, drawn.actions, drawn.cumulative
        if node.kind != END:
            node.after = [None] * len(node.actions)
        self._number += 1
        return node
