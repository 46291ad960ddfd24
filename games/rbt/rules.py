"""The rules of Reconnaissance Blind Tic-Tac-Toe on bit masks, compiled.

A set of squares is a 9-bit mask; square i is bit i. The observation of a sense is a 4-bit mask: bit b is set if the
opponent holds the b-th square of the window. The OpenSpiel game in `game.py` states the same rules in plain Python and
shares no code with this file, so that each can be tested against the other.
"""

import numba
import numpy as np

NUM_SQUARES = 9
NUM_SENSES = 4
NUM_OBSERVATIONS = 16
FULL_BOARD = (1 << NUM_SQUARES) - 1
FIRST_SENSE_ACTION = NUM_SQUARES  # OpenSpiel actions: 0..8 are moves, 9..12 are senses.

WINDOWS = np.array([[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]], dtype=np.int32)
WINDOW_MASKS = (1 << WINDOWS).sum(axis=1).astype(np.int32)
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
LINE_MASKS = np.array([sum(1 << square for square in line) for line in _LINES], dtype=np.int32)

# The result of a move, instead of the node it leads to, from the point of view of the player who moves.
ILLEGAL, LOSS, DRAW, WIN = -1, -2, -3, -4
GOES_ON = 0


@numba.njit(cache=True, inline="always")
def bit_count(mask: int) -> int:
    """The number of ones of a mask of at most 16 bits."""
    mask = mask - ((mask >> 1) & 0x5555)
    mask = (mask & 0x3333) + ((mask >> 2) & 0x3333)
    mask = (mask + (mask >> 4)) & 0x0F0F
    return (mask + (mask >> 8)) & 0x1F


@numba.njit(cache=True, inline="always")
def rank(mask: int, bit: int) -> int:
    """The number of ones of `mask` below position `bit`: the index of an action among the legal ones."""
    return bit_count(mask & ((1 << bit) - 1))


@numba.njit(cache=True)
def has_line(marks: int) -> bool:
    """Whether the marks contain three in a row."""
    for line in LINE_MASKS:  # noqa: SIM110 (compiled)
        if marks & line == line:
            return True
    return False


@numba.njit(cache=True)
def shown(sense: int, opponent: int) -> int:
    """What a sense shows of the opponent's marks, as a 4-bit mask."""
    seen = 0
    for b in range(4):
        seen |= ((opponent >> WINDOWS[sense, b]) & 1) << b
    return seen


@numba.njit(cache=True)
def marks_shown(sense: int, observation: int) -> int:
    """The squares on which an observation shows the opponent."""
    marks = 0
    for b in range(4):
        marks |= ((observation >> b) & 1) << WINDOWS[sense, b]
    return marks


@numba.njit(cache=True)
def legal_senses(own: int, known: int, only_useful: bool) -> int:
    """The senses that may be used, as a 4-bit mask; a useful one covers a square neither own nor known."""
    if not only_useful:
        return (1 << NUM_SENSES) - 1
    legal = 0
    for sense in range(NUM_SENSES):
        if WINDOW_MASKS[sense] & ~(own | known):
            legal |= 1 << sense
    return legal


@numba.njit(cache=True)
def legal_moves(own: int, known: int, sensed_empty: int, forced_wins: bool) -> int:
    """The legal moves: squares not the player's and not known to be the opponent's; or only the lowest sure win."""
    if forced_wins:
        for square in range(NUM_SQUARES):
            if (sensed_empty >> square) & 1 and has_line(own | (1 << square)):
                return 1 << square
    return FULL_BOARD & ~(own | known)


@numba.njit(cache=True)
def result_of_move(own: int, opponent: int, square: int) -> int:
    """LOSS on an occupied square, WIN with a line, DRAW on a full board, GOES_ON otherwise."""
    if (opponent >> square) & 1:
        return LOSS
    after = own | (1 << square)
    if has_line(after):
        return WIN
    if after | opponent == FULL_BOARD:
        return DRAW
    return GOES_ON
