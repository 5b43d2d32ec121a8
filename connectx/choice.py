"""Chooses among moves with the same exact result: the one after which a fallible opponent errs most.

The opponent is modelled as a population of searchers of different depths (ConnectX agents look 4 to 12 plies ahead).
Each one avoids replies that lose within its depth, takes a win within its depth, and otherwise follows its evaluation.
The exact score of a reply says how far away the end of the game is, so that no second search is needed.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from functools import cache

from connectx.clock import Budget
from connectx.heuristic import evaluate
from connectx.position import Position

HORIZONS = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # search depths of the population, in plies, equally frequent
MOST_REPLIES = 4  # replies of the opponent that the choice looks ahead
# Share of replies that give points away: minimax@8 lost 30% of the points in about 14 replies from won openings.
GIFT_RATE = 0.05
TEMPERATURE = 8.0  # in evaluation points; the lower, the more strictly a searcher follows its evaluation

Scores = Sequence[int | None]  # the exact score of each column's move for the side to move; None if it is full


def sign(score: int) -> int:
    return (score > 0) - (score < 0)


def plies_to_end(score: int, ply: int, cells: int) -> int:
    """How many plies perfect play still lasts from a position of this score at ``ply``, with the winning stone."""
    if score == 0:
        return cells - ply
    last = cells + 1 - 2 * abs(score)  # the ply of the winning stone: this or one less, by who wins
    last -= (last - ply) % 2 == (score > 0)
    return last + 1 - ply


def reply_probabilities(position: Position, scores: Scores) -> dict[int, float]:
    """The probability that the population plays each legal column, given the exact scores of all columns."""
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


class Unknown(Exception):
    """There is not enough time to find a position's scores."""


# exact(position) -> the exact scores of its moves; raises Unknown.
Exact = Callable[[Position], Scores]


class Gifts:
    """The points that a fallible opponent is expected to give away (a win is 1, a draw 0.5). Caches its results.

    Its methods raise ``Unknown`` where ``exact`` does.
    """

    def __init__(self, exact: Exact):
        self.exact = cache(exact)
        self.expected, self.best, self._shares = cache(self._expected), cache(self._best), cache(self._shares_of)

    def _shares_of(self, position: Position) -> dict[int, float]:
        return reply_probabilities(position, self.exact(position))

    def _expected(self, position: Position, replies: int) -> float:
        """The points that the side to move is expected to give away in its next ``replies`` moves.

        After a reply that gives nothing away, the other side plays the move that keeps the result and has the largest
        expected gift. Each move beyond the next ``replies``, until the end of perfect play, gives points away with
        probability ``GIFT_RATE``.
        """
        if position.is_over():
            return 0.0
        scores = self.exact(position)
        value = max(sign(score) for score in scores if score is not None)
        gift = 0.0
        for column, share in self._shares(position).items():
            score = scores[column] or 0
            lost = (value - sign(score)) / 2
            if share > 0 and lost == 0 and replies > 1:
                lost = self.best(position.play(column), replies - 1)
            elif lost == 0:
                lost = later_gift(plies_to_end(-score, position.ply + 1, position.geometry.cells) // 2)
            gift += share * lost
        return gift

    def _best(self, position: Position, replies: int) -> float:
        """The largest gift to expect in the other side's next ``replies`` moves, if the mover keeps the result."""
        if position.is_over():
            return 0.0
        columns = candidates(position, self.exact(position))
        return max(self.expected(position.play(column), replies) for column in columns)


def later_gift(replies: int) -> float:
    """The expected gift, at most half a point, of that many replies about which nothing else is known."""
    return (1 - (1 - GIFT_RATE) ** replies) / 2


def unhurried(position: Position, columns: list[int]) -> list[int]:
    """Among otherwise equal moves, those that do not lose at once; if all lose at once, those that block a win."""
    threats = position.pass_turn().winning_columns()
    lasting = [column for column in columns if not position.play(column).winning_columns()]
    return lasting or [column for column in columns if column in threats] or columns


def candidates(position: Position, scores: Scores) -> list[int]:
    """The columns that keep the result and do not shorten the game; longest game first, then most central."""
    legal = {column: score for column, score in enumerate(scores) if score is not None}
    result = sign(max(legal.values()))
    kept = [column for column in position.geometry.column_order if column in legal and sign(legal[column]) == result]
    return sorted(unhurried(position, kept), key=lambda column: -legal[column])


def choose(
    position: Position,
    scores: Scores,
    replies: Callable[[Position], Scores | None],
    budget: Budget | None = None,
    most_replies: int = MOST_REPLIES,
) -> int:
    """The column to play, given the exact score of every legal move.

    A won position is won as quickly as possible. In a drawn or lost one, the candidates are the moves that keep the
    result; the one with the largest expected gift is chosen. Ties go to the longest game, then to the centre. The gift
    is computed for the opponent's next move, then for its next two, and so on while time allows.

    Args:
        replies: gives the exact scores of a later position, or None if there is no time to find them.
        budget: when it has run out, no further position is examined.
        most_replies: the largest number of the opponent's moves to look ahead.
    """
    legal = {column: score for column, score in enumerate(scores) if score is not None}
    if max(legal.values()) > 0:
        return max((c for c in position.geometry.column_order if c in legal), key=legal.__getitem__)
    columns = candidates(position, scores)
    if len(columns) == 1:
        return columns[0]

    def exact(later: Position) -> Scores:
        answer = None if budget is not None and budget.is_late() else replies(later)
        if answer is None:
            raise Unknown
        return answer

    gifts, expected = Gifts(exact), dict.fromkeys(columns, 0.0)
    with contextlib.suppress(Unknown):
        for depth in range(1, most_replies + 1):
            expected = {column: gifts.expected(position.play(column), depth) for column in columns}
    return max(columns, key=lambda column: round(expected[column], 6))
