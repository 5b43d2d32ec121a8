"""Commands on games of Kaggle's ladder.

``evaluate.py episodes``: the games of a submission are fetched from Kaggle, then judged as ``analyse`` does.
``evaluate.py explore``: what was played in a position, by whom and how it ended, beside the exact scores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from connectx.position import write_columns
from connectx_toolkit.cli.analyse import show_reviews
from connectx_toolkit.cli.options import (
    Command,
    add_config,
    add_from_one,
    add_games,
    add_judging_time,
    add_latest,
    add_review,
    add_to_games,
    from_one,
    number,
    seconds,
)
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.system.console import shell
from connectx_toolkit.system.foreign import NothingLeft, left_out_lines, shown

if TYPE_CHECKING:
    from connectx_toolkit.kaggle.account import Episode, Kaggle
    from connectx_toolkit.system.table import Table

EPISODES = Path("runs/episodes")


def add_episodes(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=episodes)
    parser.description = """\
Fetches the games of one of your submissions from Kaggle, with your agent's logs, and analyses them. Each file is
fetched once. The games and today's leaderboard are added to the file that explore reads."""
    parser.epilog = f"""\
examples
  {shell("evaluate")} episodes                        your submissions, with their numbers
  {shell("evaluate")} episodes 45678901 --html runs/episodes.html

It uses the credentials of Kaggle's own command line, for example ~/.kaggle/access_token or KAGGLE_API_TOKEN.
"""
    parser.add_argument(
        "submission",
        nargs="?",
        type=from_one,
        help="number of the submission; without one, your submissions are listed",
    )
    add_latest(parser, None, "fetch only the latest N games (default: all)")
    add_games(parser)
    add_review(parser)
    add_judging_time(parser)


def episodes(options: argparse.Namespace) -> None:
    from connectx_toolkit.games.database import GameDatabase
    from connectx_toolkit.games.reader import replays_of
    from connectx_toolkit.kaggle.account import PAUSE, check_own, connected, episodes_of, leaderboard
    from connectx_toolkit.system.table import console_for_tables

    with connected(PAUSE) as kaggle:
        if options.submission is None:
            if options.latest or options.me or options.html or options.json or options.write_mistakes:
                raise ValueError(
                    "--latest, --me, --html, --json and --write-mistakes are for a submission's games: name it"
                )
            console_for_tables().print(_submissions_table(kaggle))
            return
        folder = EPISODES / str(options.submission)
        check_own(kaggle, options.submission)
        left_out: list[str] = []
        found = episodes_of(kaggle, options.submission, left_out)[: options.latest]
        if not found and left_out:
            raise NothingLeft(left_out)
        if not found:
            raise ValueError(f"submission {options.submission} has played no game to its end yet")
        left_out += _fetch(kaggle, found, folder)
        scores = leaderboard(kaggle)
    replays = [replay for path in sorted(folder.glob("*-replay.json")) for replay in replays_of(path, left_out)]
    if not replays:
        raise NothingLeft(left_out)
    names = {name for replay in replays for name in replay.names}
    me = options.me or next((one.team for one in found if one.team in names), None)
    dates = {one.number: one.date for one in found}
    dated = [replace(replay, date=dates.get(replay.episode or 0)) for replay in replays]
    with GameDatabase(options.games) as games:
        added = games.add(dated, me or "", options.submission)
        games.add_scores(scores, datetime.now(UTC).date().isoformat())  # in UTC, as the games' days are
        print(f"{options.games}: {added} games added, {len(games)} in all", file=sys.stderr)
        left_out += games.left_out
    show_reviews(replays, me, left_out, options)


def _submissions_table(kaggle: Kaggle) -> Table:
    from connectx_toolkit.kaggle.account import submissions
    from connectx_toolkit.system.table import Column, Table

    columns = (
        Column("number", lambda one: one.ref),
        Column("date", lambda one: one.date or None, "{:%Y-%m-%d %H:%M}".format),
        Column("status", lambda one: one.status.name.lower()),
        Column("score", lambda one: one.public_score, shown, align="right"),
        Column("file", lambda one: one.file_name, shown),
        Column("message", lambda one: one.description, shown),
    )
    return Table("your submissions", columns, submissions(kaggle))


