"""Trains the strong policy agent: a policy network that imitates a look-ahead of fixed depth.

The look-ahead, alpha-beta with ``connectx_core.evaluation``, plays games against itself. Random moves in between make
the games different. Every position is labelled with the move that the look-ahead prefers. The network is the opponent
in ``train.py policy-gradient``.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from connectx_core.evaluation import evaluate
from connectx_core.jit import njit, popcount
from connectx_core.position import STANDARD, column_cells, has_line, open_cells, winning_spots
from connectx_core.search import safe_moves
from connectx_toolkit.system.console import progress
from connectx_toolkit.training.options import option
from connectx_toolkit.training.runs import begin, publish
from connectx_toolkit.training.supervised import Examples, Fit, FitOptions, small_network, split
from connectx_toolkit.training.vector_games import NO_ACTION, ConnectX, replay

COLUMNS = STANDARD.columns
COLUMN_ORDER = np.array(STANDARD.column_order)
PLAYED_TOGETHER = 500  # games that are played together
RANDOM_SHARE = 0.25  # of moves at random in place of the preferred ones
WON = 30_000


@dataclass
class Config(FitOptions):
    """Options of ``train.py imitate``."""

    METHOD = "imitate"

    depth: int = option(4, "depth of the look-ahead in plies", least=1)
    games: int = option(10_000, "games of the look-ahead against itself", least=1)
    run: Path = option(Path("runs/imitate"), "folder for the curve")
    output: Path = option(Path(), "file to write: the policy network", in_run="strong_policy.bin")


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
def preferred_column(position, mask, depth, geometry):
    """The column with the best value at a depth of ``depth`` plies; among equal ones the most central."""
    best, preferred = -2 * WON, -1
    for column in COLUMN_ORDER:
        move = open_cells(mask, geometry) & column_cells(column, geometry)
        if move:
            value = WON
            if not has_line(position | move, geometry):
                value = -look_ahead(position ^ mask, mask | move, depth - 1, -2 * WON, -best, geometry)
            if value > best:
                best, preferred = value, column
    return preferred


@njit
def lookahead_games(count, depth, random_share, seed, geometry):
    """Games of the look-ahead against itself.

    Args:
        depth: plies that it looks ahead, at least 1.
        random_share: probability of a random legal move in place of the preferred one.

    Returns:
        (moves, preferred): (count, cells) int8 each, NO_ACTION after the end of a game.
    """
    np.random.seed(seed)
    moves = np.full((count, geometry.rows * geometry.columns), NO_ACTION, np.int8)
    preferred = moves.copy()
    for game in range(count):
        position = mask = 0
        ply = 0
        while mask != geometry.board_mask and not has_line(position ^ mask, geometry):
            best = preferred_column(position, mask, depth, geometry)
            column = best
            if np.random.random() < random_share:
                column = np.random.randint(geometry.columns)
                while open_cells(mask, geometry) & column_cells(column, geometry) == 0:
                    column = np.random.randint(geometry.columns)
            moves[game, ply], preferred[game, ply] = column, best
            move = open_cells(mask, geometry) & column_cells(column, geometry)
            position, mask = position ^ mask, mask | move
            ply += 1
    return moves, preferred


def games_of(config: Config) -> tuple[np.ndarray, np.ndarray]:
    """(moves, preferred) of the games that the config asks for. Those of a part depend on the seed and its number."""
    parts = []
    with progress(config.games, "game", "look-ahead games") as bar:
        for number in range(-(-config.games // PLAYED_TOGETHER)):
            seed = int(np.random.default_rng([config.seed, number]).integers(1 << 32))
            parts.append(lookahead_games(PLAYED_TOGETHER, config.depth, RANDOM_SHARE, seed, STANDARD))
            bar.update(PLAYED_TOGETHER)
    moves, preferred = map(np.concatenate, zip(*parts, strict=True))
    return moves[: config.games], preferred[: config.games]


def labelled(moves: np.ndarray, preferred: np.ndarray) -> Examples:
    """All positions of the games in which a move was played, with the preferred column."""
    games = ConnectX(len(moves), STANDARD)
    boards = [games.boards(np.flatnonzero(moves[:, 0] != NO_ACTION))]
    for ply, _ in enumerate(replay(games, moves[:, :-1]), 1):
        boards.append(games.boards(np.flatnonzero(moves[:, ply] != NO_ACTION)))
    columns = preferred.T[preferred.T != NO_ACTION]  # ply by ply, as the boards are
    return Examples(np.concatenate(boards), columns.astype(np.int64))


def train(config: Config) -> Fit:
    """Plays the games, trains the network on them, and writes it."""
    begin(config)
    torch.set_num_threads(1)
    moves, preferred = games_of(config)
    network = small_network("policy", COLUMNS, config.channels, config.hidden, config.seed)
    parts = split(len(moves), lambda games: labelled(moves[games], preferred[games]))
    fit = Fit(config, network, parts, mirrored=lambda columns: COLUMNS - 1 - columns)
    agreement = fit.run("agreement with the look-ahead")
    facts = {"agreement": agreement.facts(), "look_ahead": config.depth, "seed": config.seed}
    score = f"the move of the look-ahead of {config.depth} plies in {agreement}"
    publish(config, fit.average.to_bytes(), facts, score)
    return fit
