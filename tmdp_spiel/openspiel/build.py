"""From an OpenSpiel game and fixed opponents to a Tree MDP, by one traversal of the game's histories."""

from __future__ import annotations

import math
import os
import pathlib
import random
import time
import typing
import warnings
from collections.abc import Iterator, Mapping

import numpy as np
import pyspiel
from tqdm import auto as tqdm

from tmdp_spiel.core import validation
from tmdp_spiel.openspiel.games import GameLike, enumeration_of, game_string, game_title, load_game
from tmdp_spiel.openspiel.opponents.fixed import FixedOpponents, check_player, state_key
from tmdp_spiel.trees.infostate_tree import InfostateTree, StateNames, string_with_actions
from tmdp_spiel.trees.traversal import ROOT
from tmdp_spiel.trees.tree_mdp import TreeMDP
from tmdp_spiel.trees.utility_scale import UtilityScale

DEFAULT_MAX_NODES = 3_000_000
_MORE_NODES = "raise it if there is memory (about 1 GiB a million in the worst case)"
_WORTH_PROBING = 100_000  # max_nodes: a smaller limit is met soon enough
_SURELY = 100  # the endings that random descents show, by max_nodes, from which a game is refused at once
_DESCENTS, _SECONDS_OF_DESCENTS = 300, 0.5
_CHANCE = int(pyspiel.PlayerId.CHANCE)


_warned: set[tuple[str, int]] = set()  # games and players, of imperfect recall


class CannotEnumerateError(ValueError):
    """The game's histories cannot be enumerated; the game can be played on a tree from grow_tree."""


class GameTooLargeError(CannotEnumerateError):
    """The traversal found more histories, or took longer, than allowed.

    limit:     which limit was reached: "max_nodes", "max_seconds", or "memory", which max_nodes also limits
    histories: the number visited until then
    """

    def __init__(self, message: str, limit: str = "max_nodes", histories: int = 0):
        super().__init__(message)
        self.limit, self.histories = limit, histories


def build_tree(
    game: GameLike,
    player: int,
    opponent: typing.Any,
    *,
    max_nodes: int = DEFAULT_MAX_NODES,
    max_seconds: float | None = None,
    queries: int | None = None,
) -> TreeMDP:
    """The Tree MDP of `player` when all the other players are fixed.

    The return of an episode is the player's final return. A game with its own enumeration (Reconnaissance Blind
    Tic-Tac-Toe) accepts the opponents that the enumeration supports. If the game's strings forget, a state is
    identified by the player's history and the string, so that recall is perfect; a warning is given once.

    Args:
        game: anything that load_game takes.
        player: the player that learns, from 0.
        opponent: one joint policy, or a mapping from player to policy; OpenSpiel Python policies, C++ policies, bots
            that expose a policy, "uniform", "cfr+" or a policy file. Games with an exact sequence form also take what
            policy_table takes.
        max_nodes: the most histories to visit; the default keeps memory under 4 GiB.
        max_seconds: the longest that it may take.
        queries: for a search bot, whose answers change from query to query: the number of answers to average at each
            state. The result is then only an estimate, for the averages, and is marked as such (TreeMDP.queries).

    Returns:
        The Tree MDP: the player's infostate tree, with the true probabilities and returns.

    Raises:
        GameTooLargeError: the game has more histories than max_nodes, or takes longer than max_seconds.
        ValueError: the game does not provide its probabilities; or the opponent is not a policy (NotAPolicyError): its
            answers change from query to query, or depend on what it cannot see.

    >>> import tmdp_spiel as ts
    >>> mdp = ts.build_tree("kuhn", player=0, opponent=ts.uniform("kuhn"))
    >>> round(mdp.best_response()[0], 4)
    0.5
    """
    game = load_game(game)
    player = check_player(game, player)
    opponent = _with_names_opened(game, player, opponent)
    own = enumeration_of(game).tree_mdp(game, player, opponent, max_seconds) if queries is None else None
    if own is not None:
        return own
    opponents = FixedOpponents(game, player, opponent, every_history=True, queries=queries)
    tree, found = _traverse(game, player, opponents, max_nodes, max_seconds)
    return TreeMDP(tree, **found, queries=queries)


def _with_names_opened(game: pyspiel.Game, player: int, opponent: typing.Any) -> typing.Any:
    """Converts names and files of policies, such as "uniform", to policies; returns anything else unchanged."""
    if _is_name(opponent):
        return _named_policies(game, player, opponent)
    if isinstance(opponent, Mapping):
        return {
            other: _named_policies(game, player, {other: source})[other] if _is_name(source) else source
            for other, source in opponent.items()
        }
    return opponent


