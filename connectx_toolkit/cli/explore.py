"""``evaluate.py explore``: what was played in a position, by whom and how it ended, beside the exact scores."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from connectx.notation import write_columns
from connectx_toolkit.cli.analyse import print_lines
from connectx_toolkit.cli.option_groups import add_config, add_from_one, add_to_games, number, seconds
from connectx_toolkit.foreign import NothingLeft, left_out_lines
from connectx_toolkit.kaggle.rules import Rules

if TYPE_CHECKING:
    from connectx.position import Position
    from connectx_toolkit.arena.games.database import GameDatabase

SEATS = {"first": 0, "second": 1, None: None}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=explore)
    parser.description = """\
Shows what was played in a position: how often, by whom and how it ended, beside the exact score of each move.
Mirror images of the position count as the same."""
    parser.epilog = """\
examples
  python evaluate.py explore --add my_replays            the first moves of all games, after adding those of a folder
  python evaluate.py explore 33 --seat first             the games in which you moved first and 3, 3 was played
  python evaluate.py explore 332 --opponent "Some Team" --since 2026-11
  python evaluate.py explore --remove old_replays 70000012
"""
    parser.add_argument(
        "moves",
        nargs="*",
        metavar="MOVES",
        help="position: the columns played so far, counted from 0, for example 3342 (default: the empty board)",
    )
    add_from_one(parser)
    parser.add_argument("--opponent", metavar="NAME", help="count only games against this player")
    help_text = (
        "take these games of the ladder out of the file first: Kaggle's numbers, or the files or folders they came from"
    )
    parser.add_argument("--remove", nargs="+", default=[], metavar="WHAT", help=help_text)
    help_text = "count only games in which you moved first, or second"
    parser.add_argument("--seat", choices=("first", "second"), help=help_text)
    help_text = "count only opponents whose latest known leaderboard score is between LOW and HIGH"
    parser.add_argument("--rating", type=number, nargs=2, metavar=("LOW", "HIGH"), help=help_text)
    add_to_games(parser)
    add_config(parser)
    help_text = "time limit for the exact scores, in seconds (default: 10)"
    parser.add_argument("--time", type=seconds, default=10.0, metavar="SECONDS", help=help_text)


def explore(options: argparse.Namespace) -> None:
    """The moves of a position, as the games that fit the filters have them."""
    from connectx.position import Position
    from connectx_toolkit.arena.games.sources import own_name
    from connectx_toolkit.arena.replays.review import name_in
    from connectx_toolkit.arena.reporting.tables import played_table
    from connectx_toolkit.arena.results.records import parse_moves
    from connectx_toolkit.console.tables import console_for_tables

    geometry = Rules(options.config or {}).geometry
    moves = parse_moves(" ".join(options.moves), geometry, options.from_one)
    position = Position.from_moves(moves, geometry)
    if options.remove:
        _remove(options.games, options.remove)
    with opened(options) as database:
        names = database.names()
        opponent = name_in(names, options.opponent, "--opponent") if options.opponent else ""
        needs_me = options.me or options.seat or options.rating
        me = own_name(database, options.me) if needs_me else ""
        played = database.at(position, opponent, me, SEATS[options.seat], options.since or "", options.rating)
    console, after = console_for_tables(), write_columns(moves) or "the empty board"
    scores = None if position.is_over() else _scores(position, options.time)
    if not played:
        console.print(f"no game that fits went on from here: {after}")
    console.print(played_table(f"after {after}: {_to_move(position)}", position, played, scores))
    print_lines(console, left_out_lines(database.left_out))


def _remove(path: Path, what: Sequence[str]) -> None:
    """Takes games out of the file; nothing of it if there is none of one of them."""
    from connectx_toolkit.arena.games.database import GameDatabase
    from connectx_toolkit.console.tables import console_for_tables

    with GameDatabase(path, create=False):  # else a file would be made
        pass
    with GameDatabase(path) as database:
        removed = database.remove(what)
        print_lines(console_for_tables(), [f"{path}: {removed} games removed, {len(database)} in all"])


def opened(options: argparse.Namespace) -> GameDatabase:
    """The file of games, after adding to it what ``--add`` names; says what was added, and notes what was left out.

    Raises:
        ValueError: there is no file and nothing to add, or it is another file.
        NothingLeft: of what was to be added.
    """
    from connectx_toolkit.arena.games.database import GameDatabase
    from connectx_toolkit.arena.games.sources import add_from, own_name
    from connectx_toolkit.console.tables import console_for_tables

    left_out: list[str] = []
    if options.add:
        added = add_from(options.games, options.add, options.me or "")
        there = f", {added.known} {'copy' if added.known == 1 else 'copies'} left out" if added.known else ""
        line = f"{options.games}: {added.new} games added{there}, {added.whole} in all"
        print_lines(console_for_tables(), [*added.taken, line])
        left_out = added.left_out
    database = GameDatabase(options.games, create=False, origin=options.origin)
    database.left_out += left_out
    if not len(database) and not vars(options).get("remove"):
        more = "--add takes replays; --from says which games count"
        raise (
            NothingLeft(left_out) if left_out else ValueError(f"{options.games}: no {options.origin} games yet; {more}")
        )
    if options.add and not options.me:
        try:
            own_name(database, None)
        except ValueError as unclear:
            print_lines(console_for_tables(), [f"whose games these are is not known yet: {unclear}"])
    return database


def _scores(position: Position, seconds: float) -> Sequence[int | None] | None:
    """The exact scores of a position's moves, if they are found in time."""
    from connectx_toolkit.arena.analysis.exact_analysis import exact_scores

    if not position.geometry.fits_word:
        return None
    return exact_scores([position], position.geometry, seconds).get(position)


def _to_move(position: Position) -> str:
    if position.is_over():
        return "the game is over"
    return f"the {'second' if position.ply % 2 else 'first'} player is to move"
