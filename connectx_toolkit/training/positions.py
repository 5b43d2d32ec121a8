"""Positions to label, with the exact score of every move: those of games whose moves are perfect or, by chance, random.

Half of the games are half-random (each move is random with probability 1/2), the others near-perfect (1/4). A perfect
move is any of the best exact score. Nobody makes a line: a game ends where every move would. This is how the test sets
are drawn ("half-random" and "near-perfect" in connectx_toolkit/games/recipes.py), but for their seeds.
"""

import numpy as np

from connectx.exact import move_values
from connectx.position import NO_MOVE, STANDARD, Position, winning_spots
from connectx.solver import UNKNOWN, Solver, Value
from connectx_toolkit.games.labelled import Labels, moves_of, score_moves

ERROR_SHARES = (0.5, 0.25)  # of random moves, in turn: half-random and near-perfect games
LAST_TAKEN = 36  # stones of the last position that is taken
# Share of the positions that are taken, by their stones; of later ones all. The solver takes long where there are few:
# 130 ms of processor time for all moves at 8 stones, 48 at 9, 25 at 10, 10 at 11.
TAKEN = {**dict.fromkeys(range(8), 0.0), 8: 0.04, 9: 0.12, 10: 0.3, 11: 0.6}
ONE_BY_ONE = 11  # stones: up to here, what is known of a position's own score makes its solution quicker


def labelled_games(games: int, rng: np.random.Generator, solver: Solver) -> Labels:
    """The positions of so many games whose moves differ in their exact scores, as ``TAKEN`` says."""
    error_shares = np.resize(ERROR_SHARES, games)
    positions, masks, known = np.zeros(games, np.int64), np.zeros(games, np.int64), [UNKNOWN] * games
    parts = list[Labels]()
    for stones in range(LAST_TAKEN + 1):
        is_taken = rng.random(len(masks)) < TAKEN.get(stones, 1.0)
        is_random = rng.random(len(masks)) < error_shares
        scores = np.full((len(masks), STANDARD.columns), NO_MOVE, np.int8)
        if stones > ONE_BY_ONE:
            scores = score_moves(positions, masks, solver)
        else:
            for row in np.flatnonzero(is_taken | ~is_random):
                position = Position(int(positions[row]), int(masks[row]), STANDARD)
                values = move_values(position, solver, best=not is_taken[row], known=known[row])
                lows = [NO_MOVE if value is None or not value.exact else value.low for value in values]
                scores[row] = lows if is_taken[row] else [low if low == max(lows) else NO_MOVE for low in lows]
        moves = moves_of(masks, STANDARD)
        differ = (np.where(moves != 0, scores, scores.max(1)[:, None]) != scores.max(1)[:, None]).any(1)
        parts.append(Labels(positions, masks, scores).take(np.flatnonzero(is_taken & differ)))
        quiet = (moves != 0) & (winning_spots(positions, masks, STANDARD)[:, None] & moves == 0)
        best = np.where(quiet, scores, NO_MOVE).max(1)[:, None]
        choice = np.where(is_random[:, None], quiet, quiet & (scores == best) & (best != NO_MOVE))
        column = (rng.random(choice.shape) * choice).argmax(1)
        goes_on = np.flatnonzero(choice.any(1))
        is_kept = scores[np.arange(len(column)), column] == scores.max(1)  # then the next score is known
        next_scores = [-int(scores[row].max()) if is_kept[row] and not is_random[row] else None for row in goes_on]
        known = [UNKNOWN if score is None else Value(score, score) for score in next_scores]
        moved = moves[goes_on, column[goes_on]]
        positions, masks = (positions ^ masks)[goes_on], masks[goes_on] | moved
        error_shares = error_shares[goes_on]
    return Labels(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
