"""The file of games: its schema, how it is opened, and its errors in words."""

import errno
import os
import shlex
import shutil
import sqlite3
import time
from pathlib import Path

from connectx_toolkit.system.console import as_option, command, shell
from connectx_toolkit.system.foreign import decoded

VERSION = 4
STORES, LADDER_GAMES = (3,), (1, 2)  # versions of the two files that version 0.3 of the toolkit had in its place
BUSY_SECONDS = 30.0  # how long to wait while another process writes, which takes milliseconds
LITTLE_SPACE = 1 << 20  # bytes; SQLite reports some writes that found the disk full as errors of input and output
HEADER = b"SQLite format 3\0"
TABLES = {
    "matches": """(
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,  -- digest of what determines the games
    first TEXT NOT NULL, second TEXT NOT NULL,  -- JSON: kind, target, label, fingerprint
    config TEXT NOT NULL, reserve REAL NOT NULL,  -- seconds of overage time
    seed INTEGER NOT NULL, started TEXT NOT NULL
)""",
    "conditions": "(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
    "games": """(
    id INTEGER PRIMARY KEY,
    episode INTEGER UNIQUE,  -- Kaggle's number
    digest TEXT UNIQUE,  -- of what happened in a replay without a number
    match INTEGER REFERENCES matches,  -- NULL of a game of the ladder
    number INTEGER,  -- in the match; odd: the match's second agent moves first
    first TEXT NOT NULL, second TEXT NOT NULL,
    rows INTEGER NOT NULL, columns INTEGER NOT NULL, inarow INTEGER NOT NULL,
    opening INTEGER NOT NULL, moves TEXT NOT NULL, date TEXT,
    submission INTEGER, owner TEXT,  -- whose game of the ladder it is, where that was said
    points REAL,  -- the first player's, derived from the rest; NULL of a game that was not played to its end
    conditions INTEGER REFERENCES conditions, seeds TEXT, added TEXT NOT NULL,
    record TEXT NOT NULL,  -- JSON: the other fields of a Game that differ from its defaults
    UNIQUE (match, number)
)""",
    "positions": """(
    board TEXT NOT NULL,  -- 6x7k4
    key NOT NULL,  -- of Position.canonical(), as text where it has more than 63 bits
    ladder INTEGER NOT NULL,  -- 1 of its games, 0 of those of matches
    move INTEGER NOT NULL,  -- column on the canonical side, the smaller one of a symmetric position
    player TEXT NOT NULL, game INTEGER NOT NULL REFERENCES games,
    points REAL,  -- of who made the move
    PRIMARY KEY (board, key, ladder, move, player, game)  -- in the order in which they are counted
) WITHOUT ROWID""",
    "scores": "(name TEXT NOT NULL, date TEXT NOT NULL, score REAL NOT NULL, PRIMARY KEY (name, date)) WITHOUT ROWID",
}


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, as files of games are."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def open_to_write(path: Path) -> sqlite3.Connection:
    """Opens a file of games, and makes it if there is none.

    Raises:
        ValueError: it is another file, of another version, locked, or cannot be written.
    """
    is_new, connection = False, None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
        connection.text_factory = decoded
        _prepare(connection, path)
        _use_wal(connection)
    except (sqlite3.Error, OSError, ValueError) as problem:
        if connection is not None:
            connection.close()
        if is_new and path.is_file() and not path.stat().st_size:  # not one that another process has filled meanwhile
            path.unlink()
        raise problem if isinstance(problem, ValueError) else ValueError(in_words(path, problem)) from None
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new file. It always writes, so that a disk that is full or read-only is found out here."""
    connection.execute("BEGIN IMMEDIATE")
    if not _version_of(connection, path, (VERSION,)):
        for table, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {table} {columns}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Survives SIGKILL without waiting for the disk.

    If another process opens a new file at the same time, SQLite does not wait, as it does elsewhere: in 11 of 200
    starts of six processes, one of them failed at once.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = NORMAL")


def open_to_read(path: Path, versions: tuple[int, ...] = (VERSION,)) -> sqlite3.Connection:
    """Opens a file of games that is not changed.

    Raises:
        ValueError: there is none, it is another file or of another version, or it cannot be read.
    """
    if not path.exists():
        makers = f"{command('evaluate match')} makes it, or {shell('evaluate explore --add REPLAYS')}"
        raise ValueError(f"no games yet: there is no file {path}; {makers}")
    try:
        connection = _connect_to_read(path)
        try:
            if not _version_of(connection, path, versions):
                raise ValueError(f"{path} is not a file of games (it is empty)")
            connection.execute("PRAGMA query_only = ON")
            connection.text_factory = decoded
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as problem:
        raise ValueError(in_words(path, problem, "read")) from None
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that could read.

    With mode=ro, SQLite would leave its -wal and -shm files behind. Where it cannot make them, a read-only folder or
    disk, the file is read as one that nobody changes.

    Raises:
        ValueError: games are in the -wal file of a run that was killed, which such a file is read without.
    """
    address = path.absolute().as_uri()
    try:
        connection = sqlite3.connect(f"{address}?mode=rw", uri=True, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as problem:
        if problem.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            text = f"cannot be read here (read-only folder): {log.name} holds its latest games"
            raise ValueError(f"{path}: {text}; copy both files to another folder") from None
        connection = sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None)
    return connection


