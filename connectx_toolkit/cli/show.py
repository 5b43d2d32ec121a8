"""Commands that show something.

``evaluate.py report``: the ladder of the games that were played here, and a page.
``evaluate.py list``: the agents that can be named, with what each is, how strong, and how large.
``evaluate.py board``: the board on a page of this machine's own.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.cli.options import (
    AGENTS,
    Command,
    add_config,
    add_from_one,
    add_games,
    add_ladder,
    add_latest,
    add_overage,
)
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.spec import entry_of, kilobytes
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.files import check_folder, our_agents, write_whole
from connectx_toolkit.system.foreign import NothingLeft, left_out_lines

KAGGLES = "one of Kaggle's own"


def add_list(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=list_agents)
    parser.description = (
        "Lists the agents of the toolkit: what each does, its measured strength, its weights and its size."
    )
    parser.epilog = f"""\
example
  {shell("evaluate")} list

The strengths come from agents/ladder.json, which a tournament writes with --ladder agents/ladder.
"""


def list_agents(options: argparse.Namespace) -> None:
    """Prints the table."""
    from connectx_toolkit.players.spec import kaggle_agents
    from connectx_toolkit.report.ladder import read_ladder
    from connectx_toolkit.system.table import Column, Table, console_for_tables

    ladder = read_ladder()
    rows: list[tuple[object, ...]] = []
    for entry in map(entry_of, our_agents()):
        weights = ", ".join(f"{Path(name).name} {kilobytes(size)}" for name, size in entry.data.items())
        rows.append((entry.name, entry.summary, ladder.get(entry.name), weights, entry.size))
    rows += [(name, KAGGLES, ladder.get(name), None, None) for name in sorted(kaggle_agents())]
    columns = ("name", "what it does", Column("Elo [95%]", align="right"), "weights", Column("source", show=kilobytes))
    console = console_for_tables()
    console.print(Table("agents", columns, rows))
    if ladder:
        (anchor,) = {strength.anchor for strength in ladder.values()}
        others = [f"{name} {strength}" for name, strength in ladder.items() if "@" in name or "~" in name]
        console.print(f"Elo above {anchor}. " + "; ".join(others))
    else:
        console.print("Nothing is measured yet: python evaluate.py tournament --help")


if TYPE_CHECKING:
    from connectx_toolkit.games.analysis import JudgedMove
    from connectx_toolkit.games.tournament import Group, Tournament


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=report)
    parser.description = "Shows a ladder and a table of all results, from stored games. Nothing is played."
    parser.epilog = f"""\
examples
  {shell("evaluate")} report
  {shell("evaluate")} report --html runs/report.html --judge     charts, and games to replay with exact scores
"""
    add_ladder(parser)
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page to FILE, with charts and games to replay"
    )
    add_latest(parser, 20, "number of games of each group on the page, the latest ones (default: 20)")
    parser.add_argument("--judge", action="store_true", help="add exact scores to the games on the page")
    add_games(parser)


def report(options: argparse.Namespace) -> None:
    from connectx_toolkit.games.database import GameDatabase
    from connectx_toolkit.games.tournament import groups, ladder_parts
    from connectx_toolkit.report.ladder import write_ladder
    from connectx_toolkit.report.pages import group_html, results_page
    from connectx_toolkit.report.tables import TOO_LARGE
    from connectx_toolkit.system.table import console_for_tables, print_parts

    if options.judge and not options.html:
        raise ValueError("--judge is for the games on the page: --html FILE")
    check_folder(options.html)
    check_folder(options.ladder)
    console, sections, entries, unsolvable = console_for_tables(), [], [], []
    with GameDatabase(options.games, create=False) as database:
        found = groups(database)
    if not found and database.left_out:
        raise NothingLeft(database.left_out)
    if not found:
        raise ValueError(f"{options.games} holds no games of matches")
    if options.ladder and len(found) > 1:
        titles = "; ".join(group.title for group in found)
        raise ValueError(f"--ladder takes a file of one kind of matches, but {options.games} holds {titles}")
    for group in found:
        anchor = _anchor_of(group.tournament)
        console.print(f"\n{group.title}", highlight=False)
        parts, ladder = ladder_parts(group.tournament, anchor, group.edited)
        print_parts(parts, console)
        if options.ladder and ladder:
            write_ladder(options.ladder, ladder, anchor)
        if options.html:
            by_agent, games = _judged_games(group, options)
            if options.judge and not Rules(group.config).geometry.fits_word:
                unsolvable.append(group.title)
            entries += games
            sections += group_html(group.title, group.tournament, ladder, by_agent)
    if options.html:
        write_whole(options.html, results_page(sections, entries).encode())
    for title in unsolvable:
        console.print(f"not judged: {title} ({TOO_LARGE})", highlight=False, soft_wrap=True)
    print_parts(left_out_lines(database.left_out), console)


def _anchor_of(tournament: Tournament) -> str:
    """random, or else the first in the alphabet, of the largest group of agents that games connect."""
    parts = tournament.components() or [{name for pair in tournament.names for name in pair}]
    return "random" if "random" in parts[0] else min(parts[0])


def _judged_games(group: Group, options: argparse.Namespace) -> tuple[dict[str, list[JudgedMove]], list[dict]]:
    """The latest games of a group for the page; their moves by agent, judged if that was asked for."""
    from connectx_toolkit.games.review import Judged
    from connectx_toolkit.games.tournament import group_games
    from connectx_toolkit.report.pages import game_entry
    from connectx_toolkit.report.tables import judged

    by_agent: dict[str, list[JudgedMove]] = {}
    entries = []
    for game in group_games(group)[-options.latest :]:
        one = judged(game) if options.judge else Judged(game, [])
        for move in one.moves:
            by_agent.setdefault(game.names[move.seat], []).append(move)
        entries.append(game_entry(one))
    return by_agent, entries


def add_board(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=board)
    parser.description = "Opens a board in the browser: play, watch two agents, or analyse a game with exact scores."
    parser.epilog = f"""{AGENTS}
examples
  {shell("evaluate board")} minimax@2
  {shell("evaluate board")} perfect value_search                  two agents play each other
  {shell("evaluate board")} --game 362133214545441233165554311450066
  {shell("evaluate board")} --game episode-12345.json             a replay downloaded from Kaggle
  {shell("evaluate board")} --practise runs/mistakes.txt          positions that exam or analyse --write-mistakes wrote

Only you can open the page, on this machine (127.0.0.1). You can change agents, board and game on it.
"""
    parser.add_argument(
        "agents",
        nargs="*",
        metavar="AGENT",
        help="one agent plays you, two play each other; the list below says how to name them",
    )
    parser.add_argument("--second", action="store_true", help="let the agent move first")
    parser.add_argument(
        "--game", metavar="GAME", help="game to look at: its columns, counted from 0, or a replay (.json)"
    )
    help_text = "let you find the best column in the positions of FILE, one a line, as exam --positions takes them"
    parser.add_argument("--practise", type=Path, metavar="FILE", help=help_text)
    add_from_one(parser)
    add_config(parser)
    add_overage(parser)
    help_text = "database of your games, as episodes and explore --add fill it: shows what was played in each position"
    parser.add_argument("--games", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("--no-browser", action="store_true", help="print the address, but open no browser")


def board(options: argparse.Namespace) -> None:
    """Serves the board until Ctrl-C."""
    from connectx_toolkit.board import server

    server.board(options)


COMMANDS = {
    "report": Command(add_report, "make a ladder and a page from stored games"),
    "list": Command(add_list, "list the agents of the toolkit, with their strength"),
    "board": Command(add_board, "play, watch and analyse on a page"),
}
