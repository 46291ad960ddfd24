"""Ctrl-C at a certain point of a run, whatever the speed of the machine."""

import itertools
import os
import signal

from tmdp_spiel.evaluation.evaluator import Evaluator


def press_in_piece(number, monkeypatch):
    """Presses Ctrl-C when the given piece of the next run begins, the first one is 1."""
    pieces, play = itertools.count(1), Evaluator.play

    def interrupted(evaluator, *arguments):
        if next(pieces) == number:
            os.kill(os.getpid(), signal.SIGINT)
        return play(evaluator, *arguments)

    monkeypatch.setattr(Evaluator, "play", interrupted)
