"""Episodes against opponents who are played with, through the game itself, on a tree that grows.

An episode costs what the game and the opponents cost: the learner is asked only at the states that it comes to, and
nothing is done over the whole tree. The first moves of most episodes are old acquaintances: histories that were met
before are remembered, with what can happen there, and are walked through without asking the game again. A history is
remembered when it is met for the second time, one in every episode, up to a limit. (Not against bots, who have to be
shown every state, nor where the game draws its chance events itself.)
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import pyspiel

from tmdp_spiel.algorithms.path_learner import PathLearner, PlanLearner
from tmdp_spiel.spiel.grow import grow_tree
from tmdp_spiel.spiel.load_game import load_game
from tmdp_spiel.spiel.opponents import check_player, state_key, uniform
from tmdp_spiel.spiel.recall import say_that_strings_forget
from tmdp_spiel.spiel.rounds import OnExecutor, generator_of, play_round
from tmdp_spiel.spiel.seats import Draw, OpponentError, OtherSeats
from tmdp_spiel.trees import checks
from tmdp_spiel.trees.decision_tree import PLAN_DTYPE
from tmdp_spiel.trees.grown_tree import OUTSIDE, ROOT, GrownTree

DEFAULT_MAX_MOVES = 100_000
_MOST_REMEMBERED = 100_000
_CHANCE, _TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)
_ROUNDING = 1e-9
_OWN, _DRAWN, _END = range(3)
_MET = False

__all__ = ["EpisodeTooLongError", "LiveGame", "OpponentError"]


class EpisodeTooLongError(RuntimeError):
    """An episode had more moves than an episode may have; it is not counted."""


class _Remembered:
    """A history that was met before: who is to move, and what comes after each move as far as it was met.

    after: by move, what is remembered; _MET if it was met once, None if not at all
    sequence: the last own sequence;  number: the own state;  cumulative: of a draw;  value: the return at the end
    """

    __slots__ = ("actions", "after", "cumulative", "kind", "number", "sequence", "state", "value")

    actions: Sequence[int]
    after: list[_Remembered | bool | None]
    cumulative: list[float]
    kind: int
    number: int
    sequence: int
    state: pyspiel.State
    value: float


def _largest_round(in_flight: int, episodes: int) -> int:
    """Rounds are short at first, when every episode teaches much, and long enough later to keep all workers busy."""
    return max(8, in_flight // 4, min(4 * in_flight, episodes // 4))


class LiveGame:
    """A game, a seat, and fixed opponents in the other seats: learners play here, and plans are measured.

    Args:
      game: anything that load_game takes. player: the seat of the learner. opponent: a policy or a bot, or a mapping
      from player to policy or bot; see OtherSeats. tree: the tree that grows, made by grow_tree; a new one if not
      given. seed: of chance, of the opponents' policies, and of own moves outside the tree. max_moves: the most moves
      of an episode; one that goes on is given up, and an error says so. rounds: OnExecutor or InBatches, to play many
      episodes at once; the opponent is then asked there, and `opponent` is
        not needed.
    """

    mdp = None  # nothing is known but the game

    def __init__(
        self,
        game,
        player: int,
        opponent,
        *,
        tree: GrownTree | None = None,
        seed: int = 0,
        max_moves: int = DEFAULT_MAX_MOVES,
        rounds=None,
    ):
        self.game = game = load_game(game)
        self.player = check_player(game, player)
        self.tree = grow_tree(game, player) if tree is None else tree
        if not isinstance(self.tree, GrownTree) or self.tree.player != self.player:
            raise ValueError(f"live play needs a tree from grow_tree for player {self.player}, not {tree!r}")
        self.seats = OtherSeats(game, self.player, uniform(game) if rounds is not None else opponent)
        self._rounds, self._seed, self._begun = rounds, seed, 0
        self.max_moves = checks.whole_number("max_moves", max_moves)
        self._game_type = game.get_type()
        self._random = random.Random(seed)
        self._number_remembered = 0
        draws_openly = self._game_type.chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
        if isinstance(rounds, OnExecutor) and not draws_openly:
            raise ValueError(f"{game} draws its chance events itself, so that workers cannot play a history again")
        self._remembers = draws_openly and self.seats.all_known
        self._start: _Remembered | None = None

    # An episode -----------------------------------------------------------------------------------------------------

    def _episode(self, choose, known: int, meet):
        """Plays one episode: (the last own sequence in the tree, the utility, whether it left the tree).

        choose(number): the action index at a state below `known`; at others, and outside, own moves are uniform.
        meet(sequence, string, legal): the number of a state, OUTSIDE if it is not in the tree.
        """
        node, draw, first_of = self._start, self._random.random, self.tree.first_of
        if node is None:
            state = self.game.new_initial_state()
            if self._remembers:
                self._start = self._remember(state.clone(), ROOT)
            self.seats.restart(state)
            return self._walk(state, ROOT, choose, known, meet)
        remembers = self._number_remembered < _MOST_REMEMBERED
        while True:
            kind = node.kind
            if kind == _DRAWN:
                index = bisect_right(node.cumulative, draw())
                sequence = node.sequence
            elif kind == _OWN:
                number = node.number
                if number >= known:  # remembered, but of a learner that has not been here
                    return self._walk(node.state.clone(), node.sequence, choose, known, meet)
                index = choose(number)
                sequence = first_of[number] + index
            else:
                return node.sequence, node.value, False
            after = node.after[index]
            if not isinstance(after, _Remembered):
                state = node.state.child(node.actions[index])
                found = None
                if after is None:
                    node.after[index] = _MET
                elif remembers:
                    remembers = False
                    found = self._remember(state, sequence)
                if found is None:
                    return self._walk(state, sequence, choose, known, meet)
                after = node.after[index] = found
            node = after

    def _remember(self, state: pyspiel.State, sequence: int) -> _Remembered | None:
        """A new acquaintance; None if it is an own state that is not in the tree."""
        node = _Remembered()
        node.sequence, node.state = sequence, state
        actor = state.current_player()
        if actor == self.player:
            node.kind, node.actions = _OWN, tuple(state.legal_actions())
            node.number = self.tree.find(sequence, state_key(state, actor, self._game_type), node.actions)
            if node.number == OUTSIDE:
                return None
        elif actor == _TERMINAL:
            node.kind, node.value, node.state = _END, state.player_return(self.player), None
        else:
            drawn = Draw(state.chance_outcomes()) if actor == _CHANCE else self.seats.draw(state)
            if actor in self.seats.changing:
                return None
            node.kind, node.actions, node.cumulative = _DRAWN, drawn.actions, drawn.cumulative
        if node.kind != _END:
            node.after = [None] * len(node.actions)
        self._number_remembered += 1
        return node

    def _walk(self, state: pyspiel.State, sequence: int, choose, known: int, meet):
        """The rest of an episode, through the game. At most new_states states are added to the tree."""
        player, seats, draw, game_type = self.player, self.seats, self._random.random, self._game_type
        tells, outside, left, last_new = bool(seats.bots), False, False, known + self.tree.new_states - 1
        at_random = seats.at_random
        for _ in range(self.max_moves):
            actor = state.current_player()
            if actor == player and not outside:
                legal = state.legal_actions()
                number = meet(sequence, state_key(state, player, game_type), tuple(legal))
                if number == OUTSIDE:
                    outside = left = True
                    index = int(draw() * len(legal))
                else:
                    index = choose(number) if number < known else int(draw() * len(legal))
                    sequence = self.tree.first_of[number] + index
                    outside = number >= last_new
                action = legal[index]
            elif actor == player or actor in at_random:
                left = left or actor == player
                legal = state.legal_actions()
                action = legal[int(draw() * len(legal))]
            elif actor == _CHANCE:
                action = Draw(state.chance_outcomes()).action(draw())
            elif actor == _TERMINAL:
                return sequence, state.player_return(player), left
            else:
                action = seats.move(state, draw())
            if tells:
                seats.inform(state, actor, action)
            state.apply_action(action)
        raise self._too_long()

    def _too_long(self) -> EpisodeTooLongError:
        return EpisodeTooLongError(
            f"an episode of {self.game} was given up after {self.max_moves:,} moves, and is not counted; max_moves "
            "bounds them"
        )

    @property
    def generator(self) -> np.ndarray:
        """Where the draws of chance, of policies and of own moves outside the tree are; for a file."""
        return np.array(self._random.getstate()[1], np.uint32)

    @generator.setter
    def generator(self, state: np.ndarray) -> None:
        self._random.setstate((3, tuple(state.tolist()), None))

    # Many episodes --------------------------------------------------------------------------------------------------

    def _scaled(self, utility: float) -> float:
        tree = self.tree
        value = (utility - tree.min_utility) / tree.utility_range
        if not -_ROUNDING <= value <= 1 + _ROUNDING:
            raise ValueError(
                f"an episode brought player {self.player} {utility}, outside the utilities {tree.min_utility} .. "
                f"{tree.max_utility} that {self.game} declares; give the right min_utility and max_utility"
            )
        return min(max(value, 0.0), 1.0)

    def play(self, learner: PathLearner, number: int) -> int:
        """Lets the learner play and learn; returns how many episodes it played.

        Should an opponent fail, the error says who, where and how; its episode is not counted (in rounds, none of its
        round), and the learner, which has taken in the episodes before, can go on.
        """
        if learner.tree is not self.tree:
            raise ValueError(f"the learner was made for another tree: {learner.tree!r}, not {self.tree!r}")
        learner.grow()
        played = self._play_one_by_one(learner, number) if self._rounds is None else self._play_rounds(learner, number)
        if self.tree.names.ambiguous:
            say_that_strings_forget(self.game, self.player)
        return played

    def _play_one_by_one(self, learner: PathLearner, number: int) -> int:
        tree, draw = self.tree, self._random.random
        choose, known = learner.chooser(draw), tree.num_states
        for played in range(number):
            if learner.stopped:
                return played
            ended_on, utility, left = self._episode(choose, known, tree.meet)
            value = self._scaled(utility)
            tree.end(ended_on)
            if tree.num_states > known:
                learner.grow()
                choose, known = learner.chooser(draw), tree.num_states
            learner.take_in(ended_on, value, left)
        return number

    @property
    def in_rounds(self) -> bool:
        """Whether many episodes are played at once."""
        return self._rounds is not None

    def close(self) -> None:
        """Ends what was started to play many episodes at once."""
        if self._rounds is not None:
            self._rounds.close()

    # In rounds ------------------------------------------------------------------------------------------------------

    def _play_rounds(self, learner: PathLearner, number: int) -> int:
        if not isinstance(learner, PlanLearner):
            raise TypeError(
                f"{type(learner).__name__} plays a mixed policy that changes with every episode; in rounds only "
                "learners that play a plan can learn: AMB, BPIUCRL, BettingUCRL, MDPGapE, MVP, PSRL, StrongEuler, UCT"
            )
        played = 0
        while played < number and not learner.stopped:
            size = min(number - played, _largest_round(self._rounds.in_flight, learner.episodes))
            # As the learner is now: none of the episodes of this round is taken in before all of them have ended.
            for sequence, steps, utility in self._round(learner.choosers(size), self.tree.num_states, size):
                value, (ended_on, left) = self._scaled(utility), self._settle(sequence, steps)
                self.tree.end(ended_on)
                learner.grow()
                learner.take_in(ended_on, value, left)
            played += size
        return played

    def _round(self, choosers, known: int, number: int) -> list:
        first, self._begun = self._begun, self._begun + number
        generators = [generator_of(self._seed, episode) for episode in range(first, first + number)]
        draws = [generator.random for generator in generators]
        return play_round(self._rounds, [self._moves(choosers(draw), known, draw) for draw in draws])

    def _moves(self, choose, known: int, draw):
        """One episode of a round, as a generator: see play_round.

        Returns its last own sequence in the tree, what came after that, and its utility. What came after: the (string,
        legal actions, index) of own states that are not in the tree, as far as they may be added.
        """
        state, sequence, inside = self.game.new_initial_state(), ROOT, True
        steps: list[tuple[str, tuple[int, ...], int]] = []
        player, tree, game_type = self.player, self.tree, self._game_type
        for _ in range(self.max_moves):
            actor = state.current_player()
            if actor == player:
                legal = tuple(state.legal_actions())
                index = None
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
                action = legal[index]
            elif actor == _CHANCE:
                action = Draw(state.chance_outcomes()).action(draw())
            elif actor == _TERMINAL:
                return sequence, steps, state.player_return(player)
            else:
                action = yield state, draw()
                self.seats.check_legal(state, actor, action)
            state.apply_action(action)
        raise self._too_long()

    def _settle(self, sequence: int, steps: list) -> tuple[int, bool]:
        """Adds what an episode of a round has met to the tree: (its last own sequence there, whether it left it)."""
        tree, added = self.tree, 0
        for at, (string, legal, index) in enumerate(steps):
            states = tree.num_states
            number = tree.meet(sequence, string, legal) if at < tree.new_states and added < tree.new_states else OUTSIDE
            if number == OUTSIDE:
                return sequence, True
            added += tree.num_states - states
            sequence = tree.first_of[number] + index
        return sequence, False

    def measure(self, plan: np.ndarray, number: int) -> np.ndarray:
        """Returns in [0, 1] of fresh episodes of a plan, as recommend() gives it; uniform where it does not go."""
        choose, known = self._follow(np.asarray(plan))
        if self._rounds is not None:
            ended = self._round(lambda draw: choose, known, number)
            return np.array([self._scaled(utility) for _, _, utility in ended])
        returns = np.empty(number)
        for at in range(number):
            _, utility, _ = self._episode(choose, known, self.tree.find)
            returns[at] = self._scaled(utility)
        return returns

    def _follow(self, plan: np.ndarray):
        """A function that plays the plan at states of the tree, and the number of states that it is for."""
        tree, draw = self.tree, self._random.random
        if np.issubdtype(plan.dtype, np.integer):
            return memoryview(np.ascontiguousarray(plan, PLAN_DTYPE).data).__getitem__, len(plan)
        first = tree.first_sequence
        known = int(np.searchsorted(first, len(plan), "right")) - 1
        draws: dict[int, Draw] = {}

        def choose(state: int) -> int:
            drawn = draws.get(state)
            if drawn is None:
                drawn = draws[state] = Draw(list(enumerate(plan[first[state] : first[state + 1]].tolist())))
            return drawn.action(draw())

        return choose, known