def _is_name(source: typing.Any) -> bool:
    return isinstance(source, (str, os.PathLike)) and pathlib.Path(source).suffix != ".npz"


def _named_policies(game: pyspiel.Game, player: int, source: typing.Any) -> dict:
    from tmdp_spiel.openspiel.opponents.resolve import resolve_opponent  # which imports this module

    found = resolve_opponent(game, source, player=player).players
    return {other: each.bot if each.policy is None else each.policy for other, each in found.items()}


def build_infostate_tree(
    game: GameLike, player: int, *, max_nodes: int = DEFAULT_MAX_NODES, max_seconds: float | None = None
) -> InfostateTree:
    """The infostate tree of `player` by the rules alone, for any opponents.

    Args:
        game: anything that load_game takes.
        player: the player that learns, from 0.
        max_nodes: the most histories to visit, as in build_tree.
        max_seconds: the longest that it may take.

    Returns:
        The tree, without probabilities.

    >>> import tmdp_spiel as ts
    >>> ts.build_infostate_tree("kuhn", player=0).num_states
    6
    """
    game = load_game(game)
    player = check_player(game, player)
    own = enumeration_of(game).infostate_tree(game, player)
    if own is not None:
        return own
    return _traverse(game, player, None, max_nodes, max_seconds)[0]


def check_supported(game: pyspiel.Game) -> None:
    """Raises an error if the game's histories or probabilities cannot be read."""
    check_readable(game)
    kind = game.get_type()
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise CannotEnumerateError(
            f"{game_title(game)} samples its chance events and does not give their probabilities, so it cannot be "
            "enumerated; it can be played on a tree from grow_tree"
        )


def check_readable(game: pyspiel.Game) -> None:
    """Raises an error if the game does not distinguish a player's states."""
    kind = game.get_type()
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        raise ValueError(f"{game_title(game)} has simultaneous moves; ts.load_game makes it turn-based")
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(
            f"{game_title(game)} is neither sequential nor simultaneous; mean-field games have no Tree MDP"
        )
    if not (kind.provides_information_state_string or kind.provides_observation_string):
        raise ValueError(f"{game_title(game)} provides no strings that distinguish a player's states")


def warn_imperfect_recall(game: pyspiel.Game, player: int) -> None:
    """Warns, once for every game and player."""
    if (str(game), player) in _warned:
        return
    _warned.add((str(game), player))
    kind = "information-state" if game.get_type().provides_information_state_string else "observation"
    warnings.warn(
        f"the {kind} strings of {game_string(game)} forget what player {player} saw or did before, so a state is "
        "identified by the player's history and its string (state_string gives both), and recall is perfect",
        stacklevel=3,
    )


class _Discovered:
    """The player's states, numbered in the order in which the traversal finds them."""

    def __init__(self, game: pyspiel.Game, player: int):
        self.game, self.player, self.game_type = game, player, game.get_type()
        self.index: dict[tuple[int, str], int] = {}
        self.strings: list[str] = []
        self.text_size = 0
        self.parent: list[int] = []
        self.legal: list[tuple[int, ...]] = []
        self.first_sequence = [ROOT + 1]
        self.reach: list[float] = []
        self.outcomes: dict[tuple[int, float], float] = {}
        self.merged_terminals: set[int] = set()

    def visit(self, state: pyspiel.State, sequence: int, weight: float) -> int:
        """Records a history at one of the player's states; returns the number of the state."""
        string = state_key(state, self.player, self.game_type)
        legal = tuple(state.legal_actions())
        number = self.index.get((sequence, string))
        if number is not None and self.legal[number] != legal:
            string = string_with_actions(string, legal)
            number = self.index.get((sequence, string))
        if number is not None:
            self.reach[number] += weight
            return number
        number = self.index[sequence, string] = len(self.parent)
        self.strings.append(string)
        self.text_size += len(string)
        self.parent.append(sequence)
        self.legal.append(legal)
        self.first_sequence.append(self.first_sequence[-1] + len(legal))
        self.reach.append(weight)
        return number

    def end(self, state: pyspiel.State, sequence: int, weight: float, tail: int) -> None:
        """Records the end of a history after the player's last sequence; tail: a hash of what the others did since."""
        utility = round(state.player_return(self.player), 10)
        outcome = (sequence, utility)
        self.outcomes[outcome] = self.outcomes.get(outcome, 0.0) + weight
        self.merged_terminals.add(hash((sequence, tail)))


