"""Positions to label: games of five kinds, and of each game the positions that leave a choice; and their exact scores.

The kinds take turns. Random games play any move. Careful ones too, but let nobody win at once. Near-perfect ones look
three plies ahead and play any move instead with a probability drawn for each game, half-random ones for half of their
moves with a deeper look, and agents' games are those of two players who look ahead to depths of their own. Nobody makes
a line: a game ends before.
"""

from collections.abc import Callable

import numpy as np

from connectx.encoding import safe_cells
from connectx.jit import njit, popcount
from connectx.lookahead import evaluate
from connectx.position import (
    Geometry,
    column_cells,
    has_line,
    open_cells,
    winning_spots,
)
from connectx.search import safe_moves

LARGEST_ERROR_SHARE = 0.4  # of the moves of a near-perfect game; the least is none
DEPTH = 3  # plies that near-perfect play looks ahead
CAREFUL, DEEPEST = 0, 6  # depths: without looking ahead, any safe move; the most that half-random and agents' play see
AGENTS_ERROR_SHARE = 0.15  # the largest of agents' play
WON = 30_000
# Stones of the first position that is taken: share of the games, in %. The solver takes long where there are few.
FIRST = {8: 4, 9: 6, 10: 10, 11: 12, 12: 15, 13: 18, 14: 15, 15: 10, 16: 10}
LAST = 34  # stones of the last position that is taken


@njit
def column_of_choice(weights):
    """An index drawn with probability proportional to its weight; -1 if all are 0."""
    total = 0.0
    for weight in weights:
        total += weight
    drawn = np.random.random() * total
    for index in range(len(weights)):
        drawn -= weights[index]
        if weights[index] > 0 and drawn < 0:
            return index
    return -1


@njit
def wins_now(position, mask, geometry):
    """The moves that make a line, as bits. A kernel of its own: what is inlined everywhere takes seconds to compile."""
    return winning_spots(position, mask, geometry) & open_cells(mask, geometry)


