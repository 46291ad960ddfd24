"""RBT as a DecisionTree of either player, and as a TreeMDP against a fixed opponent; compiled, and kept on disk."""

import collections.abc
import functools
import hashlib
import json

import numba
import numpy as np
from open_spiel.python import policy as policy_lib

from tmdp_spiel.games.rbt import passes
from tmdp_spiel.games.rbt.enumeration import enumerate_game
from tmdp_spiel.games.rbt.names import RBTNames
from tmdp_spiel.games.rbt.policy import ArrayPolicy, SupportPolicy
from tmdp_spiel.games.rbt.rules import bit_count, rank
from tmdp_spiel.games.rbt.structure import Enumeration, describe
from tmdp_spiel.trees import storage
from tmdp_spiel.trees.decision_tree import DecisionTree
from tmdp_spiel.trees.tree_mdp import TreeMDP

_CACHE_FORMAT = 2  # a new number leaves old files unread
_WORTH_A_FILE = 1_000_000  # sequences of both players together
_RETURNS = np.array([0.0, 0.5, 1.0])  # of a lost, drawn, won game: the order of the bits of PlayerTree.endings
_UTILITIES_OF_ONE_ENDING = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def enumeration(game):
    """Both trees of an RBT game and how they hang together; enumerated once, then memory-mapped from the cache."""
    return _enumeration(game.start, game.useful_senses, game.forced_wins)


def forget_enumeration():
    """Gives back the memory of the game that was enumerated last."""
    _enumeration.cache_clear()


@functools.lru_cache(maxsize=1)
def _enumeration(start, useful_senses, forced_wins):
    description = describe(start, useful_senses, forced_wins)
    path = _cache_path("enumeration", description)
    if not path.exists():
        enumerated = enumerate_game(start, useful_senses, forced_wins)
        if sum(tree.num_sequences for tree in enumerated.trees) < _WORTH_A_FILE:
            return enumerated
        _save_once(enumerated.save, path)
    enumerated = Enumeration.load(path)
    if enumerated.description != description:
        raise ValueError(f"{path} holds {enumerated.description}, not {description}; remove it")
    return enumerated


def decision_tree(game, player):
    """The whole decision tree of one player: every information state that legal play of both can reach."""
    _check_player(player)
    enumerated = enumeration(game)
    tree = enumerated.trees[player]
    without_turn = enumerated.endings_without_turn(player)
    return DecisionTree(
        first_sequence=tree.first_sequence,
        first_child=tree.first_child,
        parent=tree.parent,
        action=tree.action.astype(np.int16),
        can_end=tree.endings > 0,
        player=player,
        min_utility=-1.0,
        max_utility=1.0,
        root_can_end=without_turn != 0,
        num_terminals=int(np.bitwise_count(tree.endings).sum()) + without_turn.bit_count(),
        names=RBTNames(tree, player, game.start),
        game_string=str(game),
    )


def array_policy(game, probabilities):
    """A policy from arrays: a mapping from player to one probability per sequence of that player's decision tree."""
    return ArrayPolicy(game, {player: decision_tree(game, player) for player in probabilities}, probabilities)


def knows_opponent(player, opponent):
    """Whether build_tree_mdp takes this opponent of `player`."""
    return _fingerprint(_policy_of(1 - player, opponent), 1 - player) is not None


def build_tree_mdp(game, player, opponent):
    """The TreeMDP of a player of RBT against a fixed opponent, memory-mapped from the cache directory.

    opponent: a SupportPolicy such as the shipped equilibrium, an ArrayPolicy, or OpenSpiel's UniformRandomPolicy; or a
    mapping from the opponent's number to one of them.
    """
    _check_player(player)
    policy = _policy_of(1 - player, opponent)
    fingerprint = _fingerprint(policy, 1 - player)
    if fingerprint is None:
        raise TypeError(
            f"a {type(policy).__name__} would have to be asked at each of the opponent's "
            f"{enumeration(game).trees[1 - player].num_states:,} states; pass the shipped equilibrium, OpenSpiel's "
            "UniformRandomPolicy, or one probability per sequence (tmdp_spiel.games.rbt.tree.array_policy)"
        )
    about = f"{game} {player} {fingerprint}"
    path = _cache_path("mdp", about)
    if not path.exists():
        mdp = _tree_mdp(game, player, policy)
        if mdp.tree.num_sequences < _WORTH_A_FILE:
            return mdp
        _save_once(functools.partial(mdp.save, about=about), path)
    return TreeMDP.load(path, RBTNames(enumeration(game).trees[player], player, game.start), about)


