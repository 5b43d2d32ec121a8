"""Files of version 0.3: what they hold is taken over, and commands that are given one say how."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.match import Conditions
from connectx_toolkit.games.tournament import groups, matches
from connectx_toolkit.kaggle.rules import Fault, Rules
from tests.conftest import evaluate, refused

STORE = """
CREATE TABLE matches (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, config TEXT NOT NULL,
    overage REAL NOT NULL, referee TEXT NOT NULL, fresh TEXT NOT NULL, seed INTEGER NOT NULL, conditions TEXT NOT NULL,
    started TEXT NOT NULL, UNIQUE (key, conditions)
);
CREATE TABLE games (
    match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL, moves TEXT NOT NULL, opening INTEGER NOT NULL,
    seeds TEXT NOT NULL, rewards TEXT NOT NULL, statuses TEXT NOT NULL, ending TEXT NOT NULL, faults TEXT NOT NULL,
    seconds TEXT NOT NULL, overages TEXT NOT NULL, finished TEXT NOT NULL, loads TEXT NOT NULL DEFAULT 'null',
    PRIMARY KEY (match, number)
) WITHOUT ROWID;
PRAGMA user_version = 3;
"""
LADDER = """
CREATE TABLE games (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, first TEXT NOT NULL, second TEXT NOT NULL, date TEXT NOT NULL,
    rows INTEGER NOT NULL, columns INTEGER NOT NULL, inarow INTEGER NOT NULL, first_points REAL, episode INTEGER,
    first_rating REAL, second_rating REAL, me TEXT NOT NULL, submission INTEGER, winner INTEGER, failed INTEGER,
    fault TEXT NOT NULL, opening INTEGER NOT NULL, moves TEXT NOT NULL, seconds TEXT NOT NULL, overage TEXT NOT NULL,
    overages TEXT NOT NULL
);
CREATE TABLE positions (key NOT NULL, game INTEGER NOT NULL, move INTEGER NOT NULL, PRIMARY KEY (key, game));
CREATE TABLE ratings (name TEXT NOT NULL, date TEXT NOT NULL, score REAL NOT NULL, PRIMARY KEY (name, date));
PRAGMA user_version = 1;
"""
CONDITIONS = [Conditions(machine, (("python", "3.12"),), 1) for machine in ("ours", "theirs")]
WON, FULL = "3030303", "3,3,2,2"
MATCHES = [
    (number, "a key", '["ours", "leftmost", "leftmost", "f1"]', '["kaggle", "random", "random", "f2"]',
     json.dumps(Rules({"actTimeout": 1}).config), 10.0, "fast", "null", 7, conditions.to_json(), "2026-11-01T00:00:00Z")
    for number, conditions in enumerate(CONDITIONS, 1)
]  # fmt: skip
PLAYED = [
    (1, 0, WON, 2, "[1, 2]", "[1, -1]", "[]", '"line"', "[]", "[0.5, 2.5, 0.5, 0.5, 0.5]",
     "[10.0, 8.5]", "2026-11-02", "[0.1, 0.2]"),
    (1, 1, "33", 2, "[1, 2]", "[0, 0]", "[]", '"timeout"', '[[0, 2, "timeout", "x", true]]',
     "[15.0]", "[-4.0, 10.0]", "2026-11-02", "null"),
    (1, 2, "33333333", 0, "[1, 2]", "[0, 0]", "[]", '"line"', "[]", "[]", "[10.0, 10.0]", "2026-11-02", "null"),
    (2, 0, "44", 2, "[1, 2]", "[0, 0]", "[]", '"step limit"', "[]", "[]", "[10.0, 10.0]", "2026-11-03", "null"),
    (2, 3, "44", 2, "[1, 2]", "[0, 0]", "[]", '"step limit"', "[]", "[]", "[10.0, 10.0]", "2026-11-03", "null"),
]  # fmt: skip
FETCHED = [
    ("episode 5", "me", "them", "2026-11-05", 6, 7, 4, 1.0, 5, 700.5, None, "me", 44, 0, None, "", 0,
     WON, "[1.5,null]", "[60.0]", "[60.0,60.0]"),
    ("episode 6", "them", "me", "2026-11-06", 6, 7, 4, 1.0, 6, None, None, "", None, None, 1, "timeout", 0,
     "3", "[]", "[60.0,-1.0]", "null"),
    ("abc", "them", "me", "2026-11-06", 6, 7, 4, 0.5, None, None, None, "", None, None, None, "", 0,
     "34", "[]", "[]", "[60.0,60.0]"),
    ("episode 7", "them", "me", "", 6, 7, 4, 0.0, 7, None, None, "", None, None, None, "", 0, WON, "[]", "[]", "null"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def old(tmp_path, monkeypatch) -> None:
    """A store and a file of games, as version 0.3 left them where it made them."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    files: list[tuple[str, str, dict[str, list]]] = [
        ("arena", STORE, {"matches": MATCHES, "games": PLAYED}),
        ("games", LADDER, {"games": [(None, *row) for row in FETCHED], "ratings": [("me", "2026-11-01", 690.0)]}),
    ]
    for name, tables, rows in files:
        with closing(sqlite3.connect(f"runs/{name}.sqlite")) as connection, connection:
            connection.executescript(tables)
            for table, values in rows.items():
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)


