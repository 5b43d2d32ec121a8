"""One's own replays for the terminal: a row a game, and the summary's sections."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from connectx_toolkit.arena.replays.rematch import Answer
from connectx_toolkit.arena.replays.review import Review
from connectx_toolkit.arena.replays.summary import Section

HEADS = (
    "game",
    "opponent",
    "seat",
    "result",
    "ended by",
    "plies",
    "overage s",
    "slowest",
    "first mistake",
    "last mistake",
)
RIGHT = ("plies", "overage s")
STYLES = {"lost": "red", "won": "green"}


def reviews_table(team: str, reviews: Sequence[Review]) -> Table:
    """A row a game, from the team's seat."""
    caption = (
        "mistake: a move of yours that made the result worse; slowest: your slowest move (the first one includes "
        "loading the agent); plies and columns are counted from 0"
    )
    table = Table(title=f"games of {team}", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in HEADS:
        table.add_column(head, justify="right" if head in RIGHT else "left")
    for review in reviews:
        row = review.row()
        given = [mistake_words(one) for one in row["mistakes"]]
        cells = [row["game"], row["opponent"], row["seat"], row["result"], ending_words(review), str(row["plies"])]
        cells += [
            "" if row["overage"] is None else f"{row['overage']:.1f}",
            slowest_words(row),
            given[0] if given else "-",
            given[-1] if given else "-",
        ]
        table.add_row(*cells, style=STYLES.get(row["result"]))
    return table


def ending_words(review: Review) -> str:
    """How a game ended; of whom, where that was not its winner's line."""
    game = review.game
    if game.fault is None:
        return game.ending_words if game.line is None else f"{game.geometry.inarow} in a row"
    who = "own" if game.fault.seat == review.seat else "their"
    detail = f": {game.fault_detail}" if game.fault_detail else ""
    return f"{who} {game.fault.family}, ply {game.fault.ply}{detail}"


def mistake_words(mistake: Mapping[str, Any]) -> str:
    """ "ply 9: 2, best 3 4"."""
    return f"ply {mistake['ply']}: {mistake['column']}, best {' '.join(map(str, mistake['best']))}"


def slowest_words(row: Mapping[str, Any]) -> str:
    """ "2.5 s, ply 12", or nothing where no move's time is known."""
    return f"{row['slowest']['seconds']:.1f} s, ply {row['slowest']['ply']}" if row["slowest"] else ""


def cell_text(cell: str | int | float) -> str:
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)


def section_table(section: Section) -> Table:
    """A section of the summary."""
    table = Table(title=section.title, caption=section.note or None, box=box.SIMPLE_HEAD)
    table.title_justify = table.caption_justify = "left"
    for number, head in enumerate(section.heads):
        table.add_column(head, justify="right" if section.is_numeric(number) else "left")
    for row in section.rows:
        table.add_row(*map(cell_text, row))
    return table


def answers_table(agent: str, team: str, answers: Sequence[Answer]) -> Table:
    """How often an agent keeps what the team gave away, and gives away what the team kept."""
    table = Table(title=f"{agent} in positions that {team} could have won or drawn")
    for head in ("your move", "positions", "good", "mistakes", "faults", "examples"):
        table.add_column(head, justify="left" if head in ("your move", "examples") else "right")
    for words, kept in (("mistake", False), ("good", True)):
        here = [answer for answer in answers if answer.old.kept_result == kept]
        failed = [answer for answer in here if answer.fault]
        given = [answer for answer in here if not answer.keeps and not answer.fault]
        examples = "; ".join(map(answer_words, [*failed, *given][:3]))
        counts = (len(here), sum(answer.keeps for answer in here), len(given), len(failed))
        table.add_row(words, *map(str, counts), examples)
    return table


def answers_words(agent: str, team: str, answers: Sequence[Answer]) -> str:
    """The table in a sentence."""
    then = {kept: [answer for answer in answers if answer.old.kept_result == kept] for kept in (False, True)}
    given = {kept: sum(not answer.keeps for answer in found) for kept, found in then.items()}
    return (
        f"{agent} makes a mistake in {given[False]} of the {len(then[False])} positions where {team} did, "
        f"and in {given[True]} of the {len(then[True])} where {team} did not"
    )


def answer_words(answer: Answer) -> str:
    """ "game 71 ply 9: 2, best 3"."""
    played = answer.fault or answer.column
    return f"{answer.review.game.name} ply {answer.old.ply}: {played}, best {answer.old.best}"
