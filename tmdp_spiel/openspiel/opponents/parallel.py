"""Many episodes at once, for opponents who are slow or can answer many questions at once.

Episodes are played in rounds. The learner does not change during a round: it is queried at the states of the episodes,
and learns from them when all of them have ended, in the order in which they began. So an episode depends only on
earlier rounds and on its own random draws, never on how long an answer took. Bounds stay valid (docs/theory.md, section
9), and with the same seed the same episodes are played, whatever the number of workers.

Episodes are suspended while they wait for an opponent. The answers come from an executor, on which opponents think
about several episodes at once, or from a policy that is queried with many states in one call.
"""

from __future__ import annotations

import concurrent.futures
import inspect
import os
import random
import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

import pyspiel

from tmdp_spiel.evaluation.executors import without_repeats
from tmdp_spiel.openspiel.games import load_game
from tmdp_spiel.openspiel.opponents.bots import as_bot
from tmdp_spiel.openspiel.opponents.episode import Categorical
from tmdp_spiel.openspiel.opponents.fixed import OpponentError, read_distribution, state_key
from tmdp_spiel.openspiel.opponents.live import LiveOpponents
from tmdp_spiel.openspiel.opponents.repetition import Copies, Transcript, place, play_alone
from tmdp_spiel.openspiel.opponents.seeding import (
    CHANCE,
    WORKERS,
    derived_seed,
    fresh_entropy,
    has_hidden_state,
    reseed,
    reseed_global_generators,
)
from tmdp_spiel.openspiel.opponents.user_files import dumps, loads

_ATTEMPTS = 3  # at an answer whose worker dies
_SECONDS_ALONE, _LEAST_ALONE = 0.15, 2  # that a worker answers alone, to be compared with the others
_local = threading.local()


