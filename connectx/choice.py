"""Which of several moves with the same exact result to play: the one after which a fallible opponent errs most.

The opponent is taken for one of a population of searchers that look some plies ahead (ConnectX agents look 4 to 12).
Such a one avoids every reply whose loss it can see, takes a win that it can see, and otherwise follows its evaluation.
How far away the end of a line is follows from the exact score of the reply, so that no second search is needed.
"""

import math
from collections.abc import Callable, Sequence

from connectx.clock import Budget
from connectx.heuristic import evaluate
from connectx.position import Position

HORIZONS = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # plies that the members of the population see, in equal parts
TEMPERATURE = 8.0  # of evaluation points: how strictly a searcher follows its own evaluation

Scores = Sequence[int | None]  # the exact score of each column's move for the side to move; None if it is full


def sign(score: int) -> int:
    return (score > 0) - (score < 0)


def plies_to_end(score: int, ply: int, cells: int) -> int:
    """Plies that perfect play still lasts from a position of this score at ``ply``, the winning stone included."""
    if score == 0:
        return cells - ply
    last = cells + 1 - 2 * abs(score)  # the ply of the winning stone: this or one less, by who wins
    last -= (last - ply) % 2 == (score > 0)
    return last + 1 - ply


def reply_probabilities(position: Position, scores: Scores) -> dict[int, float]:
    """How probably the population plays each legal column, given the exact scores of them all."""
    replies = {column: score for column, score in enumerate(scores) if score is not None}
    children = {column: position.play(column) for column in replies}
    cells = position.geometry.cells
    lengths = {
        column: 1 if child.is_lost() else 1 + plies_to_end(-replies[column], child.ply, cells)
        for column, child in children.items()
    }
    appeal = {
        c: math.exp(-evaluate(child.position, child.mask, child.geometry) / TEMPERATURE)
        for c, child in children.items()
    }
    probabilities = dict.fromkeys(replies, 0.0)
    for horizon in HORIZONS:
        shares = horizon_shares(replies, lengths, appeal, horizon)
        total = sum(shares.values())
        for column, share in shares.items():
            probabilities[column] += share / total / len(HORIZONS)
    return probabilities


def horizon_shares(
    replies: dict[int, int], lengths: dict[int, int], appeal: dict[int, float], horizon: int
) -> dict[int, float]:
    """Relative frequencies of the replies of a searcher that sees ``horizon`` plies."""
    seen = {column: sign(replies[column]) if lengths[column] <= horizon else 0 for column in replies}
    best = max(seen.values())
    if best == 0:
        return {column: appeal[column] for column in replies if seen[column] == 0}
    ends = {column: lengths[column] for column in replies if seen[column] == best}
    wanted = min(ends.values()) if best > 0 else max(ends.values())
    return {column: 1.0 for column, length in ends.items() if length == wanted}


def expected_gift(position: Position, scores: Scores) -> float:
    """What the side to move probably gives away with its next move, in points (a win 1, a draw 0.5), 0 if nothing."""
    value = max(sign(score) for score in scores if score is not None)
    chances = reply_probabilities(position, scores)
    return sum(share * (value - sign(scores[column] or 0)) / 2 for column, share in chances.items())


def unhurried(position: Position, columns: list[int]) -> list[int]:
    """Of moves that are equal otherwise, those that do not lose at once; if all do, those that block a win."""
    threats = position.pass_turn().winning_columns()
    lasting = [column for column in columns if not position.play(column).winning_columns()]
    return lasting or [column for column in columns if column in threats] or columns


def choose(
    position: Position, scores: Scores, replies: Callable[[Position], Scores | None], budget: Budget | None = None
) -> int:
    """The column to play, given the exact score of every legal move.

    A won position is won as quickly as it can be. In a drawn or lost one every move that keeps the result is a
    candidate; the one with the largest expected gift is chosen, and among equals the longest game, then the centre.

    Args:
        replies: the exact scores of a position one ply on, or None if time does not allow to know them.
        budget: no further candidate is looked at when it has run out.
    """
    legal = {column: score for column, score in enumerate(scores) if score is not None}
    best = max(legal.values())
    central = [column for column in position.geometry.column_order if column in legal]
    if best > 0:
        return max(central, key=legal.__getitem__)
    kept = [column for column in central if sign(legal[column]) == sign(best)]
    candidates = sorted(unhurried(position, kept), key=lambda column: -legal[column])
    gifts = dict.fromkeys(candidates, 0.0)
    for column in candidates if len(candidates) > 1 else ():
        child = position.play(column)
        if child.is_over() or (budget is not None and budget.is_late()):
            continue
        known = replies(child)
        if known is not None:
            gifts[column] = expected_gift(child, known)
    return max(candidates, key=lambda column: (round(gifts[column], 6), legal[column]))