class _Budget:
    """Limits a traversal by its number of histories, and by memory if histories are long.

    The memory of a state, and of its string, may grow with the length of its history.
    """

    BYTES_PER_NODE = 500  # on top of about as much that a history with a short string needs
    ALWAYS_FREE_BYTES = 2**28
    BYTES_PER_MOVE = 160  # for every state on the path of the traversal and every move that it remembers

    def __init__(self, max_nodes: int, max_seconds: float | None, found: _Discovered, opponents: FixedOpponents | None):
        if not (validation.is_whole(max_nodes) and max_nodes >= 1):
            raise ValueError(f"max_nodes must be a whole number of at least 1, not {max_nodes!r}")
        self._until = (
            math.inf if max_seconds is None else time.perf_counter() + validation.positive("max_seconds", max_seconds)
        )
        self._max_seconds = max_seconds
        self.max_nodes, self._found, self._opponents = max_nodes, found, opponents
        self._max_memory = max(self.ALWAYS_FREE_BYTES, max_nodes * self.BYTES_PER_NODE)
        self.nodes = 0

    def spend(self, depth: int) -> None:
        """Counts one history with `depth` others above it."""
        self.nodes += 1
        if self.nodes > self.max_nodes:
            self._refuse("max_nodes", f"{self.max_nodes:,} histories", f"this is the limit max_nodes: {_MORE_NODES}")
        if (self._opponents is not None or self.nodes % 1000 == 0) and time.perf_counter() > self._until:
            reached = f"{self._max_seconds} s and {self.nodes:,} histories"
            self._refuse("max_seconds", reached, "this is the limit max_seconds: raise it")
        memory = self._found.text_size + depth * depth // 2 * self.BYTES_PER_MOVE
        if self._opponents is not None:
            memory += self._opponents.text_size
        if memory > self._max_memory:
            self._refuse(
                "memory",
                f"{self.nodes:,} long histories",
                f"they need the memory that max_nodes = {self.max_nodes:,} allows: {_MORE_NODES}",
            )

    def refuse_at_once(self) -> None:
        """The error for a game that random descents show to be too large."""
        many = f"{self.max_nodes:,} histories"
        self._refuse("max_nodes", f"random descents, which show more than {many},", f"max_nodes: {_MORE_NODES}")

    def _refuse(self, limit: str, reached: str, remedy: str) -> None:
        found = self._found
        raise GameTooLargeError(
            f"{game_title(found.game)} is too large: stopped after {reached} with {len(found.parent):,} states and "
            f"{found.first_sequence[-1] - 1:,} sequences of player {found.player} found so far; {remedy}",
            limit,
            min(self.nodes, self.max_nodes),
        )


def _traverse(
    game: pyspiel.Game, player: int, opponents: FixedOpponents | None, max_nodes: int, max_seconds: float | None
) -> tuple[InfostateTree, dict[str, typing.Any]]:
    """Visits every history by the rules; `weight` is the probability that chance and the opponents lead to it."""
    check_supported(game)
    found = _Discovered(game, player)
    budget = _Budget(max_nodes, max_seconds, found, opponents)
    if max_nodes >= _WORTH_PROBING and _shows_more_endings(game, _SURELY * max_nodes):
        budget.refuse_at_once()
    state, sequence, weight, tail = game.new_initial_state(), ROOT, 1.0, 0
    path: list = []  # the histories above the current one, each with the moves that are still to be made there
    with tqdm.tqdm(desc="building the tree", unit=" histories", delay=2, disable=None, leave=False) as progress:
        while True:
            budget.spend(len(path))
            if budget.nodes % 10_000 == 0:
                progress.update(10_000)
            if state.is_terminal():
                found.end(state, sequence, weight, tail)
            else:
                path.append((state, _moves(state, found, opponents, sequence, weight, tail)))
            while path:
                state, moves = path[-1]
                move = next(moves, None)
                if move is not None:
                    break
                path.pop()
            else:
                return _level_order(found)
            action, sequence, weight, tail = move
            state = state.child(action)


def _shows_more_endings(game: pyspiel.Game, number: int) -> bool:
    """Whether random descents show more endings than that.

    The product of the numbers of moves on a random path has the number of endings as its mean (Knuth, 1975), and so has
    the average of several. By Markov's inequality it is above c times that with probability at most 1 / c.
    """
    rng, total, until = random.Random(0), 0, time.perf_counter() + _SECONDS_OF_DESCENTS
    for _ in range(_DESCENTS):
        state, product = game.new_initial_state(), 1
        while not state.is_terminal():
            moves = state.legal_actions()
            product *= len(moves)
            if total + product > number * _DESCENTS:  # products only grow on the way to an ending
                return True
            state.apply_action(rng.choice(moves))
            if time.perf_counter() > until:
                return False
        total += product
    return False


