"""Opponents that workers of an executor can make."""

import os
import pathlib
import random
import time

import pyspiel


class Random:
    """Any legal action, from draws of its own."""

    def __init__(self, seed=0):
        self._random = random.Random(seed)

    def step(self, state):
        return self._random.choice(state.legal_actions())


class First:
    """The first legal action."""

    def step(self, state):
        return state.legal_actions()[0]


class Mortal(First):
    """Kills its process at the first move of all, as a file tells; not again, as the file is gone then."""

    def __init__(self, path):
        self._path = pathlib.Path(path)

    def step(self, state):
        try:
            self._path.unlink()  # of two workers at once, one succeeds
        except FileNotFoundError:
            return super().step(state)
        os.kill(os.getpid(), 9)


class Hanging:
    def step(self, state):
        time.sleep(60)


def make_random(game):
    return Random()


def make_illegal(game):
    class Illegal:
        def step(self, state):
            return 77

    return Illegal()


def make_uniform_bot(game, seed):
    return {1: pyspiel.make_uniform_random_bot(1, seed)}


def make_hanging(game):
    return Hanging()


def make_failing(game):
    class Failing:
        def step(self, state):
            raise RuntimeError("no idea")

    return Failing()
