"""Positions to label, and what is proven of their moves: games that a network plays, but for moves by chance.

Half of the games are half-random (each move is random with probability 1/2), the others near-perfect (1/4). The other
moves are the network's, and in the first plies perfect ones of the opening table. Nobody makes a line: a game ends
where every move would.

A game is labelled from its end: of each position the score first, for which the position after it gives a bound, then
only which moves are best. That takes a third of the time of all scores, which one label in seven has. Positions in
which the next stone can make a line teach little: by default one in ten is taken, and none for hard positions alone.
"""

import numpy as np

from connectx_core.afterstates import MoveNetwork
from connectx_core.books import openings
from connectx_core.exact import move_values
from connectx_core.position import NO_MOVE, SPAN, STANDARD, Position, winning_spots
from connectx_core.solver import UNKNOWN, Solver, Value
from connectx_toolkit.games.labelled import BOUND, Labels, moves_of

ERROR_SHARES = (0.5, 0.25)  # of random moves, in turn: half-random and near-perfect games
FIRST_TAKEN, LAST_TAKEN = (
    8,
    33,
)  # stones of the first and the last position that is taken; the opening table has all before
# Share of the positions that are taken, by their stones; of later ones all. The solver takes long where there are few:
# 290 ms of processor time for the best moves at 8 stones, 83 at 10, 21 at 12, 8 at 14, 0.5 at 20.
TAKEN = {8: 0.02, 9: 0.05, 10: 0.15, 11: 0.35, 12: 0.7}
WHOLE = 0.15  # share of the labels that have the exact scores of all moves


def games_of(games: int, rng: np.random.Generator, network: MoveNetwork) -> list[list[Position]]:
    """The positions of so many games, up to ``LAST_TAKEN`` stones."""
    shares, numbers = np.resize(ERROR_SHARES, games), np.arange(games)
    stones, masks = np.zeros(games, np.int64), np.zeros(games, np.int64)
    paths: list[list[Position]] = [[] for _ in range(games)]
    for ply in range(LAST_TAKEN + 1):
        positions = [Position(*pair, STANDARD) for pair in zip(stones.tolist(), masks.tolist(), strict=True)]
        for number, position in zip(numbers, positions, strict=True):
            paths[number].append(position)
        moves = moves_of(masks, STANDARD)
        playable = (moves != 0) & (winning_spots(stones, masks, STANDARD)[:, None] & moves == 0)
        worth = rng.random(moves.shape)
        chosen = np.flatnonzero(rng.random(len(masks)) >= shares)
        if ply < FIRST_TAKEN:
            known = [openings().scores(positions[row]) or [] for row in chosen]
            worth[chosen] += np.array([[NO_MOVE if s is None else s for s in scores] for scores in known]).reshape(
                -1, 7
            )
        elif len(chosen):
            worth[chosen] = network.evaluate_many(stones[chosen], masks[chosen])["policy"]
        columns = np.where(playable, worth, -np.inf).argmax(1)
        on = np.flatnonzero(playable.any(1))
        stones, masks = (stones ^ masks)[on], (masks | moves[np.arange(len(masks)), columns])[on]
        shares, numbers = shares[on], numbers[on]
        if not len(on):
            break
    return paths


def labelled_games(
    games: int, rng: np.random.Generator, solver: Solver, network: MoveNetwork, open_lines: float
) -> Labels:
    """Labels of the positions of so many games, as ``TAKEN`` says.

    Args:
        open_lines: share that is taken of the positions in which the next stone can make a line.
    """
    found: list[tuple[int, int, list[int]]] = []
    for path in games_of(games, rng, network):
        following = None  # the score of the next position of the game, where it is known
        for position in reversed(path[FIRST_TAKEN:]):
            is_open = bool(position.winning_columns() or position.pass_turn().winning_columns())
            if rng.random() >= TAKEN.get(position.ply, 1.0) * (open_lines if is_open else 1.0):
                following = None
                continue
            score = solver.solve(position, known=UNKNOWN if following is None else Value(-following, SPAN)).low
            is_whole = rng.random() < WHOLE
            values = move_values(position, solver, best=not is_whole, known=Value(score, score))
            found.append((position.position, position.mask, [stored(value) for value in values]))
            following = score
    stones, masks, scores = zip(*found, strict=True) if found else ([], [], [])
    labels = Labels(np.array(stones, np.int64), np.array(masks, np.int64), np.array(scores, np.int8).reshape(-1, 7))
    return labels.take(np.flatnonzero((labels.legal & ~labels.perfect).any(1)))


def stored(value: Value | None) -> int:
    """What labels hold of a move's value: its score, or an upper bound, or that there is no such move."""
    return NO_MOVE if value is None else value.low if value.exact else value.high - BOUND
