"""Episodes against live opponents, played through the game itself, on a lazy tree.

An episode takes the time of the game and the opponents: the learner is queried only at the states on the path, and
there is no pass over the whole tree. Histories that occurred before are cached, with what can happen there, so that
most episodes begin without the game. A history is cached at its second occurrence, one per episode, up to a limit. (Not
against bots, which must see every state, nor if the game samples its chance events itself.)
"""

from __future__ import annotations

import math
import random
import time
from bisect import bisect_right
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pyspiel

from tmdp_spiel.algorithms.path_learner import PathLearner
from tmdp_spiel.core import validation
from tmdp_spiel.openspiel.build import warn_imperfect_recall
from tmdp_spiel.openspiel.games import GameLike, game_string, load_game
from tmdp_spiel.openspiel.grow_tree import grow_tree
from tmdp_spiel.openspiel.opponents.episode import (
    DEFAULT_MAX_MOVES,
    Categorical,
    Episode,
    EpisodeTooLongError,
    Recorder,
)
from tmdp_spiel.openspiel.opponents.fixed import NotAPolicyError, OpponentError, check_player, state_key, uniform
from tmdp_spiel.openspiel.opponents.history_cache import DRAWN, OWN, SEEN_ONCE, CachedHistory, HistoryCache
from tmdp_spiel.openspiel.opponents.live import LiveOpponents, TimeOverError
from tmdp_spiel.openspiel.opponents.parallel import ExecutorOpponents, generator_of, play_round
from tmdp_spiel.openspiel.opponents.seeding import CHANCE, derived_seed
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.lazy_tree import OUTSIDE, LazyTree
from tmdp_spiel.trees.traversal import ROOT

_ON_ERROR = ("raise", "skip", "stop")

__all__ = ["EpisodeTooLongError", "LiveGame", "OpponentError"]


