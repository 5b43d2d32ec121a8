"""A scout's report in words and tables, for the terminal and the page."""

import html
from collections.abc import Sequence
from operator import attrgetter

from rich.tree import Tree

from connectx.position import plies_to_end, write_columns
from connectx_toolkit.games.game import Game
from connectx_toolkit.games.review import SEATS
from connectx_toolkit.games.scout import Branch, Line, Repeats, Report, Row, Tally
from connectx_toolkit.system.table import Column, Table

MOST_BRANCHES = 3  # of a position in the tree
MOST_GIVEN = 10  # rows


percent = "{:.0%}".format
OPPONENTS = (
    Column("opponent", attrgetter("opponent")),
    Column("points lost", lambda row: row.whole.lost, help="that you did not get"),
    Column("games", lambda row: row.whole.games),
    Column("points", lambda row: _points(row.whole), percent, help="yours, and by your seat"),
    Column("moving first", lambda row: _points(row.tallies[0]), percent),
    Column("moving second", lambda row: _points(row.tallies[1]), percent),
    Column("repeats itself", lambda row: _repeats_cell(row.repeats), help="share of positions met at least twice in "
           "which it always gave the same answer, and how many there are"),
    Column("faults", lambda row: row.faults.total()),
    Column("overage s", attrgetter("overage"), help="most overage time that the opponent used in a game"),
    Column("rating", attrgetter("rating"), "{:.0f}".format),
)  # fmt: skip


def opponents_table(me: str, rows: Sequence[Row]) -> Table:
    """All opponents, by the points that they cost."""
    return Table(f"opponents of {me}, by points lost", OPPONENTS, rows)


def _points(tally: Tally) -> float | None:
    return tally.points / tally.counted if tally.counted else None


def _repeats_cell(found: Repeats) -> str | None:
    return None if found.share is None else f"{100 * found.share:.0f}% of {found.met_again}"


def headline(report: Report) -> list[str]:
    """The report in a few sentences."""
    counted = sum(one.counted for one in report.tallies)
    points = sum(one.points for one in report.tallies)
    lines = [f"{report.opponent}: {len(report.games)} games, you scored {points:g} of {counted}."]
    lines.append(_repeats_words(report.repeats))
    seconds = "" if report.seconds is None else f"Median time of a move {report.seconds:.2f} s. "
    overage = "" if report.overage is None else f"Most overage time in a game {report.overage:.1f} s."
    lines += [f"{seconds}{overage}".rstrip()] if seconds or overage else []
    if report.faults:
        lines.append(f"It forfeited: {', '.join(f'{kind} {count}' for kind, count in report.faults.items())}.")
    lines += [line_words(line, report) for line in report.lines]
    if any(step.is_answer for line in report.lines for step in line.steps):
        lines.append("In brackets: its answers, and how often it gave them of how often it was there.")
    if any(line.gains for line in report.lines):
        lines.append("Promised points: the mean over all its answers, and over a perfect one in each position as well.")
    if report.unsolved:
        lines.append(f"{report.unsolved} positions were not solved (--time SECONDS gives more time).")
    submissions = {game.submission for game in report.games if game.submission is not None}
    if len(submissions) > 1:
        lines.append(f"Games of {len(submissions)} submissions of yours are counted together.")
    if report.left_out:
        lines.append(f"{report.left_out} games on other boards were left out.")
    return lines


def _repeats_words(found: Repeats) -> str:
    if found.share is None:
        return "It was never in the same position twice: too few games to see whether it repeats itself."
    same = f"in {found.same} of {found.met_again} positions that it met again"
    return f"It repeats itself {same} ({100 * found.share:.0f}%)."


def line_words(line: Line, report: Report) -> str:
    """ "When you move second, play [3 12/12] 2 ...: you win in 9 plies.": its answers are in brackets."""
    head = f"When you move {SEATS[line.seat]}"
    if not report.tallies[line.seat].games:
        return f"{head}: no line (no game)."
    if line.expected is None:
        return f"{head}: no line (no solved game from the empty board)."
    moves = " ".join(
        f"[{step.column} {step.seen}/{step.met}]" if step.is_answer else str(step.column) for step in line.steps
    )
    if not moves:
        return f"{head}: no line (no answer leads on from the empty board)."
    if not beats(line):
        return f"{head}: nothing in your games beats it. The longest resistance is {moves}: {line_end(line, report)}."
    promise = f" It promises {100 * line.expected:.0f} points of 100." if line.gains else ""
    return f"{head}, play {moves}: {line_end(line, report)}.{promise}"


def beats(line: Line) -> bool:
    """Whether it promises more than perfect play of both sides, or a win in any case."""
    return line.gains or (line.score is not None and line.score > 0)


def line_end(line: Line, report: Report) -> str:
    """ "you have four in a row", or how its last position ends with perfect play."""
    if line.has_line:
        return f"you have {report.geometry.inarow} in a row"
    if line.score is None:
        return "not solved"
    if not line.score:
        return "a draw with perfect play from there"
    of_mover = line.score if len(line.steps) % 2 == line.seat else -line.score
    plies = plies_to_end(of_mover, len(line.steps), report.geometry.cells)
    words = f"{plies} {'ply' if plies == 1 else 'plies'}"
    return f"you {'win' if line.score > 0 else 'lose'} in {words} with perfect play from there"


def given_table(report: Report) -> Table:
    """Where the opponent first gave the result away."""
    rows = [
        (write_columns(one.moves) or "the start", str(one.made.column), " ".join(map(str, one.made.best_columns)),
         " -> ".join(one.made.results), one.games)
        for one in report.first_mistakes[:MOST_GIVEN]
    ]  # fmt: skip
    note = "its first such move of a game; results with perfect play, from its side"
    heads = ("after", "it plays", "best", "its result", "games")
    return Table("Where it first gives the result away", heads, rows, note)


def branches_tree(title: str, branches: Sequence[Branch]) -> Tree:
    """The first moves as a tree for the terminal."""
    root = Tree(title)
    _grow(root, branches)
    return root


def _grow(node: Tree, branches: Sequence[Branch]) -> None:
    for branch in _shown(branches):
        _grow(node.add(branch_words(branch)), branch.branches)
    if hidden := len(branches) - len(_shown(branches)):
        node.add(f"{hidden} more")


def _shown(branches: Sequence[Branch]) -> Sequence[Branch]:
    return branches[:MOST_BRANCHES]


def branch_words(branch: Branch) -> str:
    """ "it 3: 12 games, you score 40%"."""
    games = f"{branch.games} game{'' if branch.games == 1 else 's'}"
    points = "" if branch.points is None else f", you score {100 * branch.points:.0f}%"
    return f"{'it' if branch.is_answer else 'you'} {branch.column}: {games}{points}"


def branches_html(branches: Sequence[Branch], depth: int = 0) -> str:
    """The same for a page: lists to unfold, the first levels open."""
    items = []
    for branch in _shown(branches):
        words = html.escape(branch_words(branch))
        more = branches_html(branch.branches, depth + 1)
        opened = " open" if depth < 2 else ""
        items.append(
            f"<li><details{opened}><summary>{words}</summary>{more}</details></li>" if more else f"<li>{words}</li>"
        )
    hidden = len(branches) - len(_shown(branches))
    items += [f"<li>{hidden} more</li>"] if hidden else []
    return f"<ul>{''.join(items)}</ul>" if items else ""


def line_game(line: Line, report: Report) -> Game:
    """A line as a game, for the replayer."""
    names = (report.me, report.opponent) if line.seat == 0 else (report.opponent, report.me)
    return Game(report.geometry, line.columns, names)