class ExecutorOpponents:
    """Opponents on the workers of an executor: each question is a history, which a worker replays and answers.

    Args:
        executor: a concurrent.futures executor, a number of processes, or a function that makes an executor. In the
            last two cases an executor whose workers die is replaced, and their questions are asked again.
        opponent: as for LiveOpponents, if it can be pickled.
        make_opponent: for opponents that cannot be pickled, a function of the game, or of the game and a `seed`, that
            makes the opponent and can be pickled.
        in_flight: how many episodes may wait for an answer at once.
        seconds: the longest that an answer may take.
        seed: of the run; mixed into the random numbers of the workers.

    A worker makes the opponents once. Before every move, a bot is informed of the whole history, as if the episode had
    just reached this point; random choices that it stored earlier in the episode are lost. Episodes are independent
    only if every worker has its own random numbers. So a worker reseeds the global generators of its process (unless it
    is the caller's process) and the generators that it finds in the opponents, and refuses bots in C++ made without
    `seed`. If the bots of two workers still give the same random answers, an error is raised: see `repetition`.

    asked_again: how many answers were requested again because a worker died.
    """

    def __init__(
        self,
        executor,
        opponent=None,
        *,
        make_opponent=None,
        in_flight: int = 64,
        seconds: float | None = None,
        seed: int = 0,
    ):
        try:
            self._payload = dumps((opponent, make_opponent, seed, os.getpid()))
        except Exception as error:
            raise ValueError(
                f"the opponent cannot be sent to the workers of an executor ({error!r}); give its class, "
                "'file.py:Name', or a function at the top level of a module that takes seed; to ExecutorOpponents, as "
                "make_opponent"
            ) from error
        self._executor: Any = without_repeats(executor)
        self._make: Callable | None = None
        if isinstance(executor, int):
            self._executor, self._make = None, lambda: concurrent.futures.ProcessPoolExecutor(executor)
        elif not isinstance(executor, concurrent.futures.Executor):
            self._executor, self._make = None, executor
        self._token = uuid.uuid4().hex
        self.in_flight, self.seconds = in_flight, seconds
        self._waiting: dict[concurrent.futures.Future, tuple[int, pyspiel.State, int, float]] = {}
        self.asked_again = 0
        self._copies = Copies(OpponentError)

    def ask(self, key, state: pyspiel.State, uniform: float, attempt: int = 1) -> None:
        """Requests the action at a state; key: identifies the episode."""
        if self._executor is None and self._make is not None:
            self._executor = self._make()
        player = state.current_player()
        question = (self._token, self._payload, str(state.get_game()), player, state.history(), uniform)
        try:
            answer = self._executor.submit(_answer, *question)
        except concurrent.futures.BrokenExecutor:
            self._renew()
            answer = self._executor.submit(_answer, *question)
        self._waiting[answer] = key, state, attempt, uniform

    def answers(self) -> Iterator[tuple[int, int | OpponentError]]:
        """Waits for the next answers: (key, the action, or the error of an opponent that failed)."""
        done, _ = concurrent.futures.wait(self._waiting, self.seconds, concurrent.futures.FIRST_COMPLETED)
        if not done:
            key, state, *_ = next(iter(self._waiting.values()))
            raise OpponentError(
                f"player {state.current_player()} has not answered within {self.seconds} s after the moves "
                f"{state.history()} of {state.get_game()}. The episodes of this round are not counted"
            )
        for answer in done:
            key, state, attempt, uniform = self._waiting.pop(answer)
            try:
                worker, number, alone, action = answer.result()
            except OpponentError as error:
                yield key, error
            except concurrent.futures.BrokenExecutor as error:
                if attempt == _ATTEMPTS:
                    raise OpponentError(
                        f"the executor broke ({error!r}) while player {state.current_player()} was thinking after the "
                        f"moves {state.history()}; the episodes of this round are not counted"
                    ) from error
                self._renew()
                self.asked_again += 1
                self.ask(key, state, uniform, attempt + 1)
            except Exception as error:
                raise OpponentError(
                    f"player {state.current_player()} could not be asked on the executor: {error!r}. The episodes of "
                    "this round are not counted"
                ) from error
            else:
                if worker is not None:
                    self._copies.add(worker, number, place(state.current_player(), state.history()), str(action), alone)
                yield key, action

    def check_copies(self) -> bool:
        """Compares the answers of all workers; returns whether there were enough to detect repetition."""
        self._copies.check()
        return not self._copies.too_few

    def _renew(self) -> None:
        """Replaces a broken executor by a new one; an executor that only lost a task is kept."""
        try:
            self._executor.submit(int)
        except concurrent.futures.BrokenExecutor as error:
            if self._make is None:
                raise OpponentError(
                    f"the executor is broken ({error!r}); give a number of processes to have it recreated. The "
                    "episodes of this round are not counted"
                ) from error
            self._executor = self._make()

    def give_up(self) -> None:
        """Discards all questions; shuts down an executor that was made here, including workers that hang."""
        if self._make is None:
            for answer in self._waiting:
                answer.cancel()
        elif self._executor is not None:
            for process in list((getattr(self._executor, "_processes", None) or {}).values()):
                process.kill()
            self._executor.shutdown(wait=False)
            self._executor = None
        self._waiting.clear()

    def close(self) -> None:
        """Shuts down an executor that was made here."""
        if self._make is not None and self._executor is not None:
            self._executor.shutdown()
            self._executor = None


def _answer(
    token: str, payload: bytes, game_string: str, player: int, history: list[int], uniform: float
) -> tuple[str | None, int, Transcript | None, int]:
    """The action of an opponent after a history; runs in a worker.

    Returns the worker, how many answers it gave before, its Transcript with its first answer, and the action. A policy
    draws from the uniform number of the question, so the worker is None then.
    """
    made: Any = getattr(_local, "made", None)
    if made is None or made[0] != token:
        game = load_game(game_string)
        seed, first = derived_seed(fresh_entropy()), {"number": 0, "worker": uuid.uuid4().hex}
        made = _local.made = token, game, _opponents_of_worker(game, payload, seed), {}, seed, first
    _, game, everyone, opponents_of, seed, count = made
    opponents = opponents_of.get(player)
    if opponents is None:
        alone = everyone[player] if isinstance(everyone, Mapping) else everyone
        opponents = LiveOpponents(game, None, {player: alone}, check_players=False)
        opponents_of[player] = opponents
    transcript = None
    if count["number"] == 0 and player in opponents.bots:
        copy = _opponents_of_worker(game, payload, seed)
        bot = as_bot(copy[player] if isinstance(copy, Mapping) else copy)
        transcript = play_alone({player: bot}, game, seconds=_SECONDS_ALONE, least=_LEAST_ALONE)
    state = game.new_initial_state()
    opponents.restart(state)
    for action in history:
        opponents.inform(state, state.current_player(), action)
        state.apply_action(action)
    action, number = opponents.move(state, uniform), count["number"]
    count["number"] += 1
    return count["worker"] if player in opponents.bots else None, number, transcript, action