def largest_round(in_flight: int, episodes: int) -> int:
    """The size of a round: small at first, when every episode is informative, later enough to keep workers busy."""
    return max(8, in_flight // 4, min(4 * in_flight, episodes // 4))


class LiveGame:
    """A game, a player, and fixed opponents as the other players: learners play here, and plans are measured.

    Args:
        game: anything that load_game takes.
        player: the player that learns.
        opponent: a policy or a bot, or a mapping from player to policy or bot; see LiveOpponents.
        tree: the lazy tree, made by grow_tree; a new one if not given.
        seed: of chance, of the opponents' policies, and of the learner's moves outside the tree.
        max_moves: the most moves of an episode; for a longer one an EpisodeTooLongError is raised.
        batched_opponent: ExecutorOpponents or BatchedPolicy, to play many episodes at once, instead of `opponent`.
        on_error: what to do if an opponent fails. "raise": its error is raised, and the episode is not counted. "skip":
            the episode counts as the worst possible outcome: the smallest return for a response that is measured, the
            largest for an upper bound. `failures` counts these episodes, and `first_error` is the first error. "stop":
            as "skip", but no more episodes are played.
        asked_every_time: query policies at every visit instead of caching their answers.
    """

    mdp = None  # nothing is known but the game
    last_episode = math.inf  # of those that are learned from, if that is known

    def __init__(
        self,
        game: GameLike,
        player: int,
        opponent: Any,
        *,
        tree: InfostateTree | None = None,
        seed: int = 0,
        max_moves: int = DEFAULT_MAX_MOVES,
        batched_opponent: Any = None,
        on_error: str = "raise",
        asked_every_time: bool = False,
    ) -> None:
        self.game = game = load_game(game)
        self.player = check_player(game, player)
        self.tree: InfostateTree = self._checked_tree(tree)
        self._view = self._view_of_tree()
        if on_error not in _ON_ERROR:
            raise ValueError(f"on_error must be one of {', '.join(map(repr, _ON_ERROR))}, not {on_error!r}")
        self.on_error, self.failures = on_error, 0
        self.first_error: OpponentError | None = None
        self.opponents = LiveOpponents(
            game,
            self.player,
            opponent if batched_opponent is None else uniform(game),
            asked_every_time=asked_every_time,
        )
        self._batched, self._seed, self._begun = batched_opponent, seed, 0
        self.max_moves = validation.whole_number("max_moves", max_moves)
        self._game_type = game.get_type()
        self._random = random.Random(derived_seed(seed, CHANCE))
        draws_openly = self._game_type.chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
        if isinstance(batched_opponent, ExecutorOpponents) and not draws_openly:
            raise ValueError(
                f"{game_string(game)} samples its chance events itself, so workers cannot replay a history"
            )
        self._cache: Any = None
        if draws_openly and self.opponents.all_known:
            self._cache = HistoryCache(self.player, self._view, self.opponents)
        self._start: CachedHistory | None = None
        # Called after each episode that was learned from; see DriftTest.see.
        self.watch: Callable[[int, float, bool, int], None] | None = None

    def _checked_tree(self, tree: InfostateTree | None) -> InfostateTree:
        tree = grow_tree(self.game, self.player) if tree is None else tree
        if not isinstance(tree, LazyTree) or tree.player != self.player:
            raise ValueError(f"live play needs a tree from grow_tree for player {self.player}, not {tree!r}")
        return tree

    def _view_of_tree(self) -> Any:
        """The tree in the form that an episode needs: first_of, find, get_or_add and so on, with root 0."""
        return self.tree

    # An episode -----------------------------------------------------------------------------------------------------

    def _episode(self, choose: Any, known: int, get_or_add: Callable[..., int]) -> Any:
        """Plays one episode: (the player's last sequence in the tree, the utility, whether it left the tree).

        Histories that occurred before are followed in the cache. The utility is None if an opponent failed and on_error
        is not "raise".
        choose(number): the action index at a state below `known`; elsewhere the player's moves are uniformly random.
        get_or_add(sequence, string, legal): the number of a state, OUTSIDE if it is not in the tree.
        """
        node, draw, first_of = self._start, self._random.random, self._view.first_of
        if node is None:
            state = self.game.new_initial_state()
            if self._cache is not None:
                self._start = self._cache.new_node(state.clone(), ROOT)
            return self._play_on(state, ROOT, choose, known, get_or_add)
        may_add = not self._cache.is_full
        while True:
            kind = node.kind
            if kind == DRAWN:
                index = bisect_right(node.cumulative, draw())
                sequence = node.sequence
            elif kind == OWN:
                number = node.number
                if number >= known:  # in the cache, but of a learner that has not been here
                    return self._play_on(node.state.clone(), node.sequence, choose, known, get_or_add)
                index = choose(number)
                sequence = first_of[number] + index
            else:
                return node.sequence, node.value, False
            after = node.after[index]
            if not isinstance(after, CachedHistory):
                state = node.state.child(node.actions[index])
                found = None
                if after is None:
                    node.after[index] = SEEN_ONCE
                elif may_add:
                    may_add = False
                    found = self._cache.new_node(state, sequence)
                if found is None:
                    return self._play_on(state, sequence, choose, known, get_or_add)
                after = node.after[index] = found
            node = after

    def _play_on(
        self,
        state: pyspiel.State,
        sequence: int,
        choose: Callable[[int], int],
        known: int,
        get_or_add: Callable[..., int],
    ) -> Any:
        """Plays the rest of an episode through the game. Adds at most new_states states to the tree."""
        player, opponents, draw, game_type = self.player, self.opponents, self._random.random, self._game_type
        outside, left, last_new = False, False, known + self._view.new_states - 1
        at_random = opponents.at_random
        episode = Episode(state, draw, opponents.inform if opponents.bots else None, self.max_moves)
        try:
            opponents.restart(state)  # bots are informed of whole episodes, so no history is cached
            for actor in episode:
                if actor == player and not outside:
                    legal = state.legal_actions()
                    number = get_or_add(sequence, state_key(state, player, game_type), tuple(legal))
                    if number == OUTSIDE:
                        outside = left = True
                        index = int(draw() * len(legal))
                    else:
                        index = choose(number) if number < known else int(draw() * len(legal))
                        sequence = self._view.first_of[number] + index
                        outside = number >= last_new
                    episode.action = legal[index]
                elif actor == player or actor in at_random:
                    left = left or actor == player
                    legal = state.legal_actions()
                    episode.action = legal[int(draw() * len(legal))]
                else:
                    episode.action = opponents.move(state, draw())
        except OpponentError as error:
            self._note_failure(error)
            return sequence, None, left
        except TimeOverError:
            return sequence, None, left
        return sequence, state.player_return(player), left

    def _note_failure(self, error: OpponentError) -> None:
        """Counts an episode in which an opponent failed, or raises the error."""
        if self.on_error == "raise" or isinstance(error, NotAPolicyError):
            raise error
        self.failures += 1
        self.first_error = self.first_error or error

    @property
    def deadline(self) -> float:
        """Sets a deadline, by time.perf_counter(): no episode begins after it; one it interrupts counts as failed."""
        return self.opponents.deadline

    @deadline.setter
    def deadline(self, deadline: float) -> None:
        self.opponents.deadline = deadline

    @property
    def _has_stopped(self) -> bool:
        return (self.on_error == "stop" and self.failures > 0) or time.perf_counter() > self.deadline

    @property
    def generator(self) -> dict:
        """The state of the random draws of chance, of policies and of moves outside the tree; for a file."""
        return {"random": np.array(self._random.getstate()[1], np.uint32), "begun": self._begun}

    @generator.setter
    def generator(self, state: dict) -> None:
        self._random.setstate((3, tuple(state["random"].tolist()), None))
        self._begun = state["begun"]

    # Many episodes --------------------------------------------------------------------------------------------------

    def play(self, learner: PathLearner, number: int) -> int:
        """Lets the learner play and learn; returns how many episodes it played.

        If an opponent fails, the error says who, where and how, unless on_error is set. The episode is not counted (in
        rounds, the whole round is not), and the learner, which has learned from the earlier episodes, can continue. If
        a policy's answers turn out to change after some were cached, a NotAPolicyError is raised, because the
        learner has not learned about a single policy.
        """
        if learner.tree is not self.tree:
            raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {self.tree!r}")
        learner.grow()
        played = (
            self._play_one_by_one(learner, number) if self._batched is None else self._play_batches(learner, number)
        )
        if self._view.names.ambiguous:
            warn_imperfect_recall(self.game, self.player)
        return played

    def _play_one_by_one(self, learner: PathLearner, number: int) -> int:
        tree, draw = self._view, self._random.random
        choose, known = learner.action_selector(draw), tree.num_states
        for played in range(number):
            if learner.stopped or self._has_stopped:
                return played
            ended_on, utility, left = self._episode(choose, known, tree.get_or_add)
            known_before = known
            tree.end(ended_on)
            if tree.num_states > known:
                learner.grow()
                choose, known = learner.action_selector(draw), tree.num_states
            self._teach(learner, ended_on, utility, left, known_before)
        return number

    def _teach(self, learner: PathLearner, ended_on: int, utility: float | None, left: bool, known: int) -> None:
        """Lets the learner, and the observer if there is one, learn from an episode; known: the states at its begin."""
        if utility is None:
            value = 0.0
            learner.observe_failed(ended_on, left)
        else:
            value = self.tree.to_return(utility)
            learner.observe(ended_on, value, left)
        if self.watch is not None and not self._was_cut_off(utility):
            self.watch(ended_on, value, left, known)

    def _was_cut_off(self, utility: float | None) -> bool:
        """Whether an episode without a utility ended because of the deadline; it is not used to detect change."""
        return utility is None and time.perf_counter() > self.deadline

    def check_copies(self) -> bool:
        """Compares the answers of several workers, if there are several; returns whether there were enough."""
        return not isinstance(self._batched, ExecutorOpponents) or self._batched.check_copies()

    @property
    def asked_again(self) -> int:
        """How many answers were requested again because a worker died."""
        return getattr(self._batched, "asked_again", 0)

    def close(self) -> None:
        """Shuts down the workers."""
        if self._batched is not None:
            self._batched.close()

    # Many at once ---------------------------------------------------------------------------------------------------

    @property
    def least_piece(self) -> int:
        """The smallest useful number of episodes per call: in rounds, enough to keep the workers busy."""
        return 1 if self._batched is None else largest_round(self._batched.in_flight, 0)

    def _play_batches(self, learner: PathLearner, number: int) -> int:
        if not learner.plays_in_rounds:
            from tmdp_spiel.algorithms.catalogue import names_of

            raise TypeError(
                f"{type(learner).__name__} plays a mixed policy that changes with every episode, and cannot play in "
                "rounds; use one of "
                f"{names_of(lambda kind: getattr(kind, 'plays_in_rounds', False))}"
            )
        played = 0
        while played < number and not learner.stopped and not self._has_stopped:
            size = min(number - played, largest_round(self._batched.in_flight, learner.episodes))
            # The learner does not change during a round: it learns after all its episodes have ended.
            known = self._view.num_states
            for sequence, steps, utility, _ in self._round(learner.action_selectors(size), known, size):
                ended_on, left = self._settle(sequence, steps)
                self._view.end(ended_on)
                learner.grow()
                self._teach(learner, ended_on, utility, left, known)
            played += size
        return played

    def _round(self, action_selectors: Any, known: int, number: int) -> list:
        first, self._begun = self._begun, self._begun + number
        generators = [generator_of(self._seed, episode) for episode in range(first, first + number)]
        draws = [generator.random for generator in generators]
        return play_round(self._batched, [self._moves(action_selectors(draw), known, draw) for draw in draws])

    def _moves(
        self, choose: Callable[[int], int], known: int, draw: Callable[[], float]
    ) -> Generator[tuple, Any, tuple]:
        """One episode of a round, as a generator: see play_round.

        Returns the player's last sequence in the tree, what came after it, the utility and the history. What came
        after: the (string, legal actions, index) of the player's states that are not in the tree, as far as they may be
        added.
        """
        state, sequence, inside = self.game.new_initial_state(), ROOT, True
        steps: list[tuple[str, tuple[int, ...], int]] = []
        player, tree, game_type = self.player, self._view, self._game_type
        episode = Episode(state, draw, max_moves=self.max_moves)
        for actor in episode:
            if actor == player:
                legal = tuple(state.legal_actions())
                index: int | None = None
                if inside or len(steps) <= tree.new_states:
                    string = state_key(state, player, game_type)
                    number = tree.find(sequence, string, legal) if inside else OUTSIDE
                    inside = 0 <= number < known
                    if inside:
                        index = choose(number)
                        sequence = tree.first_of[number] + index
                if index is None:
                    index = int(draw() * len(legal))
                    if len(steps) <= tree.new_states:
                        steps.append((string, legal, index))
                episode.action = legal[index]
                continue
            if time.perf_counter() > self.deadline:
                return sequence, steps, None, state.history()
            try:
                episode.action = yield state, draw()
                self.opponents.check_legal(state, actor, episode.action)
            except OpponentError as error:
                self._note_failure(error)
                return sequence, steps, None, state.history()
        return sequence, steps, state.player_return(player), state.history()

    def _settle(self, sequence: int, steps: list) -> tuple[int, bool]:
        """Adds the states of an episode of a round to the tree: (the last sequence there, whether it left the tree)."""
        tree, added = self._view, 0
        for at, (string, legal, index) in enumerate(steps):
            states = tree.num_states
            number = (
                tree.get_or_add(sequence, string, legal)
                if at < tree.new_states and added < tree.new_states
                else OUTSIDE
            )
            if number == OUTSIDE:
                return sequence, True
            added += tree.num_states - states
            sequence = tree.first_of[number] + index
        return sequence, False

    def measure(self, plan: np.ndarray, number: int, recorder: Recorder | None = None) -> np.ndarray:
        """Returns in [0, 1] of fresh episodes of a plan, as recommend() gives it; uniform at states outside of it.

        An episode in which an opponent failed counts as 0, if on_error is not "raise". recorder: records the episodes.
        """
        choose, known = self._follow(np.asarray(plan))
        if self._batched is not None:
            ended = self._round(lambda draw: choose, known, number)
        else:
            ended = []
            while len(ended) < number and not self._has_stopped:
                ended.append(self._measured_episode(choose, known, recorder is not None and recorder.wants_history))
        lowest = self.tree.min_utility
        utilities = [lowest if utility is None else utility for _, _, utility, _ in ended]
        if recorder is not None:
            for (sequence, _, _, history), utility in zip(ended, utilities):
                recorder.add(sequence, utility, history)
        return np.array([self.tree.to_return(utility) for utility in utilities])

    def _measured_episode(self, choose: Callable[[int], int], known: int, with_history: bool) -> tuple:
        history = None
        if with_history:
            state = self.game.new_initial_state()
            sequence, utility, _ = self._play_on(state, ROOT, choose, known, self._view.find)
            history = state.history()
        else:
            sequence, utility, _ = self._episode(choose, known, self._view.find)
        return sequence, (), utility, history

    def _follow(self, plan: np.ndarray) -> Any:
        """A function that plays the plan at states of the tree, and the number of states that it covers."""
        tree, draw = self.tree, self._random.random
        if np.issubdtype(plan.dtype, np.integer):
            return memoryview(np.ascontiguousarray(plan, PLAN_DTYPE).data).__getitem__, len(plan)
        first = tree.first_sequence
        known = int(np.searchsorted(first, len(plan), "right")) - 1
        draws: dict[int, Categorical] = {}

        def choose(state: int) -> int:
            drawn = draws.get(state)
            if drawn is None:
                drawn = draws[state] = Categorical(list(enumerate(plan[first[state] : first[state + 1]].tolist())))
            return drawn.action(draw())

        return choose, known
