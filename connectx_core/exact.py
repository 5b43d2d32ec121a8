"""The exact values of a position's moves: from the opening table, by the solver for all other positions."""

from collections.abc import Iterable

from connectx_core.books import openings
from connectx_core.clock import Budget
from connectx_core.position import Geometry, Position, Scores, sign
from connectx_core.solver import UNKNOWN, Solver, Value

__all__ = ["move_values"]


def has_openings(geometry: Geometry) -> bool:
    """Whether the opening table covers this board."""
    return openings().geometry == geometry


def move_values(
    position: Position,
    solver: Solver | None,
    budget: Budget | None = None,
    best: bool = False,
    known: Value = UNKNOWN,
) -> list[Value | None]:
    """The value of each column's move, seen by the side to move; None where the column is full.

    >>> from connectx_core.position import STANDARD
    >>> position = Position.from_moves([3, 3], STANDARD)
    >>> [value.low for value in move_values(position, None)]
    [-3, -3, -2, 1, -2, -3, -3]

    Args:
        solver: None where none can run: then only the table is asked, and other moves are unknown.
        budget: of the solver, see there. What is not proven when it runs out is an interval.
        best: prove only which moves are best, and by how much.
        known: what is proven of the position's own score.
    """
    scores, score = openings().scores(position), openings().score(position)
    if scores is not None:
        return [None if one is None else Value(one, one) for one in scores]
    known = known if score is None else Value(score, score)
    if solver is None:
        legal = position.legal_columns()
        return [UNKNOWN if column in legal else None for column in range(position.geometry.columns)]
    search = solver.best_moves if best else solver.scores
    return search(position, budget, known=known)


def exact_scores(
    position: Position, solver: Solver | None, budget: Budget | None = None, known: Value = UNKNOWN
) -> Scores | None:
    """The scores of all moves; None if some are not proven when the budget runs out. Args: as ``move_values``."""
    values = move_values(position, solver, budget, known=known)
    return [value and value.low for value in values] if all(value is None or value.exact for value in values) else None


def promising(values: Iterable[Value | None]) -> dict[int, Value]:
    """The columns with the best proven result, of these those with the best possible one, and their values."""
    known = {column: value for column, value in enumerate(values) if value is not None}
    promises = {column: (sign(value.low), sign(value.high)) for column, value in known.items()}
    best = max(promises.values())
    return {column: value for column, value in known.items() if promises[column] == best}
