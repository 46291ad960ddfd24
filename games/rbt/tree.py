"""RBT as an InfostateTree of either player, and as a TreeMDP against a fixed opponent; compiled, and saved on disk."""

from __future__ import annotations

import collections
import functools
import pathlib
from collections.abc import Mapping

import numba
import numpy as np
from open_spiel.python import policy as policy_lib

from tmdp_spiel.core import storage
from tmdp_spiel.games.rbt import passes
from tmdp_spiel.games.rbt.enumeration import enumerate_game
from tmdp_spiel.games.rbt.game import MARKS, RBTGame
from tmdp_spiel.games.rbt.names import RBTNames
from tmdp_spiel.games.rbt.policy import ArrayPolicy, CompiledPolicy, SupportPolicy
from tmdp_spiel.games.rbt.rules import bit_count, rank
from tmdp_spiel.games.rbt.structure import Enumeration, Links, describe
from tmdp_spiel.openspiel.opponents.fixed import answers_as, is_uniform
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP

_CACHE_FORMAT = 4  # a new number leaves old files unread
_WORTH_A_FILE = 1_000_000  # sequences
_RETURNS = (0.0, 0.5, 1.0)  # of a lost, drawn, won game: the order of the bits of PlayerTree.endings
_ONE_ENDING = (passes.Utilities(1.0, 0.0, 0.0), passes.Utilities(0.0, 1.0, 0.0), passes.Utilities(0.0, 0.0, 1.0))

# How episodes end, as in a TreeMDP: sequence j has the outcomes first[j] .. first[j + 1].
_Outcomes = collections.namedtuple("_Outcomes", ["first", "value", "probability"])


def enumeration(game: RBTGame) -> Enumeration:
    """Both trees of an RBT game and the positions; enumerated once, then memory-mapped from the cache."""
    return _enumeration(game.start, game.useful_senses, game.forced_wins)


def forget_enumeration() -> None:
    """Frees the memory of the game that was enumerated last."""
    _enumeration.cache_clear()


@functools.lru_cache(maxsize=1)
def _enumeration(start: tuple[int, ...], useful_senses: bool, forced_wins: bool) -> Enumeration:
    description = describe(start, useful_senses, forced_wins)

    def load(path: pathlib.Path) -> Enumeration:
        enumerated = Enumeration.load(path)
        if enumerated.description != description:
            raise ValueError(f"{path} holds {enumerated.description}, not {description}; remove it")
        return enumerated

    return storage.cached(
        storage.cache_path("rbt_enumeration", _CACHE_FORMAT, description),
        make=lambda: enumerate_game(start, useful_senses, forced_wins),
        worth_a_file=lambda enumerated: sum(tree.num_sequences for tree in enumerated.trees) >= _WORTH_A_FILE,
        save=Enumeration.save,
        load=load,
    )


def infostate_tree(game: RBTGame, player: int) -> InfostateTree:
    """The whole infostate tree of one player: every information state that legal play of both can reach."""
    _check_player(player)
    enumerated = enumeration(game)
    tree = enumerated.trees[player]
    return InfostateTree(
        first_sequence=tree.first_sequence,
        first_child=tree.first_child,
        parent=tree.parent,
        action=tree.action.astype(np.int16),
        can_end=tree.endings > 0,
        player=player,
        min_utility=-1.0,
        max_utility=1.0,
        num_terminals=int(np.bitwise_count(tree.endings).sum()),
        names=RBTNames(tree, player, game.start),
        game_string=str(game),
    )


def array_policy(game: RBTGame, plans: Mapping[int, np.ndarray]) -> ArrayPolicy:
    """A policy from plans: a mapping from player to one probability per sequence of that player's infostate tree."""
    return ArrayPolicy(game, {player: infostate_tree(game, player) for player in plans}, plans)


def knows_opponent(player: int, opponent: policy_lib.Policy | Mapping[int, policy_lib.Policy]) -> bool:
    """Whether build_tree_mdp takes this opponent of `player`."""
    return _is_compiled(_policy_of(1 - player, opponent))


def build_tree_mdp(
    game: RBTGame, player: int, opponent: policy_lib.Policy | Mapping[int, policy_lib.Policy]
) -> TreeMDP:
    """The TreeMDP of a player of RBT against a fixed opponent, memory-mapped from the cache directory.

    opponent: a SupportPolicy such as the shipped equilibrium, an ArrayPolicy, or OpenSpiel's UniformRandomPolicy; or a
    mapping from the opponent's number to one of them.
    """
    _check_player(player)
    policy = _policy_of(1 - player, opponent)
    _check_compiled(game, 1 - player, policy)
    fingerprint = policy.fingerprint(1 - player) if isinstance(policy, CompiledPolicy) else "uniform"
    about = f"{game} {player} {fingerprint}"
    return storage.cached(
        storage.cache_path("rbt_mdp", _CACHE_FORMAT, about),
        make=lambda: _tree_mdp(game, player, policy),
        worth_a_file=lambda mdp: mdp.tree.num_sequences >= _WORTH_A_FILE,
        save=lambda mdp, path: mdp.save(path, about),
        load=lambda path: TreeMDP.load(path, RBTNames(enumeration(game).trees[player], player, game.start), about),
    )


