"""Phantom tic-tac-toe and dark hex up to nine cells, classical and abrupt, in exact sequence form."""

from __future__ import annotations

import pathlib

import pyspiel

from tmdp_spiel.openspiel import games
from tmdp_spiel.openspiel.exact_games import ExactEnumeration
from tmdp_spiel.trees.sequence_form import SequenceForm

SHIPPED = pathlib.Path(__file__).parent / "data"  # equilibria


def phantom_game(game: pyspiel.Game) -> SequenceForm | None:
    """The sequence form of phantom_ttt or dark_hex; None if it has none here.

    It supports obstype=reveal-nothing and boards of up to nine cells. It is built once, saved on disk if it is large,
    and kept in memory for the next call.

    The states of classical dark hex are those of its tensors, as in the published evaluations of this game. Its strings
    contain the number of moves of both players, which reveals how often the other was bumped, although obstype is
    reveal-nothing. They contain only the current number, so they do not even have perfect recall.
    """
    from tmdp_spiel.games.phantom import form  # kernels are loaded when they are needed

    return form.phantom_form(game)


for _name in ("phantom_ttt", "dark_hex"):
    games.register(_name, ExactEnumeration(phantom_game, SHIPPED))
