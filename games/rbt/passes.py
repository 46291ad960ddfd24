"""The passes over an enumerated RBT that every solver and every T-MDP of it is made of.

A *plan* is in sequence form: one number r(j) per sequence j of a player, the product of the player's own probabilities on
the path to j and at j. With senses factored out, all that one player's plan means to the other is a table per ply,

    w(h, a) = sum over the live states s of position h of r(s, a),

the chance that a player moves a at h, given that everybody else's moves lead there. The other player's sequence j = (s, a)
then ends with expected value

    e(j) = sum over the positions h where s is live of g(h, a),

where g(h, a) is the result of a at h, times the weight with which the opponent comes to h, if a ends the game; and
otherwise the sum of the results of the opponent's replies that do, each with its weight. Every loop below over states or
positions writes only what belongs to that state or position, so the results do not depend on the number of threads.
"""

import numba
import numpy as np

from tmdp_spiel.games.rbt.rules import DRAW, LOSS, NUM_SQUARES, WIN

UTILITIES = (-1.0, 0.0, 1.0)  # of a player that lost, drew, won


def move_weights(game, player, plan):
    """w(h, a) for every ply: the table of `player`'s plan at its own plies, None at the others."""
    tree = game.trees[player]
    return [
        _move_weights(ply.first_live, ply.live, tree.level_start[ply.level], tree.first_sequence, tree.action, plan)
        if ply.player == player
        else None
        for ply in game.plies
    ]


def ending_values(game, player, opponent_weights, utilities, out):
    """e(j) of every sequence of `player`, written to `out`, for the utilities of a lost, drawn and won game.

    The utilities (1, 0, 0), (0, 1, 0) and (0, 0, 1) give the chances of the three endings.
    """
    tree = game.trees[player]
    out.fill(0.0)
    for k, ply in enumerate(game.plies):
        if ply.player == player:
            gains = _gains(
                ply.next_position,
                *_replies(game, k, opponent_weights),
                weight_of_positions(game, k, opponent_weights),
                *utilities,
            )
            _ending_values(
                ply.first_where, ply.where, gains, tree.level_start[ply.level], tree.first_sequence, tree.action, out
            )


def value_without_turn(game, player, opponent_weights, utilities):
    """What `player` gets from games that end before its first turn, which only a late start makes possible."""
    first = game.plies[0]
    if first.player == player:
        return 0.0
    lost, drawn, won = utilities
    of_result = {WIN: lost, DRAW: drawn, LOSS: won}
    return sum(
        opponent_weights[0][0, square] * of_result.get(int(result), 0.0)
        for square, result in enumerate(first.next_position[0])
    )


def best_response_value(game, player, opponent_plan, endings=None, values=None):
    """The most that `player` can win against a plan of the opponent. The arrays are work space."""
    tree = game.trees[player]
    endings = np.empty(tree.num_sequences) if endings is None else endings
    values = np.empty(tree.num_states) if values is None else values
    weights = move_weights(game, 1 - player, opponent_plan)
    ending_values(game, player, weights, UTILITIES, endings)
    best_values(tree.level_start, tree.first_sequence, tree.first_child, endings, values)
    return float(values[0] + value_without_turn(game, player, weights, UTILITIES))


def best_response(game, player, opponent_plan):
    """The most that `player` can win against a plan of the opponent, and a plan without chance that wins it."""
    tree = game.trees[player]
    endings, values, plan = np.empty(tree.num_sequences), np.empty(tree.num_states), np.empty(tree.num_sequences)
    value = best_response_value(game, player, opponent_plan, endings, values)
    _best_plan(tree.level_start, tree.first_sequence, tree.first_child, tree.parent, endings, values, plan)
    return value, plan


