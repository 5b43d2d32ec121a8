"""One's own games, judged: a row for each, where points were lost, the page, and the file of mistakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from connectx_toolkit.arena.start_positions import add_openings
from connectx_toolkit.games.database import is_database
from connectx_toolkit.games.review import Review, headline, summary
from connectx_toolkit.report.pages import replays_page
from connectx_toolkit.report.tables import TOO_LARGE, games_table
from connectx_toolkit.system.console import as_option, plural
from connectx_toolkit.system.foreign import left_out_lines
from connectx_toolkit.system.table import Part, Shown, Table


@dataclass(frozen=True, repr=False)
class Reviewed(Shown):
    """One's own games.

    Attributes:
        me: whose they are.
        games: judged, from one's own seat; of moves that are neither best nor played, without a page no score is known.
        left_out: what was no such game, and why.
        notes: what was written.
    """

    me: str
    games: Sequence[Review]
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """In words: what was scored, where points were lost, and what could not be judged."""
        lines = headline(self.me, self.games)
        if any(is_database(Path(one.game.source).parent) for one in self.games):
            lines.append("Stored games are numbered by match and game: 3-12 is game 12 of match 3.")
        missing = [len(one.game.positions(one.game.opening)) - len(one.moves) for one in self.games]
        if count := sum(map(bool, missing)):
            moves = f"{sum(missing)} {plural('move', sum(missing))} in {count} {plural('game', count)}"
            lines.append(f"not judged: {moves} ({as_option('seconds', 'SECONDS')} gives them more; {TOO_LARGE})")
        return lines

    @cached_property
    def tables(self) -> list[Table]:
        """Where points were lost."""
        return summary(self.games)

    def parts(self) -> list[Part]:
        tables = [games_table(self.me, self.games), *self.tables]
        return [*tables, *self.lines, *self.notes, *left_out_lines(self.left_out)]

    def page(self) -> str:
        """The same as HTML, with the games to replay."""
        return replays_page(self.me, self.games, self.lines, self.tables)

    def write_mistakes(self, path: Path) -> str:
        """Adds the positions in which one's own moves gave a result away to a file; says in a line how many."""
        both = [(one.game, move) for one in self.games for move in one.mistakes]
        mistakes = [(game.moves[: move.ply], f"{game.name}: {move.words()}") for game, move in both]
        added, held = add_openings(path, mistakes, self.games[0].game.geometry)
        return f"{path}: {added} {plural('position', added)} added, {held} in all"

    def document(self) -> dict[str, Any]:
        """The same for machines, as JSON has it."""
        tables = {table.title: table.records() for table in self.tables}
        games = [one.row() for one in self.games]
        return {"me": self.me, "games": games, "summary": tables, "left_out": [*self.left_out]}
