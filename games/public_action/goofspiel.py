"""Goofspiel with hidden bids (imp_info=True) in sequence form: a skeleton of bids and results, times the point cards.

Both players see the point cards and who won each of them, never the other's bids. Which bids and results are possible
does not depend on the point cards. So an information state is a *skeleton* state (the player's bids and their results)
and the sequence of point cards so far. The trees of both players have the same arrays, because results are written from
the player's point of view. No game ends before the last decision (the last card is forced). There, a player's skeleton
state k is paired with the compatible skeleton states of the other, card by card. The payoff of a pair depends on the
point cards only through the results, which are few. The pairs are the same for all orders of the point cards. So a
gradient processes several orders at a time with one list of pairs, and one vector operation per pair.
"""

from __future__ import annotations

import collections
import itertools
from typing import Any

import numba
import numpy as np

from tmdp_spiel.games.public_action.exact_game import ExactGame
from tmdp_spiel.games.public_action.goofspiel_skeleton import (
    LOST,
    TIED,
    WON,
    SkeletonLevel,
    build_skeleton,
    compare,
    fitting_pairs,
)
from tmdp_spiel.trees.infostate_tree import InfostateTree

MAX_CARDS = {"random": 6, "ascending": 7, "descending": 7}
_LANES = 8  # orders of the point cards that are computed together
_TIE_MARK = -3  # OpenSpiel's number for "no player" in a sequence of winners

# The states of a tree: level d has the states level_start[d] .. level_start[d + 1], each with a skeleton state and a
# sequence of point cards, and the first sequence level_sequence[d].
Places = collections.namedtuple("Places", ["level_start", "level_sequence", "skeleton", "order"])


