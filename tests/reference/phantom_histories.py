"""Phantom games the slow way: all histories through OpenSpiel, and best responses by sets of consistent worlds."""

from __future__ import annotations

import collections

# An own history is a tuple of (cell, whether a stone was placed there).


def visit_histories(game):
    """Visits every history of a small game.

    Returns, per player, {own history at a state: legal actions}, and {(last own sequence of 0, of 1): returns}, where a
    sequence is (own history, action) or None, with the number of histories that end so.
    """
    states: tuple[dict, dict] = ({}, {})
    endings: collections.Counter = collections.Counter()
    waiting = [(game.new_initial_state(), ((), ()), (None, None))]
    while waiting:
        state, own, last = waiting.pop()
        if state.is_terminal():
            endings[last[0], last[1], state.returns()[0]] += 1
            continue
        player = state.current_player()
        legal = tuple(state.legal_actions())
        assert states[player].setdefault(own[player], legal) == legal
        before = state.information_state_string(player).replace("\n", "")
        for action in legal:
            child = state.child(action)
            seen = child.information_state_string(player).replace("\n", "")
            stone = seen[action] == "xo"[player]
            assert before[action] == "." and (stone or seen[action] == "xo"[1 - player])
            after, sequences = list(own), list(last)
            after[player] = (*own[player], (action, stone))
            sequences[player] = (own[player], action)
            waiting.append((child, tuple(after), tuple(sequences)))
    return states, endings


class World(collections.namedtuple("World", ["stones", "own", "weight"])):
    """The stones of both players, the other's own history, and the probability of its moves so far."""


def best_response(wins, num_cells: int, abrupt: bool, player: int, policy) -> float:
    """The best response's value against a policy with a small support.

    wins(player, mask); policy(own history, legal cells) -> {cell: probability} of the other player.
    """
    other, full = 1 - player, (1 << num_cells) - 1

    def result(stones):
        if wins(player, stones[player]):
            return 1.0
        if wins(other, stones[other]):
            return -1.0
        return 0.0 if stones[0] | stones[1] == full else None

    def other_moves(world, on):
        """The other's turn; worlds in which the game continues are added to `on`, the value of the rest is returned."""
        value = 0.0
        tried = {cell for cell, _ in world.own}
        legal = [cell for cell in range(num_cells) if cell not in tried]
        for cell, probability in policy(world.own, legal).items():
            weight = world.weight * probability
            if weight == 0:
                continue
            stone = not world.stones[player] >> cell & 1
            stones = list(world.stones)
            stones[other] |= stone << cell
            after = World(tuple(stones), (*world.own, (cell, stone)), weight)
            ended = result(after.stones)
            if ended is not None:
                value += weight * ended
            elif stone or abrupt:
                on.append(after)
            else:
                value += other_moves(after, on)
        return value

    def best(worlds, tried):
        values = []
        for cell in range(num_cells):
            if tried >> cell & 1:
                continue
            value, placed, bumped = 0.0, [], []
            for world in worlds:
                if world.stones[other] >> cell & 1:
                    if abrupt:
                        value += other_moves(world, bumped)
                    else:
                        bumped.append(world)
                    continue
                stones = list(world.stones)
                stones[player] |= 1 << cell
                ended = result(stones)
                if ended is not None:
                    value += world.weight * ended
                else:
                    value += other_moves(world._replace(stones=tuple(stones)), placed)
            values.append(value + sum(best(after, tried | 1 << cell) for after in (placed, bumped) if after))
        return max(values)

    worlds: list = []
    start, value = World((0, 0), (), 1.0), 0.0
    if player == 0:
        worlds.append(start)
    else:
        value = other_moves(start, worlds)
    return value + best(worlds, 0)
