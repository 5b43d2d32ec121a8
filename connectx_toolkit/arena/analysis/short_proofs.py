"""Wins and losses of the next plies, for boards that the solver cannot finish or cannot hold.

A few plies are searched at once on any board. What that proves are intervals of the exact scores, as the solver's own.
"""

from collections.abc import Sequence

from connectx.clock import Budget
from connectx.geometry import Geometry
from connectx.position import Position
from connectx.score import plies_to_end
from connectx.search import WIN, Result, Searcher
from connectx.solver import UNKNOWN, Value
from connectx_toolkit.machine.object_pool import ObjectPool

TABLE_BUCKETS = 65_537  # of the search's table: 2 MB; a short search fills no more


@ObjectPool
def searcher_for(geometry: Geometry) -> Searcher:
    """A compiled searcher; its table is kept from position to position."""
    searcher = Searcher(geometry, buckets=TABLE_BUCKETS)
    start = Position.empty(geometry)
    if not start.winning_columns():
        searcher.search(start, Budget(nodes=1), max_depth=1)
    return searcher


def proven_values(position: Position, seconds: float) -> list[Value | None]:
    """What a search to a few plies proves of each column's move, seen by the side to move; None for a full column.

    It goes one ply deeper until the time is over. Wins and losses that it finds bound the score; a distance is exact
    where no shorter one can have been missed.

    Args:
        position: not over; of any size.
        seconds: without the compilation, which takes some seconds when a board is first asked for.
    """
    with searcher_for(position.geometry) as searcher:
        return _proven_by(searcher, position, Budget.seconds(seconds))


def _proven_by(searcher: Searcher, position: Position, budget: Budget) -> list[Value | None]:
    """As ``proven_values``, by a searcher whose kernel is compiled."""
    span = max(-UNKNOWN.low, (position.geometry.cells + 1) // 2)
    win = (position.geometry.cells + 1 - position.ply) // 2  # the score of a win with the next stone
    found: dict[int, Value] = {}
    after = {column: position.play(column) for column in position.legal_columns()}
    for column, child in after.items():
        if child.is_lost():
            found[column] = Value(win, win)
        elif child.is_full():
            found[column] = Value(0, 0)
    depth = 1
    while len(found) < len(after) and depth <= position.geometry.cells and not budget.is_late():
        for column in sorted(after.keys() - found.keys()):
            result = searcher.search(after[column], budget, max_depth=depth)
            if result.score > WIN or (result.score < -WIN and not budget.is_late()):  # a loss needs all of its replies
                found[column] = _bounds(after[column], result, span).negated()
        depth += 1
    unknown = Value(-span, win - 1)
    return [found.get(c, unknown) if c in after else None for c in range(position.geometry.columns)]


def _bounds(position: Position, result: Result, span: int) -> Value:
    """The interval of the score of a position that a search has proven to be won or lost."""
    score = result.score - WIN if result.score > 0 else result.score + WIN
    # A search sees all lines to two plies beyond its depth, and longer ones if replies are forced. The depth before
    # this one proved nothing, and the two sides' last stones alternate: a shorter line would be three plies shorter.
    if plies_to_end(score, position.ply, position.geometry.cells) <= result.depth + 3:
        return Value(score, score)
    return Value(score, span) if score > 0 else Value(-span, score)


def narrowed(values: Sequence[Value | None], others: Sequence[Value | None]) -> list[Value | None]:
    """What two proofs about the same moves say together."""
    pairs = zip(values, others, strict=True)
    return [
        None if one is None or other is None else Value(max(one.low, other.low), min(one.high, other.high))
        for one, other in pairs
    ]