class Goofspiel(ExactGame):
    """The sequence form of goofspiel for two players with imp_info=True and returns_type=win_loss.

    Kinds of endings: player 1 wins, draw, player 0 wins.
    """

    def __init__(self, game_string: str, num_cards: int, points_order: str, egocentric: bool = False):
        if not 2 <= num_cards <= MAX_CARDS[points_order]:
            raise ValueError(
                f"goofspiel with points_order={points_order} has an exact form for 2 to {MAX_CARDS[points_order]} "
                f"cards, not for {num_cards}"
            )
        self.num_cards, self.points_order, self.egocentric = num_cards, points_order, egocentric
        self.point_cards = [self._point_cards(level) for level in range(num_cards - 1)]  # of each order, from 1
        self.skeleton = build_skeleton(num_cards)
        self._pairs = fitting_pairs(num_cards, self.skeleton[-1])
        choices = [len(cards) // len(before) for before, cards in itertools.pairwise(self.point_cards)]
        arrays, self.places = _tree_arrays(num_cards, len(self.point_cards[0]), np.array([*choices, 0]), self.skeleton)
        self._last_state = _last_states(self.places, len(self.skeleton[-1].hand), len(self.point_cards[-1]))
        first, second = (
            InfostateTree(
                **arrays,
                player=player,
                min_utility=-1.0,
                max_utility=1.0,
                names=GoofspielNames(self, player),
                game_string=game_string,
            )
            for player in (0, 1)
        )
        super().__init__((first, second), [[-1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])

    def _point_cards(self, level: int) -> np.ndarray:
        """The sequences of point cards that are shown by this level."""
        cards = range(1, self.num_cards + 1)
        if self.points_order == "random":
            return np.array(list(itertools.permutations(cards, level + 1)), np.int64)
        return np.array([(cards if self.points_order == "ascending" else cards[::-1])[: level + 1]], np.int64)

    def _gradient(self, player: int, reach: np.ndarray, payoff: np.ndarray, out: np.ndarray) -> None:
        of_sign = payoff if player == 0 else payoff[::-1]  # by the own result: lost, draw, won
        first_sequence = self.places.level_sequence[-2]
        out[:first_sequence] = 0.0
        _endings(
            self._pairs,
            self.skeleton[-1].results,
            self.point_cards[-1],
            self.num_cards * (self.num_cards + 1) // 2,
            self._last_state,
            np.ascontiguousarray(of_sign),
            reach[first_sequence:],
            out[first_sequence:],
        )

    def history(self, player: int, state: int) -> list[int]:
        level, k, order = self.describe(state)
        own, results = self.skeleton[level].bids[k].tolist(), self.skeleton[level].results[k].tolist()
        other = next(
            bids
            for bids in itertools.permutations(range(self.num_cards), level)
            if all(compare(mine, his) == result for mine, his, result in zip(own, bids, results))
        )
        history: list[int] = []
        for t, card in enumerate(self.point_cards[level][order].tolist()):
            if self.points_order == "random":
                history.append(card - 1)
            if t < level:
                history += [own[t], other[t]] if player == 0 else [other[t], own[t]]
        return history if player == 0 else [*history, self._spare(other)]

    def _spare(self, bids: tuple[int, ...]) -> int:
        """A card that was not bid; player 1 bids after player 0 has chosen."""
        return min(set(range(self.num_cards)) - set(bids))

    @property
    def tensor_width(self) -> int:
        points = self.num_cards * (self.num_cards + 1) // 2 + 1
        return 4 + 2 * points + 3 * self.num_cards + 2 * self.num_cards**2

    def tensors(self, player: int, states: np.ndarray) -> np.ndarray:
        tensors = np.zeros((len(states), self.tensor_width), np.float32)
        level_of = np.searchsorted(self.places.level_start, states, "right") - 1
        for level in np.unique(level_of):
            rows = np.flatnonzero(level_of == level)
            here, cards = self.skeleton[level], self.point_cards[level]
            _fill_tensors(
                player, self.egocentric, self.num_cards, here, cards, self.places, states[rows], rows, tensors
            )
        return tensors

    def describe(self, state: int) -> tuple[int, int, int]:
        """The level, the skeleton state and the order of the point cards of a state."""
        level = int(np.searchsorted(self.places.level_start, state, "right")) - 1
        return level, int(self.places.skeleton[state]), int(self.places.order[state])


class GoofspielNames:
    """OpenSpiel's information-state strings of the turn-based game."""

    def __init__(self, game: Goofspiel, player: int):
        self._game, self._player = game, player

    def string(self, state: int) -> str:
        game, player = self._game, self._player
        level, k, order = game.describe(state)
        here = game.skeleton[level]
        cards = game.point_cards[level][order].tolist()
        winner = {WON: player, TIED: _TIE_MARK, LOST: 1 - player}
        winners = [winner[int(result)] for result in here.results[k]]
        points = [sum(card for card, w in zip(cards, winners) if w == each) for each in (0, 1)]
        hand = [card + 1 for card in range(game.num_cards) if here.hand[k] >> card & 1]

        def listed(numbers) -> str:
            return "".join(f"{number} " for number in numbers)

        return (
            f"Current player: {player}\nP{player} hand: {listed(hand)}\n"
            f"P{player} action sequence: {listed(here.bids[k])}\nPoint card sequence: {listed(cards)}\n"
            f"Win sequence: {listed(winners)}\nPoints: {listed(points)}\nTerminal?: 0\n"
        )

    def index(self, string: str) -> int:
        try:
            lines = dict(line.split(": ", 1) for line in string.rstrip("\n").split("\n"))
            bids = [int(bid) for bid in lines[f"P{self._player} action sequence"].split()]
            cards = [int(card) for card in lines["Point card sequence"].split()]
            state = self._follow(bids, cards, [int(winner) for winner in lines["Win sequence"].split()])
        except (KeyError, ValueError):
            state = None
        if state is None or self.string(state) != string:
            raise KeyError(f"no legal play leads player {self._player} to the information state {string!r}")
        return state

    def _follow(self, bids: list[int], cards: list[int], winners: list[int]) -> int | None:
        game, tree = self._game, self._game.trees[self._player]
        result_of = {self._player: WON, 1 - self._player: LOST, _TIE_MARK: TIED}
        children = range(int(tree.first_child[tree.root + 1]))
        for level in range(len(cards)):
            wanted = [bids[:level], [result_of[w] for w in winners[:level]], cards[: level + 1]]
            for child in children:
                _, k, order = game.describe(child)
                here = game.skeleton[level]
                if wanted == [here.bids[k].tolist(), here.results[k].tolist(), game.point_cards[level][order].tolist()]:
                    break
            else:
                return None
            if level == len(bids):
                return child
            legal = tree.legal_actions(child).tolist()
            if bids[level] not in legal:
                return None
            j = int(tree.first_sequence[child]) + legal.index(bids[level])
            children = range(int(tree.first_child[j]), int(tree.first_child[j + 1]))
        return None

    def __len__(self) -> int:
        return len(self._game.places.skeleton)


def count_sequences(num_cards: int, points_order: str) -> int:
    """The number of sequences of both players together."""
    total, orders = 0, 1
    for level, here in enumerate(build_skeleton(num_cards)):
        orders *= num_cards - level if points_order == "random" else 1
        total += 2 * len(here.hand) * (num_cards - level) * orders
    return total


def _tree_arrays(num_cards: int, num_first: int, choices: np.ndarray, skeleton: list[SkeletonLevel]):
    """The arrays of an InfostateTree and the places of its states. choices: next point cards that are possible."""
    orders = np.cumprod([num_first, *choices[:-1]])
    sizes = [len(here.hand) * int(number) for here, number in zip(skeleton, orders)]
    per_state = [num_cards - level for level in range(len(skeleton))]
    level_start = np.concatenate([[0], np.cumsum(sizes)])
    level_sequence = 1 + np.concatenate([[0], np.cumsum(np.multiply(sizes, per_state))])  # after the root
    states, sequences = int(level_start[-1]), int(level_sequence[-1])
    places = Places(level_start, level_sequence, np.zeros(states, np.int32), np.zeros(states, np.int16))
    arrays: dict[str, Any] = dict(
        first_sequence=np.empty(states + 1, np.int32),
        first_child=np.full(sequences + 1, states, np.int32),
        parent=np.zeros(states, np.int32),
        action=np.zeros(sequences, np.int16),
        can_end=np.zeros(sequences, np.bool_),
    )
    arrays["first_sequence"][-1], arrays["first_child"][0] = sequences, 0
    arrays["can_end"][level_sequence[-2] :] = True
    places.order[:num_first] = np.arange(num_first)
    for level, here in enumerate(skeleton):
        _fill_level(
            level, num_cards, choices[level], here.hand, here.first_child, places, arrays["first_sequence"],
            arrays["first_child"], arrays["parent"], arrays["action"],
        )  # fmt: skip
    return arrays, places


@numba.njit(cache=True)
def _fill_level(level, num_cards, choices, hand, children, places, first_sequence, first_child, parent, action):
    j, child = places.level_sequence[level], places.level_start[level + 1]
    for s in range(places.level_start[level], places.level_start[level + 1]):
        first_sequence[s] = j
        k, i = places.skeleton[s], places.skeleton[s] * (num_cards - level)
        for card in range(num_cards):
            if not (hand[k] >> card) & 1:
                continue
            action[j] = card
            first_child[j] = child
            if choices:
                for next_state in range(children[i], children[i + 1]):
                    for choice in range(choices):
                        places.skeleton[child] = next_state
                        places.order[child] = places.order[s] * choices + choice
                        parent[child] = j
                        child += 1
            i += 1
            j += 1


def _last_states(places: Places, num_skeletons: int, num_orders: int) -> np.ndarray:
    """int32[skeleton state, order]: the states of the last level, counted from its first."""
    start = places.level_start[-2]
    table = np.empty((num_skeletons, num_orders), np.int32)
    skeleton, order = places.skeleton[start:], places.order[start:]
    table[skeleton, order] = np.arange(len(skeleton), dtype=np.int32)
    return table


@numba.njit(cache=True, parallel=True, fastmath={"contract"})
def _endings(pairs, results, point_cards, total, last_state, of_sign, reach, out):
    """The values that the sequences of the last level collect; of_sign: the payoffs of a lost, drawn and won game.

    The orders of the point cards are processed _LANES at a time; the lanes beyond the last order stay zero.
    """
    skeletons, orders = last_state.shape
    rounds = results.shape[1]
    codes = 3**rounds
    code_of = np.zeros(skeletons, np.int64)
    for k in range(skeletons):
        for t in range(rounds):
            code_of[k] = 3 * code_of[k] + results[k, t]
    for block in numba.prange((orders + _LANES - 1) // _LANES):
        first, lanes = block * _LANES, min(_LANES, orders - block * _LANES)
        theirs, mine = np.zeros((2 * skeletons, _LANES)), np.zeros((2 * skeletons, _LANES))
        pays = np.zeros((codes * 9, _LANES))
        for lane in range(lanes):
            cards = point_cards[first + lane]
            last_card = total - cards.sum()
            for code in range(codes):
                difference, rest = 0, code
                for t in range(rounds - 1, -1, -1):
                    difference += (1 - rest % 3) * cards[t]
                    rest //= 3
                for last in range(9):
                    final = difference + (1 - last // 3) * cards[rounds] + (1 - last % 3) * last_card
                    pays[9 * code + last, lane] = of_sign[1 + (final > 0) - (final < 0)] / orders
            for k in range(skeletons):
                j = 2 * last_state[k, first + lane]
                theirs[2 * k, lane] = reach[j]
                theirs[2 * k + 1, lane] = reach[j + 1]
        for k in range(skeletons):
            for e in range(pairs.first[k], pairs.first[k + 1]):
                other = 2 * pairs.other[e]
                for i in range(2):
                    for j in range(2):
                        pay = 9 * code_of[k] + pairs.last[e, 2 * i + j]
                        for lane in range(_LANES):
                            mine[2 * k + i, lane] += pays[pay, lane] * theirs[other + j, lane]
        for lane in range(lanes):
            for k in range(skeletons):
                j = 2 * last_state[k, first + lane]
                out[j] = mine[2 * k, lane]
                out[j + 1] = mine[2 * k + 1, lane]


@numba.njit(cache=True)
def _fill_tensors(player, egocentric, num_cards, here, point_cards, places, states, rows, tensors):
    points_end = num_cards * (num_cards + 1) // 2 + 1
    level = here.bids.shape[1]
    for i in range(len(states)):
        row = tensors[rows[i]]
        k, cards = places.skeleton[states[i]], point_cards[places.order[states[i]]]
        row[player] = 1
        row[2 + player] = 1
        own, other = 0, 0
        hand = 4 + 2 * points_end
        wins = hand + num_cards
        shown = wins + 2 * num_cards
        bids = shown + num_cards * num_cards
        for t in range(level):
            if here.results[k, t] != 1:
                won = here.results[k, t] == 0
                if won:
                    own += cards[t]
                else:
                    other += cards[t]
                winner = player if won else 1 - player
                if egocentric:
                    winner = 0 if won else 1
                row[wins + 2 * t + winner] = 1
            row[bids + num_cards * t + here.bids[k, t]] = 1
        row[4 + own] = 1
        row[4 + points_end + other] = 1
        for card in range(num_cards):
            row[hand + card] = (here.hand[k] >> card) & 1
        for t in range(level + 1):
            row[shown + num_cards * t + cards[t] - 1] = 1
