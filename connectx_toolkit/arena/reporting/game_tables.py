"""Tables of the database of games: what was played in a position, beside exact scores."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from connectx.position import Position
from connectx.score import plies_to_end, sign
from connectx_toolkit.arena.games.database import Played

NAMED = 3  # players of a move that are named
VERBS = {1: "wins", 0: "draws", -1: "loses"}


def played_table(
    title: str, position: Position, played: Sequence[Played], scores: Sequence[int | None] | None
) -> Table:
    """A row for each move that was played, and for each other legal one its exact score.

    Args:
        scores: exact scores by column; None if they are not known.
    """
    caption = "points: of the player who made the move, a win being 100%; exact: with perfect play of both sides"
    table = Table(title=title, caption=caption, box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for head in ("column", "games", "points", "won", "drawn", "lost", "exact", "by whom"):
        table.add_column(head, justify="left" if head in ("exact", "by whom") else "right")
    total = sum(one.games for one in played)
    for one in played:
        share = f"{one.games} ({100 * one.games / total:.0f}%)"
        points = "" if one.points is None else f"{100 * one.points:.0f}%"
        results = (str(count) for count in (one.won, one.drawn, one.lost))
        exact = exact_words(position, scores, one.column)
        table.add_row(column_words(position, one.column), share, points, *results, exact, players_words(one))
    for column in _not_played(position, played):
        empty = [""] * 5
        table.add_row(column_words(position, column), "-", *empty[1:], exact_words(position, scores, column), "")
    return table


def _not_played(position: Position, played: Sequence[Played]) -> list[int]:
    """The other legal columns; of a symmetric position without the mirror images."""
    last, known = position.geometry.columns - 1, {one.column for one in played}
    is_symmetric = position == position.mirror()
    legal = [] if position.is_over() else position.legal_columns()
    return [c for c in legal if c not in known and not (is_symmetric and c > last - c)]


def column_words(position: Position, column: int) -> str:
    """ "2", or "2 or 4" in a symmetric position, where both are the same."""
    mirrored = position.geometry.columns - 1 - column
    return f"{column} or {mirrored}" if position == position.mirror() and mirrored != column else str(column)


def exact_words(position: Position, scores: Sequence[int | None] | None, column: int) -> str:
    """ "wins in 9 plies", "draws"; "?" where it is not known. The best moves have a star."""
    score = None if scores is None else scores[column]
    if scores is None or score is None:
        return "?"
    best = max(one for one in scores if one is not None)
    plies = plies_to_end(score, position.ply, position.geometry.cells)
    words = VERBS[sign(score)] + (f" in {plies} {'ply' if plies == 1 else 'plies'}" if score else "")
    return f"{words} *" if score == best else words


def players_words(played: Played) -> str:
    """ "my_team 12, them 3, and 4 more"."""
    named = ", ".join(f"{name} {games}" for name, games in played.players[:NAMED])
    more = len(played.players) - NAMED
    return f"{named}, and {more} more" if more > 0 else named
