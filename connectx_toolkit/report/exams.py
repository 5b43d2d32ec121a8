"""What an exam says: tables and lines of rates, differences, times and weaknesses; the page; the file of mistakes."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from connectx_core.position import STANDARD, Position, plies_to_end_table, write_columns
from connectx_toolkit.arena.results import kinds
from connectx_toolkit.arena.start_positions import add_openings
from connectx_toolkit.games.analysis import JudgedMove
from connectx_toolkit.games.exam_positions import EXAMS, moves_to
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.grades import NO_ANSWER, MeanEstimate, Sheet, mean_difference, rate, rate_difference
from connectx_toolkit.games.review import Review
from connectx_toolkit.games.themes import AHEAD, THEMES, themes_of_moves, weaknesses
from connectx_toolkit.report.pages import exam_page, game_entry
from connectx_toolkit.system.console import plural
from connectx_toolkit.system.foreign import left_out_lines
from connectx_toolkit.system.table import Column, Part, Shown, Table, percent, three_digits, two_digits

__all__ = ["Examined"]

ALL_PAIRS = 3  # agents of which every two are compared
HOLDS = "95% intervals stay valid if you look at them and go on"


def interval(estimate: MeanEstimate) -> str:
    return f"{estimate.low:.1%} to {estimate.high:.1%}"


class Metric(NamedTuple):
    """What is measured of an agent's answers."""

    name: str
    of: Callable[[Sheet], np.ndarray]  # (t, n) bool of a rate, or numbers of which the mean is shown
    help: str
    kept: str = ""  # of numbers, of which less is better: what their difference is called

    def columns(self) -> list[Column]:
        if self.kept:
            return [Column(self.name, show=two_digits, help=self.help)]
        of_rate = Column(f"{self.name}, 95%", show=interval, align="right")
        return [Column(self.name, show=percent, help=self.help), of_rate]

    def cells(self, sheet: Sheet, chosen: np.ndarray) -> list[Any]:
        values = self.of(sheet)[:, chosen]
        return [float(values.mean())] if self.kept else [(found := rate(values)).mean, found]

    def difference(self, one: Sheet, other: Sheet) -> MeanEstimate:
        """By how much one agent is better."""
        if self.kept:
            return mean_difference(self.of(other), self.of(one))
        return rate_difference(self.of(one), self.of(other))


METRICS = (
    Metric("good moves", lambda sheet: sheet.good, "moves that keep the result: win, draw or loss"),
    Metric("perfect moves", lambda sheet: sheet.perfect, "moves with the best exact score"),
    Metric("points given away", lambda sheet: sheet.given,
           "mean for each move: by how many stones it delays a win, hastens a loss, or both", "points kept"),
)  # fmt: skip


def rates_table(sheets: Sequence[Sheet]) -> Table:
    """Each agent by all metrics: of all positions, critical ones, by stage and by seat."""
    columns: list[Column | str] = [Column("agent", is_once=True), "part", "positions"]
    columns += [column for metric in METRICS for column in metric.columns()]
    rows = [
        (sheet.agent, part, len(chosen), *(c for m in METRICS for c in m.cells(sheet, chosen)))
        for sheet in sheets
        for part, chosen in sheet.parts().items()
    ]
    note = f"critical: positions in which a legal move changes the result; {HOLDS}"
    return Table("moves by exact score", columns, rows, note, names=2)


TIMES = (  # of rows (sheet, actTimeout); seconds of a move, without the load
    Column("agent", lambda row: row[0].agent),
    Column("median s", lambda row: float(np.median(row[0].seconds)), three_digits),
    Column("worst s", lambda row: float(row[0].seconds.max()), three_digits),
    Column("over actTimeout", lambda row: int((row[0].seconds > row[1]).sum()), help="moves that took overage time"),
    Column("faults", lambda row: kinds(Counter(kind for kind, _ in row[0].faults))),
)


def _percent_text(estimate: MeanEstimate) -> str:
    return f"{100 * estimate.mean:+.1f}% ({100 * estimate.low:+.1f}% to {100 * estimate.high:+.1f}%)"


def _points_text(estimate: MeanEstimate) -> str:
    return f"{estimate.mean:+.2f} ({estimate.low:+.2f} to {estimate.high:+.2f})"


def pairs_to_compare(sheets: Sequence[Sheet]) -> list[tuple[Sheet, Sheet]]:
    """Every two agents; of more than ``ALL_PAIRS``, each with the next by good moves."""
    if len(sheets) <= ALL_PAIRS:
        return [*combinations(sheets, 2)]
    return [*pairwise(sorted(sheets, key=lambda sheet: -sheet.good.mean()))]