def _moves(
    state: pyspiel.State,
    found: _Discovered,
    opponents: FixedOpponents | None,
    sequence: int,
    weight: float,
    tail: int,
) -> Iterator[tuple[int, int, float, int]]:
    """The moves at a history: (action, and after it: the player's last sequence, the weight and the tail)."""
    actor = state.current_player()
    if actor == _CHANCE:
        for action, probability in state.chance_outcomes():
            yield action, sequence, weight * probability, tail
    elif actor == found.player:
        number = found.visit(state, sequence, weight)
        for own_sequence, action in enumerate(found.legal[number], start=found.first_sequence[number]):
            yield action, own_sequence, weight, 0
    elif weight > 0 and opponents is not None:
        for action, probability in opponents.distribution(state):
            yield action, sequence, weight * probability, hash((tail, action))
    else:
        for action in state.legal_actions():
            yield action, sequence, 0.0, hash((tail, action))


def _level_order(found: _Discovered) -> tuple[InfostateTree, dict[str, typing.Any]]:
    """Renumbers what was discovered into level order, and rescales returns to [0, 1]."""
    order, new_sequence, links = _renumbered(found)
    keys = sorted((int(new_sequence[sequence]), utility, sequence) for sequence, utility in found.outcomes)
    utilities = np.array([utility for _, utility, _ in keys])
    min_utility, max_utility = _utility_range(found.game, utilities)
    returns = np.clip(UtilityScale(min_utility, max_utility - min_utility).to_return(utilities), 0.0, 1.0)
    first_outcome = np.zeros(len(new_sequence) + 1, np.int32)
    np.add.at(first_outcome, np.array([sequence for sequence, _, _ in keys], np.int64) + 1, 1)
    first_outcome = np.cumsum(first_outcome, dtype=np.int32)
    names = StateNames(found.strings[state] for state in order)
    if names.ambiguous:
        warn_imperfect_recall(found.game, found.player)
    tree = InfostateTree(
        **links,
        **_ends(first_outcome, returns),
        player=found.player,
        min_utility=min_utility,
        max_utility=max_utility,
        num_terminals=len(keys),
        num_merged_terminals=len(found.merged_terminals),
        names=names,
        game_string=str(found.game),
    )
    chances = dict(
        reach=np.array([found.reach[state] for state in order]),
        first_outcome=first_outcome,
        outcome_return=returns,
        outcome_probability=np.array([found.outcomes[sequence, utility] for _, utility, sequence in keys]),
    )
    return tree, chances


def _renumbered(found: _Discovered) -> tuple[list[int], np.ndarray, dict[str, np.ndarray]]:
    """The states in level order, the new number of each sequence, and the arrays that link both, by name."""
    num_states, sequences = len(found.parent), found.first_sequence[-1]
    children: dict[int, list[int]] = {}
    for state, sequence in enumerate(found.parent):
        children.setdefault(sequence, []).append(state)
    order = list(children.get(ROOT, []))
    new_sequence = np.zeros(sequences, np.int32)
    first_sequence = np.ones(num_states + 1, np.int32)
    first_child = np.zeros(sequences + 1, np.int32)
    first_child[ROOT + 1] = len(order)
    parent = np.empty(num_states, np.int32)
    actions = [0]
    for position, state in enumerate(order):  # grows while it is read: a breadth-first walk
        parent[position] = new_sequence[found.parent[state]]
        for old in range(found.first_sequence[state], found.first_sequence[state + 1]):
            new_sequence[old] = len(actions) + old - found.first_sequence[state]
            order.extend(children.get(old, []))
            first_child[new_sequence[old] + 1] = len(order)
        actions.extend(found.legal[state])
        first_sequence[position + 1] = len(actions)
    action = np.array(actions, np.int16 if max(actions) < 2**15 else np.int64)
    links = dict(first_sequence=first_sequence, first_child=first_child, parent=parent, action=action)
    return order, new_sequence, links


def _ends(first_outcome: np.ndarray, returns: np.ndarray) -> dict[str, np.ndarray]:
    """Where episodes can end, and the smallest and largest return there; outcomes are sorted by return."""
    can_end = np.diff(first_outcome) > 0
    least_return, most_return = np.zeros(len(can_end)), np.ones(len(can_end))
    least_return[can_end] = returns[first_outcome[:-1][can_end]]
    most_return[can_end] = returns[first_outcome[1:][can_end] - 1]
    return dict(can_end=can_end, least_return=least_return, most_return=most_return)


def _utility_range(game: pyspiel.Game, utilities: np.ndarray) -> tuple[float, float]:
    """The range that the game declares, widened to the observed utilities if it is missing or too narrow."""
    low, high = float(utilities.min()), float(utilities.max())
    declared_low, declared_high = game.min_utility(), game.max_utility()
    low = min(low, declared_low) if math.isfinite(declared_low) else low
    high = max(high, declared_high) if math.isfinite(declared_high) else high
    return (low, high) if high > low else (low, low + 1.0)