def policy_to_plan(game: RBTGame, player: int, policy: policy_lib.Policy) -> np.ndarray:
    """A policy of `player` as one probability per sequence."""
    _check_compiled(game, player, policy)
    tree = enumeration(game).trees[player]
    return policy.plan(player, tree) if isinstance(policy, CompiledPolicy) else tree.uniform_plan()


def own_reach(game: RBTGame, player: int, policy: policy_lib.Policy) -> np.ndarray:
    """Per sequence of `player`: the probability that the policy takes all actions on the path to it."""
    tree = enumeration(game).trees[player]
    reach = np.empty(tree.sequence_end)
    passes.own_reach(tree.links, policy_to_plan(game, player, policy), reach)
    return reach


def _tree_mdp(game: RBTGame, player: int, opponent: policy_lib.Policy) -> TreeMDP:
    enumerated = enumeration(game)
    weights = passes.move_weights(enumerated, 1 - player, own_reach(game, 1 - player, opponent))
    reach = _reach_of_states(enumerated, player, weights)
    outcomes = _outcomes(enumerated, player, weights)
    return TreeMDP(infostate_tree(game, player), reach, *outcomes)


def _reach_of_states(enumerated: Enumeration, player: int, weights: passes.MoveWeights) -> np.ndarray:
    """The probability of every state: the sum over the positions where it is live."""
    tree = enumerated.trees[player]
    reach = np.zeros(tree.num_states)
    for k, ply in enumerate(enumerated.plies):
        if ply.player == player:
            start, end = tree.level_start[ply.level : ply.level + 2]
            passes.position_sums(ply.positions, passes.weight_of_positions(enumerated, k, weights), reach[start:end])
            if ply.level > 0:
                _sum_over_first_sense(tree.links, ply.level - 1, reach)
    return reach


def _outcomes(enumerated: Enumeration, player: int, weights: passes.MoveWeights) -> _Outcomes:
    """The probability of every outcome, one ending after another."""
    tree = enumerated.trees[player]
    first = _first_outcomes(tree.endings)
    outcomes = _Outcomes(first, np.empty(first[-1]), np.empty(first[-1]))
    chances = np.empty(tree.sequence_end)
    for bit, (value, one_ending) in enumerate(zip(_RETURNS, _ONE_ENDING)):
        passes.ending_values(enumerated, player, weights, one_ending, chances)
        _fill_outcomes(tree.endings, chances, bit, value, outcomes)
    return outcomes


@numba.njit(cache=True)
def _sum_over_first_sense(links: Links, level: int, reach: np.ndarray) -> None:
    """Every sense has an observation, so the reach of a sense state is the sum of the reaches after its first sense."""
    for s in range(links.level_start[level], links.level_start[level + 1]):
        j = links.first_sequence[s]
        for c in range(links.first_child[j], links.first_child[j + 1]):
            reach[s] += reach[c]


@numba.njit(cache=True)
def _first_outcomes(endings: np.ndarray) -> np.ndarray:
    """Where the outcomes of each sequence begin; there is one for every way in which an episode can end there."""
    first = np.zeros(len(endings) + 1, dtype=np.int32)
    for j in range(len(endings)):
        first[j + 1] = first[j] + bit_count(np.int64(endings[j]))
    return first


@numba.njit(cache=True)
def _fill_outcomes(endings: np.ndarray, chances: np.ndarray, bit: int, value: float, outcomes: _Outcomes) -> None:
    """Writes the outcomes of one ending: its return and its probability, wherever it is possible."""
    for j in range(len(endings)):
        mask = np.int64(endings[j])
        if (mask >> bit) & 1:
            place = outcomes.first[j] + rank(mask, bit)
            outcomes.value[place] = value
            outcomes.probability[place] = chances[j]


def _check_player(player: int) -> None:
    if player not in (0, 1):
        raise ValueError(f"RBT has players 0 (x) and 1 (o); there is no player {player}")


def _policy_of(player: int, opponent: policy_lib.Policy | Mapping[int, policy_lib.Policy]) -> policy_lib.Policy:
    if isinstance(opponent, Mapping):
        if player not in opponent:
            raise ValueError(f"the opponent's policy is missing for player {player}; given: {sorted(opponent)}")
        return opponent[player]
    return opponent


def _is_compiled(policy: policy_lib.Policy) -> bool:
    return is_uniform(policy) or answers_as(policy, ArrayPolicy, SupportPolicy)


def _check_compiled(game: RBTGame, player: int, policy: policy_lib.Policy) -> None:
    if not _is_compiled(policy):
        num_states = enumeration(game).trees[player].num_states
        raise TypeError(
            f"a {type(policy).__name__} would have to be queried at each of {num_states:,} states of {MARKS[player]}; "
            "pass the included equilibrium, OpenSpiel's UniformRandomPolicy, or one probability per sequence "
            "(tmdp_spiel.games.rbt.tree.array_policy)"
        )