def differences_table(sheets: Sequence[Sheet]) -> Table:
    """Two agents on the same positions."""
    columns = [
        Column(metric.kept, show=_points_text, help="mean for each move", align="right")
        if metric.kept
        else Column(metric.name, show=_percent_text, align="right")
        for metric in METRICS
    ]
    rows = [
        (f"{one.agent} less {other.agent}", *(metric.difference(one, other) for metric in METRICS))
        for one, other in pairs_to_compare(sheets)
    ]
    return Table("differences in the same positions", ["agents", *columns], rows, HOLDS)


def verdicts(sheets: Sequence[Sheet]) -> list[str]:
    """Who is better, in words, of two agents."""
    return [_compare_two(one, other) for one, other in pairs_to_compare(sheets)]


def _compare_two(one: Sheet, other: Sheet) -> str:
    words, unproven = list[str](), list[str]()
    for metric in (metric for metric in METRICS if not metric.kept):
        found = metric.difference(one, other)
        better, worse = (one, other) if found.mean > 0 else (other, one)
        if found.is_proof:
            words.append(f"{better.agent} plays more {metric.name} than {worse.agent}")
        else:
            unproven.append(f"of {metric.name} it is too early to tell")
    if not words:
        count = f"{len(one.labels)} {plural('position', len(one.labels))}"
        return f"{one.agent} and {other.agent}: too early to tell who is better, by {count}."
    return f"{'; '.join([*words, *unproven])}."


def mistake_of(sheet: Sheet, row: int) -> Review:
    """What an agent answered first in a position in which it made a mistake: a game that leads to it, with the move."""
    labels, column = sheet.labels, int(sheet.columns[0, row])
    moves = moves_to(Position(int(labels.positions[row]), int(labels.masks[row]), STANDARD))
    assert moves is not None
    seat = len(moves) % 2
    names = ("anyone", sheet.agent) if seat else (sheet.agent, "anyone")
    scores = [int(score) if legal else None for score, legal in zip(labels.scores[row], labels.legal[row], strict=True)]
    theme = THEMES[themes_of_moves(labels.take(np.array([row])))[0, column]]
    game = Game(STANDARD, (*moves, column), names, opening=len(moves))
    return Review(game, [JudgedMove(len(moves), column, tuple(scores))], seat, theme)


def mistakes_of(sheets: Sequence[Sheet]) -> list[Review]:
    """All mistakes at the first answer; of each agent those by which it gave the most points away first."""
    reviews = []
    for sheet in sheets:
        rows = np.flatnonzero(~sheet.good[0] & (sheet.columns[0] != NO_ANSWER))
        reviews += [mistake_of(sheet, row) for row in rows[np.argsort(-sheet.given[0][rows], kind="stable")].tolist()]
    return reviews


WEAKNESSES = (  # of rows (agent, weakness)
    Column("agent", is_once=True),
    Column("theme", lambda row: row[1].theme),
    Column("positions", lambda row: row[1].chances, help="those where a move can be this mistake"),
    Column("mistakes", lambda row: row[1].missed, "{:g}".format),
    Column("avoided", lambda row: 1 - row[1].missed / row[1].chances, percent),
    Column("of all mistakes", lambda row: row[1].share, percent),
)
EXAMPLES = (  # of rows (theme, mistake)
    Column("theme", is_once=True),
    Column("after", lambda row: write_columns(row[1].game.moves[:-1]) or "empty board", help="columns from 0"),
    Column("played", lambda row: row[1].moves[0].column),
    Column("best", lambda row: " ".join(map(str, row[1].moves[0].best_columns)), align="right"),
)


def weaknesses_tables(sheet: Sheet) -> list[Table]:
    """An agent's mistakes by theme, and the worst ones of each."""
    found = weaknesses(sheet)
    themes = [(sheet.agent, weakness) for weakness in found]
    worst = [(weakness.theme, mistake_of(sheet, row)) for weakness in found for row in weakness.worst]
    examples = [Table(f"worst mistakes of {sheet.agent}", EXAMPLES, worst)] if worst else []
    return [Table(f"mistakes of {sheet.agent} by theme", WEAKNESSES, themes, names=2), *examples]


