"""SQLite files of the toolkit: how one is opened, its schema, and its errors in words."""

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from connectx_toolkit.foreign import decoded


class Schema(NamedTuple):
    """What a kind of file holds."""

    version: int
    statements: str  # that make its tables, apart by semicolons
    tables: frozenset[str]  # by which a file of this kind is told from others
    noun: str  # "a store of results"
    absent: str  # what to say where there is no file, before its path
    option: str  # of the commands, to choose another file
    upgrades: Mapping[int, str] = MappingProxyType({})  # statements that make this version of an older one


SCHEMA_VERSION = 3
BUSY_SECONDS = 30.0  # how long to wait while another process writes, which takes milliseconds
LITTLE_SPACE = 1 << 20  # bytes; SQLite reports some writes that found the disk full as errors of input and output
SCHEMA = """
CREATE TABLE matches (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,  -- hash of what determines the games
    first TEXT NOT NULL, second TEXT NOT NULL,  -- JSON: kind, target, label, hash
    config TEXT NOT NULL, bank REAL NOT NULL, referee TEXT NOT NULL, fresh TEXT NOT NULL, seed INTEGER NOT NULL,
    conditions TEXT NOT NULL, started TEXT NOT NULL,
    UNIQUE (key, conditions)
);
CREATE TABLE games (
    match INTEGER NOT NULL REFERENCES matches, number INTEGER NOT NULL,  -- odd: the second agent moves first
    moves TEXT NOT NULL, opening INTEGER NOT NULL, seeds TEXT NOT NULL,
    rewards TEXT NOT NULL, statuses TEXT NOT NULL, ending TEXT NOT NULL, faults TEXT NOT NULL,
    seconds TEXT NOT NULL, banks TEXT NOT NULL, finished TEXT NOT NULL,
    loads TEXT NOT NULL DEFAULT 'null',
    PRIMARY KEY (match, number)
) WITHOUT ROWID
"""
STORE = Schema(
    SCHEMA_VERSION, SCHEMA, frozenset({"matches", "games"}), "a store of results", "there is no store", "--store"
)


def open_to_write(path: Path, schema: Schema = STORE) -> sqlite3.Connection:
    """Opens a file, and makes it if there is none.

    Raises:
        ValueError: it is another file, of another schema, locked, or cannot be written.
    """
    is_new, connection = False, None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
        connection.text_factory = decoded
        _prepare(connection, path, schema)
        _use_wal(connection)
    except (sqlite3.Error, OSError, ValueError) as problem:
        if connection is not None:
            connection.close()
        if is_new and path.is_file() and not path.stat().st_size:  # not one that another process has filled meanwhile
            path.unlink()
        raise problem if isinstance(problem, ValueError) else ValueError(in_words(path, problem, schema)) from None
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, schema: Schema) -> None:
    """Makes the tables of a new file. It always writes, so that a disk that is full or read-only is found out here."""
    connection.execute("BEGIN IMMEDIATE")
    version = _version_of(connection, path, schema)
    for statement in "" if version == schema.version else schema.upgrades.get(version, schema.statements).split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {schema.version}")
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Survives SIGKILL without waiting for the disk.

    If another process opens a new store at the same time, SQLite does not wait, as it does elsewhere: in 11 of 200
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


def open_to_read(path: Path, schema: Schema = STORE) -> sqlite3.Connection:
    """Opens a file that is not changed.

    Raises:
        ValueError: there is none, it is another file or of another schema, or it cannot be read.
    """
    if not path.exists():
        raise ValueError(f"{schema.absent} {path}")
    try:
        connection = _connect_to_read(path)
        try:
            if not (version := _version_of(connection, path, schema)):
                raise ValueError(f"{path} is not {schema.noun} (it is empty)")
            if version != schema.version:
                connection.close()
                open_to_write(path, schema).close()  # which upgrades it
                connection = _connect_to_read(path)
            connection.execute("PRAGMA query_only = ON")
            connection.text_factory = decoded
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as problem:
        raise ValueError(in_words(path, problem, schema, "read")) from None
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that could read.

    With mode=ro, SQLite would leave its -wal and -shm files behind. Where it cannot make them, a read-only folder or
    disk, the store is read as a file that nobody changes.

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


def _version_of(connection: sqlite3.Connection, path: Path, schema: Schema) -> int:
    """The schema's version, 0 of an empty file. Raises ValueError if this version of the toolkit cannot read it."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables:
        return 0
    if not tables >= schema.tables:
        raise ValueError(f"{path} is not {schema.noun} (a database of something else)")
    if version != schema.version and version not in schema.upgrades:
        age = "a newer" if version > schema.version else "too old a"
        reads = f"this one reads {schema.version}"
        raise ValueError(f"{path}: written by {age} version of the toolkit (schema {version}, {reads})")
    return version


def in_words(path: Path, problem: sqlite3.Error | OSError, schema: Schema = STORE, aim: str = "written") -> str:
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
        return f"{path} is not {schema.noun} (not an SQLite database)"
    if code == sqlite3.SQLITE_CORRUPT:
        return f"{path}: damaged ({problem})"
    if number is not None or code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        advice = f"; choose another file with {schema.option}" if aim == "written" else ""
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
