"""How labelled positions come about: games played at random or nearly perfectly, and the exact score of every move.

Near-perfect play looks ahead some plies (near the end: to the end) and plays any move instead with a probability drawn
for each game. Half-random play does so for half of its moves; agents' play is that of two players who look ahead to
depths of their own; careful play is random, but lets nobody win at once. Hard positions are those of careful play that
the solver takes many nodes for. Games that end before the ply that is wanted count as failed.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from connectx.geometry import Geometry
from connectx.heuristic import evaluate
from connectx.jit import njit, popcount
from connectx.nets.encoding import safe_cells
from connectx.position import column_cells, has_line, open_cells, winning_spots
from connectx.score import NO_MOVE, SPAN
from connectx.search import safe_moves
from connectx.solver import JOB, JOB_LOW, Limit, Solver

LARGEST_ERROR_SHARE = 0.4  # of the moves of a near-perfect game; the least is none
DEPTH = 3  # plies that near-perfect play looks ahead
CAREFUL, DEEPEST = 0, 6  # depths: without looking ahead, any safe move; the most that half-random and agents' play see
AGENTS_ERROR_SHARE = 0.15  # the largest of agents' play
EXACT_FROM = 22  # from this ply on its moves are the solver's
WON = 30_000
HARD_NODES = 100_000  # of the solver, from which on a position is hard: half of the careful ones with 11 stones are
HARD_TABLE = 22  # log2 of the entries of its table

# For the wanted plies, (n,), positions and masks after games of them; mask -1 where the game has ended before.
Play = Callable[[np.ndarray, np.random.Generator, Solver], tuple[np.ndarray, np.ndarray]]


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
def play_out(plies, error_share, depths, geometry):
    """(position, mask) after a game of so many plies, (0, -1) if it ends before; see ``play_ply``.

    Args:
        depths: of the first and the second player: (2,) int64.
    """
    position = mask = 0
    weights = np.zeros(geometry.columns)
    for ply in range(plies):
        position, mask = play_ply(position, mask, error_share, depths[ply % 2], weights, geometry)
        if mask < 0:
            break
    return position, mask


@njit
def play_games(seed, plies, error_shares, depths, geometry):
    """Positions and masks after games of the given plies, two (n,) int64; mask -1 where the game has ended before.

    Args:
        error_shares, depths: of each game, (n,) float64 and (n, 2) int64, see ``play_out``.
    """
    np.random.seed(seed)
    positions, masks = np.zeros(len(plies), np.int64), np.zeros(len(plies), np.int64)
    for game in range(len(plies)):
        positions[game], masks[game] = play_out(plies[game], error_shares[game], depths[game], geometry)
    return positions, masks


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


def moves_of(masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """The stone that each column would take: (n, columns) int64 of one bit each, 0 where the column is full."""
    columns = np.array([geometry.column_mask(column) for column in range(geometry.columns)])
    return open_cells(masks, geometry)[:, None] & columns


def score_moves(
    positions: np.ndarray, masks: np.ndarray, solver: Solver, known: np.ndarray | None = None
) -> np.ndarray:
    """The exact score of every move: (n, columns) int8, NO_MOVE where there is none. Nobody may have a line.

    Args:
        known: the positions' own scores, (n,), if they are: no move's score is above.
    """
    geometry = solver.geometry
    moves = moves_of(masks, geometry)
    wins = winning_spots(positions, masks, geometry)[:, None] & moves
    quickest = (geometry.cells + 1 - np.bitwise_count(masks).astype(np.int64)) // 2
    scores = np.where(wins != 0, quickest[:, None], NO_MOVE).astype(np.int8)
    rows, columns = np.nonzero((moves != 0) & (wins == 0))
    jobs = np.empty((len(rows), JOB), np.int64)
    jobs[:, 0], jobs[:, 1] = (positions ^ masks)[rows], masks[rows] | moves[rows, columns]
    jobs[:, 2:] = -SPAN, SPAN, -SPAN, SPAN  # all that is known, and all that is asked
    if known is not None:
        jobs[:, JOB_LOW] = -known[rows]
    queue = jobs.reshape(-1)
    solver.work(queue)
    scores[rows, columns] = -queue[JOB_LOW::JOB]
    return scores


def play_on(
    positions: np.ndarray, masks: np.ndarray, error_shares: np.ndarray, rng: np.random.Generator, solver: Solver
) -> tuple[np.ndarray, np.ndarray]:
    """One ply of exact play with errors: the positions after it, with mask -1 if the game is over."""
    scores = score_moves(positions, masks, solver).astype(np.int64)
    moves = moves_of(masks, solver.geometry)
    wins = winning_spots(positions, masks, solver.geometry)[:, None] & moves
    is_best = scores == scores.max(1, keepdims=True)
    wrong = (rng.random(len(masks)) < error_shares)[:, None]
    chances = np.where(wrong, (moves != 0) & (wins == 0), is_best) * rng.random(moves.shape)
    chosen = np.arange(len(masks)), chances.argmax(1)
    move = np.where((chances[chosen] > 0) & (wins[chosen] == 0), moves[chosen], 0)
    return positions ^ masks, np.where(move != 0, masks | move, -1)


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


def games_of(
    style: Style, plies: np.ndarray, rng: np.random.Generator, solver: Solver
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and masks after games of a style of the given plies; mask -1 where the game has ended before."""
    error_shares, depths = style(len(plies), rng)
    return play_games(int(rng.integers(1 << 32)), plies, error_shares, depths, solver.geometry)


