"""``evaluate.py scout``: what one's games tell of an opponent, and the line that beats it; or a table of all."""

import argparse
from collections.abc import Mapping, Sequence

from connectx_toolkit.arena.games.scouting import Report, against, scout, table, to_solve
from connectx_toolkit.arena.games.sources import own_name
from connectx_toolkit.arena.replays.review import SEATS, name_in
from connectx_toolkit.arena.reporting.page import opponents_page, scout_page
from connectx_toolkit.arena.reporting.replay_tables import section_table
from connectx_toolkit.arena.reporting.scout_tables import branches_tree, given_section, headline, opponents_section
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.cli.analyse import print_lines
from connectx_toolkit.cli.explore import opened
from connectx_toolkit.console.files import check_folder, write_whole
from connectx_toolkit.console.progress import progress
from connectx_toolkit.console.tables import console_for_tables
from connectx_toolkit.foreign import NothingLeft, left_out_lines


def scout_opponents(options: argparse.Namespace) -> None:
    """One opponent in detail, or all of them."""
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
    section, console = opponents_section(me, table(by_opponent, me)), console_for_tables()
    console.print(section_table(section))
    notes = [f"left out: {itself} games of {me} against itself"] if itself else []
    print_lines(console, notes)
    return opponents_page(me, section, notes)


def _judged(games: Sequence[Game], me: str, opponent: str, seconds: float) -> Report:
    with progress(len(to_solve(games)), "position", "judging", delay=0) as bar:
        return scout(games, me, opponent, seconds, bar.update)


def _show_report(report: Report) -> str:
    """Prints what is known of one opponent; its page."""
    console = console_for_tables()
    print_lines(console, headline(report))
    for seat, branches in enumerate(report.trees):
        if branches:
            console.print(branches_tree(f"\nthe first moves when you move {SEATS[seat]}", branches))
    section = given_section(report)
    if section.rows:
        console.print(section_table(section))
    return scout_page(report)