def num_histories(game):
    """The number of histories, terminal ones included: pairs of what x and o may each know at a position.

    With every r(j) = 1 the weight w(h, a) of a move counts the live states in which it is legal.
    """
    counts = [move_weights(game, player, np.ones(tree.num_sequences)) for player, tree in enumerate(game.trees)]
    total = 0
    knowledge = [np.ones(1), np.ones(1)]  # per player: the number of its last sequences at each position of the ply
    for k, ply in enumerate(game.plies):
        mine, theirs = knowledge[ply.player], knowledge[1 - ply.player]
        moves = counts[ply.player][k]
        live = np.diff(ply.first_live)
        to_sense = 0 if ply.level == 0 else mine  # x's first turn begins with the move
        total += (theirs * (to_sense + live)).sum() + (
            theirs[:, None] * np.where(ply.next_position < -1, moves, 0)
        ).sum()
        goes_on = ply.next_position >= 0
        knowledge[ply.player] = moves[goes_on]
        knowledge[1 - ply.player] = np.broadcast_to(theirs[:, None], moves.shape)[goes_on]
    return int(total)


def weight_of_positions(game, k, opponent_weights):
    """The chance, by the opponent's moves alone, of each position of ply k, where the player itself is to move."""
    num_positions = game.plies[k].num_positions
    if k == 0:
        return np.ones(num_positions)
    return _weight_of_positions(game.plies[k - 1].next_position, opponent_weights[k - 1], num_positions)


def _replies(game, k, opponent_weights):
    """The results and the weights of the opponent's moves in the ply after k."""
    if k + 1 < len(game.plies):
        return game.plies[k + 1].next_position, opponent_weights[k + 1]
    return np.empty((0, NUM_SQUARES), np.int32), np.empty((0, NUM_SQUARES))


@numba.njit(cache=True, parallel=True)
def _move_weights(first_live, live, level_start, first_sequence, action, plan):
    """w(h, a) = sum over the live states s of h of r(s, a)."""
    weights = np.zeros((len(first_live) - 1, NUM_SQUARES))
    for h in numba.prange(len(first_live) - 1):
        for i in range(first_live[h], first_live[h + 1]):
            state = level_start + live[i]
            for j in range(first_sequence[state], first_sequence[state + 1]):
                weights[h, action[j]] += plan[j]
    return weights


@numba.njit(cache=True)
def _weight_of_positions(position_before, weights_before, num_positions):
    """The weight of the one move that leads to each position."""
    weight = np.empty(num_positions)
    for h in range(len(position_before)):
        for square in range(NUM_SQUARES):
            if position_before[h, square] >= 0:
                weight[position_before[h, square]] = weights_before[h, square]
    return weight


@numba.njit(cache=True)
def _gains(next_position, replies, reply_weights, weight, lost, drawn, won):
    """g(h, a): what ends right after move a at position h, by that move or by the reply to it."""
    gains = np.zeros(next_position.shape)
    for h in range(len(next_position)):
        for square in range(NUM_SQUARES):
            result = next_position[h, square]
            if result >= 0:
                for reply in range(NUM_SQUARES):
                    if replies[result, reply] == LOSS:
                        gains[h, square] += won * reply_weights[result, reply]
                    elif replies[result, reply] == DRAW:
                        gains[h, square] += drawn * reply_weights[result, reply]
                    elif replies[result, reply] == WIN:
                        gains[h, square] += lost * reply_weights[result, reply]
            elif result == LOSS:
                gains[h, square] = lost * weight[h]
            elif result == DRAW:
                gains[h, square] = drawn * weight[h]
            elif result == WIN:
                gains[h, square] = won * weight[h]
    return gains


@numba.njit(cache=True, parallel=True)
def _ending_values(first_where, where, gains, level_start, first_sequence, action, out):
    """e(s, a) = sum over the positions h where s is live of g(h, a)."""
    for i in numba.prange(len(first_where) - 1):
        for j in range(first_sequence[level_start + i], first_sequence[level_start + i + 1]):
            total = 0.0
            for k in range(first_where[i], first_where[i + 1]):
                total += gains[where[k], action[j]]
            out[j] = total


@numba.njit(cache=True, parallel=True)
def position_sums(first_where, where, weight, out):
    """For each move state the sum of the weights of the positions where it is live: its chance to be reached."""
    for i in numba.prange(len(first_where) - 1):
        total = 0.0
        for k in range(first_where[i], first_where[i + 1]):
            total += weight[where[k]]
        out[i] = total