@njit
def look_ahead(position, mask, depth, alpha, beta, geometry):
    """Fail-hard alpha-beta value for the mover, who has no line and against whom there is none; depth in plies."""
    if wins_now(position, mask, geometry):
        return WON - popcount(mask)
    moves = safe_moves(position, mask, geometry)
    if moves == 0:
        return 0 if mask == geometry.board_mask else popcount(mask) - WON
    if depth == 0:
        return evaluate(position, mask, geometry)
    for column in range(geometry.columns):
        move = moves & column_cells((column + geometry.columns // 2) % geometry.columns, geometry)
        if move:
            value = -look_ahead(position ^ mask, mask | move, depth - 1, -beta, -alpha, geometry)
            alpha = max(alpha, value)
            if alpha >= beta:
                return beta
    return alpha


@njit
def weigh_random(position, mask, weights, geometry):
    """Every move that makes no line, alike."""
    moves = open_cells(mask, geometry) & ~wins_now(position, mask, geometry)
    for column in range(geometry.columns):
        weights[column] = 1.0 if moves & column_cells(column, geometry) else 0.0


@njit
def weigh_careful(position, mask, weights, geometry):
    """Every move that makes no line and lets nobody make one at once, alike; else every one that makes no line."""
    weigh_random(position, mask, weights, geometry)
    careful = weights.copy()
    for column in range(geometry.columns):
        move = open_cells(mask, geometry) & column_cells(column, geometry)
        if wins_now(position ^ mask, mask | move, geometry):
            careful[column] = 0.0
    if careful.sum() > 0:
        weights[:] = careful


@njit
def weigh_best(position, mask, depth, weights, geometry):
    """Every move of the best value that a look-ahead of ``depth`` plies finds, alike."""
    best, wins = -2 * WON, wins_now(position, mask, geometry)
    for column in range(geometry.columns):
        move = open_cells(mask, geometry) & column_cells(column, geometry)
        weights[column] = 0.0
        if move == 0:
            continue
        value = WON
        if not move & wins:
            value = -look_ahead(position ^ mask, mask | move, depth - 1, -2 * WON, 1 - best, geometry)
        if value > best:
            best = value
            weights[:column] = 0.0
        if value == best:
            weights[column] = 1.0


@njit
def play_ply(position, mask, error_share, depth, weights, geometry):
    """(position, mask) after one more ply, (0, -1) if it ends the game. ``error_share`` 1 is random play.

    Args:
        depth: plies that the player looks ahead, or CAREFUL.
        weights: (columns,) float64 to work on.
    """
    if np.random.random() < error_share:
        weigh_random(position, mask, weights, geometry)
    elif depth == CAREFUL:
        weigh_careful(position, mask, weights, geometry)
    else:
        weigh_best(position, mask, depth, weights, geometry)
    column = column_of_choice(weights)
    if column < 0:
        return 0, -1
    move = open_cells(mask, geometry) & column_cells(column, geometry)
    if has_line(position | move, geometry):
        return 0, -1
    return position ^ mask, mask | move


@njit
def record_games(seed, plies, error_shares, depths, geometry):
    """The positions and masks of games after each of the plies 0 to ``plies``: two (n, plies + 1) int64, as above."""
    np.random.seed(seed)
    games = len(error_shares)
    positions, masks = np.zeros((games, plies + 1), np.int64), np.full((games, plies + 1), -1)
    weights = np.zeros(geometry.columns)
    for game in range(games):
        position = mask = 0
        for ply in range(plies + 1):
            positions[game, ply], masks[game, ply] = position, mask
            position, mask = play_ply(position, mask, error_shares[game], depths[game, ply % 2], weights, geometry)
            if mask < 0:
                break
    return positions, masks


# How a game is played: of n of them the shares of errors, (n,) float64, and the players' depths, (n, 2) int64.
Style = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def near_perfect_style(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return LARGEST_ERROR_SHARE * rng.random(count), np.full((count, 2), DEPTH)


def random_style(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(count), np.full((count, 2), CAREFUL)


def careful_style(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(count), np.full((count, 2), CAREFUL)


def half_random_style(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every other move, by chance, is random, and the others look ahead."""
    return np.full(count, 0.5), np.full((count, 2), DEEPEST)


def agents_style(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two players whose depths are drawn, from careful to ``DEEPEST``, with a few errors."""
    depths = rng.integers(CAREFUL, DEEPEST + 1, (count, 2))
    return AGENTS_ERROR_SHARE * rng.random(count), depths


def has_choice(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """(n,) bool: whether no move wins at once and two or more do not lose at once."""
    wins = winning_spots(positions, masks, geometry) & open_cells(masks, geometry)
    return (wins == 0) & (np.bitwise_count(safe_cells(positions, masks, geometry)) >= 2)


STYLES: tuple[Style, ...] = (careful_style, near_perfect_style, agents_style, random_style, half_random_style)


def sample(games: int, rng: np.random.Generator, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """The positions with a choice of so many games, in order: positions and masks, two (m,) int64.

    Several of one game take a solver less time than as many of games of their own: its table knows something of each
    from the one before.
    """
    first = rng.choice(list(FIRST), games, p=np.array(list(FIRST.values())) / sum(FIRST.values()))
    turns = np.arange(games) % len(STYLES)
    error_shares, depths = np.empty(games), np.empty((games, 2), np.int64)
    for turn, style in enumerate(STYLES):
        error_shares[turns == turn], depths[turns == turn] = style(int((turns == turn).sum()), rng)
    positions, masks = record_games(int(rng.integers(1 << 32)), LAST, error_shares, depths, geometry)
    taken = np.nonzero((masks >= 0) & (np.arange(LAST + 1) >= first[:, None]))
    positions, masks = positions[taken], masks[taken]
    chosen = has_choice(positions, masks, geometry)
    return positions[chosen], masks[chosen]
