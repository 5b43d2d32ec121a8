"""``evaluate.py scout``: what one's games tell of an opponent, and the line that beats it; or a table of all."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.cli.analyse import print_lines
from connectx_toolkit.cli.explore import opened
from connectx_toolkit.cli.option_groups import add_to_games, seconds
from connectx_toolkit.console.files import check_folder, write_whole
from connectx_toolkit.foreign import NothingLeft, left_out_lines

if TYPE_CHECKING:
    from connectx_toolkit.arena.games.scout import Report
    from connectx_toolkit.arena.results.records import Game


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=scout_opponents)
    parser.description = """\
Shows what your games tell of an opponent: whether it repeats itself, its answers as a tree, where it gives results
away, its time and faults, and the line that beats it. Without a name: all opponents, by the points they cost you."""
    parser.epilog = """\
examples
  python evaluate.py scout --add my_replays
  python evaluate.py scout "Some Team" --html runs/scout.html
"""
    parser.add_argument(
        "opponent",
        nargs="?",
        metavar="OPPONENT",
        help="name of the opponent in the games; without one, a table of all opponents",
    )
    add_to_games(parser)
    help_text = "write a page to FILE, with the lines and games to replay"
    parser.add_argument("--html", type=Path, metavar="FILE", help=help_text)
    help_text = (
        "time limit for the exact scores, in seconds (default: 120); the report says how many positions are unsolved"
    )
    parser.add_argument("--time", type=seconds, default=120.0, metavar="SECONDS", help=help_text)


def scout_opponents(options: argparse.Namespace) -> None:
    """One opponent in detail, or all of them."""
    from connectx_toolkit.arena.games.scout import against
    from connectx_toolkit.arena.games.sources import own_name
    from connectx_toolkit.arena.replays.review import name_in
    from connectx_toolkit.console.tables import console_for_tables

    check_folder(options.html)
    with opened(options) as database:
        me = own_name(database, options.me)
        by_opponent, itself = against(database.games(me=me, since=options.since or ""), me)
    if not by_opponent and database.left_out:
        raise NothingLeft(database.left_out)
    if not by_opponent:
        when = f" since {options.since}" if options.since else ""
        raise ValueError(f"{options.games} holds no game of {me} against others{when}")
    if options.opponent is None:
        page = _show_table(by_opponent, me, itself)
    else:
        name = name_in({name: len(games) for name, games in by_opponent.items()}, options.opponent, "OPPONENT")
        page = _show_report(_judged(by_opponent[name], me, name, options.time))
    if options.html:
        write_whole(options.html, page.encode())
        print_lines(console_for_tables(), [f"page: {options.html}"])
    print_lines(console_for_tables(), left_out_lines(database.left_out))


def _show_table(by_opponent: Mapping[str, list[Game]], me: str, itself: int) -> str:
    """Prints the table of all opponents; its page."""
    from connectx_toolkit.arena.games.scout import table
    from connectx_toolkit.arena.reporting.page import opponents_page
    from connectx_toolkit.arena.reporting.scout_tables import opponents_table
    from connectx_toolkit.console.tables import console_for_tables

    found, console = opponents_table(me, table(by_opponent, me)), console_for_tables()
    console.print(found)
    notes = [f"left out: {itself} games of {me} against itself"] if itself else []
    print_lines(console, notes)
    return opponents_page(me, found, notes)


def _judged(games: Sequence[Game], me: str, opponent: str, seconds: float) -> Report:
    from connectx_toolkit.arena.games.scout import scout, to_solve
    from connectx_toolkit.console.progress import progress

    with progress(len(to_solve(games)), "position", "judging", delay=0) as bar:
        return scout(games, me, opponent, seconds, bar.update)


def _show_report(report: Report) -> str:
    """Prints what is known of one opponent; its page."""
    from connectx_toolkit.arena.replays.review import SEATS
    from connectx_toolkit.arena.reporting.page import scout_page
    from connectx_toolkit.arena.reporting.scout_tables import branches_tree, given_table, headline
    from connectx_toolkit.console.tables import console_for_tables

    console = console_for_tables()
    print_lines(console, headline(report))
    for seat, branches in enumerate(report.trees):
        if branches:
            console.print(branches_tree(f"\nthe first moves when you move {SEATS[seat]}", branches))
    given = given_table(report)
    if given.rows:
        console.print(given)
    return scout_page(report)