def _opponents_of_worker(game: pyspiel.Game, payload: bytes, entropy: int):
    """The opponents, with random numbers that differ from those of other workers. entropy: a number of the worker."""
    opponent, make_opponent, run_seed, caller = loads(payload)
    seed = derived_seed(run_seed, WORKERS, entropy)
    if os.getpid() != caller:
        reseed_global_generators(seed)
    takes_seed = False
    if make_opponent is not None:
        takes_seed = "seed" in inspect.signature(make_opponent).parameters
        opponent = make_opponent(game, seed=derived_seed(seed, 0, bits=31)) if takes_seed else make_opponent(game)
    reseed(opponent, seed)
    if not takes_seed and has_hidden_state(opponent):
        raise OpponentError(
            "the opponent is or holds a bot in C++, whose random numbers cannot be seeded from outside, so workers "
            "would repeat each other's draws. Give make_opponent, a function of the game and a `seed` that makes the "
            "bot with this seed"
        )
    return opponent


class BatchedPolicy:
    """A policy that is queried with many states in one call, and whose answers are cached.

    action_probabilities_of: a function from a list of states to a list of {action: probability}, or to an array with a
    row for each state and a column for each action of the game. in_flight: how many episodes may wait for it at once.
    """

    _MOST_REMEMBERED = 1_000_000

    def __init__(self, game: pyspiel.Game, action_probabilities_of: Callable, *, in_flight: int = 256):
        self._of, self._game_type, self.in_flight = action_probabilities_of, game.get_type(), in_flight
        self._draws: dict[tuple[int, str], Categorical] = {}
        self._waiting: list[tuple[int, tuple[int, str], pyspiel.State, float]] = []

    def ask(self, key, state: pyspiel.State, uniform: float) -> None:
        player = state.current_player()
        self._waiting.append((key, (player, state_key(state, player, self._game_type)), state, uniform))

    def answers(self) -> Iterator[tuple[int, int]]:
        waiting, self._waiting = self._waiting, []
        unknown = {name: state for _, name, state, _ in waiting if name not in self._draws}
        if len(self._draws) + len(unknown) > self._MOST_REMEMBERED:
            self._draws.clear()
            unknown = {name: state for _, name, state, _ in waiting}
        if unknown:
            states = list(unknown.values())
            for name, state, given in zip(unknown, states, self._asked(states)):
                legal = state.legal_actions()
                answer = given if isinstance(given, Mapping) else {action: given[action] for action in legal}
                where = f"at state {name[1]!r} of player {name[0]}"
                try:
                    answer = {action: float(probability) for action, probability in answer.items()}
                    probabilities, _ = read_distribution(answer, legal, where)
                except (TypeError, ValueError) as error:
                    raise OpponentError(f"the policy's answer {where} cannot be used: {error}") from error
                self._draws[name] = Categorical(list(zip(legal, probabilities)))
        for key, name, _, uniform in waiting:
            yield key, self._draws[name].action(uniform)

    def _asked(self, states: list[pyspiel.State]):
        try:
            given = self._of(states)
        except Exception as error:
            raise OpponentError(f"the policy failed at {len(states)} states: {error!r}") from error
        if len(given) != len(states):
            raise OpponentError(f"the policy was asked about {len(states)} states and gave {len(given)} answers")
        return given

    def give_up(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        """Does nothing."""


def play_round(answerer, episodes: list[Generator[tuple, Any, tuple]]) -> list:
    """Plays generators to their end; each yields (state, uniform number) when it needs an opponent's action.

    Returns their return values, in order. The error of an opponent that fails is raised in its episode's generator.
    """
    results: list[Any] = [None] * len(episodes)
    next_one, waiting = 0, 0

    def advance(at: int, action) -> bool:
        episode = episodes[at]
        try:
            if isinstance(action, OpponentError):
                question = episode.throw(action)
            else:
                question = next(episode) if action is None else episode.send(action)
            answerer.ask(at, *question)
        except StopIteration as end:
            results[at] = end.value
            return False
        return True

    try:
        while True:
            while next_one < len(episodes) and waiting < answerer.in_flight:
                waiting += advance(next_one, None)
                next_one += 1
            if waiting == 0:
                return results
            for at, action in answerer.answers():
                waiting += advance(at, action) - 1
    except BaseException:
        answerer.give_up()
        raise
    finally:
        for episode in episodes:
            episode.close()


def generator_of(seed: int, episode: int) -> random.Random:
    """The random draws of one episode, which do not depend on which worker answers first."""
    return random.Random(derived_seed(seed, CHANCE, episode))
