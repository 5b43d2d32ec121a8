"""``evaluate.py analyse``: the exact scores of every move of one game, a file's latest games, or all of one's own."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.cli.options import (
    Command,
    add_config,
    add_from_one,
    add_judging,
    add_judging_time,
    add_latest,
    add_review,
    integer_from,
)
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.system.console import plural, shell
from connectx_toolkit.system.files import check_folder, write_whole
from connectx_toolkit.system.foreign import left_out_lines

if TYPE_CHECKING:
    from connectx_toolkit.games.game import Game
    from connectx_toolkit.games.review import Review


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
    help_text = "leave out the first N plies of a game given as columns, which its players did not choose (default: 0)"
    parser.add_argument("--opening", type=integer_from(0), default=0, metavar="N", help=help_text)
    help_text = "names of the players of a game given as columns, in the order of their moves (default: first second)"
    parser.add_argument("--names", nargs=2, metavar=("FIRST", "SECOND"), help=help_text)
    add_judging(parser)
    add_judging_time(parser)


def analyse(options: argparse.Namespace) -> None:
    """One game move by move, a file's latest games in a line each, or all of one's own games with a summary."""
    from connectx_toolkit.games.game import UNKNOWN_NAMES, is_columns, parse_game
    from connectx_toolkit.games.replay import own_games
    from connectx_toolkit.report.tables import LISTED, games_in, show_games
    from connectx_toolkit.system.table import print_parts

    what = options.what
    is_review = options.me is not None or options.html or options.json or options.write_mistakes
    columns = [text for text in what if is_columns(text) and not Path(text).exists()]
    if len(columns) == len(what):
        what = columns = [" ".join(columns)]  # 3 3 4 2 is one game
    if options.names and not columns:
        raise ValueError("--names is for a game given as columns: replays and files of games name their players")
    if options.from_one and not columns:
        raise ValueError("--from-one is for a game given as columns: replays and files of games count from 0")
    if columns and (is_review or len(what) > 1):
        raise ValueError(f"{columns[0]}: a game's columns are analysed alone, without --me, --html and the like")
    if columns:
        geometry, names = Rules(options.config or {}).geometry, tuple(options.names or UNKNOWN_NAMES)
        game = parse_game(columns[0], geometry, options.opening, names, options.from_one)
        show_games([game], options.from_ply, options.time)
    elif len(what) == 1 and not is_review and _is_one_file(what[0]):
        left_out: list[str] = []
        _show_replays(games_in(Path(what[0]), left_out, options.latest or LISTED), options)
        print_parts(left_out_lines(left_out))
    else:
        check_folder(options.html)
        games, options.me, left_out = own_games(what, options.me, options.latest)
        show_reviews(games, left_out, options)


def _is_one_file(what: str) -> bool:
    """Whether it is to be shown game by game: one replay or file of games, not a folder or a pattern."""
    return not Path(what).is_dir() and (Path(what).exists() or not set("*?[") & set(what))


def _show_replays(replays: Sequence[Game], options: argparse.Namespace) -> None:
    """A line for each game; of a single one every move, and what the clocks showed."""
    from connectx_toolkit.report.tables import show_games
    from connectx_toolkit.system.table import print_parts

    show_games(replays, options.from_ply, options.time)
    if len(replays) == 1:
        print_parts(filter(None, (_clock_words(replays[0], seat) for seat in (0, 1))))


def _clock_words(game: Game, seat: int) -> str:
    """ "my_team: 3.1 s of 60 s overage time used, slowest move 4.2 s on ply 8"; "" if nothing is known."""
    slowest, used, words = game.slowest(seat), game.overage_used(seat), list[str]()
    if used is not None and game.reserve is not None:
        words.append(f"{used:.1f} s of {game.reserve[seat]:g} s overage time used")
    if slowest:
        words.append(f"slowest move {slowest[1]:.1f} s on ply {slowest[0]}")
    return f"{game.player(seat)}: {', '.join(words)}" if words else ""


def show_reviews(replays: Sequence[Game], left_out: Sequence[str], options: argparse.Namespace) -> None:
    """Judges games from one's own seat; prints the rows and the summary, or JSON if asked; writes the page."""
    from connectx_toolkit.games.replay import without_copies
    from connectx_toolkit.games.review import headline, summary, team_of
    from connectx_toolkit.report.pages import replays_page
    from connectx_toolkit.report.tables import games_table
    from connectx_toolkit.system.table import console_for_tables, print_parts

    replays, copies = without_copies(replays)
    team = team_of(replays, options.me)
    others = [replay for replay in replays if team not in replay.names]
    notes = [*left_out, *copies, *(f"{replay.source}: {team} is not in it" for replay in others)]
    if options.write_mistakes:
        check_mistakes_file(options.write_mistakes, replays)
    reviews = judged_reviews(replays, team, options)
    lines, sections = [*headline(team, reviews), *_numbering(replays), *_not_judged(reviews, options)], summary(reviews)
    if options.html:
        write_whole(options.html, replays_page(team, reviews, lines, sections).encode())
    written = [write_mistakes(options.write_mistakes, reviews)] if options.write_mistakes else []
    if options.json:
        tables = {section.title: section.records() for section in sections}
        games = [review.row() for review in reviews]
        print(json.dumps({"me": team, "games": games, "summary": tables, "left_out": notes}, indent=2))
        return
    console = console_for_tables()
    console.print(games_table(team, reviews))
    for section in sections:
        console.print(section)
    page = [f"page: {options.html}"] if options.html else []
    print_parts([*lines, *page, *written, *left_out_lines(notes)], console)


