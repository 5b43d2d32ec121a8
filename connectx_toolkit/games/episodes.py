"""The games of a submission on Kaggle: fetched, and added to the file of games."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.game import Read
from connectx_toolkit.games.reader import read_replays
from connectx_toolkit.kaggle.account import (
    Episode,
    Kaggle,
    KaggleProblem,
    check_own,
    connect_account,
    episodes_of,
    fetch_files,
    files_to_fetch,
    list_submissions,
)
from connectx_toolkit.system.console import progress
from connectx_toolkit.system.foreign import NothingLeft

EPISODES = Path("runs/episodes")


def own_submissions() -> list[Any]:
    """One's submissions on Kaggle, each the SDK's ApiSubmission. Raises KaggleProblem."""
    with connect_account() as kaggle:
        return list_submissions(kaggle)


def fetch_games(submission: int, latest: int | None, games: Path, me: str | None) -> Read:
    """The games of ``connectx_toolkit.api.episodes``, after what is new has been added to the file of games.

    Raises:
        KaggleProblem: Kaggle refuses or breaks off.
        ValueError: there are no such games, or the file of games is another file.
        NothingLeft: none of the games can be read.
    """
    with connect_account() as kaggle:
        folder = EPISODES / str(submission)
        check_own(kaggle, submission)
        ended, left_out = episodes_of(kaggle, submission)
        episodes = ended[:latest]
        if not episodes:
            none = ValueError(f"submission {submission} has played no game to its end yet")
            raise NothingLeft(left_out) if left_out else none
        left_out += _fetch_missing(kaggle, episodes, folder)
    replays, unread, _ = read_replays(*sorted(folder.glob("*-replay.json")))
    left_out += unread
    if not replays:
        raise NothingLeft(left_out)
    names = {name for replay in replays for name in replay.names}
    me = me or next((one.team for one in episodes if one.team in names), None)
    dates = {one.number: one.date for one in episodes}
    dated = [replace(replay, date=dates.get(replay.episode or 0)) for replay in replays]
    with GameDatabase(games) as database:
        added = database.add(dated, me or "", submission)
        print(f"{games}: {added} games added, {len(database)} in all", file=sys.stderr)
        left_out += database.left_out
    return Read(replays, left_out, me or "")


def _fetch_missing(kaggle: Kaggle, found: Sequence[Episode], folder: Path) -> list[str]:
    """Fetches what is not there yet; what could not be fetched, and why.

    Raises KaggleProblem: Kaggle refuses or breaks off; in words that say how much is there.
    """
    wanted, absent = files_to_fetch(found, folder), []
    print(f"{len(found)} games, {len(wanted)} files to fetch into {folder}", file=sys.stderr)
    with progress(len(wanted), "file", "fetching", delay=0) as bar:
        try:
            for problem in fetch_files(kaggle, wanted):
                absent += [problem] if problem else []
                bar.update()
        except KaggleProblem as problem:
            raise KaggleProblem(f"{problem}; {bar.n} of {len(wanted)} files were fetched", problem.status) from None
    return absent
