"""``evaluate.py analyse``: the exact scores of every move of one game, a file's latest games, or all of one's own."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.cli.options import (
    Command,
    add_config,
    add_from_one,
    add_judging_time,
    add_latest,
    add_review,
)
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.files import check_folder

if TYPE_CHECKING:
    from connectx_toolkit.games.game import Game


def add_analyse(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=analyse)
    parser.description = """\
Shows which moves gave a result away. For one game, it lists every move with its exact score. For your own games, it
prints a row for each game and a summary of where points were lost, and writes a page if you ask for one."""
    parser.epilog = f"""\
examples
  {shell("evaluate")} analyse 362133214545441233165554311450066
                                                     one game, as columns counted from 0
  {shell("evaluate")} analyse episode-12345.json      one game, a replay downloaded from Kaggle
  {shell("evaluate")} analyse runs/games.sqlite       the latest games of a file of games, a line each
  {shell("evaluate")} analyse runs/games.sqlite --me my_agent.py --html runs/my_agent.html
                                                     your agent's games there: rows, summary, page
  {shell("evaluate")} analyse my_replays --html runs/replays.html
                                                     your games on Kaggle: all replays in a folder
"""
    help_text = "a game as its columns; or any number of replays, folders, archives, patterns and files of games"
    parser.add_argument("what", nargs="+", help=help_text)
    add_from_one(parser)
    add_review(parser)
    add_config(parser)
    help_text = "take only the latest N games of each group of a file of games (default: 10 in a list; all with --me, "
    add_latest(parser, None, f"{help_text}--html or --json)")
    help_text = "names of the players of a game given as columns, in the order of their moves (default: first second)"
    parser.add_argument("--names", nargs=2, metavar=("FIRST", "SECOND"), help=help_text)
    add_judging_time(parser)


def analyse(options: argparse.Namespace) -> None:
    """One game move by move, a file's latest games in a line each, or all of one's own games with a summary."""
    from connectx_toolkit.games.game import UNKNOWN_NAMES
    from connectx_toolkit.games.reader import games_in, is_columns, own_games, parse_game
    from connectx_toolkit.report.tables import show_games

    what = options.what
    is_review = options.me is not None or options.html or options.json or options.write_mistakes
    columns = [text for text in what if is_columns(text) and not os.path.exists(text)]
    if len(columns) == len(what):
        what = columns = [" ".join(columns)]  # 3 3 4 2 is one game
    if columns and (is_review or options.latest or len(what) > 1):
        raise ValueError(
            f"{columns[0]}: a game's columns are analysed alone, without --me, --html, --latest and the like"
        )
    for name in ("names", "from_one", "config"):
        if vars(options)[name] and not columns:
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"{flag} is for a game given as columns: replays and files of games tell theirs")
    if columns:
        geometry, names = Rules(options.config or {}).geometry, tuple(options.names or UNKNOWN_NAMES)
        show_games([parse_game(columns[0], geometry, names, options.from_one)], seconds=options.time)
    elif len(what) == 1 and not is_review and _is_one_file(what[0]):
        left_out: list[str] = []
        show_games(games_in(Path(what[0]), left_out, options.latest), left_out, options.time)
    else:
        check_folder(options.html)
        show_reviews(*own_games(what, options.me, options.latest), options)


def _is_one_file(what: str) -> bool:
    """Whether it is to be shown game by game: one replay or file of games, not a folder or a pattern."""
    return not os.path.isdir(what) and (os.path.exists(what) or not set("*?[") & set(what))


def show_reviews(games: Sequence[Game], me: str | None, left_out: Sequence[str], options: argparse.Namespace) -> None:
    """Judges games from one's own seat; prints the rows and the summary, or JSON if asked; writes the page."""
    from connectx_toolkit.report.reviews import reviewed
    from connectx_toolkit.system.table import print_parts

    found = reviewed(games, me, left_out, options.time, options.html, options.write_mistakes)
    if options.json:
        print(json.dumps(found.document(), indent=2))
    else:
        print_parts(found.parts())


COMMANDS = {
    "analyse": Command(add_analyse, "give every move of your games its exact score"),
}