def check_mistakes_file(path: Path, replays: Sequence[Game]) -> None:
    """Raises ValueError, before any work is done, if mistakes in these games cannot be added to a file."""
    from connectx_toolkit.arena.start_positions import read_openings

    boards = {replay.geometry for replay in replays}
    if len(boards) > 1:
        sizes = ", ".join(sorted(f"{board.rows}x{board.columns}" for board in boards))
        raise ValueError(f"--write-mistakes takes games of one board, not of {sizes}: name fewer replays")
    check_folder(path)
    if path.exists():
        read_openings(path, boards.pop())


def write_mistakes(path: Path, reviews: Sequence[Review]) -> str:
    """Adds the positions in which one's own moves gave a result away to a file; says in a line how many."""
    from connectx_toolkit.arena.start_positions import add_openings

    named = [(one.game, move) for one in reviews for move in one.mistakes]
    found = [(game.moves[: move.ply], f"{game.name}: {move.words()}") for game, move in named]
    added, held = add_openings(path, found, reviews[0].game.geometry)
    return f"{path}: {added} {plural('position', added)} added, {held} in all"


def _numbering(replays: Sequence[Game]) -> list[str]:
    """How the names of stored games are to be read."""
    from connectx_toolkit.games.database import is_database

    stored = any(is_database(Path(replay.source).parent) for replay in replays)
    return ["Stored games are numbered by match and game: 3-12 is game 12 of match 3."] if stored else []


def judged_reviews(replays: Sequence[Game], team: str, options: argparse.Namespace) -> list[Review]:
    """The games of a team, judged."""
    from connectx_toolkit.games.analysis import first_judged, judge_in_time
    from connectx_toolkit.games.review import Review, seat_of
    from connectx_toolkit.system.console import progress

    reviews = []
    own = [replay for replay in replays if team in replay.names]
    with progress(len(own), "game", "judging", delay=0) as bar:
        for replay in own:
            start = first_judged(replay, options.from_ply)
            reviews.append(Review(replay, seat_of(replay, team), judge_in_time(replay, start, options.time)))
            bar.update()
    return reviews


def _not_judged(reviews: Sequence[Review], options: argparse.Namespace) -> list[str]:
    """How many moves could not be judged, if any."""
    from connectx_toolkit.games.analysis import first_judged

    asked = [len(one.game.moves[first_judged(one.game, options.from_ply) :]) for one in reviews]
    missing = [count - len(one.judged) for count, one in zip(asked, reviews, strict=True)]
    games = sum(map(bool, missing))
    if not games:
        return []
    why = "--time SECONDS gives them more; boards of more than 64 bits cannot be solved"
    return [f"not judged: {sum(missing)} {plural('move', sum(missing))} in {games} {plural('game', games)} ({why})"]


COMMANDS = {
    "analyse": Command(add_analyse, "give every move of your games its exact score"),
}