def horizons_table(sheets: Sequence[Sheet]) -> Table:
    """How many wins each agent keeps, by their distance in plies; distances without any are left out."""
    labels, cells, rows = sheets[0].labels, STANDARD.cells, list[tuple[str | int | float, ...]]()
    ends = plies_to_end_table(cells)[labels.plies.astype(np.int64), labels.values.astype(np.int64) + cells]
    for first, last in AHEAD:
        wins = np.flatnonzero((labels.values > 0) & labels.critical & (ends >= first) & (ends <= last))
        if len(wins):
            rows.append((f"{first} to {last}", len(wins), *(float(each.good[:, wins].mean()) for each in sheets)))
    columns: list[Column | str] = ["plies to the win", "wins", *(Column(each.agent, show=percent) for each in sheets)]
    return Table("wins found", columns, rows, "positions with a win that some legal move gives away")


def exam_lines(sheets: Sequence[Sheet]) -> list[str]:
    """In words: who is better, what went wrong, and who answers differently each time."""
    lines = verdicts(sheets)
    for sheet in sheets:
        lines += [f"{sheet.agent}, {kind}: {detail}" for kind, detail in dict(reversed(sheet.faults)).items()]
    for sheet in sheets:
        if sheet.changed:
            again = f"{sheet.changed} of {sheet.asked_again} positions asked again got another move"
            lines.append(f"{sheet.agent} answers differently each time: {again}.")
    return lines


MISTAKES = (
    Column("agent", lambda one: one.player),
    Column("theme", lambda one: one.theme),
    Column("ply", lambda one: one.game.opening),
    Column("played", lambda one: one.moves[0].column),
    Column("best", lambda one: " ".join(map(str, one.moves[0].best_columns)), align="right"),
)


@dataclass(frozen=True, repr=False)
class Examined(Shown):
    """What agents did in an exam.

    Attributes:
        sheets: of each agent, the positions with their exact scores, and its answers.
        act_timeout: seconds that a move was allowed before overage time.
        reused: answers that were known before.
        is_interrupted: whether it was stopped; then only positions count that all agents have answered.
        left_out: which of the positions or files that were given could not be asked, and why.
    """

    sheets: Sequence[Sheet]
    act_timeout: float
    reused: int = 0
    is_interrupted: bool = False
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()  # what was written

    def write_mistakes(self, path: Path) -> str:
        """Adds the positions of the mistakes to a file; says in a line how many."""
        found = [(one.game.moves[:-1], f"{one.player}: {one.theme}; {one.moves[0].words()}") for one in self.mistakes]
        added, held = add_openings(path, found, STANDARD)
        return f"{path}: {added} {plural('position', added)} added, {held} in all"

    @cached_property
    def mistakes(self) -> list[Review]:
        """The moves that gave a result away."""
        return mistakes_of(self.sheets)

    def tables(self) -> list[Table]:
        """All tables, in the order in which they are shown."""
        is_paired = len(self.sheets) > 1 and len(self.sheets[0].labels) > 1
        return [
            rates_table(self.sheets),
            Table("times and faults", TIMES, [(sheet, self.act_timeout) for sheet in self.sheets]),
            *([differences_table(self.sheets)] if is_paired else []),
            horizons_table(self.sheets),
            *(table for sheet in self.sheets for table in weaknesses_tables(sheet)),
        ]

    def parts(self) -> list[Part]:
        notes = [f"reused {self.reused} answers from {EXAMS}"] if self.reused else []
        return [*self.tables(), *exam_lines(self.sheets), *notes, *left_out_lines(self.left_out), *self.notes]

    def document(self) -> dict[str, Any]:
        """The same for machines, as JSON has it."""
        return {
            "positions": len(self.sheets[0].labels),
            "tables": {table.title: table.records() for table in self.tables()},
            "lines": exam_lines(self.sheets),
            "mistakes": [
                {"agent": one.player, "theme": one.theme, "moves": one.game.moves[:-1]}
                | {"column": one.moves[0].column, "best": one.moves[0].best_columns}
                for one in self.mistakes
            ],
            "left_out": [*self.left_out],
        }

    def page(self) -> str:
        """The same as HTML, with every mistake to replay and to practise."""
        entries = [
            game_entry(one) | {"title": f"{number}. {one.player}: {one.theme}", "ply": one.game.opening}
            for number, one in enumerate(self.mistakes, 1)
        ]
        names = ", ".join(sheet.agent for sheet in self.sheets)
        said = [f"{s.agent}: {s.good.mean():.1%} good moves, {s.perfect.mean():.1%} perfect ones." for s in self.sheets]
        listed = Table("mistakes", MISTAKES, self.mistakes, "columns are counted from 0")
        return exam_page(f"Exam of {names}", [*said, *exam_lines(self.sheets)], self.tables(), listed, entries)