@numba.njit(cache=True, parallel=True)
def best_values(level_start, first_sequence, first_child, endings, values):
    """Bottom-up v(s) = max over a of e(s, a) + sum over the children c of v(c), written to `values`."""
    for level in range(len(level_start) - 2, -1, -1):
        for s in numba.prange(level_start[level], level_start[level + 1]):
            best = -np.inf
            for j in range(first_sequence[s], first_sequence[s + 1]):
                value = endings[j]
                for c in range(first_child[j], first_child[j + 1]):
                    value += values[c]
                best = max(best, value)
            values[s] = best


@numba.njit(cache=True, parallel=True)
def _best_plan(level_start, first_sequence, first_child, parent, endings, values, plan):
    """Top-down r(s, a) = r(parent of s) for the first a with e(s, a) + sum over the children c of v(c) = v(s), else 0."""
    for level in range(len(level_start) - 1):
        for s in numba.prange(level_start[level], level_start[level + 1]):
            left = plan[parent[s]] if level > 0 else 1.0
            for j in range(first_sequence[s], first_sequence[s + 1]):
                value = endings[j]
                for c in range(first_child[j], first_child[j + 1]):
                    value += values[c]
                plan[j] = left if value == values[s] else 0.0
                left -= plan[j]


@numba.njit(cache=True, parallel=True)
def update_regrets(level_start, first_sequence, first_child, endings, values, regrets):
    """One update of CFR+, bottom-up: R(s, a) <- max(0, R(s, a) + q(s, a) - v(s)).

    q(s, a) = e(s, a) + sum over the children c of v(c), and v(s) = sum over a of sigma(s, a) q(s, a) with sigma(s, .) in
    proportion to R(s, .), uniform if that is zero. Overwrites `endings` with q.
    """
    for level in range(len(level_start) - 2, -1, -1):
        for s in numba.prange(level_start[level], level_start[level + 1]):
            total, weighted, plain = 0.0, 0.0, 0.0
            for j in range(first_sequence[s], first_sequence[s + 1]):
                value = endings[j]
                for c in range(first_child[j], first_child[j + 1]):
                    value += values[c]
                endings[j] = value
                total += regrets[j]
                weighted += regrets[j] * value
                plain += value
            state_value = weighted / total if total > 0 else plain / (first_sequence[s + 1] - first_sequence[s])
            for j in range(first_sequence[s], first_sequence[s + 1]):
                regrets[j] = max(0.0, regrets[j] + endings[j] - state_value)
            values[s] = state_value


@numba.njit(cache=True, parallel=True)
def match_regrets(level_start, first_sequence, parent, regrets, weight, plan, total_plan):
    """Adds `weight` r(j) to the running sum; then, top-down, r(s, a) = r(parent of s) sigma(s, a) by regret matching."""
    for level in range(len(level_start) - 1):
        for s in numba.prange(level_start[level], level_start[level + 1]):
            reach = plan[parent[s]] if level > 0 else 1.0
            total = 0.0
            for j in range(first_sequence[s], first_sequence[s + 1]):
                total += regrets[j]
            uniform = 1.0 / (first_sequence[s + 1] - first_sequence[s])
            for j in range(first_sequence[s], first_sequence[s + 1]):
                total_plan[j] += weight * plan[j]
                plan[j] = reach * (regrets[j] / total if total > 0 else uniform)


@numba.njit(cache=True, parallel=True)
def plan_of_policy(level_start, first_sequence, parent, policy, plan):
    """Top-down r(s, a) = r(parent of s) sigma(s, a) for a policy with one probability per sequence."""
    for level in range(len(level_start) - 1):
        for s in numba.prange(level_start[level], level_start[level + 1]):
            reach = plan[parent[s]] if level > 0 else 1.0
            for j in range(first_sequence[s], first_sequence[s + 1]):
                plan[j] = reach * policy[j]


@numba.njit(cache=True, parallel=True)
def policy_of_plan(first_sequence, plan, policy):
    """sigma(s, a) = r(s, a) / sum over b of r(s, b), uniform where the plan does not go."""
    for s in numba.prange(len(first_sequence) - 1):
        total = 0.0
        for j in range(first_sequence[s], first_sequence[s + 1]):
            total += plan[j]
        uniform = 1.0 / (first_sequence[s + 1] - first_sequence[s])
        for j in range(first_sequence[s], first_sequence[s + 1]):
            policy[j] = plan[j] / total if total > 0 else uniform
