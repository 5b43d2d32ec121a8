"""Which of several moves with the same exact result to play: the one after which a fallible opponent errs most.

The opponent is taken for one of a population of searchers that look some plies ahead (ConnectX agents look 4 to 12).
Such a one avoids every reply whose loss it can see, takes a win that it can see, and otherwise follows its evaluation.
How far away the end of a line is follows from the exact score of the reply, so that no second search is needed.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from functools import cache

from connectx.clock import Budget
from connectx.heuristic import evaluate
from connectx.position import Position

HORIZONS = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # plies that the members of the population see, in equal parts
MOST_REPLIES = 4  # of the opponent, that the choice looks ahead
# Share of replies that give something away: minimax@8 lost 30% of the points in about 14 replies from won openings.
GIFT_RATE = 0.05
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


class Unknown(Exception):
    """Time does not allow to know a position's scores."""


# Gives a position's exact scores; raises Unknown.
Exact = Callable[[Position], Scores]


class Gifts:
    """What a fallible opponent probably gives away, in points (a win 1, a draw 0.5). Remembers what it has found.

    Its methods raise ``Unknown`` as ``exact`` does.
    """

    def __init__(self, exact: Exact):
        self.exact = cache(exact)
        self.expected, self.best, self._shares = cache(self._expected), cache(self._best), cache(self._shares_of)

    def _shares_of(self, position: Position) -> dict[int, float]:
        return reply_probabilities(position, self.exact(position))

    def _expected(self, position: Position, replies: int) -> float:
        """What the side to move gives away within its next ``replies`` moves.

        After a reply that gives nothing away, the other side keeps the result in the way that it expects most from.
        Beyond the last of these moves, every further one until the end of perfect play counts ``GIFT_RATE``.
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
        """The most that the side to move can expect of the other's next ``replies`` moves, keeping the result."""
        if position.is_over():
            return 0.0
        columns = candidates(position, self.exact(position))
        return max(self.expected(position.play(column), replies) for column in columns)


def later_gift(replies: int) -> float:
    """What to expect of that many replies of which nothing else is known: half a point at most."""
    return (1 - (1 - GIFT_RATE) ** replies) / 2


def unhurried(position: Position, columns: list[int]) -> list[int]:
    """Of moves that are equal otherwise, those that do not lose at once; if all do, those that block a win."""
    threats = position.pass_turn().winning_columns()
    lasting = [column for column in columns if not position.play(column).winning_columns()]
    return lasting or [column for column in columns if column in threats] or columns


def candidates(position: Position, scores: Scores) -> list[int]:
    """The columns that keep the result and do not hurry its end, longest game first, then from the centre outwards."""
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

    A won position is won as quickly as it can be. In a drawn or lost one every move that keeps the result is a
    candidate; the one with the largest expected gift is chosen, and among equals the longest game, then the centre.
    What the opponent gives away with its next move counts at first, then with its next two, as far as time allows.

    Args:
        replies: the exact scores of a later position, or None if time does not allow to know them.
        budget: no further position is looked at when it has run out.
        most_replies: how many of the opponent's moves are looked at, one after the other.
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
