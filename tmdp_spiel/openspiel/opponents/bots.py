"""Anything with step(state) as a bot, whatever else of OpenSpiel's bot it implements."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import time

import numpy as np
import pyspiel

from tmdp_spiel.openspiel.opponents.episode import Episode

_SECONDS_TRIED = 60.0
_FINE, _RAISED = 0, 1


def implements(bot, method: str) -> bool:
    """Whether calling a method of a bot does something.

    pyspiel.Bot has all methods, and for a Python class that does not override them they do nothing or raise an error.
    """
    if not callable(getattr(bot, method, None)):
        return False
    kind = type(bot)
    if not isinstance(bot, pyspiel.Bot) or _in_cpp(kind):
        return True
    base = next(each for each in kind.__mro__ if _in_cpp(each))
    return base is not pyspiel.Bot or getattr(kind, method) is not getattr(pyspiel.Bot, method)


def _in_cpp(kind: type) -> bool:
    return kind.__module__ == pyspiel.Bot.__module__


class BotAdapter(pyspiel.Bot):
    """Anything with step(state) as a bot of OpenSpiel. Its other methods are called if it implements them.

    At the beginning of an episode, restart_at is called, or restart if it has no restart_at.
    """

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self._restart_at = inner.restart_at if implements(inner, "restart_at") else None
        self._restart = inner.restart if implements(inner, "restart") else None
        self._inform_action = inner.inform_action if implements(inner, "inform_action") else None

    @property
    def name(self) -> str:
        """The name of the bot."""
        return bot_name(self.inner)

    @property
    def is_informed(self) -> bool:
        """Whether it is informed of actions."""
        return self._inform_action is not None

    def step(self, state):
        return self.inner.step(state)

    def restart(self):
        if self._restart is not None:
            self._restart()

    def restart_at(self, state):
        if self._restart_at is None:
            self.restart()
            return
        try:
            self._restart_at(state)
        except pyspiel.SpielError as error:
            if "not implemented" not in str(error):
                raise
            self._restart_at = None
            self.restart()

    def inform_action(self, state, player_id, action):
        if self._inform_action is not None:
            self._inform_action(state, player_id, action)


def as_bot(source) -> BotAdapter:
    """The bot in its adapter."""
    return source if isinstance(source, BotAdapter) else BotAdapter(source)


def bot_name(source) -> str:
    """The name of a bot's class, or of the function or class itself."""
    return getattr(source, "__name__", None) or type(source).__name__


def declared_player(source) -> int | None:
    """The player in a bot's or agent's attribute player_id, if any."""
    if isinstance(source, type):
        return None
    for name in ("player_id", "_player_id"):
        declared = getattr(source, name, None)
        if callable(declared):
            with contextlib.suppress(TypeError):
                declared = declared()
        if isinstance(declared, (int, np.integer)) and not isinstance(declared, bool):
            return int(declared)
    return None


def why_not_as_player(bot, game: pyspiel.Game, player: int) -> str | None:
    """What goes wrong if a C++ bot of OpenSpiel is asked for a move as this player; None if it answers.

    Such a bot does not say which player it is, and many terminate the process, or read an action from memory that is
    not theirs, if asked as another player. So it is asked in a copy of the process, without effect on this one. Other
    bots are not asked.
    """
    if type(bot) is not pyspiel.Bot or not hasattr(os, "fork"):
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = _RAISED
        try:
            faulthandler.disable()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            adapter = BotAdapter(bot)
            state = first_decision(game, player, adapter)
            if state is None or adapter.step(state) in state.legal_actions():
                code = _FINE
        finally:
            os._exit(code)
    end = time.monotonic() + _SECONDS_TRIED
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > end:  # slow, but alive
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.001)
    if os.WIFSIGNALED(status):
        return "ends the process"
    return "raises an error or plays an illegal action" if os.WEXITSTATUS(status) else None


def first_decision(
    game: pyspiel.Game, player: int, bot: pyspiel.Bot | None = None, tries: int = 100, seed: int = 0
) -> pyspiel.State | None:
    """A state at which the player is to act, found by playing at random; the player's bot is informed of the moves."""
    rng = np.random.default_rng(seed)
    for _ in range(tries):
        state = game.new_initial_state()
        if bot is not None:
            bot.restart_at(state)
        episode = Episode(state, rng.random, None if bot is None else bot.inform_action)
        for actor in episode:
            if actor == player:
                return state
            episode.action = int(rng.choice(state.legal_actions()))
    return None
