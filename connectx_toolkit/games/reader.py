"""The one door for games and positions that others wrote: as text, as Kaggle's JSON, in files, folders and archives.

A document is a replay (``connectx_toolkit.games.replay``), or it holds some: a JSON text within a JSON text, a list or
lines of replays, what ``env.render(mode="html")`` gives, or a notebook that has shown one. A file is plain, compressed,
or an archive, such as all replays of a day. What it is, its content tells, not its name.
"""

import bz2
import glob
import gzip
import html
import json
import lzma
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, NamedTuple

from connectx_core.position import STANDARD, Columns, Geometry, parse_columns, write_columns
from connectx_toolkit.games.database import GameDatabase, is_database
from connectx_toolkit.games.forms import LINK, is_board, is_columns, is_game, is_position, name_of, of_positions
from connectx_toolkit.games.game import UNKNOWN_NAMES, Game, Read, check_playable
from connectx_toolkit.games.groups import grouped_games
from connectx_toolkit.games.owner import find_player, player_of_all, team_of
from connectx_toolkit.games.replay import LOGS, replay_of
from connectx_toolkit.system.console import as_option, plural
from connectx_toolkit.system.files import in_words
from connectx_toolkit.system.foreign import MOST_BYTES, NothingLeft, from_json, noting

FILE_TYPES = (".json", ".json.gz", ".jsonl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")  # in folders
GZIP = b"\x1f\x8b"
OPENERS: dict[bytes, Callable[..., Any]] = {GZIP: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
ZIP, TAR, TAR_AT = b"PK\x03\x04", b"ustar", 257
LISTED = 10  # games of each group of a file of games, unless it is asked for more
PLAYER_PAGE = re.compile(r"window\.kaggle = (?=\{)")  # the replay in a page of Kaggle's player
EXPECTED_LIST = "expected replays, as env.toJSON() gives them; positions for an exam go one a line, as columns or "
EXPECTED_LIST += '{"board": [...]}'
EXPECTED = "columns from 0 (3342 or 3,10,3), a replay (.json), a folder of replays or a file of games (.sqlite)"


# Text


def parse_moves(text: str, geometry: Geometry, from_one: bool | None = False) -> Columns:
    """The columns, counted from 0, of a text that a person has typed: 3342, or 3 3 4 2.

    Args:
        from_one: whether the text counts columns from 1, as Pons' files and connect4.gamesolver.org do (a link to that
            site always does); None: no, and there is no option to say so.

    Raises ValueError: they cannot be played; if they could be counted from 1, it says so.
    """
    if link := LINK.fullmatch(text.strip()):
        text, from_one = link[1], True
    parts = text.replace(",", " ").split()
    is_spaced = len(text.split()) > 1
    if is_spaced and max(map(len, parts)) > 2:  # a file of positions has a score after the columns
        raise ValueError(f"{text!r:.80}: expected columns as one word (3342), or one by one (3 3 4 2)")
    is_one_by_one = is_spaced and (geometry.columns > 10 or max(map(len, parts)) == 1)  # else 33 42 is 3342
    columns = parse_columns(",".join(parts) if is_one_by_one else "".join(parts) if is_spaced else text)
    moves = tuple(column - bool(from_one) for column in columns)
    try:
        check_playable(moves, geometry, bool(from_one))
    except ValueError as problem:
        with noting([], text):
            check_playable([column - 1 for column in columns], geometry)
            if from_one is False:
                problem = ValueError(f"{problem}; counted from 1, they fit: {as_option('from-one')}")
        raise problem from None
    return moves


def parse_game(
    text: str, geometry: Geometry, names: tuple[str, str] = UNKNOWN_NAMES, from_one: bool | None = False
) -> Game:
    """A game written as its columns. Raises ValueError if they cannot be played. ``from_one``: see ``parse_moves``."""
    return Game(geometry, parse_moves(text, geometry, from_one), names)


def text_lines(path: Path, what: str = "") -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1; without empty ones and comments, from a # on.

    Raises ValueError: it cannot be read, or is no text; the words begin with ``what``.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as problem:
        raise ValueError(f"{what}{in_words(problem, path)}") from None
    except UnicodeDecodeError as problem:
        raise ValueError(f"{what}{path} is not text ({problem.reason} at byte {problem.start})") from None
    for number, line in enumerate(lines, 1):
        line, end = line.strip(), 0
        with suppress(ValueError, RecursionError):  # a # within a JSON value is no comment
            end = json.JSONDecoder().raw_decode(line)[1]
        if text := line[:end] + line[end:].partition("#")[0].rstrip():
            yield number, text


# Documents


def _entries_of(content: str | bytes) -> list[Any]:
    """What a document holds, as ``_game_of`` takes it: the JSON of replays, columns, or whatever else it is."""
    if len(content) > MOST_BYTES:
        return [content]
    try:
        return _entries_of_json(from_json(content))
    except ValueError:
        text = content if isinstance(content, str) else content.decode("utf-8-sig", "replace")
        return _entries_of_text(text.strip())


def _entries_of_json(found: Any) -> list[Any]:
    match found:
        case str():
            return _entries_of(found)
        case {"environment": dict() | str() as inner}:
            return _entries_of_json(inner)
        case {"cells": list() as cells, "nbformat": _}:
            return [one for text in _outputs(cells) for one in _entries_of(text) if _has_steps(one)] or [found]
        case {"board": list()}:
            return [found]
        case dict() if "steps" not in found and any(map(_are_replays, found.values())):
            return _entries_of_json(next(filter(_are_replays, found.values())))
        case [dict() | str(), *_]:
            return _entries_of_several(map(_entries_of_json, found))
        case int():
            return [str(found)]
        case list() if is_game(found):
            return [tuple(found)]
        case list() if found and all(map(is_game, found)):
            return [*map(tuple, found)]
    return [found]


def _are_replays(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and all(map(_has_steps, found))


def _has_steps(found: Any) -> bool:
    return isinstance(found, dict) and "steps" in found


def _entries_of_several(found: Iterable[list[Any]]) -> list[Any]:
    """The entries of a list; many things that are none stay one list."""
    ones = [*chain.from_iterable(found)]
    is_any = any(_has_steps(one) or isinstance(one, tuple) or _is_typed_game(one) for one in ones)
    return ones if is_any or len(ones) < 2 else [ones]


def _is_typed_game(entry: Any) -> bool:
    """Whether an entry is a line of columns."""
    return isinstance(entry, str) and "\n" not in entry and is_columns(entry) and not is_position(entry)


def _outputs(cells: Sequence[Any]) -> Iterator[str]:
    """The texts that a notebook's cells have shown."""
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    for shown in chain.from_iterable([output.get("text"), *output.get("data", {}).values()] for output in outputs):
        yield json.dumps(shown) if isinstance(shown, dict) else "".join(shown or "")


def _entries_of_text(text: str) -> list[Any]:
    """As ``_entries_of``, of what is not JSON: a page, lines of JSON, lines of columns, or the text as it is."""
    for page in (text, html.unescape(text)) if PLAYER_PAGE.search(text) else ():
        with noting([], "the page"):
            entries = [json.JSONDecoder().raw_decode(page, match.end())[0] for match in PLAYER_PAGE.finditer(page)]
            return [one for each in entries for one in _entries_of_json(each)]
    lines = [line for line in text.split("\n") if line.strip()]  # a JSON text may hold other ends of lines
    if len(lines) > 1 and all(line.lstrip().startswith(("{", '"')) for line in lines):
        return _entries_of_several(map(_entries_of, lines))
    typed = list(filter(None, (line.partition("#")[0].strip() for line in lines)))
    return typed if typed and all(map(_is_typed_game, typed)) else [text]


def _game_of(entry: Any, place: Path, from_one: bool) -> Game:
    """The game of an entry. Raises ValueError if it is none of ConnectX; the text says what it is."""
    match entry:
        case str() | bytes() if len(entry) > MOST_BYTES:
            from_json(entry)  # refuses it
        case str() | tuple() if isinstance(entry, tuple) or _is_typed_game(entry):
            text = write_columns(entry) if isinstance(entry, tuple) else entry
            return replace(parse_game(text, STANDARD, from_one=from_one), source=str(place))
        case str():
            typed = filter(None, (line.partition("#")[0].strip() for line in entry.split("\n")))
            raise of_positions("positions") if is_position(next(typed, "")) else ValueError(f"it is {name_of(entry)}")
        case {"cells": list(), "nbformat": _}:
            raise ValueError("a notebook whose outputs show no replay")
        case {"board": list()}:
            raise of_positions("a board")
        case list() if is_board(entry) or (entry and all(map(is_board, entry))):
            raise of_positions("a board" if is_board(entry) else "boards")
        case [dict() | str(), *_]:
            raise ValueError(f"a list in which nothing has 'steps': {EXPECTED_LIST}")
    if from_one:
        raise ValueError(f"{as_option('from-one')} is for games given as columns, and replays tell theirs")
    return replay_of(entry, place)


def read_document(content: str | bytes, place: Path, from_one: bool = False) -> Read:
    """The replays in a document; left out is what is no replay of ConnectX.

    Args:
        place: where it lies, or only its name; with their numbers after it if it holds several.
        from_one: games that are columns are counted from 1.
    """
    read = Read([], [])
    with noting(read.left_out, place):
        entries = _entries_of(content)
        for number, entry in enumerate(entries, 1):
            name = place / f"{place.stem}-{number}" if len(entries) > 1 else place
            with noting(read.left_out, place):
                try:
                    read.games.append(_game_of(entry, name, from_one))
                except ValueError as problem:
                    raise ValueError(f"{name} is not a ConnectX replay: {problem}") from None
    return read


def read_only_game(content: str | bytes, place: Path, from_one: bool = False) -> Game:
    """The one replay in a document. Raises ValueError otherwise. ``from_one``: as of ``read_document``."""
    return only_game(read_document(content, place, from_one), place)


# Files and archives


def is_wanted(name: str) -> bool:
    """Whether a file of this name, in a folder or an archive, may hold replays."""
    last = name.rpartition("/")[2].lower()
    return last.endswith(FILE_TYPES) and not last.endswith((LOGS, f"{LOGS}.gz")) and not last.startswith(".")


def read_limited(file: IO[bytes]) -> bytes:
    """What is left of a file, or so much of it that the door (``from_json``) refuses it."""
    return file.read(MOST_BYTES + 1)


def documents(path: Path) -> Iterator[tuple[Path, Callable[[], bytes]]]:
    """The documents of a file: the path of each, and what reads it, to be called before the next one is asked for.

    In an archive, the name in it comes after the archive's path. What reads an entry raises what is wrong with it.

    Raises:
        OSError, ValueError and what the archives' modules raise: the file itself cannot be read, or not to its end.
    """
    with path.open("rb") as opened:
        raw = opened if opened.seekable() else BytesIO(read_limited(opened))  # a pipe
        unpack = next((one for magic, one in OPENERS.items() if _head(raw, len(magic)) == magic), None)
        with unpack(raw) if unpack else raw as file:
            if _head(file, len(ZIP)) == ZIP:
                entries = _zip_entries(file)
            elif _head(file, TAR_AT + len(TAR))[TAR_AT:] == TAR:
                entries = _tar_entries(file)
            else:
                yield path, partial(read_limited, file)
                return
            for name, open_entry in entries:
                yield path / name.lstrip("/"), partial(_read_entry, name, open_entry)


def _read_entry(name: str, open_entry: Callable[[], IO[bytes]]) -> bytes:
    with open_entry() as entry:
        return read_limited(OPENERS[GZIP](entry) if name.lower().endswith(".gz") else entry)


def _head(file: IO[bytes], count: int) -> bytes:
    """The first bytes of a file, which is then at its start again."""
    content = file.read(count)
    file.seek(0)
    return content


def _zip_entries(file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The replays of an archive: their names, and what opens them."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if is_wanted(info.filename):
                yield info.filename, lambda info=info: archive.open(info)  # type: ignore[misc]


def _tar_entries(file: IO[bytes]) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """As ``_zip_entries``."""
    with tarfile.open(fileobj=_Bounded(file)) as archive:  # type: ignore[call-overload]
        for member in archive:
            if member.isreg() and is_wanted(member.name):
                yield member.name, lambda member=member: archive.extractfile(member)  # type: ignore[misc]


class _Bounded:
    """A file that refuses to read more at once than a document may have: a tar's headers tell how long they are."""

    def __init__(self, file: IO[bytes]):
        self.seek, self.tell, self._file = file.seek, file.tell, file

    def read(self, count: int = -1) -> bytes:
        if not 0 <= count <= MOST_BYTES + 1:
            raise ValueError("damaged: it tells of an entry without end")
        return self._file.read(count)


def documents_of_replays(path: Path, from_one: bool = False) -> Iterator[Read]:
    """As ``read_replays``, document by document: an archive of a day may be larger than the memory."""
    left_out = list[str]()
    with noting(left_out, path):
        if not path.exists():
            raise ValueError(f"no such file: {path}")
        for place, content in documents(path):
            unread = list[str]()
            with noting(unread, place):
                yield read_document(content(), place, from_one)
            yield Read([], unread)
    yield Read([], left_out)


def read_replays(*paths: Path, from_one: bool = False) -> Read:
    """The replays of files and archives, with those of their agents' logs that lie beside the files.

    Left out is what is no replay of ConnectX, or cannot be read.
    """
    read = Read([], [])
    for one in chain.from_iterable(documents_of_replays(path, from_one) for path in paths):
        read.games.extend(one.games)
        read.left_out.extend(one.left_out)
    return read


def only_game(read: Read, what: object) -> Game:
    """The only one of the games that were read. Raises ValueError if there is none, or more."""
    if len(read.games) != 1:
        several = f"{what} holds several games" if read.games else ""
        raise ValueError(several or next(iter(read.left_out), f"{what} holds no game"))
    return read.games[0]


def replay_paths(what: Iterable[str]) -> list[Path]:
    """The files that are meant by files, folders (with all that is in them) and patterns, in order, each once.

    Raises ValueError: one of them stands for no file.
    """
    paths: list[Path] = []
    for named in what:
        if not named.strip():
            raise ValueError("an empty argument: expected a game, a file, a folder or a pattern")
        path = Path(named)
        if path.is_dir():
            replays = [one for one in sorted(path.rglob("*")) if is_wanted(one.name) and one.is_file()]
        else:
            matching = [path] if path.exists() else [Path(name) for name in sorted(glob.glob(named, recursive=True))]
            replays = [one for one in matching if not one.name.endswith(LOGS) and not one.name.startswith(".")]
        is_logs = path.is_file() and named.endswith(LOGS)  # a shell's pattern names them, too
        if not replays and not is_logs:
            raise ValueError(f"no replays (.json) in {path}" if path.is_dir() else f"no such file: {named}")
        paths += replays
    if not paths:
        raise ValueError("no replays, only agents' logs")
    return list(dict.fromkeys(paths))


def find_games(
    what: Any, geometry: Geometry = STANDARD, names: tuple[str, str] = UNKNOWN_NAMES, from_one: bool = False
) -> Read:
    """Games by what a person gives: a game, its columns, a path, or several of them.

    Args:
        what: columns as text or as a list; the path of a replay, an archive or a file of games; a ``Game``; or a list.
        geometry, names, from_one: of a game that is given as columns.

    Raises ValueError: it is none of these, or there are no such games.
    """
    if isinstance(what, Game):
        return Read([what], [])
    if not isinstance(what, str | PathLike):
        if not isinstance(what, Iterable) or isinstance(what, bytes):
            raise ValueError(f"expected {EXPECTED}, not {what!r:.80}")
        if what and all(isinstance(column, int) for column in what):
            return Read([parse_game(",".join(map(str, what)) + ",", geometry, names, from_one)], [])
        read = [find_games(one, geometry, names, from_one) for one in what]
        if not any(one.games for one in read):
            raise ValueError("there are no games: an empty list")
        return Read([game for one in read for game in one.games], [why for one in read for why in one.left_out])
    text = fspath(what)
    if is_columns(text) and not os.path.exists(text):
        return Read([parse_game(text, geometry, names, from_one)], [])
    return read_game_file(Path(text))


def find_one_game(what: Any, geometry: Geometry = STANDARD, from_one: bool = False) -> Game:
    """The one game that is meant, as ``find_games`` reads it."""
    return only_game(find_games(what, geometry, from_one=from_one), what)


def read_game_file(path: Path, latest: int | None = None, from_one: bool = False) -> Read:
    """The games of a replay or an archive, or the latest games of a file of games. The rest as ``find_games``.

    Args:
        latest: games of each group of a file of games; None: ``LISTED``.
        from_one: of games that are columns.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected columns, a replay (.json) or a file of games (.sqlite)")
    if is_database(path):
        groups, left_out = grouped_games(path)
        games = [game for group in groups for game in group[-(latest or LISTED) :]]
        if older := sum(map(len, groups)) - len(games):
            left_out.insert(0, f"{path}: {older} older {plural('game', older)} ({as_option('latest', 'N')} shows more)")
        return Read(games, left_out)
    if latest:
        raise ValueError(f"{as_option('latest')} is for files of games, and {path} is none")
    if os.path.exists(path) or path.suffix == ".json":
        if (read := read_replays(path, from_one=from_one)).games:
            return read
        raise ValueError(next(iter(read.left_out), f"{path} holds no replay"))
    raise ValueError(f"{path}: no such file, and not a game's columns; expected {EXPECTED}")


def select_own(read: Read) -> Read:
    """One's own of some games, each once. If it is not known whose they are, ``team_of`` finds it out, or raises."""
    kept, left_out = dict[str, Game](), [*read.left_out]
    for game in read.games:
        first = kept.setdefault(game.identity, game)
        if first is not game:
            left_out.append(f"{game.source} is the same game as {first.source}")
    team = team_of([*kept.values()], read.me or None)
    left_out += [f"{game.source}: {team} is not in it" for game in kept.values() if team not in game.names]
    return Read([game for game in kept.values() if team in game.names], left_out, team)


def find_own_games(what: Sequence[str], me: str | None, latest: int | None = None) -> Read:
    """All games of replays, and one's own of files of games, of each group the ``latest`` if that is given.

    Args:
        what: replays, folders, archives, patterns and files of games.
        me: as ``team_of`` takes it.
        latest: needs a file of games.
    """
    paths = replay_paths(what)
    databases = [path for path in paths if is_database(path)]
    if latest and not databases:
        raise ValueError(f"{as_option('latest')} is for files of games, and there is none in {' '.join(what)}")
    replays, left_out, _ = read_replays(*(path for path in paths if path not in databases))
    groups = list[list[Game]]()
    for path in databases:
        with noting(left_out, path):
            stored, unread = grouped_games(path, f"{path.stem} " if len(databases) > 1 else "")
            groups += stored
            left_out += unread
    if not replays and not groups:
        raise NothingLeft(left_out)
    me = team_of([*replays, *chain.from_iterable(groups)], me)
    for group in groups:
        own = [replay for replay in group if me in replay.names]
        replays += own[-latest:] if latest else own
    return Read(replays, left_out, me)


# Into the file of games


class Added(NamedTuple):
    """What came of adding games."""

    new: int
    known: int  # that were there before, or that came twice
    whole: int  # games of the ladder that the file holds now
    left_out: list[str]  # why, of what is no game of ConnectX


def add_replays(path: Path, what: Sequence[str], me: str = "") -> Added:
    """Adds the games of folders and replays to a file of games, which is made if there is none.

    They are read while they are added: what was added before an interruption stays.

    Raises:
        ValueError: there is nothing of that name, or the file of games is another file.
        NothingLeft: there is no game in all of it; the file of games is not touched.
    """
    count, left_out = 0, list[str]()

    def replays() -> Iterator[Game]:
        nonlocal count
        for read in chain.from_iterable(map(documents_of_replays, replay_paths(what))):
            left_out.extend(read.left_out)
            count += len(read.games)
            yield from read.games

    games = replays()
    first = next(games, None)
    if first is None:
        raise NothingLeft(left_out)
    with GameDatabase(path) as database:
        new = database.add(chain([first], games), me)
        known = count - new - len(database.left_out)
        return Added(new, known, len(database), [*left_out, *database.left_out])


def owner_of(database: GameDatabase, wanted: str | None) -> str:
    """Whose games these are: as asked for, as said when they were added, or the one name in all of them.

    Raises:
        ValueError: that is not known; in words that say how to choose.
    """
    names, owners = database.names(), database.owners()
    if wanted is not None:
        return find_player(names, wanted)
    if owners:
        return owners.most_common(1)[0][0]
    return player_of_all(names, len(database))