random_games = partial(games_of, random_style)
careful_games = partial(games_of, careful_style)
half_random_games = partial(games_of, half_random_style)
agents_games = partial(games_of, agents_style)


def near_perfect_games(plies: np.ndarray, rng: np.random.Generator, solver: Solver) -> tuple[np.ndarray, np.ndarray]:
    """The same after near-perfect games, which are exact from ply ``EXACT_FROM`` on, but for errors."""
    error_shares, depths = near_perfect_style(len(plies), rng)
    seed = int(rng.integers(1 << 32))
    positions, masks = play_games(seed, np.minimum(plies, EXACT_FROM), error_shares, depths, solver.geometry)
    for ply in range(EXACT_FROM, int(plies.max(initial=0))):
        going = np.flatnonzero((plies > ply) & (masks >= 0))
        played = play_on(positions[going], masks[going], error_shares[going], rng, solver)
        positions[going], masks[going] = played
    return positions, masks


def hard_games(plies: np.ndarray, rng: np.random.Generator, solver: Solver) -> tuple[np.ndarray, np.ndarray]:
    """The same after careful games, with mask -1 where the position is not hard, too.

    What is hard is asked of a solver whose table is empty at first, so that it depends on the games alone.
    """
    positions, masks = careful_games(plies, rng, solver)
    fresh = Solver(solver.geometry, HARD_TABLE)
    for row in np.flatnonzero(masks >= 0):
        job = np.array([positions[row], masks[row], -SPAN, SPAN, -SPAN, SPAN])
        if fresh.work(job, Limit(None, fresh.nodes + HARD_NODES)):
            masks[row] = -1
    return positions, masks


def has_choice(positions: np.ndarray, masks: np.ndarray, geometry: Geometry) -> np.ndarray:
    """(n,) bool: whether no move wins at once and two or more do not lose at once."""
    wins = winning_spots(positions, masks, geometry) & open_cells(masks, geometry)
    return (wins == 0) & (np.bitwise_count(safe_cells(positions, masks, geometry)) >= 2)


def with_a_choice(
    play: Play, plies: np.ndarray, rng: np.random.Generator, solver: Solver
) -> tuple[np.ndarray, np.ndarray]:
    """The same after games of a kind; mask -1, too, where a move wins or fewer than two do not lose at once."""
    positions, masks = play(plies, rng, solver)
    going = np.flatnonzero(masks >= 0)
    masks[going[~has_choice(positions[going], masks[going], solver.geometry)]] = -1
    return positions, masks


def walks(
    styles: Sequence[Style], first: np.ndarray, last: int, rng: np.random.Generator, geometry: Geometry
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The positions with a choice of games of styles that take turns, from ply ``first``, (n,), to ``last``, in order.

    They take a solver less time than positions of as many stones from games of their own: its table knows something of
    each from the one before.

    Returns:
        positions and masks, two (m,) int64, and the number of the style of each one's game, (m,) int64.
    """
    turns = np.arange(len(first)) % len(styles)
    error_shares, depths = np.empty(len(first)), np.empty((len(first), 2), np.int64)
    for turn, style in enumerate(styles):
        error_shares[turns == turn], depths[turns == turn] = style(int((turns == turn).sum()), rng)
    positions, masks = record_games(int(rng.integers(1 << 32)), last, error_shares, depths, geometry)
    rows, plies = np.nonzero((masks >= 0) & (np.arange(last + 1) >= first[:, None]))
    positions, masks = positions[rows, plies], masks[rows, plies]
    chosen = has_choice(positions, masks, geometry)
    return positions[chosen], masks[chosen], turns[rows[chosen]]
