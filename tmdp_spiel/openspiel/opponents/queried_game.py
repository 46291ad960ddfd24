"""Opponents that are functions of their information states: they are queried at states instead of playing episodes."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable

import numpy as np
import pyspiel

from tmdp_spiel.bounds.answer_values import AskingOrder, asking_order, parents_of
from tmdp_spiel.openspiel.opponents.bots import BotAdapter, implements
from tmdp_spiel.openspiel.opponents.enumerated_game import EnumeratedGame
from tmdp_spiel.openspiel.opponents.fixed import OpponentError, state_key
from tmdp_spiel.trees.history_tree import HistoryTree

HISTORIES = 2  # of a state, that are shown at random
IN_EPISODE = HISTORIES  # where an answer comes from, if not from a question
_BETWEEN_CLOCKS = 64  # questions


@dataclasses.dataclass
class _Place:
    """An information state of another player. answers: by action, their numbers."""

    player: int
    ask: Callable
    states: list[pyspiel.State]
    histories: list[list[int]]
    answers: dict[int, int]


class QueriedGame(EnumeratedGame):
    """As EnumeratedGame, but play() queries the opponents at single states, for learners that learn from answers.

    rules: all histories of the game, for the player.
    note: called with (sources, answers), arrays: the numbers of answers, and where each comes from, the number of the
    history that was shown or IN_EPISODE.
    """

    def __init__(self, game, player: int, opponent, *, rules: HistoryTree, **options):
        super().__init__(game, player, opponent, tree=rules.tree, **options)
        refuse_informed_bots(self.opponents.bots)
        self.rules, self.order = rules, asking_order(rules)
        self.note: Callable[[np.ndarray, np.ndarray], None] = _ignore
        self._shown = _histories_shown(self.order, len(rules.histories.first_answer) - 1, self._random.getrandbits(63))
        self._parents = parents_of(rules.histories)
        self._places: dict[int, _Place] = {}
        self._pending = np.empty(0, np.int64)
        self._askers = {other: _asker(bot) for other, bot in self.opponents.bots.items()}
        for other, bot in list(self.opponents.bots.items()):
            self.opponents.bots[other] = _RecordedBot(bot, functools.partial(self._record_answer, other))

    def play(self, learner, number: int) -> int:
        """Asks as many questions as are allowed, and lets the learner learn; returns how many were answered."""
        if learner.tree is not self.tree:
            raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {self.tree!r}")
        asked = 0
        while asked < number and not self._has_stopped:
            if len(self._pending) == 0:
                self._foresee(learner)
                left, rng = learner.questions(), np.random.default_rng(self._random.getrandbits(63))
                self._pending = rng.permutation(np.repeat(np.arange(len(left)), left))
            answers = self._ask(self._pending[: number - asked])
            self._pending = self._pending[len(answers) :]
            learner.learn_answers(answers)
            asked += len(answers)
            self._learned_from += len(answers)
        return asked

    def _ask(self, states: np.ndarray) -> np.ndarray:
        """The numbers of the answers; fewer than states if an opponent failed or the time is over."""
        sources = np.random.default_rng(self._random.getrandbits(63)).integers(HISTORIES, size=len(states))
        answers: list[int] = []
        place, state = None, None
        try:
            for number, source in zip(states.tolist(), sources.tolist()):
                place = self._places.get(number) or self._place(number)
                state = place.states[source]
                answer = place.answers.get(place.ask(state))
                if answer is None:
                    raise ValueError(f"its answer is none of the legal actions {sorted(place.answers)}")
                answers.append(answer)
                if len(answers) % _BETWEEN_CLOCKS == 0 and time.perf_counter() > self.deadline:
                    break
            self._check_unchanged(states[: len(answers)])
        except (Exception, SystemExit) as error:
            assert place is not None and state is not None
            try:
                with self.opponents.naming(place.player, state):
                    raise error
            except OpponentError as named:
                self._note_failure(named)
        found = np.array(answers, np.int64)
        self.note(sources[: len(found)], found)
        return found

    def _check_unchanged(self, states: np.ndarray) -> None:
        for place in map(self._places.__getitem__, np.unique(states).tolist()):
            if [state.history() for state in place.states] != place.histories:
                raise ValueError("it changes the states that it is shown; let it work on state.clone()")

    def _place(self, number: int) -> _Place:
        """A state of the others, with histories that can be shown."""
        histories = self.rules.histories
        shown = self._shown[number].tolist()
        states = [self._state_at(h) for h in shown]
        moves = histories.child[histories.first_move[shown[0]] : histories.first_move[shown[0] + 1]]
        answers = {int(histories.action[each]): int(histories.move[each]) for each in moves}
        player = states[0].current_player()
        found = _Place(player, self._askers[player], states, [state.history() for state in states], answers)
        self._places[number] = found
        return found

    def _state_at(self, history: int) -> pyspiel.State:
        actions, histories = [], self.rules.histories
        while history > 0:
            actions.append(int(histories.action[history]))
            history = int(self._parents[history])
        state = self.game.new_initial_state()
        for action in reversed(actions):
            state.apply_action(action)
        return state

    @functools.cached_property
    def by_key(self) -> dict[tuple[int, str], int]:
        """The numbers of all states of the others, by player and string."""
        places = (self._places.get(number) or self._place(number) for number in range(len(self._shown)))
        return {
            (place.player, state_key(place.states[0], place.player, self._game_type)): number
            for number, place in enumerate(places)
        }

    def _record_answer(self, player: int, state: pyspiel.State, action) -> None:
        """Notes an answer in an episode."""
        number = self.by_key.get((player, state_key(state, player, self._game_type)))
        answer = None if number is None else self._places[number].answers.get(action)
        if answer is not None:
            self.note(np.array([IN_EPISODE]), np.array([answer]))


class _RecordedBot(BotAdapter):
    """Plays episodes, and records the opponents' answers."""

    def __init__(self, bot: BotAdapter, record: Callable):
        super().__init__(bot.inner)
        self._record_answer = record

    def step(self, state):
        action = self.inner.step(state)
        self._record_answer(state, action)
        return action


def refuse_informed_bots(bots: dict[int, BotAdapter]) -> None:
    """Refuses bots that are informed of actions, because their answers may depend on these."""
    for player, bot in bots.items():
        if bot.is_informed:
            raise ValueError(
                f"player {player} ({bot.name}) has inform_action, which informs it of the moves of an episode: "
                "memoryless=True is for bots that answer by the state alone. Remove inform_action if it does nothing, "
                "or leave out memoryless"
            )


def _asker(bot: BotAdapter) -> Callable:
    """Asks a bot as if an episode had begun at the state, if it implements that."""
    if not (implements(bot.inner, "restart_at") or implements(bot.inner, "restart")):
        return bot.inner.step

    def ask(state):
        bot.restart_at(state)
        return bot.inner.step(state)

    return ask


def _histories_shown(order: AskingOrder, number: int, seed: int) -> np.ndarray:
    """Of each state of the others, histories chosen at random; different ones where there are several."""
    others = np.random.default_rng(seed).permutation(order.others)
    others = others[np.argsort(order.state[others], kind="stable")]
    first = np.searchsorted(order.state[others], np.arange(number + 1))
    last = first[1:] - 1
    return np.stack([others[np.minimum(first[:-1] + each, last)] for each in range(HISTORIES)], axis=1)


def _ignore(sources: np.ndarray, answers: np.ndarray) -> None:
    """Does nothing."""
