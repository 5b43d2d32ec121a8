"""``evaluate.py episodes``: the games of a submission are fetched from Kaggle, then judged as ``analyse`` does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from connectx_toolkit.cli.analyse import show_reviews
from connectx_toolkit.cli.option_groups import (
    add_games,
    add_judging,
    add_judging_time,
    add_latest,
    add_review,
    from_one,
    seconds,
)
from connectx_toolkit.foreign import NothingLeft, shown

if TYPE_CHECKING:
    from connectx_toolkit.console.tables import Table
    from connectx_toolkit.kaggle.account.client import Kaggle
    from connectx_toolkit.kaggle.account.episodes import Episode

EPISODES = Path("runs/episodes")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=episodes)
    parser.description = """\
Fetches the games of one of your submissions from Kaggle, with your agent's logs, and analyses them. Each file is
fetched once. The games and today's leaderboard are added to the file that explore and scout read."""
    parser.epilog = """\
examples
  python evaluate.py episodes                        your submissions, with their numbers
  python evaluate.py episodes 45678901 --html runs/episodes.html

It uses the credentials of Kaggle's own command line, for example ~/.kaggle/access_token or KAGGLE_API_TOKEN.
"""
    parser.add_argument(
        "submission",
        nargs="?",
        type=from_one,
        help="number of the submission; without one, your submissions are listed",
    )
    help_text = f"folder for the files; each submission gets a folder in it (default: {EPISODES})"
    parser.add_argument("--folder", type=Path, default=EPISODES, metavar="FOLDER", help=help_text)
    add_latest(parser, None, "fetch only the latest N games (default: all)")
    parser.add_argument(
        "--pause",
        type=seconds,
        default=1.0,
        metavar="SECONDS",
        help="seconds to wait between two requests to Kaggle (default: 1)",
    )
    add_games(parser)
    add_review(parser)
    add_judging(parser)
    add_judging_time(parser)


def episodes(options: argparse.Namespace) -> None:
    from connectx_toolkit.arena.games.database import GameDatabase
    from connectx_toolkit.arena.replays.replay import replays_of
    from connectx_toolkit.console.tables import console_for_tables
    from connectx_toolkit.kaggle.account.client import connected
    from connectx_toolkit.kaggle.account.episodes import check_own, episodes_of, leaderboard

    with connected(options.pause) as kaggle:
        if options.submission is None:
            console_for_tables().print(_submissions_table(kaggle))
            return
        folder = options.folder / str(options.submission)
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
    options.me = options.me or next((one.team for one in found if one.team in names), None)
    dates = {one.number: one.date for one in found}
    dated = [replace(replay, date=dates.get(replay.episode or 0)) for replay in replays]
    with GameDatabase(options.games) as games:
        added = games.add(dated, options.me or "", options.submission)
        games.add_scores(scores, datetime.now(UTC).date().isoformat())  # in UTC, as the games' days are
        print(f"{options.games}: {added} games added, {len(games)} in all", file=sys.stderr)
        left_out += games.left_out
    show_reviews(replays, left_out, options)


def _submissions_table(kaggle: Kaggle) -> Table:
    from connectx_toolkit.console.tables import Column, Table
    from connectx_toolkit.kaggle.account.episodes import submissions

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
    from connectx_toolkit.console.progress import progress
    from connectx_toolkit.kaggle.account.client import KaggleProblem
    from connectx_toolkit.kaggle.account.episodes import fetch, missing

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
