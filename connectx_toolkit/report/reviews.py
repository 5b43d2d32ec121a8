"""One's own games, judged: a row for each, where points were lost, the page, and the file of mistakes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from connectx_toolkit.arena.start_positions import add_openings, check_mistakes
from connectx_toolkit.games.analysis import GAME_SECONDS, first_judged, judge_all
from connectx_toolkit.games.database import is_database
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.owner import seat_of, team_of
from connectx_toolkit.games.reader import without_copies
from connectx_toolkit.games.review import Judged, headline, summary
from connectx_toolkit.report.pages import replays_page
from connectx_toolkit.report.tables import TOO_LARGE, games_table
from connectx_toolkit.system.console import as_option, plural, progress
from connectx_toolkit.system.files import check_folder, write_whole
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
    games: Sequence[Judged]
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """In words: what was scored, where points were lost, and what could not be judged."""
        lines = headline(self.me, self.games)
        if any(is_database(Path(one.game.source).parent) for one in self.games):
            lines.append("Stored games are numbered by match and game: 3-12 is game 12 of match 3.")
        missing = [len(one.game.positions(first_judged(one.game))) - len(one.moves) for one in self.games]
        if count := sum(map(bool, missing)):
            moves = f"{sum(missing)} {plural('move', sum(missing))} in {count} {plural('game', count)}"
            lines.append(f"not judged: {moves} ({as_option('seconds', 'SECONDS')} gives them more; {TOO_LARGE})")
        return lines

    @cached_property
    def tables(self) -> list[Table]:
        """Where points were lost."""
        return summary(self.games)

    def parts(self) -> list[Part]:
        return [
            games_table(self.me, self.games), *self.tables, *self.lines, *self.notes, *left_out_lines(self.left_out)
        ]  # fmt: skip

    def document(self) -> dict[str, Any]:
        """The same for machines, as JSON has it."""
        tables = {table.title: table.records() for table in self.tables}
        games = [one.row() for one in self.games]
        return {"me": self.me, "games": games, "summary": tables, "left_out": [*self.left_out]}


def reviewed(
    games: Sequence[Game],
    me: str | None = None,
    left_out: Sequence[str] = (),
    seconds: float = GAME_SECONDS,
    html: Path | None = None,
    write_mistakes: Path | None = None,
) -> Reviewed:
    """Judges one's own games, each once; writes the page and the mistakes if asked.

    Args:
        me: as ``team_of`` takes it.
        seconds: time limit per game.
        html: the page.
        write_mistakes: a file to which the positions are added in which one's own moves gave a result away.

    Raises:
        ValueError: it is not known whose games they are, or a file cannot be written.
    """
    check_folder(html)
    games, copies = without_copies(games)
    team = team_of(games, me)
    own = [game for game in games if team in game.names]
    others = [f"{game.source}: {team} is not in it" for game in games if team not in game.names]
    if write_mistakes:
        boards = {game.geometry for game in games}
        if len(boards) > 1:
            sizes = ", ".join(sorted(f"{board.rows}x{board.columns}" for board in boards))
            raise ValueError(
                f"{as_option('write-mistakes')} takes games of one board, not of {sizes}: name fewer replays"
            )
        check_mistakes(write_mistakes, boards.pop())
    found = list[Judged]()
    with progress(len(own), "game", "judging", delay=0) as bar:
        for game, moves in zip(own, judge_all(own, seconds, is_whole=html is not None), strict=True):
            found.append(Judged(game, moves, seat_of(game, team)))
            bar.update()
    result, notes = Reviewed(team, found, [*left_out, *copies, *others]), list[str]()
    if html:
        write_whole(html, replays_page(team, found, result.lines, result.tables).encode())
        notes.append(f"page: {html}")
    if write_mistakes:
        notes.append(_write_mistakes(write_mistakes, found))
    return Reviewed(team, found, result.left_out, notes)


def _write_mistakes(path: Path, games: Sequence[Judged]) -> str:
    """Adds the positions of the mistakes to a file; says in a line how many."""
    found = [(one.game.moves[: move.ply], f"{one.game.name}: {move.words()}") for one in games for move in one.mistakes]
    added, held = add_openings(path, found, games[0].game.geometry)
    return f"{path}: {added} {plural('position', added)} added, {held} in all"