def _fetch(kaggle: Kaggle, found: Sequence[Episode], folder: Path) -> list[str]:
    """Fetches what is not there yet; what could not be fetched, and why.

    Raises:
        KaggleProblem: Kaggle refuses or breaks off; in words that say how much is there.
    """
    from connectx_toolkit.kaggle.account import KaggleProblem, fetch, missing
    from connectx_toolkit.system.console import progress

    wanted, absent = missing(found, folder), []
    print(f"{len(found)} games, {len(wanted)} files to fetch into {folder}", file=sys.stderr)
    with progress(len(wanted), "file", "fetching", delay=0) as bar:
        try:
            for problem in fetch(kaggle, wanted):
                absent += [problem] if problem else []
                bar.update()
        except KaggleProblem as problem:
            raise KaggleProblem(f"{problem}; {bar.n} of {len(wanted)} files were fetched", problem.status) from None
    return absent


if TYPE_CHECKING:
    from connectx.position import Position
    from connectx_toolkit.games.database import GameDatabase

SEAT_NAMES = {"first": 0, "second": 1, None: None}


def add_explore(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=explore)
    parser.description = """\
Shows what was played in a position: how often, by whom and how it ended, beside the exact score of each move.
Mirror images of the position count as the same."""
    parser.epilog = f"""\
examples
  {shell("evaluate")} explore --add my_replays            the first moves of all games, after adding those of a folder
  {shell("evaluate")} explore 33 --seat first             the games in which you moved first and 3, 3 was played
  {shell("evaluate")} explore 332 --opponent "Some Team" --since 2026-11
  {shell("evaluate")} explore --remove old_replays 70000012
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
    from connectx_toolkit.games.reader import own_name, parse_moves
    from connectx_toolkit.games.review import name_in
    from connectx_toolkit.report.tables import played_table
    from connectx_toolkit.system.table import console_for_tables, print_parts

    geometry = Rules(options.config or {}).geometry
    moves = parse_moves(" ".join(options.moves), geometry, options.from_one)
    position = Position.from_moves(moves, geometry)
    if options.rating and not options.rating[0] <= options.rating[1]:
        raise ValueError("--rating takes the lower score first, not {:g} {:g}".format(*options.rating))
    if options.remove:
        _remove(options.games, options.remove)
    with opened(options) as database:
        names = database.names()
        opponent = name_in(names, options.opponent, "--opponent") if options.opponent else ""
        needs_me = options.me or options.seat or options.rating
        me = own_name(database, options.me) if needs_me else ""
        played = database.at(position, opponent, me, SEAT_NAMES[options.seat], options.since or "", options.rating)
    console, after = console_for_tables(), write_columns(moves) or "the empty board"
    scores = None if position.is_over() else _scores(position, options.time)
    if not played:
        console.print(f"no game that fits went on from here: {after}")
    console.print(played_table(f"after {after}: {_to_move(position)}", position, played, scores))
    print_parts(left_out_lines(database.left_out), console)


def _remove(path: Path, what: Sequence[str]) -> None:
    """Takes games out of the file; nothing of it if there is none of one of them."""
    from connectx_toolkit.games.database import GameDatabase
    from connectx_toolkit.system.table import print_parts

    with GameDatabase(path, create=False):  # else a file would be made
        pass
    with GameDatabase(path) as database:
        removed = database.remove(what)
        print_parts([f"{path}: {removed} games removed, {len(database)} in all"])


def opened(options: argparse.Namespace) -> GameDatabase:
    """The file of games, after adding to it what ``--add`` names; says what was added, and notes what was left out.

    Raises:
        ValueError: there is no file and nothing to add, or it is another file.
        NothingLeft: of what was to be added.
    """
    from connectx_toolkit.games.database import GameDatabase
    from connectx_toolkit.games.reader import add_from, own_name
    from connectx_toolkit.system.table import print_parts

    left_out: list[str] = []
    if options.add:
        added = add_from(options.games, options.add, options.me or "")
        there = f", {added.known} {'copy' if added.known == 1 else 'copies'} left out" if added.known else ""
        line = f"{options.games}: {added.new} games added{there}, {added.whole} in all"
        print_parts([line])
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
            print_parts([f"whose games these are is not known yet: {unclear}"])
    return database


def _scores(position: Position, seconds: float) -> Sequence[int | None] | None:
    """The exact scores of a position's moves, if they are found in time."""
    from connectx_toolkit.games.analysis import exact_scores

    if not position.geometry.fits_word:
        return None
    return exact_scores([position], position.geometry, seconds).get(position)


def _to_move(position: Position) -> str:
    if position.is_over():
        return "the game is over"
    return f"the {'second' if position.ply % 2 else 'first'} player is to move"


COMMANDS = {
    "episodes": Command(add_episodes, "fetch a submission's games from Kaggle and analyse them"),
    "explore": Command(add_explore, "see what was played in a position, and how it ended"),
}