def test_both_are_taken_over(capsys):
    for new in (3, 0):  # the second time, nothing is new
        evaluate(["explore", "--add", "runs/arena.sqlite", "runs/games.sqlite", "--games", "new"])
        out = capsys.readouterr().out
        assert f"runs/arena.sqlite, a file of version 0.3: {new} games taken over\n" in out
        assert (
            f"runs/games.sqlite, a file of version 0.3: {new} games taken over, and 1 scores of the leaderboard\n"
            in out
        )
        assert "game 2 of match 1: column 3 cannot be played on ply 6" in out and "'episode 7': its first player" in out
        assert "left out in all: 2\n" in out and "new: 0 games added, 3 in all\n" in out
    with GameDatabase(Path("new"), create=False) as database:
        (stored,) = matches(database)
        (group,) = groups(database)
        ladder, owners, scores = [*database.games()], database.owners(), database.scores()
    won, lost, cut = (stored.match.games[number] for number in (0, 1, 3))
    assert group.conditions == {CONDITIONS[0]: 2, CONDITIONS[1]: 1} and stored.match.seed == 7
    assert (won.names, won.points, won.opening, won.loads) == (("leftmost", "random"), (1, 0), 2, (0.1, 0.2))
    assert won.overage == (10, 10, 10, 8.5, 10, 8.5, 10) and won.seconds(3) == 2.5 and won.date == "2026-11-02"
    assert (lost.names, lost.faults) == (("random", "leftmost"), (Fault(0, 2, "timeout", "x", True),))
    assert (cut.ending, cut.points, cut.act_timeout, cut.reserve) == ("step limit", (0.5, 0.5), 1, (10, 10))
    assert [(game.episode, game.date, game.submission) for game in ladder] == [
        (5, "2026-11-05", 44), (6, None, None), (None, None, None)
    ]  # fmt: skip
    assert [game.ending for game in ladder] == ["line", "timeout", "step limit"] and ladder[1].points == (1, 0)
    assert ladder[0].measured == (1.5, None) and ladder[0].ratings == (700.5, None) and ladder[1].reserve is None
    assert owners == {"me": 1} and scores == {"me": [("2026-11-01", 690.0)]}


@pytest.mark.parametrize("command", ["explore", "scout", "report", "match leftmost random", "board --no-browser"])
def test_a_command_says_how(command, capsys):
    """The line can be typed as it is; nothing of the file is changed before."""
    before = Path("runs/games.sqlite").read_bytes()
    line = refused([*command.split(), "--games", "runs/games.sqlite"], capsys)
    move = "mkdir -p runs/old; mv runs/games.sqlite* runs/old"
    add = "python evaluate.py explore --add runs/old/games.sqlite --games runs/games.sqlite"
    told = f"runs/games.sqlite: written by version 0.3 of the toolkit. To take its games over: {move}; {add}"
    assert line.endswith(told)
    assert Path("runs/games.sqlite").read_bytes() == before