def _version_of(connection: sqlite3.Connection, path: Path, versions: tuple[int, ...]) -> int:
    """The file's version, 0 of an empty file. Raises ValueError if it is none of those."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables:
        return 0
    if "games" not in tables or not tables & {"matches", "positions"}:
        raise ValueError(f"{path} is not a file of games (a database of something else)")
    if version in versions:
        return version
    if version in (*STORES, *LADDER_GAMES):
        raise ValueError(f"{path}: written by version 0.3 of the toolkit. {_carrying_over(path)}")
    if version == VERSION:
        raise ValueError(f"{path} is a file of games of this version: use it with {as_option('games')}")
    age = "a newer" if version > VERSION else "too old a"
    raise ValueError(f"{path}: written by {age} version of the toolkit (schema {version}, this one reads {VERSION})")


def _carrying_over(path: Path) -> str:
    """The command lines that take an old file's games over; with the pattern, those of a killed run go with it."""
    folder, file = (shlex.quote(str(one)) for one in (path.parent / "old", path))
    add = f"{shell('evaluate explore')} --add {shlex.quote(str(path.parent / 'old' / path.name))}"
    return f"To take its games over: mkdir -p {folder}; mv {file}* {folder}; {add} --games {file}"


def in_words(path: Path, problem: sqlite3.Error | OSError, aim: str = "written") -> str:
    """One line that says what is wrong with a file and what to do. ``aim``: "read" or "written"."""
    number = getattr(problem, "errno", None)
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF  # without the details of the extended code
    if path.is_dir():
        return f"{path} is a folder, where a file was expected"
    if code == sqlite3.SQLITE_FULL or number == errno.ENOSPC or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return f"{path}: no space left on the disk; nothing that was stored before is lost"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{path}: locked by another process for more than {BUSY_SECONDS:g} s; try again when it has ended"
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} is not a file of games (not an SQLite database)"
    if code == sqlite3.SQLITE_CORRUPT:
        return f"{path}: damaged ({problem})"
    if number is not None or code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        advice = f"; choose another file with {as_option('games')}" if aim == "written" else ""
        return f"{path}: cannot be {aim} ({_obstacle(path, problem, aim)}){advice}"
    return f"{path}: {problem}"


def _obstacle(path: Path, problem: sqlite3.Error | OSError, aim: str) -> str:
    folder = next(folder for folder in path.parents if folder.exists())
    if not folder.is_dir():
        return f"{folder} is not a folder"
    if aim == "read":
        return "no permission" if not os.access(path, os.R_OK) else str(problem)
    if not os.access(folder, os.W_OK):
        return "read-only folder"
    if path.exists() and not os.access(path, os.W_OK):
        return "read-only file"
    return str(getattr(problem, "strerror", None) or problem)


def _is_full(path: Path) -> bool:
    return shutil.disk_usage(path.parent).free < LITTLE_SPACE
