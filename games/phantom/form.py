"""Phantom tic-tac-toe and dark hex in exact sequence form, saved on disk once built."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable

import numpy as np
import pyspiel

from tmdp_spiel.core import storage
from tmdp_spiel.games.phantom import names
from tmdp_spiel.games.phantom.abrupt import AbruptGradient
from tmdp_spiel.games.phantom.classical import ClassicalGradient
from tmdp_spiel.games.phantom.enumeration import PlayerStates, enumerate_states
from tmdp_spiel.games.phantom.restricted import restricted_phantom
from tmdp_spiel.games.phantom.rules import MAX_CELLS, PAYOFFS, Rules, rules_of
from tmdp_spiel.openspiel.exact_games import check_memory
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import SequenceForm, restrict_tree

_CACHE_FORMAT = 2  # a new number leaves old files unread
_WORTH_A_FILE = 1_000_000  # states
_SEQUENCES = {False: 12_500_000, True: 49_600_000}  # at most, of both players on nine cells, if abrupt or not
_BYTES = 95  # a sequence, at the peak of both best responses
_RETURNS = (PAYOFFS + 1) / 2  # of each kind of ending, per player


class PhantomForm(SequenceForm):
    """The sequence form of a phantom game. Its states are OpenSpiel's: the player's tries and their results."""

    tensor_kind = "information_state_tensor"
    leading_one_hots = 0

    def __init__(self, rules: Rules, states: tuple[PlayerStates, PlayerStates], endings=None):
        """endings: uint8[J + 1] per player; bit k says that a game can end in kind k right after the sequence."""
        self.rules, self.states = rules, states
        self.strings_hold_more = rules.hexagonal and not rules.abrupt
        self._multiply = (AbruptGradient if rules.abrupt else ClassicalGradient)(rules, states)
        self.endings = tuple(self._possible_endings(player) for player in (0, 1)) if endings is None else endings
        super().__init__((self._tree(0), self._tree(1)), PAYOFFS)

    def _possible_endings(self, player: int) -> np.ndarray:
        ones = np.ones(self.states[1 - player].sequence_end)
        out = np.empty(self.states[player].sequence_end)
        endings = np.zeros(len(out), np.uint8)
        for kind, payoff in enumerate(np.eye(PAYOFFS.shape[1])):
            self._multiply(player, ones, payoff, out)
            endings |= ((out > 0) << kind).astype(np.uint8)
        return endings

    def _tree(self, player: int) -> InfostateTree:
        states, endings = self.states[player], self.endings[player]
        return InfostateTree(
            first_sequence=states.first_sequence,
            first_child=states.first_child,
            parent=states.parent,
            action=states.action,
            can_end=endings > 0,
            player=player,
            min_utility=-1.0,
            max_utility=1.0,
            num_terminals=int(np.bitwise_count(endings).sum()),
            names=names.PhantomNames(self.rules, player, states),
            game_string=self.rules.game_string,
            least_return=functools.partial(_extreme_returns, endings, _RETURNS[player], min, 1.0),
            most_return=functools.partial(_extreme_returns, endings, _RETURNS[player], max, 0.0),
        )

    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        self._multiply(player, reach, payoff, out)

    def restricted(self, kept) -> tuple[SequenceForm, tuple[np.ndarray, np.ndarray]] | None:
        first, second = (restrict_tree(tree, mask) for tree, mask in zip(self.trees, kept))
        form = restricted_phantom(self.rules, self.states, (first, second))
        return None if form is None else (form, (first.sequences, second.sequences))

    @property
    def tensor_width(self) -> int:
        """The length of a tensor."""
        return names.tensor_width(self.rules)

    def tensors(self, player: int, states: np.ndarray) -> np.ndarray:
        """float32[len(states), tensor_width]: OpenSpiel's information-state tensors of these states."""
        return names.tensors(self.rules, player, self.states[player], states)

    def history(self, player: int, state: int) -> list[int]:
        """The moves of one history that leads to an information state."""
        return self.trees[player].names.history(state)


def _extreme_returns(endings: np.ndarray, returns: np.ndarray, extreme: Callable, otherwise: float) -> np.ndarray:
    """The smallest or largest return after each sequence, by the kinds of endings that are possible there."""
    masks = range(1 << len(returns))
    kinds = [[value for kind, value in enumerate(returns) if mask >> kind & 1] for mask in masks]
    return np.array([extreme(values, default=otherwise) for values in kinds])[endings]


def phantom_form(game: pyspiel.Game) -> PhantomForm | None:
    """The sequence form of a game; None if the game has none here. The last one is kept in memory."""
    rules = rules_of(game)
    return None if rules is None else _form(rules)


@functools.lru_cache(maxsize=1)
def _form(rules: Rules) -> PhantomForm:
    return storage.cached(
        storage.cache_path("phantom", _CACHE_FORMAT, rules.game_string),
        make=lambda: _enumerated(rules),
        worth_a_file=lambda form: sum(states.num_states for states in form.states) >= _WORTH_A_FILE,
        save=_save,
        load=lambda path: _load(path, rules),
    )


def _enumerated(rules: Rules) -> PhantomForm:
    if rules.num_cells == MAX_CELLS:
        check_memory(rules.game_string, _SEQUENCES[rules.abrupt], _BYTES)
    return PhantomForm(rules, (enumerate_states(rules, 0), enumerate_states(rules, 1)))


_ARRAYS = tuple(field.name for field in dataclasses.fields(PlayerStates))


def _save(form: PhantomForm, path: pathlib.Path) -> None:
    contents: dict = {"game": form.rules.game_string}
    for player in (0, 1):
        contents |= {f"{name}_{player}": getattr(form.states[player], name) for name in _ARRAYS}
        contents[f"endings_{player}"] = form.endings[player]
    storage.save_directory(path, contents)


def _load(path: pathlib.Path, rules: Rules) -> PhantomForm:
    with storage.opening(path) as saved:
        if saved.document("game") != rules.game_string:
            raise ValueError(f"{path} holds {saved.document('game')}, not {rules.game_string}; remove it")
        first, second = (
            PlayerStates(**{name: saved.array(f"{name}_{player}") for name in _ARRAYS}) for player in (0, 1)
        )
        return PhantomForm(rules, (first, second), (saved.array("endings_0"), saved.array("endings_1")))
