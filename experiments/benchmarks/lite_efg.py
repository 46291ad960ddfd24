"""LiteEFG (Liu, Farina and Ozdaglar 2024), if it is installed, on a game in which only player 0 decides."""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from unittest import mock

import pyspiel


def outcome_sampling_update(problem: pyspiel.Game) -> Callable[[], None] | None:
    """One update of player 0 by LiteEFG's outcome-sampling MCCFR, or None if LiteEFG is not installed."""
    try:
        import LiteEFG
        from LiteEFG.baselines import OS_MCCFR
    except ImportError:
        return None
    # It reads games from files in the home folder, by names that fixed-opponent games share; and it prints.
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, HOME=folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        environment = LiteEFG.OpenSpielEnv(problem, traverse_type="Outcome")
        graph = OS_MCCFR.graph()
    environment.set_graph(graph)
    return lambda: environment.update([graph.explore_strategy, graph.strategy], upd_player=1)