def sequence_probabilities(game, player, policy):
    """A policy of `player` as one probability per sequence."""
    tree = enumeration(game).trees[player]
    if isinstance(policy, SupportPolicy):
        return policy.supports[player].probabilities(tree)
    if isinstance(policy, ArrayPolicy):
        if len(policy.probabilities[player]) != tree.num_sequences:
            raise ValueError(
                f"the policy has {len(policy.probabilities[player])} probabilities for player {player}; {game} "
                f"has {tree.num_sequences} sequences"
            )
        return policy.probabilities[player]
    counts = np.diff(tree.first_sequence)
    return np.repeat(1.0 / counts, counts)


def plan_of(game, player, policy):
    """A policy of `player` in sequence form: the product of its probabilities along the path to each sequence."""
    tree = enumeration(game).trees[player]
    plan = np.empty(tree.num_sequences)
    passes.plan_of_policy(
        tree.level_start, tree.first_sequence, tree.parent, sequence_probabilities(game, player, policy), plan
    )
    return plan


def _tree_mdp(game, player, policy):
    """The chances of every state and outcome: those of the positions, summed over where a state is live."""
    enumerated = enumeration(game)
    tree = enumerated.trees[player]
    weights = passes.move_weights(enumerated, 1 - player, plan_of(game, 1 - player, policy))
    reach = np.zeros(tree.num_states)
    for k, ply in enumerate(enumerated.plies):
        if ply.player == player:
            level = reach[tree.level_start[ply.level] : tree.level_start[ply.level + 1]]
            passes.position_sums(ply.first_where, ply.where, passes.weight_of_positions(enumerated, k, weights), level)
            if ply.level > 0:
                _reach_of_sense_states(
                    tree.level_start[ply.level - 1],
                    tree.level_start[ply.level],
                    tree.first_sequence,
                    tree.first_child,
                    reach,
                )
    without_turn = enumerated.endings_without_turn(player)
    first_outcome = _first_outcomes(tree.endings, without_turn)
    outcome_return = np.empty(first_outcome[-1])
    outcome_probability = np.empty(first_outcome[-1])
    endings = np.empty(tree.num_sequences)
    for bit, utilities in enumerate(_UTILITIES_OF_ONE_ENDING):
        passes.ending_values(enumerated, player, weights, utilities, endings)
        _fill_outcomes(tree.endings, endings, bit, _RETURNS[bit], first_outcome, outcome_return, outcome_probability)
        if (without_turn >> bit) & 1:
            place = first_outcome[-2] + rank(without_turn, bit)
            outcome_return[place] = _RETURNS[bit]
            outcome_probability[place] = passes.value_without_turn(enumerated, player, weights, utilities)
    del endings
    return TreeMDP(decision_tree(game, player), reach, first_outcome, outcome_return, outcome_probability)


@numba.njit(cache=True)
def _reach_of_sense_states(start, end, first_sequence, first_child, reach):
    """A sense always shows something: the reach of a sense state is the sum of the reaches after its first sense."""
    for s in range(start, end):
        j = first_sequence[s]
        for c in range(first_child[j], first_child[j + 1]):
            reach[s] += reach[c]


@numba.njit(cache=True)
def _first_outcomes(endings, without_turn):
    first = np.zeros(len(endings) + 2, dtype=np.int32)
    for j in range(len(endings)):
        first[j + 1] = first[j] + bit_count(np.int64(endings[j]))
    first[-1] = first[-2] + bit_count(without_turn)
    return first


@numba.njit(cache=True)
def _fill_outcomes(possible, chances, bit, value, first_outcome, outcome_return, outcome_probability):
    for j in range(len(possible)):
        mask = np.int64(possible[j])
        if (mask >> bit) & 1:
            place = first_outcome[j] + rank(mask, bit)
            outcome_return[place] = value
            outcome_probability[place] = chances[j]


def _check_player(player):
    if player not in (0, 1):
        raise ValueError(f"RBT has players 0 (x) and 1 (o); there is no player {player}")


def _policy_of(player, opponent):
    if isinstance(opponent, collections.abc.Mapping):
        if player not in opponent:
            raise ValueError(f"the opponent's policy is missing for player {player}; given: {sorted(opponent)}")
        return opponent[player]
    return opponent


def _fingerprint(policy, player):
    """A string that stands for the policy's content in the cache; None for a policy that is not in arrays."""
    if isinstance(policy, policy_lib.UniformRandomPolicy):
        return "uniform"
    if isinstance(policy, (ArrayPolicy, SupportPolicy)):
        return policy.fingerprint(player)
    return None


def _cache_path(kind, content):
    digest = hashlib.sha256(json.dumps([_CACHE_FORMAT, content]).encode()).hexdigest()[:20]
    return storage.cache_directory() / f"rbt_{kind}_{digest}"


def _save_once(save, path):
    """Saves to the cache, unless another process has just done so."""
    try:
        save(path)
    except OSError:
        if not path.exists():
            raise
